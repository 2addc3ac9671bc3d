use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Rate, Ratio};

use super::{Calibrated, Frequency, HostPower, Hypervisor, Memory, StoragePower};

/// A model of storage, and of the hosts in front of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Array {
    /// Short name, for commands and results.
    pub name: String,
    /// Title in lists, one line.
    pub title: String,
    /// Source of the composition and its numbers, or the reason of our choice.
    pub source: String,
    /// Hosts that run the virtual machines. Without them every CPU step has a core of its own, and
    /// an I/O costs no CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// Limit of I/Os on their way from one host to one pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun_queue: Option<LunQueue>,
    /// Connection of each host with the storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Processors and memory of the storage itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// Bounds of background I/O at each disk of pools, tiers and hosts; absent: background and
    /// foreground are equals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// Acceleration tiers, the one nearest to the virtual machines first.
    #[serde(rename = "tier", default)]
    pub tiers: Vec<Tier>,
    /// Sets of disks, on which the virtual disks are.
    #[serde(rename = "pool", default)]
    pub pools: Vec<Pool>,
    /// Disks in the hosts that form one storage together; instead of pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Local>,
    /// Placement of virtual disks on pools: the first matching rule counts. Other disks go to the
    /// pools in turn, virtual machine by virtual machine.
    #[serde(rename = "place", default)]
    pub places: Vec<PlaceRule>,
    /// Disks by name, for pools and tiers, in addition to the shipped presets.
    #[serde(rename = "disk", default)]
    pub disks: IndexMap<String, Disk>,
    /// Power of the storage; if absent, no power is reported for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<StoragePower>,
    /// Error of a fitted array, from its calibration; absent if it was not calibrated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibrated>,
}

/// Hosts that run the virtual machines. VMs go to hosts in turn, and each tile begins one host
/// further than the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hosts {
    /// Number of hosts, at least 1.
    pub count: u32,
    /// Number of cores of each host, at least 1.
    pub cores: u32,
    /// Speed of a core: a CPU step takes its time divided by this (default 1), above 0.
    #[serde(default = "unity")]
    pub speed: f64,
    /// Work of two threads on a core together, as a multiple of one (default 1: no hyper-threading;
    /// 1.25 to 1.3 are usual), 1 to 2.
    #[serde(default = "unity")]
    pub threads: f64,
    /// Largest share of the cores for virtual machines (default 100 %), above 0.
    #[serde(default = "all")]
    pub capacity: Ratio,
    /// Longest time a virtual CPU runs while others are ready (default 50 ms).
    #[serde(default = "slice")]
    pub slice: Nanos,
    /// Order of virtual CPUs when cores are short (default shares).
    #[serde(default, skip_serializing_if = "is_default")]
    pub run_queue: RunQueue,
    /// CPU that the hypervisor spends on an I/O; nothing if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_cpu: Option<IoCpu>,
    /// Frequencies of the cores; if absent, only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// Speed of memory; if absent, it limits nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Costs of the hypervisor's version; if absent, no additional costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<Hypervisor>,
    /// Power of each host; if absent, no power is reported for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<HostPower>,
}

/// Order in which virtual CPUs with work get a host's cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunQueue {
    /// The VM first that used the least of its share, as hypervisors do; shares are numbers of
    /// virtual CPUs.
    #[default]
    Shares,
    /// First come first served, a slice each, of whichever VM.
    Turns,
}

/// CPU that a hypervisor spends on an I/O of a virtual machine, on one of the host's cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IoCpu {
    /// CPU time for each I/O up to 8 KiB.
    pub per_io: Nanos,
    /// CPU time for each further 8 KiB begun (default 0).
    #[serde(default)]
    pub per_8k: Nanos,
    /// CPU time for each frame that its data fill, with [`Link::frame`] (default 0).
    #[serde(default, skip_serializing_if = "is_default")]
    pub per_frame: Nanos,
    /// CPU time for each further copy of a write (default 0), see [`Local::copies`].
    #[serde(default)]
    pub per_copy: Nanos,
}

/// Limit of I/Os on their way from one host to one pool. Further I/Os wait, and are taken from VM
/// after VM in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LunQueue {
    /// Limit while one virtual disk uses the pool, at least 1.
    pub depth: u32,
    /// Limit while several virtual disks use the pool, at least 1 and at most `depth` (default
    /// `depth`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<u32>,
    /// True if there is one queue for all hosts (a limit in the array) instead of one per host.
    #[serde(default)]
    pub in_array: bool,
}

/// Connection with a rate in each direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// Shipped kind: fc-4g, fc-8g, fc-16g, ethernet-1g, ethernet-10g, ethernet-25g, nvme-pcie3x4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Payload of one connection per second and direction; overrides that of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Bytes>,
    /// Time of a message in addition to its bytes, in each direction; overrides that of the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Nanos>,
    /// Most that a frame carries; I/Os on a connection send theirs in turn. Default by kind:
    /// 1500 B for Ethernet (its MTU, with the headers of IP and TCP; jumbo frames have 9000 B),
    /// 2112 B for Fibre Channel (FC-FS), 256 B for NVMe. Needs a kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Bytes>,
    /// Bytes of the protocol before the data of each I/O (default 0, at most 64 KiB): 48 for
    /// iSCSI (RFC 7143), about 128 for NFS (RFC 1813).
    #[serde(default, skip_serializing_if = "is_default")]
    pub header: Bytes,
    /// Number of connections, at least 1 (default 1), used in turn by virtual disk.
    #[serde(default = "one")]
    pub count: u32,
    /// True if `count` is for all hosts together instead of for each host.
    #[serde(default)]
    pub shared: bool,
}

/// Processors and memory of the storage itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Controller {
    /// Number of processors that work on I/Os; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// Processor time for each I/O (default 0).
    #[serde(default)]
    pub per_io: Nanos,
    /// Memory that answers writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_memory: Option<WriteMemory>,
    /// Memory that answers reads of recently used pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_memory: Option<ReadMemory>,
    /// True if memory is asked before the array's tiers (as MCx does), false if after them (as
    /// FLARE does, the default).
    #[serde(default)]
    pub memory_first: bool,
    /// Whether the array copies for deployments and migrations itself (full copy, XCOPY), so that
    /// no data of theirs cross links and an I/O costs a host `per-io` alone (default no).
    #[serde(default, skip_serializing_if = "is_default")]
    pub full_copy: bool,
}

/// Bounds of background I/O at a disk: destaging, a tier's clean-up, copies of deployments and
/// migrations, most urgent first. It waits in front of the disk; foreground never does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Background {
    /// I/Os of each of the three classes that the disk always takes (default 1), at least 1.
    #[serde(default = "one")]
    pub least: u32,
    /// I/Os of all background classes together at most (default 10), `least` to 10,000, while
    /// foreground takes up to half of `slow`. 10 is `zfs_vdev_async_write_max_active` of OpenZFS.
    #[serde(default = "ten")]
    pub most: u32,
    /// Mean response time of foreground at the disk, above 0, from which on only `least` are
    /// taken.
    pub slow: Nanos,
}

/// Memory with a battery that answers writes and destages them later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WriteMemory {
    /// Size of the memory; when mirrored, half of it holds data.
    pub size: Bytes,
    /// True if a second controller holds a copy (default yes).
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
    /// Time to answer a write (default 300 us).
    #[serde(default = "hit")]
    pub hit: Nanos,
    /// Most writes to the disks under way (default 64).
    #[serde(default = "sixty_four")]
    pub flush_depth: u32,
}

/// Memory that answers reads of recently read or written pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReadMemory {
    /// Size of the memory.
    pub size: Bytes,
    /// Size of a page (default 64 KiB): a power of two from 4 KiB to 1 MiB.
    #[serde(default = "page_64k")]
    pub page: Bytes,
    /// Time to answer a read (default 300 us).
    #[serde(default = "hit")]
    pub hit: Nanos,
}

/// An acceleration tier in front of the pools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tier {
    /// Name, unique in the array.
    pub name: String,
    /// Place of the tier: in each host, or in the array (default).
    #[serde(default)]
    pub at: TierPlace,
    /// Room for data, after mirroring; for a host's tier, in each host.
    pub size: Bytes,
    /// Size of a page (default 64 KiB): a power of two from 4 KiB to 1 MiB.
    #[serde(default = "page_64k")]
    pub page: Bytes,
    /// Eviction policy: lru (default), fifo, clock, 2q, arc, s3fifo, sieve, lirs, w-tinylfu.
    #[serde(default = "lru")]
    pub policy: String,
    /// Handling of writes (default back).
    #[serde(default)]
    pub write: WriteMode,
    /// Place in which writes wait for the storage (default paged: in their pages).
    #[serde(default, skip_serializing_if = "TierShape::is_paged")]
    pub shape: TierShape,
    /// Share of the size for the log of a tier that has one (default 10 %), 1 to 90 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Ratio>,
    /// Number of the access at which a page is admitted (default 1, the first), 1 to 255.
    #[serde(default = "first")]
    pub admit_on: u8,
    /// Occupancy below which every page is admitted at its first access (default 0 %).
    #[serde(default)]
    pub admit_all_below: Ratio,
    /// Length of a run of adjacent accesses, in bytes, from which on it admits nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential_cutoff: Option<Bytes>,
    /// Dirty share at which clean-up starts (default 50 %).
    #[serde(default = "half")]
    pub dirty_high: Ratio,
    /// Dirty share at which clean-up ends (default 45 %).
    #[serde(default = "forty_five")]
    pub dirty_low: Ratio,
    /// Largest share of the tier for one virtual machine (default 100 %).
    #[serde(default = "all")]
    pub share_max: Ratio,
    /// Name of the disk that the tier consists of, or `memory`.
    pub disk: String,
    /// Number of disks (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Combination of the disks (default raid0).
    #[serde(default)]
    pub raid: Raid,
    /// Number of copies of written data on other hosts before a write is answered: 0 (default) to
    /// 2. For host tiers that write back.
    #[serde(default)]
    pub replicas: u32,
}

/// Place of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TierPlace {
    /// In the array, for all hosts.
    #[default]
    Array,
    /// In each host, for its virtual machines.
    Host,
}

/// Place in which writes of a write-back tier wait for the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TierShape {
    /// In their pages, as published systems have it.
    #[default]
    Paged,
    /// In a log, as `tilemark tier` serves it: each flush ends a batch that goes to the storage
    /// together.
    Logged,
}

impl TierShape {
    /// True for the shape of published systems.
    pub fn is_paged(&self) -> bool {
        *self == Self::Paged
    }
}

/// Handling of writes by a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMode {
    /// A write is answered when tier and storage have it.
    Through,
    /// A write is answered when the tier has it.
    #[default]
    Back,
    /// Writes go to the storage only; resident pages are updated.
    Around,
    /// Like back, but reads never admit a page.
    Only,
}

/// Combination of disks.
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
    /// Name of a shipped disk, or of one in `[disk.NAME]`.
    pub disk: String,
    /// Number of disks in a set, at least 1.
    pub count: u32,
    /// Combination of the disks (default raid0).
    #[serde(default)]
    pub raid: Raid,
    /// Number of sets of `count` disks, over which data is striped (default 1).
    #[serde(default = "one")]
    pub sets: u32,
    /// Contiguous bytes on one disk (default 64 KiB).
    #[serde(default = "page_64k")]
    pub element: Bytes,
    /// True if every tile has such a pool of its own.
    #[serde(default)]
    pub per_tile: bool,
    /// True if the tiers of the array cache this pool (default yes).
    #[serde(default = "yes")]
    pub tiered: bool,
}

/// Disks in the hosts that form one storage together, as in hyper-converged systems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Local {
    /// Number of copies of all data, on different hosts: 1 to the number of hosts (vSAN's "failures
    /// to tolerate" plus one).
    pub copies: u32,
    /// Number of groups in each host; a group is one cache disk and its capacity disks (default 1).
    #[serde(default = "one")]
    pub groups: u32,
    /// Name of the cache disk of a group.
    pub cache: String,
    /// Share of the cache disk that caches reads; the rest buffers writes (default 70 %).
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

/// Rule for placing virtual disks on a pool. Every given condition must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlaceRule {
    /// Name of the pool.
    pub pool: String,
    /// Tiles, counted from 1, whose number divided by the second value leaves the first: `[1, 2]`
    /// are odd tiles, `[0, 2]` even ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<[u32; 2]>,
    /// Name of a workload of the tile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Name of a virtual disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Role of a virtual disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<crate::workload::Role>,
}

/// A disk: a shipped one with changes, or one with its own numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Disk {
    /// A hard disk.
    Hdd {
        /// Shipped disk that it is based on: hdd-7200, hdd-10k, hdd-15k.
        like: String,
        /// Usable size of the disk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity: Option<Bytes>,
        /// Number of requests that it chooses among.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<u32>,
        /// Bytes per second at the outer and at the inner edge.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rates: Option<[Bytes; 2]>,
    },
    /// A flash disk.
    Ssd {
        /// Shipped disk that it is based on: ssd-sata-enterprise, ssd-nvme-mqsim,
        /// ssd-nvme-consumer.
        like: String,
        /// Usable size of the disk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity: Option<Bytes>,
        /// Number of dies, which work in parallel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dies: Option<u32>,
        /// Bytes read or programmed at once.
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
        /// Spare flash as a share of the usable size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spare: Option<Ratio>,
        /// Protected memory for writes, in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer: Option<Bytes>,
        /// Controller time for a command; commands are served one after another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<Nanos>,
        /// Bytes per second through the interface.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<Bytes>,
        /// Latency that does not occupy the controller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latency: Option<Nanos>,
    },
    /// Equal servers behind one queue: the details that a fit can determine of a device.
    Servers {
        /// Usable size of the disk.
        capacity: Bytes,
        /// Number of requests served at the same time, at least 1.
        servers: u32,
        /// Fixed time of a read.
        read: Nanos,
        /// Fixed time of a write.
        write: Nanos,
        /// Bytes per second of all servers together, transferred one request after another.
        rate: Bytes,
        /// Bytes per second for writes, if different (default `rate`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        write_rate: Option<Bytes>,
        /// Latency that occupies nothing (default 0).
        #[serde(default)]
        latency: Nanos,
        /// Bytes that it takes in at once. Further requests wait, and come in by ascending address,
        /// then again from the beginning. Absent: every request comes in as it arrives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Bytes>,
        /// Variation of the speed; absent: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variation: Option<Variation>,
    },
    /// A table of measured latencies, without a model of the inside.
    Table {
        /// Usable size of the disk.
        capacity: Bytes,
        /// Upper ends of the shares of all answers that the entries of the loops' lists stand for:
        /// rising from above 0, the last one 1.
        shares: Vec<f64>,
        /// Measured closed loops, at least one.
        #[serde(rename = "loop")]
        loops: Vec<TableLoop>,
    },
}

/// Latencies of a closed loop. Between loops, latencies are interpolated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TableLoop {
    /// Share of reads in the loop's I/Os.
    pub reads: Ratio,
    /// Size of each I/O, in bytes.
    pub block: Bytes,
    /// Number of outstanding I/Os, at least 1.
    pub depth: u32,
    /// Latencies of reads: for each share the mean of the answers in it, ascending. Absent if the
    /// loop does not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<Nanos>,
    /// Latencies of writes: for each share the mean of the answers in it, ascending. Absent if the
    /// loop does not write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<Nanos>,
}

/// Measured variation of a device's speed over time. Tables hold quantiles at equal distances, from
/// the least to the most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variation {
    /// Duration of a pace, as a multiple of that pace; above 0.
    pub every: Nanos,
    /// Quantiles of the pace, the factor of all times. Each is above 0; 1 if empty.
    #[serde(default)]
    pub pace: Vec<f64>,
    /// Rate of stalls, in which nothing moves at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Rate>,
    /// Quantiles of the length of a stall; empty means no stalls.
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
