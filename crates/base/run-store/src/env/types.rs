use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::ToolFacts;

/// The machine a run was made on. Null is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Name and version of this format: `tilemark.env/1.0`.
    pub schema: String,
    /// The program that measured.
    pub tool: ToolFacts,
    /// Operating system.
    pub system: System,
    /// Processors.
    pub cpu: Cpu,
    /// Main memory.
    pub memory: Memory,
    /// Limits of the control group the run was in.
    pub cgroup: Cgroup,
    /// Load averages over 1, 5 and 15 minutes at the start.
    pub load_average: Option<[f64; 3]>,
    /// What was measured.
    pub storage: Storage,
}

/// Operating system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Kernel release: `6.12.9`.
    pub kernel: Option<String>,
    /// Kernel build, with compiler and date.
    pub kernel_version: Option<String>,
    /// Distribution: `Debian GNU/Linux 13`.
    pub distribution: Option<String>,
    /// Instruction set: `x86_64`.
    pub architecture: String,
    /// Host name.
    pub hostname: Option<String>,
    /// Clock source of the kernel: `tsc`.
    pub clock_source: Option<String>,
    /// Makes and models that name a virtual machine or container: `KVM`, `docker`; null
    /// where nothing hints at one.
    pub virtualisation: Option<String>,
}

/// Processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Model name of the first.
    pub model: Option<String>,
    /// Processors the scheduler sees.
    pub logical: Option<u32>,
    /// Cores, hardware threads of one counted once.
    pub cores: Option<u32>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Frequency governors in use, each once; empty where the kernel does not scale.
    pub governors: Vec<String>,
    /// Highest frequency of any, in hertz.
    pub frequency_max_hz: Option<u64>,
}

/// Main memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// All of it, in bytes.
    pub total_bytes: Option<u64>,
    /// What the kernel could give away at the start, in bytes.
    pub available_bytes: Option<u64>,
    /// Swap space, in bytes.
    pub swap_bytes: Option<u64>,
}

/// Limits of the control group the run was in; null is no limit, or unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cgroup {
    /// Its path.
    pub path: Option<String>,
    /// Processor time it may use per second of real time, in nanoseconds.
    pub cpu_ns_per_s: Option<u64>,
    /// Memory it may use, in bytes.
    pub memory_bytes: Option<u64>,
}

/// What was measured, as the kernel sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Storage {
    /// The path as given.
    pub path: String,
    /// The file system that holds it; null for a bare device.
    pub file_system: Option<FileSystem>,
    /// The block devices below it: the file system's own first, then what those consist
    /// of. Empty for file systems without one (tmpfs, network).
    pub devices: Vec<BlockDevice>,
}

/// A mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Type: `ext4`.
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// What is mounted: `/dev/sda1`.
    pub source: String,
    /// Options of the mount and of the file system, in the kernel's order.
    pub options: String,
}

/// A block device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDevice {
    /// Kernel name: `nvme0n1`.
    pub name: String,
    /// The device it is a part of, if it is a partition.
    pub partition_of: Option<String>,
    /// The devices it consists of (RAID, LVM, device mapper), by name.
    pub consists_of: Vec<String>,
    /// Size, in bytes.
    pub size_bytes: Option<u64>,
    /// Maker; null where the kernel does not know.
    pub vendor: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Temperature at the start, in thousandths of a degree Celsius.
    pub temperature_millicelsius: Option<i64>,
    /// Whether it says that it rotates.
    pub rotational: Option<bool>,
    /// Its request queue; null for a partition, which has none of its own.
    pub queue: Option<QueueSettings>,
}

/// Settings of a block device's request queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueSettings {
    /// I/O scheduler in use: `none`, `mq-deadline`.
    pub scheduler: Option<String>,
    /// Requests the queue holds.
    pub requests: Option<u64>,
    /// Largest request the kernel makes, in bytes.
    pub request_bytes_max: Option<u64>,
    /// Read-ahead, in bytes.
    pub read_ahead_bytes: Option<u64>,
    /// Smallest block it addresses, in bytes.
    pub logical_block_bytes: Option<u64>,
    /// Smallest block it writes without reading first, in bytes.
    pub physical_block_bytes: Option<u64>,
    /// Whether the device holds writes back: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Latency target of the kernel's writeback throttling, in nanoseconds; 0 is off.
    pub writeback_throttle_ns: Option<u64>,
    /// Discard granularity, in bytes; 0 is no discard.
    pub discard_bytes: Option<u64>,
}
