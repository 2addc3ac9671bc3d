use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// View `watch`: VMs of watched hosts, sorted by how much they suffer; their disks; their working
/// sets; and the parts of their latency. Lists cover the lens's time; lines are also limited to the
/// lens's workloads.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WatchPage {
    /// Summary in one sentence.
    pub sentence: String,
    /// Watched hosts, if there are several.
    pub hosts: Vec<WatchedHost>,
    /// Latency above which an I/O is slow, nanoseconds.
    pub limit_ns: u64,
    /// VMs and other initiators, sorted by their number of slow I/Os, highest first.
    pub vms: Vec<WatchedLoad>,
    /// Disks, in the same order: most slow I/Os first.
    pub disks: Vec<WatchedLoad>,
    /// Working sets over time: of the VMs in the lens, or if none is chosen of the VMs that use the
    /// most.
    pub sets: Vec<WatchedSets>,
    /// Number of VMs whose working sets were left out.
    pub sets_left_out: u32,
    /// Parts of the latency over time; none for a source without latencies.
    pub split: Option<LatencySplit>,
}

/// One of several watched hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedHost {
    /// Name of the host.
    pub name: String,
    /// Reason why the numbers leave this host out; none if they include it.
    pub trouble: Option<String>,
    /// Advice on what to do, if there is any.
    pub hint: Option<String>,
    /// Seconds by which the host's clock is ahead, if more than a slice; the host's times are wrong
    /// by as much.
    pub clock_ahead_s: Option<i64>,
}

/// I/O of a VM or of a disk in the lens's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedLoad {
    /// Name of the VM, other initiator, or disk.
    pub name: String,
    /// Hosts of a VM, if several are watched, sorted by the time of the VM's first I/O on each;
    /// none for disks.
    pub hosts: Vec<String>,
    /// Disks of the hosts that are this same storage; none for VMs, and for a disk of one host.
    pub parts: Vec<WatchedLoad>,
    /// Workloads of the row, as the lens names them.
    pub workloads: Vec<String>,
    /// Number of disks of a VM, or of initiators on a disk.
    pub others: u32,
    /// I/Os per second of watched time.
    pub operations_per_s: f64,
    /// Bytes per second of watched time.
    pub bytes_per_s: f64,
    /// 95th percentile of the latency of reads, nanoseconds; none without reads.
    pub read_p95_ns: Option<u64>,
    /// 95th percentile of the latency of writes, nanoseconds; none without writes.
    pub write_p95_ns: Option<u64>,
    /// 95th percentile of the latency of flushes, nanoseconds; none without flushes.
    pub flush_p95_ns: Option<u64>,
    /// Share of the I/Os that were slower than the limit.
    pub slow_share: f64,
    /// Share of the latency that passed before the device had the I/O; none if unknown.
    pub queue_share: Option<f64>,
    /// I/Os that failed.
    pub failed: u64,
    /// Newest working set of a day, in words; none for disks, and if the addresses of I/Os are
    /// unknown.
    pub set: Option<String>,
    /// Share of the time in which the disk was busy; none for VMs, and where it is unknown.
    pub busy_share: Option<f64>,
}

/// Working sets of a VM over time. Lists have one entry per point; none where it is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedSets {
    /// Name of the VM or other initiator.
    pub vm: String,
    /// Host that these working sets are from, for a VM that several hosts saw.
    pub host: Option<String>,
    /// Newest working set of a day, in words.
    pub sentence: String,
    /// Begin of the hour of each point on the axis, nanoseconds.
    pub at_ns: Vec<u64>,
    /// Length of each point, nanoseconds.
    pub width_ns: Vec<u64>,
    /// Working sets by the length of their span, shortest first.
    pub spans: Vec<SetSpanLines>,
}

/// Working sets of one span at the end of each point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetSpanLines {
    /// Span that each set covers: `1h`, `1d` or `7d`.
    pub span: String,
    /// Distinct bytes that were read.
    pub read_bytes: Vec<Option<u64>>,
    /// Distinct bytes that were written.
    pub written_bytes: Vec<Option<u64>>,
    /// Distinct bytes that were read or written.
    pub used_bytes: Vec<Option<u64>>,
    /// Standard error of `used_bytes`, as a share of `used_bytes`.
    pub error: Vec<Option<f64>>,
    /// True where there is data for the whole span.
    pub is_whole: Vec<Option<bool>>,
}

/// Parts of the mean latency over time. Lists have one entry per point. An entry is none where
/// there was no such I/O, and a list is empty if its source is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySplit {
    /// Summary in one sentence.
    pub sentence: String,
    /// Begin of each point on the axis, nanoseconds.
    pub at_ns: Vec<u64>,
    /// Length of each point, nanoseconds.
    pub width_ns: Vec<u64>,
    /// Mean time that guests wait for an I/O, by QEMU's own counters.
    pub guest_ns: Vec<Option<f64>>,
    /// Number of I/Os in `guest_ns`.
    pub guest_count: Vec<u64>,
    /// Mean time that the host's kernel queues an I/O.
    pub queue_ns: Vec<Option<f64>>,
    /// Mean time that the device takes for an I/O.
    pub device_ns: Vec<Option<f64>>,
    /// Number of I/Os in `queue_ns` and `device_ns`.
    pub host_count: Vec<u64>,
}
