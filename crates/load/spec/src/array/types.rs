use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Rate, Ratio};

use super::{
    Calibrated, Drs, Frequency, HostPower, Hypervisor, Memory, Migration, StoragePower,
    ThreadQueues,
};

/// A model of storage, and of the hosts in front of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Array {
    /// Short name, for commands and results.
    pub name: String,
    /// Title in lists, one line.
    pub title: String,
    /// Source of the composition and its numbers, or the reason for our choice.
    pub source: String,
    /// Hosts that run the virtual machines. If absent, every CPU step has its own core, and an I/O
    /// costs no CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// Limit of outstanding I/Os from one host to one pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun_queue: Option<LunQueue>,
    /// Connection of each host to the storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Processors and memory of the storage itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// Limits on background I/O at each disk of pools, tiers and hosts. If absent, background and
    /// foreground have equal priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// Acceleration tiers, starting with the one nearest to the virtual machines.
    #[serde(rename = "tier", default)]
    pub tiers: Vec<Tier>,
    /// Sets of disks that hold the virtual disks.
    #[serde(rename = "pool", default)]
    pub pools: Vec<Pool>,
    /// Disks in the hosts that together form one storage. They replace the pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Local>,
    /// Placement of virtual disks on pools: the first matching rule applies. Disks without a rule
    /// go to the pools in turn, virtual machine by virtual machine.
    #[serde(rename = "place", default)]
    pub places: Vec<PlaceRule>,
    /// Disks by name, for pools and tiers, in addition to the shipped disks.
    #[serde(rename = "disk", default)]
    pub disks: IndexMap<String, Disk>,
    /// Power of the storage; if absent, its power is not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<StoragePower>,
    /// Error of a fitted array, from its calibration; absent if the array was not calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibrated>,
}

/// Hosts that run the virtual machines. VMs go to hosts in turn, and each tile starts one host
/// later than the previous tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hosts {
    /// Number of hosts, at least 1.
    pub count: u32,
    /// Number of cores of each host, at least 1.
    pub cores: u32,
    /// Relative speed of a core: the time of a CPU step is divided by it (default 1), above 0.
    #[serde(default = "unity")]
    pub speed: f64,
    /// Throughput of two threads on one core, as a multiple of one thread (default 1: no
    /// hyper-threading; 1.25 to 1.3 are usual), 1 to 2.
    #[serde(default = "unity")]
    pub threads: f64,
    /// Maximum share of the cores for virtual machines (default 100 %), above 0.
    #[serde(default = "all")]
    pub capacity: Ratio,
    /// Maximum time for which a virtual CPU runs while others are ready (default 50 ms).
    #[serde(default = "slice")]
    pub slice: Nanos,
    /// Scheduling order of virtual CPUs when cores are scarce (default shares).
    #[serde(default, skip_serializing_if = "is_default")]
    pub run_queue: RunQueue,
    /// A run queue for each thread, as in ESXi. If absent, one queue serves all threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_queues: Option<ThreadQueues>,
    /// CPU time that the hypervisor spends on an I/O. If absent, it spends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_cpu: Option<IoCpu>,
    /// Frequencies of the cores. If absent, the frequency is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// Speed of memory. If absent, memory is never the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Costs of the hypervisor's version. If absent, there are no additional costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<Hypervisor>,
    /// Memory that live migrations copy. If absent, the defaults apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<Migration>,
    /// Balancing of the hosts' load by moves of virtual machines. If absent, only events move them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drs: Option<Drs>,
    /// Power of each host. If absent, the power of hosts is not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<HostPower>,
}

/// Scheduling order of ready virtual CPUs on a host's cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunQueue {
    /// The VM that has used the least of its share goes first, as in real hypervisors. Shares are
    /// proportional to the number of virtual CPUs.
    #[default]
    Shares,
    /// First come, first served, with one slice each, regardless of the VM.
    Turns,
}

/// CPU time that a hypervisor spends on an I/O of a virtual machine, on one of the host's cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IoCpu {
    /// CPU time for each I/O up to 8 KiB.
    pub per_io: Nanos,
    /// CPU time for each further started 8 KiB (default 0).
    #[serde(default)]
    pub per_8k: Nanos,
    /// CPU time for each frame that the data fill, with [`Link::frame`] (default 0).
    #[serde(default, skip_serializing_if = "is_default")]
    pub per_frame: Nanos,
    /// CPU time for each additional copy of a write (default 0), see [`Local::copies`].
    #[serde(default)]
    pub per_copy: Nanos,
}

/// Limit of outstanding I/Os from one host to one pool. Further I/Os wait, and are taken from the
/// VMs in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LunQueue {
    /// Limit while a single virtual disk uses the pool, at least 1.
    pub depth: u32,
    /// Limit while several virtual disks use the pool, at least 1 and at most `depth` (default
    /// `depth`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<u32>,
    /// True for one queue shared by all hosts (a limit in the array), false for one per host.
    #[serde(default)]
    pub in_array: bool,
}

/// Connection with a limited rate in each direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// Shipped kind of link: fc-4g, fc-8g, fc-16g, ethernet-1g, ethernet-10g, ethernet-25g,
    /// nvme-pcie3x4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Payload of one connection per second and direction; overrides the rate of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Bytes>,
    /// Latency of a message without the time for its bytes, in each direction; overrides the
    /// latency of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Nanos>,
    /// Maximum payload of a frame. I/Os on a connection send their frames in turn. Default by kind:
    /// 1500 B for Ethernet (its MTU, with the headers of IP and TCP; jumbo frames have 9000 B),
    /// 2112 B for Fibre Channel (FC-FS), 256 B for NVMe. Needs a kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Bytes>,
    /// Size of the protocol's headers for each I/O (default 0, at most 64 KiB): 48 B for iSCSI (RFC
    /// 7143), about 128 B for NFS (RFC 1813).
    #[serde(default, skip_serializing_if = "is_default")]
    pub header: Bytes,
    /// Number of connections, at least 1 (default 1). Virtual disks are assigned to them in turn.
    #[serde(default = "one")]
    pub count: u32,
    /// True if all hosts share `count` connections, false if each host has that many.
    #[serde(default)]
    pub shared: bool,
}

/// Processors and memory of the storage itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Controller {
    /// Number of processors for I/Os. If absent, it is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// Processor time of each I/O (default 0).
    #[serde(default)]
    pub per_io: Nanos,
    /// Memory that acknowledges writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_memory: Option<WriteMemory>,
    /// Memory that serves reads of recently used pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_memory: Option<ReadMemory>,
    /// True if memory is looked up before the array's tiers (as in MCx), false if after them (as in
    /// FLARE, the default).
    #[serde(default)]
    pub memory_first: bool,
    /// True if memory also holds data of the array's tiers (as in FLARE), default no. Tiers are
    /// looked up first and see every I/O, but their own reads and writes pass through memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory_for_tiers: bool,
    /// True if the array itself copies for deployments and migrations (full copy, XCOPY), default
    /// no. Then their data do not cross the links, and each I/O costs a host only `per-io`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub full_copy: bool,
}

/// Limits on background I/O at a disk. Classes, most urgent first: destaging, clean-up of a tier,
/// copies of deployments and migrations. Only background I/O waits in front of the disk, never
/// foreground I/O.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Background {
    /// Number of I/Os of each of the three classes that the disk always accepts (default 1), at
    /// least 1.
    #[serde(default = "one")]
    pub least: u32,
    /// Maximum number of I/Os of all background classes together (default 10), from `least` to
    /// 10,000, while the foreground response time is up to half of `slow`. 10 is
    /// `zfs_vdev_async_write_max_active` of OpenZFS.
    #[serde(default = "ten")]
    pub most: u32,
    /// Mean foreground response time at the disk, above 0. From this value up, only `least` I/Os of
    /// each class are accepted.
    pub slow: Nanos,
}

/// Battery-backed memory that acknowledges writes and destages them later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WriteMemory {
    /// Size of the memory. If mirrored, half of it holds data.
    pub size: Bytes,
    /// True if a second controller holds a copy of the data (default yes).
    #[serde(default = "yes")]
    pub mirrored: bool,
    /// Size of a page (default 8 KiB): a power of two from 512 B to 64 KiB.
    #[serde(default = "page_8k")]
    pub page: Bytes,
    /// Share of dirty pages at which destaging ends (default 60 %).
    #[serde(default = "sixty")]
    pub low: Ratio,
    /// Share of dirty pages at which destaging starts (default 80 %).
    #[serde(default = "eighty")]
    pub high: Ratio,
    /// Response time of a write (default 300 us).
    #[serde(default = "hit")]
    pub hit: Nanos,
    /// Maximum number of outstanding writes to the disks (default 64).
    #[serde(default = "sixty_four")]
    pub flush_depth: u32,
}

/// Memory that serves reads of recently read or written pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReadMemory {
    /// Size of the memory.
    pub size: Bytes,
    /// Size of a page (default 64 KiB): a power of two from 4 KiB to 1 MiB.
    #[serde(default = "page_64k")]
    pub page: Bytes,
    /// Response time of a read (default 300 us).
    #[serde(default = "hit")]
    pub hit: Nanos,
}

/// An acceleration tier in front of the pools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tier {
    /// Name, unique in the array.
    pub name: String,
    /// Location of the tier: in each host, or in the array (default).
    #[serde(default)]
    pub at: TierPlace,
    /// Capacity for data, after mirroring; for a host tier, per host.
    pub size: Bytes,
    /// Size of a page (default 64 KiB): a power of two from 4 KiB to 1 MiB.
    #[serde(default = "page_64k")]
    pub page: Bytes,
    /// Eviction policy: lru (default), fifo, clock, 2q, arc, s3fifo, sieve, lirs, w-tinylfu.
    #[serde(default = "lru")]
    pub policy: String,
    /// Write mode (default back).
    #[serde(default)]
    pub write: WriteMode,
    /// Place where dirty data waits for the storage (default paged: in its pages).
    #[serde(default, skip_serializing_if = "TierShape::is_paged")]
    pub shape: TierShape,
    /// Share of a logged tier's size that is used for the log (default 10 %), 1 to 90 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Ratio>,
    /// Number of accesses to a page until it is admitted (default 1: at the first), 1 to 255.
    #[serde(default = "first")]
    pub admit_on: u8,
    /// Occupancy below which every page is admitted at its first access (default 0 %).
    #[serde(default)]
    pub admit_all_below: Ratio,
    /// Length of a sequential run, in bytes, at which further accesses of the run are no longer
    /// admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential_cutoff: Option<Bytes>,
    /// Dirty share at which clean-up starts (default 50 %).
    #[serde(default = "half")]
    pub dirty_high: Ratio,
    /// Dirty share at which clean-up ends (default 45 %).
    #[serde(default = "forty_five")]
    pub dirty_low: Ratio,
    /// Maximum share of the tier for one virtual machine (default 100 %).
    #[serde(default = "all")]
    pub share_max: Ratio,
    /// Name of the disks that form the tier, or `memory`.
    pub disk: String,
    /// Number of disks (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// RAID level of the disks (default raid0).
    #[serde(default)]
    pub raid: Raid,
    /// Number of copies of written data that are made on other hosts before a write is acknowledged
    /// (default 0), at most 2. Only for host tiers that write back.
    #[serde(default)]
    pub replicas: u32,
    /// True if hosts read pages from each other's tiers, as with replicas (default no). Then a
    /// virtual machine that moved reads its former pages over the network. Only for host tiers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clustered: bool,
    /// Fault domain of each host, by name, in the order of the hosts (default: all apart). Copies
    /// are placed in another domain than the writer's, and in different ones. Only with replicas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
}

impl Tier {
    /// Returns true if the tier is one over all hosts.
    pub fn is_clustered(&self) -> bool {
        self.clustered || self.replicas > 0
    }
}

/// Location of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TierPlace {
    /// In the array, shared by all hosts.
    #[default]
    Array,
    /// In each host, for its virtual machines.
    Host,
}

/// Place where dirty data of a write-back tier waits for the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TierShape {
    /// In its pages, as in published systems.
    #[default]
    Paged,
    /// In a log, as in `tilemark tier`: each flush ends a batch, which is destaged as a whole.
    Logged,
}

impl TierShape {
    /// Returns true for the shape of published systems.
    pub fn is_paged(&self) -> bool {
        *self == Self::Paged
    }
}

/// Write mode of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMode {
    /// A write is acknowledged when both the tier and the storage have it.
    Through,
    /// A write is acknowledged when the tier has it.
    #[default]
    Back,
    /// Writes only go to the storage. Resident pages are updated.
    Around,
    /// Like back, but reads never admit a page.
    Only,
}

/// RAID level of a set of disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Raid {
    /// Striped over all disks.
    #[default]
    Raid0,
    /// Mirrored on all disks.
    Raid1,
    /// Striped over mirrored pairs.
    Raid10,
    /// Striped with one parity.
    Raid5,
    /// Striped with two parities.
    Raid6,
}

/// A set of disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pool {
    /// Name, unique in the array.
    pub name: String,
    /// Name of a shipped disk, or of a disk in `[disk.NAME]`.
    pub disk: String,
    /// Number of disks in a set, at least 1.
    pub count: u32,
    /// RAID level of the disks (default raid0).
    #[serde(default)]
    pub raid: Raid,
    /// Number of sets of `count` disks (default 1). Data is striped over all sets.
    #[serde(default = "one")]
    pub sets: u32,
    /// Number of contiguous bytes on one disk (default 64 KiB).
    #[serde(default = "page_64k")]
    pub element: Bytes,
    /// True if every tile has its own pool of this kind.
    #[serde(default)]
    pub per_tile: bool,
    /// True if the tiers of the array cache this pool (default yes).
    #[serde(default = "yes")]
    pub tiered: bool,
}

/// Disks in the hosts that together form one storage, as in hyper-converged systems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Local {
    /// Number of copies of all data, on different hosts: 1 to the number of hosts (vSAN's "failures
    /// to tolerate" plus one).
    pub copies: u32,
    /// Number of groups in each host (default 1). A group is one cache disk and its capacity disks.
    #[serde(default = "one")]
    pub groups: u32,
    /// Name of the cache disk of a group.
    pub cache: String,
    /// Share of the cache disk for the read cache (default 70 %). The rest is the write buffer.
    #[serde(default = "seventy")]
    pub read_share: Ratio,
    /// Size of a page of the read cache (default 1 MiB).
    #[serde(default = "page_1m")]
    pub page: Bytes,
    /// Name of the capacity disks of a group.
    pub disk: String,
    /// Number of capacity disks in a group, at least 1.
    pub count: u32,
}

/// Rule that places virtual disks on a pool. All given conditions must be met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlaceRule {
    /// Name of the pool.
    pub pool: String,
    /// Condition on the tile's number, counted from 1: divided by the second value, it leaves the
    /// first as the remainder. `[1, 2]` are odd tiles, `[0, 2]` even ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<[u32; 2]>,
    /// Name of a workload in the tile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Name of a virtual disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Role of a virtual disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<crate::workload::Role>,
}

/// Order in which a hard disk serves queued requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiskOrder {
    /// First come, first served.
    Arrival,
    /// Nearest cylinder first (SSTF), as in drives until about 2001.
    Seek,
    /// Shortest seek and rotation together (SPTF).
    Positioning,
}

/// A disk: a shipped disk with changes, or one with its own numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Disk {
    /// A hard disk.
    Hdd {
        /// Shipped disk on which it is based: hdd-7200, hdd-10k, hdd-15k.
        like: String,
        /// Usable size of the disk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity: Option<Bytes>,
        /// Number of queued requests among which it chooses the next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<u32>,
        /// Order in which it serves queued requests (default positioning).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        order: Option<DiskOrder>,
        /// Age at which a queued request is served next, whatever its distance.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        age_max: Option<Nanos>,
        /// Transfer rates at the outer and the inner edge, in bytes per second.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rates: Option<[Bytes; 2]>,
    },
    /// A flash disk.
    Ssd {
        /// Shipped disk on which it is based: ssd-sata-enterprise, ssd-nvme-mqsim,
        /// ssd-nvme-consumer.
        like: String,
        /// Usable size of the disk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity: Option<Bytes>,
        /// Number of dies that work in parallel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dies: Option<u32>,
        /// Number of bytes that are read or programmed at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        page: Option<Bytes>,
        /// Time to read a page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read: Option<Nanos>,
        /// Time to program a page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<Nanos>,
        /// Time to erase a block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        erase: Option<Nanos>,
        /// Spare flash (over-provisioning), as a share of the usable size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spare: Option<Ratio>,
        /// Power-loss-protected write buffer, in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer: Option<Bytes>,
        /// Controller time per command. Commands are processed one after another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<Nanos>,
        /// Transfer rate of the interface, in bytes per second.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<Bytes>,
        /// Additional latency that does not occupy the controller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latency: Option<Nanos>,
    },
    /// Equal servers behind one queue. These are the properties that a fit can determine for a
    /// device.
    Servers {
        /// Usable size of the disk.
        capacity: Bytes,
        /// Number of requests served concurrently, at least 1.
        servers: u32,
        /// Fixed service time of a read.
        read: Nanos,
        /// Fixed service time of a write.
        write: Nanos,
        /// Transfer rate of all servers together, in bytes per second. Requests are transferred one
        /// after another.
        rate: Bytes,
        /// Transfer rate of writes, in bytes per second (default `rate`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        write_rate: Option<Bytes>,
        /// Additional latency that does not occupy a server (default 0).
        #[serde(default)]
        latency: Nanos,
        /// Number of bytes that the device accepts at once. Further requests wait, and enter in
        /// order of ascending address, then again from the lowest address. Absent: every request
        /// enters when it arrives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Bytes>,
        /// Variation of the speed over time. If absent, the speed is constant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variation: Option<Variation>,
    },
    /// A table of measured latencies, without an internal model.
    Table {
        /// Usable size of the disk.
        capacity: Bytes,
        /// Cumulative shares of all answers at which the bins of the loops' lists end: ascending,
        /// above 0, the last one 1.
        shares: Vec<f64>,
        /// Measured closed loops, at least one. Between them, latencies are interpolated.
        #[serde(rename = "loop")]
        loops: Vec<TableLoop>,
    },
}

/// Latencies of one closed loop. Between loops, latencies are interpolated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TableLoop {
    /// Share of reads in the loop's I/Os.
    pub reads: Ratio,
    /// Size of each I/O, in bytes.
    pub block: Bytes,
    /// Number of outstanding I/Os, at least 1.
    pub depth: u32,
    /// Mean read latency in each bin of `shares`, ascending. Absent if the loop does not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<Nanos>,
    /// Mean write latency in each bin of `shares`, ascending. Absent if the loop does not write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<Nanos>,
}

/// Measured variation of a device's speed over time. Each table holds quantiles at equal distances,
/// from the minimum to the maximum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variation {
    /// Duration of a pace, as a multiple of the pace; above 0.
    pub every: Nanos,
    /// Quantiles of the pace, by which all times are multiplied. Each is above 0; empty means 1.
    #[serde(default)]
    pub pace: Vec<f64>,
    /// Rate of stalls, during which the device makes no progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Rate>,
    /// Quantiles of the duration of a stall; empty means no stalls.
    #[serde(default)]
    pub stall: Vec<Nanos>,
}

const fn one() -> u32 {
    1
}

const fn first() -> u8 {
    1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const fn unity() -> f64 {
    1.0
}

const fn yes() -> bool {
    true
}

const fn ten() -> u32 {
    10
}

const fn sixty_four() -> u32 {
    64
}

const fn slice() -> Nanos {
    Nanos::from_millis(50)
}

const fn hit() -> Nanos {
    Nanos::from_micros(300)
}

const fn page_8k() -> Bytes {
    Bytes::new(8 << 10)
}

const fn page_64k() -> Bytes {
    Bytes::new(64 << 10)
}

const fn page_1m() -> Bytes {
    Bytes::MIB
}

fn lru() -> String {
    "lru".to_owned()
}

fn percent(percent: f64) -> Ratio {
    Ratio::new(percent / 100.0)
}

fn all() -> Ratio {
    Ratio::ONE
}

fn half() -> Ratio {
    percent(50.0)
}

fn forty_five() -> Ratio {
    percent(45.0)
}

fn sixty() -> Ratio {
    percent(60.0)
}

fn seventy() -> Ratio {
    percent(70.0)
}

fn eighty() -> Ratio {
    percent(80.0)
}
