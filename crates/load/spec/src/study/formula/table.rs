use super::Argument as A;
use super::Function as F;
use super::{Argument, Function, Signature};

/// Figures of a tier. Shares of requests: `hit` of all requests, `read_hit` of reads, `write_hit`
/// of writes, `acceleration` of requests that only the tier served, `remote` of read hits. The
/// other figures are requests or bytes during the measurement, or bytes at its end.
pub(super) const TIER_FIGURES: [&str; 18] = [
    "hit",
    "read_hit",
    "write_hit",
    "read_byte_hit",
    "acceleration",
    "remote",
    "reads",
    "writes",
    "capacity",
    "resident",
    "dirty",
    "dirty_max",
    "filled",
    "placed",
    "evicted",
    "destaged",
    "written",
    "absorbed",
];

/// Figures of parts. `utilisation` is the mean of all matching parts, and `utilisation_max` the
/// value of the busiest part. `iops` and `bytes` (both per second), `inside` (mean number waiting
/// or in service) and `count` are sums. `_each` divides by `count`.
pub(super) const PART_FIGURES: [&str; 9] = [
    "utilisation",
    "utilisation_max",
    "iops",
    "iops_each",
    "bytes",
    "bytes_each",
    "inside",
    "inside_each",
    "count",
];

/// Figures of hosts. `used` is the mean share of all cores of all hosts. `cycles` is the same in
/// cycles at the nominal frequency, as hypervisors count usage. `used_max_1s` and `used_max_20s`
/// are the maximum of any host. `ready` is the sum of all hosts' ready time in seconds per second,
/// and `ready_max_1s` and `ready_max_20s` the maximum of any host.
pub(super) const HOST_FIGURES: [&str; 7] =
    ["used", "cycles", "used_max_1s", "used_max_20s", "ready", "ready_max_1s", "ready_max_20s"];

/// Figures of virtual machines, with the same meanings as for hosts.
pub(super) const VM_FIGURES: [&str; 6] =
    ["used", "used_max_1s", "used_max_20s", "ready", "ready_max_1s", "ready_max_20s"];

/// Objects with power: hosts, the storage, or both.
pub(super) const SUPPLIES: [&str; 3] = ["servers", "storage", "all"];

/// Programs that use CPU time for an I/O on real storage: the load generator including its NBD
/// client, and the server and the initiator of a storage protocol.
pub(super) const PROGRAMS: [&str; 3] = ["load", "server", "initiator"];

/// Returns the signature of a function whose arguments are all required.
const fn of(
    name: &'static str,
    function: Function,
    arguments: &'static [Argument],
    unit: &'static str,
    meaning: &'static str,
) -> Signature {
    Signature { name, function, arguments, optional: 0, is_repeated: false, unit, meaning }
}

/// Returns the signature of a function with `optional` arguments at the end.
const fn optional(optional: usize, signature: Signature) -> Signature {
    Signature { optional, ..signature }
}

/// Returns the signature of a function whose last argument can be repeated.
const fn repeated(signature: Signature) -> Signature {
    Signature { is_repeated: true, ..signature }
}

/// Signatures of all functions.
pub const FUNCTIONS: &[Signature] = &[
    of(
        "passes",
        F::Passes,
        &[A::Configuration, A::Tiles],
        "1 or 0",
        "1 if every limit held in every repeat",
    ),
    of(
        "holds",
        F::Holds,
        &[A::Configuration],
        "tiles",
        "largest number of tiles in the configuration's list up to which every step passes; 0 if \
        its first step fails",
    ),
    optional(
        2,
        of(
            "strain",
            F::Strain,
            &[A::Configuration, A::Tiles, A::Workload, A::Action],
            "share",
            "largest share of its limit that a measured value has, over all limits or those of a \
            workload or an action. Above 1 a limit is broken",
        ),
    ),
    of("score", F::Score, &[A::Configuration, A::Tiles], "tiles' worth", "application score"),
    of(
        "infrastructure",
        F::Infrastructure,
        &[A::Configuration, A::Tiles],
        "of the reference",
        "score of infrastructure operations: geometric mean of their rates by their references",
    ),
    of(
        "total",
        F::Total,
        &[A::Configuration, A::Tiles],
        "tiles' worth",
        "score with infrastructure operations, 0.8 x applications + 0.2 x operations; no value if \
        no operations ran",
    ),
    of(
        "throughput",
        F::Throughput,
        &[A::Configuration, A::Tiles, A::Workload],
        "the metric's unit",
        "the workload's metric, mean of the tiles",
    ),
    of(
        "throughput_total",
        F::ThroughputTotal,
        &[A::Configuration, A::Tiles, A::Workload],
        "the metric's unit",
        "the workload's metric, sum of the tiles",
    ),
    optional(
        1,
        of(
            "actions",
            F::Actions,
            &[A::Configuration, A::Tiles, A::Workload, A::Action],
            "1/min",
            "finished actions per minute and tile",
        ),
    ),
    optional(
        1,
        of(
            "actions_total",
            F::ActionsTotal,
            &[A::Configuration, A::Tiles, A::Workload, A::Action],
            "1/min",
            "finished actions per minute of all tiles",
        ),
    ),
    optional(
        1,
        of(
            "dropped",
            F::Dropped,
            &[A::Configuration, A::Tiles, A::Workload, A::Action],
            "share",
            "intended starts that users gave up, as a share of all",
        ),
    ),
    of(
        "mean",
        F::Mean,
        &[A::Configuration, A::Tiles, A::Workload, A::Action],
        "ms",
        "mean response time of an action over all tiles",
    ),
    of(
        "p50",
        F::P50,
        &[A::Configuration, A::Tiles, A::Workload, A::Action],
        "ms",
        "median of the response time of an action over all tiles",
    ),
    of(
        "p95",
        F::P95,
        &[A::Configuration, A::Tiles, A::Workload, A::Action],
        "ms",
        "95th percentile of the response time of an action over all tiles",
    ),
    of(
        "p99",
        F::P99,
        &[A::Configuration, A::Tiles, A::Workload, A::Action],
        "ms",
        "99th percentile of the response time of an action over all tiles",
    ),
    of(
        "p999",
        F::P999,
        &[A::Configuration, A::Tiles, A::Workload, A::Action],
        "ms",
        "99.9th percentile of the response time of an action over all tiles",
    ),
    of(
        "longest",
        F::Longest,
        &[A::Configuration, A::Tiles, A::Workload, A::Action],
        "ms",
        "longest response time of an action over all tiles",
    ),
    of(
        "failed",
        F::Failed,
        &[A::Configuration, A::Tiles],
        "share",
        "runs that broke a limit, as a share of all",
    ),
    of(
        "watts",
        F::Watts,
        &[A::Configuration, A::Tiles, A::Supply],
        "W",
        "mean watts of hosts, storage or both",
    ),
    of(
        "per_kilowatt",
        F::PerKilowatt,
        &[A::Configuration, A::Tiles, A::Supply],
        "tiles' worth/kW",
        "score by the watts of hosts, storage or both",
    ),
    of("iops", F::Iops, &[A::Configuration, A::Tiles], "1/s", "reads and writes per second"),
    of("read_iops", F::ReadIops, &[A::Configuration, A::Tiles], "1/s", "reads per second"),
    of("write_iops", F::WriteIops, &[A::Configuration, A::Tiles], "1/s", "writes per second"),
    of(
        "read_share",
        F::ReadShare,
        &[A::Configuration, A::Tiles],
        "share",
        "reads as a share of reads and writes",
    ),
    of("bytes", F::Bytes, &[A::Configuration, A::Tiles], "B/s", "bytes per second, both ways"),
    of("read_bytes", F::ReadBytes, &[A::Configuration, A::Tiles], "B/s", "bytes read per second"),
    of(
        "write_bytes",
        F::WriteBytes,
        &[A::Configuration, A::Tiles],
        "B/s",
        "bytes written per second",
    ),
    of(
        "latency_mean",
        F::LatencyMean,
        &[A::Configuration, A::Tiles, A::Direction],
        "ms",
        "mean service time of reads or writes",
    ),
    of(
        "latency_p50",
        F::LatencyP50,
        &[A::Configuration, A::Tiles, A::Direction],
        "ms",
        "median of the service time",
    ),
    of(
        "latency_p95",
        F::LatencyP95,
        &[A::Configuration, A::Tiles, A::Direction],
        "ms",
        "95th percentile of the service time",
    ),
    of(
        "latency_p99",
        F::LatencyP99,
        &[A::Configuration, A::Tiles, A::Direction],
        "ms",
        "99th percentile of the service time",
    ),
    of(
        "latency_p999",
        F::LatencyP999,
        &[A::Configuration, A::Tiles, A::Direction],
        "ms",
        "99.9th percentile of the service time",
    ),
    of(
        "outstanding",
        F::Outstanding,
        &[A::Configuration, A::Tiles],
        "I/Os",
        "mean number of I/Os in flight",
    ),
    optional(
        1,
        of(
            "cpu_per_io",
            F::CpuPerIo,
            &[A::Configuration, A::Tiles, A::Program],
            "us",
            "processor time of an I/O on real storage: of the load over its whole run, and of a \
            protocol's server and initiator in the measured time. With a program (`load`, `server` \
            or `initiator`), only the time of that program",
        ),
    ),
    of(
        "tier",
        F::Tier,
        &[A::Configuration, A::Tiles, A::Tier, A::TierFigure],
        "see below",
        "figures of a tier, or of memory that answers reads",
    ),
    of(
        "part",
        F::Part,
        &[A::Configuration, A::Tiles, A::Part, A::PartFigure],
        "see below",
        "figures of parts of the model; `*` in the name stands for any letters",
    ),
    of(
        "host",
        F::Host,
        &[A::Configuration, A::Tiles, A::HostFigure],
        "see below",
        "figures of the hosts' processors",
    ),
    of(
        "vm",
        F::Vm,
        &[A::Configuration, A::Tiles, A::Vm, A::VmFigure],
        "see below",
        "figures of virtual machines' processors; their names are workload/VM, with `*` for any \
        letters",
    ),
    of(
        "move_time",
        F::MoveTime,
        &[A::Configuration, A::Tiles, A::Vm],
        "s",
        "mean time of the migrations of virtual machines that were complete, from the first copied \
        byte until the virtual machine continued",
    ),
    of(
        "touched",
        F::Touched,
        &[A::Configuration, A::Tiles],
        "B",
        "bytes of different pages touched since the start, all tiles",
    ),
    optional(
        1,
        of(
            "working_set",
            F::WorkingSet,
            &[A::Configuration, A::Tiles, A::Number],
            "B",
            "smallest LRU memory of 64 KiB pages in which this share (default 0.95) of all tiles' \
            references hit, without the first reference to each page. From an hour of load on \
            storage that answers after 1 ms",
        ),
    ),
    of(
        "footprint",
        F::Footprint,
        &[A::Configuration, A::Tiles],
        "B",
        "bytes of virtual disks, as scaled",
    ),
    of("vms", F::Vms, &[A::Configuration, A::Tiles], "VMs", "virtual machines"),
    of(
        "events",
        F::Events,
        &[A::Configuration, A::Tiles],
        "events",
        "events the simulation handled",
    ),
    of(
        "argmax",
        F::Argmax,
        &[A::Configuration, A::PerTiles],
        "tiles",
        "number of tiles in the configuration's list for which a formula is largest; the formula \
        calls it tiles",
    ),
    of(
        "largest",
        F::Largest,
        &[A::Configuration, A::PerTiles],
        "the formula's",
        "largest value of a formula over the configuration's list of tiles",
    ),
    of(
        "smallest",
        F::Smallest,
        &[A::Configuration, A::PerTiles],
        "the formula's",
        "smallest value of a formula over the configuration's list of tiles",
    ),
    of("ratio", F::Ratio, &[A::Number, A::Number], "", "first divided by second"),
    of(
        "gain",
        F::Gain,
        &[A::Number, A::Number],
        "%",
        "by how much the first exceeds the second, as a percentage of the second",
    ),
    of("percent", F::Percent, &[A::Number], "%", "a share as a percentage"),
    of(
        "between",
        F::Between,
        &[A::Number, A::Number, A::Number],
        "1 or 0",
        "1 if the first is at least the second and at most the third",
    ),
    of("abs", F::Abs, &[A::Number], "", "without its sign"),
    of("round", F::Round, &[A::Number], "", "nearest whole number"),
    repeated(of("min", F::Min, &[A::Number], "", "smallest of any number of values")),
    repeated(of("max", F::Max, &[A::Number], "", "largest of any number of values")),
];
