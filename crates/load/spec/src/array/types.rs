use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos, Rate, Ratio};

use super::{Calibrated, Frequency, HostPower, Hypervisor, Memory, StoragePower};

/// A model of storage, and of the hosts in front of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Array {
    /// Short name.
    pub name: String,
    /// One line a person reads in lists.
    pub title: String,
    /// Where the composition and its numbers come from, or that they are our choice and why.
    pub source: String,
    /// The hosts that run the virtual machines; without them every CPU step has a core of its
    /// own and an I/O costs no CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// The limit of I/Os on their way from one host to one pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun_queue: Option<LunQueue>,
    /// What connects each host with the storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The storage's own processors and memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// Bounds of background I/O at each disk of pools, tiers and hosts; absent: background and
    /// foreground are equals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// Acceleration tiers, nearest to the virtual machines first.
    #[serde(rename = "tier", default)]
    pub tiers: Vec<Tier>,
    /// Sets of disks. Virtual disks lie on them.
    #[serde(rename = "pool", default)]
    pub pools: Vec<Pool>,
    /// Disks in the hosts that make one storage together; instead of pools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Local>,
    /// Which virtual disks lie on which pool: the first rule that fits. What no rule names
    /// goes to the pools in turn, virtual machine by virtual machine.
    #[serde(rename = "place", default)]
    pub places: Vec<PlaceRule>,
    /// Disks by name, for pools and tiers; beside the shipped presets.
    #[serde(rename = "disk", default)]
    pub disks: IndexMap<String, Disk>,
    /// Watts of the storage; nothing is told of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<StoragePower>,
    /// How far a fitted array is off, from calibrating it; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibrated>,
}

/// Hosts that run the virtual machines; machines go to hosts in turn, and each tile begins one
/// host further than the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hosts {
    /// How many, at least 1.
    pub count: u32,
    /// Cores of each, at least 1.
    pub cores: u32,
    /// Speed of a core: a CPU step takes its time divided by this (default 1), above 0.
    #[serde(default = "unity")]
    pub speed: f64,
    /// What two threads on a core do together, as a multiple of one (default 1: no
    /// hyper-threading; 1.25 to 1.3 are usual), 1 to 2.
    #[serde(default = "unity")]
    pub threads: f64,
    /// Share of the cores that virtual machines get at most (default 100 %), above 0.
    #[serde(default = "all")]
    pub capacity: Ratio,
    /// Longest time a virtual CPU runs while others are ready (default 50 ms).
    #[serde(default = "slice")]
    pub slice: Nanos,
    /// Whose virtual CPUs go first when cores are short (default shares).
    #[serde(default, skip_serializing_if = "is_default")]
    pub run_queue: RunQueue,
    /// CPU that the hypervisor spends on an I/O; nothing if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_cpu: Option<IoCpu>,
    /// Frequencies of the cores; one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// Speed of memory; as fast as it takes if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// What the version of the hypervisor costs; nothing more if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<Hypervisor>,
    /// Watts of each host; nothing is told of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<HostPower>,
}

/// In which order virtual CPUs with work get a host's cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunQueue {
    /// The machine first that used least of its share, as hypervisors do; shares are numbers of
    /// virtual CPUs.
    #[default]
    Shares,
    /// First come first served, a slice each, whoever they belong to.
    Turns,
}

/// CPU that a hypervisor spends on an I/O of a virtual machine, on one of the host's cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IoCpu {
    /// For each I/O up to 8 KiB.
    pub per_io: Nanos,
    /// For each further 8 KiB begun (default 0).
    #[serde(default)]
    pub per_8k: Nanos,
    /// For each frame that its data fill, with [`Link::frame`] (default 0).
    #[serde(default, skip_serializing_if = "is_default")]
    pub per_frame: Nanos,
    /// For each further copy of a write (default 0), see [`Local::copies`].
    #[serde(default)]
    pub per_copy: Nanos,
}

/// The limit of I/Os on their way from one host to one pool; what is beyond waits, machine by
/// machine in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LunQueue {
    /// While one virtual disk uses it, at least 1.
    pub depth: u32,
    /// While several do, at least 1 and at most `depth` (default `depth`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<u32>,
    /// Whether it is one queue for all hosts (a limit in the array) instead of one per host.
    #[serde(default)]
    pub in_array: bool,
}

/// A connection, each way at its rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// A shipped kind: fc-4g, fc-8g, fc-16g, ethernet-1g, ethernet-10g, ethernet-25g,
    /// nvme-pcie3x4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Payload of one connection per second and direction; overrides the kind's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Bytes>,
    /// Time a message takes beside its bytes, each way; overrides the kind's.
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
    /// Connections, at least 1 (default 1), used in turn by virtual disk.
    #[serde(default = "one")]
    pub count: u32,
    /// Whether `count` are there for all hosts together instead of for each host.
    #[serde(default)]
    pub shared: bool,
}

/// The storage's own processors and memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Controller {
    /// Processors that work on I/Os; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// Time of a processor for each I/O (default 0).
    #[serde(default)]
    pub per_io: Nanos,
    /// Memory that answers writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_memory: Option<WriteMemory>,
    /// Memory that answers reads: pages read or written lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_memory: Option<ReadMemory>,
    /// Whether memory is asked before the array's tiers (as MCx does) or after them (as FLARE
    /// does, the default).
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
    /// Its size; half of it holds data when mirrored.
    pub size: Bytes,
    /// Whether a second controller holds a copy (default yes).
    #[serde(default = "yes")]
    pub mirrored: bool,
    /// Page (default 8 KiB): a power of two from 512 B to 64 KiB.
    #[serde(default = "page_8k")]
    pub page: Bytes,
    /// Destaging ends at this share (default 60 %).
    #[serde(default = "sixty")]
    pub low: Ratio,
    /// Destaging starts at this share (default 80 %).
    #[serde(default = "eighty")]
    pub high: Ratio,
    /// Time to answer (default 300 us).
    #[serde(default = "hit")]
    pub hit: Nanos,
    /// Writes to the disks under way at most (default 64).
    #[serde(default = "sixty_four")]
    pub flush_depth: u32,
}

/// Memory that answers reads of pages read or written lately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReadMemory {
    /// Its size.
    pub size: Bytes,
    /// Page (default 64 KiB): a power of two from 4 KiB to 1 MiB.
    #[serde(default = "page_64k")]
    pub page: Bytes,
    /// Time to answer (default 300 us).
    #[serde(default = "hit")]
    pub hit: Nanos,
}

/// An acceleration tier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tier {
    /// Unique in the array.
    pub name: String,
    /// In each host, or in the array (default).
    #[serde(default)]
    pub at: TierPlace,
    /// Room for data, after mirroring; of each host for a host's tier.
    pub size: Bytes,
    /// Page (default 64 KiB): a power of two from 4 KiB to 1 MiB.
    #[serde(default = "page_64k")]
    pub page: Bytes,
    /// Which page leaves: lru (default), fifo, clock, 2q, arc, s3fifo, sieve, lirs, w-tinylfu.
    #[serde(default = "lru")]
    pub policy: String,
    /// What happens to writes (default back).
    #[serde(default)]
    pub write: WriteMode,
    /// Where writes wait for the storage (default paged: in their pages).
    #[serde(default, skip_serializing_if = "TierShape::is_paged")]
    pub shape: TierShape,
    /// Of its size, for the log of a tier that has one (default 10 %), 1 to 90 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Ratio>,
    /// A page comes in with this access to it (default 1, the first), 1 to 255.
    #[serde(default = "first")]
    pub admit_on: u8,
    /// Below this occupancy every page comes in at once (default 0 %).
    #[serde(default)]
    pub admit_all_below: Ratio,
    /// A run of adjacent accesses brings nothing in beyond this many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential_cutoff: Option<Bytes>,
    /// Dirty share at which clean-up starts (default 50 %).
    #[serde(default = "half")]
    pub dirty_high: Ratio,
    /// Dirty share at which clean-up ends (default 45 %).
    #[serde(default = "forty_five")]
    pub dirty_low: Ratio,
    /// Most of it that one virtual machine may take (default 100 %).
    #[serde(default = "all")]
    pub share_max: Ratio,
    /// A disk by name that the tier consists of, or `memory`.
    pub disk: String,
    /// How many of them (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// How they are combined (default raid0).
    #[serde(default)]
    pub raid: Raid,
    /// Copies of written data on other hosts before a write is answered: 0 (default) to 2. For
    /// host tiers that write back.
    #[serde(default)]
    pub replicas: u32,
}

/// Where a tier is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TierPlace {
    /// In the array, for all hosts.
    #[default]
    Array,
    /// In each host, for its virtual machines.
    Host,
}

/// Where writes of a tier that writes back wait for the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TierShape {
    /// In their pages, as published systems have it.
    #[default]
    Paged,
    /// In a log, as `tilemark tier` serves it: flushes end what goes to the storage together.
    Logged,
}

impl TierShape {
    /// Whether it is the one of published systems.
    pub fn is_paged(&self) -> bool {
        *self == Self::Paged
    }
}

/// What a tier does with writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMode {
    /// Answered when tier and storage have it.
    Through,
    /// Answered when the tier has it.
    #[default]
    Back,
    /// To the storage only; resident pages are updated.
    Around,
    /// Like back; reads never bring a page in.
    Only,
}

/// How disks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Raid {
    /// Striped.
    #[default]
    Raid0,
    /// All the same.
    Raid1,
    /// Striped over pairs.
    Raid10,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
}

/// A set of disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pool {
    /// Unique in the array.
    pub name: String,
    /// A shipped disk, or one of `[disk.NAME]`.
    pub disk: String,
    /// How many of them in a set, at least 1.
    pub count: u32,
    /// How they are combined (default raid0).
    #[serde(default)]
    pub raid: Raid,
    /// Sets of `count` disks, striped over (default 1).
    #[serde(default = "one")]
    pub sets: u32,
    /// Contiguous bytes on one disk (default 64 KiB).
    #[serde(default = "page_64k")]
    pub element: Bytes,
    /// Whether every tile has such a pool of its own.
    #[serde(default)]
    pub per_tile: bool,
    /// Whether the tiers of the array work for it (default yes).
    #[serde(default = "yes")]
    pub tiered: bool,
}

/// Disks in the hosts that make one storage together, as hyper-converged systems have them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Local {
    /// Copies of all data, on different hosts: 1 to the number of hosts (vSAN's "failures to
    /// tolerate" plus one).
    pub copies: u32,
    /// Groups of one cache disk and its capacity disks in each host (default 1).
    #[serde(default = "one")]
    pub groups: u32,
    /// The cache disk of a group.
    pub cache: String,
    /// Share of the cache disk that caches reads; the rest buffers writes (default 70 %).
    #[serde(default = "seventy")]
    pub read_share: Ratio,
    /// Page of the read cache (default 1 MiB).
    #[serde(default = "page_1m")]
    pub page: Bytes,
    /// The capacity disks of a group.
    pub disk: String,
    /// How many of them in a group, at least 1.
    pub count: u32,
}

/// A rule that says on which pool virtual disks lie. Every condition that is given must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlaceRule {
    /// The pool.
    pub pool: String,
    /// Tiles, counted from 1, whose number divided by the second leaves the first: `[1, 2]`
    /// are odd tiles, `[0, 2]` even ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<[u32; 2]>,
    /// A workload of the tile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// A virtual disk's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// A virtual disk's role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<crate::workload::Role>,
}

/// A disk: a shipped one with changes, or one of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Disk {
    /// With a head on platters.
    Hdd {
        /// The shipped disk it is like: hdd-7200, hdd-10k, hdd-15k.
        like: String,
        /// Usable size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity: Option<Bytes>,
        /// Requests it chooses among.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<u32>,
        /// Bytes per second at the outer and at the inner edge.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rates: Option<[Bytes; 2]>,
    },
    /// Of flash.
    Ssd {
        /// The shipped disk it is like: ssd-sata-enterprise, ssd-nvme-mqsim,
        /// ssd-nvme-consumer.
        like: String,
        /// Usable size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity: Option<Bytes>,
        /// Units that work at the same time.
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
        /// Protected memory for writes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        buffer: Option<Bytes>,
        /// Time of the controller for a command, one after another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<Nanos>,
        /// Bytes per second through the interface.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<Bytes>,
        /// Latency that does not occupy the controller.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latency: Option<Nanos>,
    },
    /// Equal servers behind one queue: as much of a device as a fit can tell.
    Servers {
        /// Usable size.
        capacity: Bytes,
        /// Requests served at the same time, at least 1.
        servers: u32,
        /// Fixed time of a read.
        read: Nanos,
        /// Fixed time of a write.
        write: Nanos,
        /// Bytes per second of all servers together, one request after another.
        rate: Bytes,
        /// The same for writes, if it is another (default `rate`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        write_rate: Option<Bytes>,
        /// Latency that occupies nothing (default 0).
        #[serde(default)]
        latency: Nanos,
        /// Bytes it takes in at once; what is beyond waits and comes in by address, upwards
        /// and from the beginning again. Absent: everything comes in as it arrives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Bytes>,
        /// How its speed varies; not at all if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variation: Option<Variation>,
    },
    /// A table of latencies as they were measured, without an idea of what is inside.
    Table {
        /// Usable size.
        capacity: Bytes,
        /// Where the shares of all answers end that entries of the loops' lists stand for:
        /// rising from above 0, the last one 1.
        shares: Vec<f64>,
        /// The closed loops that were measured, at least one.
        #[serde(rename = "loop")]
        loops: Vec<TableLoop>,
    },
}

/// The latencies of a closed loop. What lies between loops is interpolated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TableLoop {
    /// Share of reads among its I/Os.
    pub reads: Ratio,
    /// Bytes of each I/O.
    pub block: Bytes,
    /// I/Os outstanding, at least 1.
    pub depth: u32,
    /// Latencies of reads: for each share the mean of those in it, ascending. Absent if the
    /// loop does not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<Nanos>,
    /// The same of writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<Nanos>,
}

/// How a device is slower at some times than at others, as it was measured. Tables hold
/// quantiles at equal distances, from the least to the most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variation {
    /// How long a pace lasts, times that pace; above 0.
    pub every: Nanos,
    /// Quantiles of the pace: all times are multiplied by it. Each above 0; 1 if empty.
    #[serde(default)]
    pub pace: Vec<f64>,
    /// How often nothing moves at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Rate>,
    /// Quantiles of the length of a stall; no stalls if empty.
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
