use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::ToolFacts;

/// Host of a run. Null means unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Name and version of this format: `tilemark.env/1.0`.
    pub schema: String,
    /// Version of the program that made the measurement.
    pub tool: ToolFacts,
    /// Properties of the operating system.
    pub system: System,
    /// Properties of the processors.
    pub cpu: Cpu,
    /// Properties of the main memory.
    pub memory: Memory,
    /// Limits of the control group of the run.
    pub cgroup: Cgroup,
    /// Load averages over 1, 5 and 15 minutes at the start.
    pub load_average: Option<[f64; 3]>,
    /// Storage that was measured.
    pub storage: Storage,
}

/// Properties of the operating system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Release of the kernel: `6.12.9`.
    pub kernel: Option<String>,
    /// Build of the kernel, with compiler and date.
    pub kernel_version: Option<String>,
    /// Distribution: `Debian GNU/Linux 13`.
    pub distribution: Option<String>,
    /// Instruction set of the processors: `x86_64`.
    pub architecture: String,
    /// Name of the host.
    pub hostname: Option<String>,
    /// Clock source of the kernel: `tsc`.
    pub clock_source: Option<String>,
    /// Names of a virtual machine or container technology: `KVM`, `docker`; null if there is no
    /// sign of one.
    pub virtualisation: Option<String>,
}

/// Properties of the processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Model name of the first processor.
    pub model: Option<String>,
    /// Number of logical processors, hardware threads included.
    pub logical: Option<u32>,
    /// Number of cores; the hardware threads of a core count as one.
    pub cores: Option<u32>,
    /// Number of sockets.
    pub sockets: Option<u32>,
    /// Frequency governors in use, without repetitions; empty if the kernel does not scale
    /// frequencies.
    pub governors: Vec<String>,
    /// Highest frequency of any processor, in hertz.
    pub frequency_max_hz: Option<u64>,
}

/// Properties of the main memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Size of the main memory, in bytes.
    pub total_bytes: Option<u64>,
    /// Memory that was available for programs at the start, in bytes.
    pub available_bytes: Option<u64>,
    /// Swap space, in bytes.
    pub swap_bytes: Option<u64>,
}

/// Limits of the control group of the run; null for no limit, or unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cgroup {
    /// Path of the control group.
    pub path: Option<String>,
    /// Processor time that the group may use per second of real time, in nanoseconds. Two full
    /// processors are 2,000,000,000.
    pub cpu_ns_per_s: Option<u64>,
    /// Memory that the group may use, in bytes.
    pub memory_bytes: Option<u64>,
}

/// Storage that was measured, as the kernel reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Storage {
    /// Path as the user gave it.
    pub path: String,
    /// File system on which the path lies; null for a bare device.
    pub file_system: Option<FileSystem>,
    /// Block devices below the path: first the file system's own device, then the devices of which
    /// it consists. Empty for file systems without a device (tmpfs, network).
    pub devices: Vec<BlockDevice>,
}

/// Properties of a mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystem {
    /// Type of the file system: `ext4`.
    pub kind: String,
    /// Mount point of the file system.
    pub mount_point: String,
    /// Mounted device: `/dev/sda1`.
    pub source: String,
    /// Options of the mount and of the file system, in the kernel's order.
    pub options: String,
}

/// Properties of a block device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDevice {
    /// Kernel name of the device: `nvme0n1`.
    pub name: String,
    /// Name of the whole device, if this is a partition.
    pub partition_of: Option<String>,
    /// Names of the devices of which the device consists (RAID, LVM, device mapper).
    pub consists_of: Vec<String>,
    /// Size of the device, in bytes.
    pub size_bytes: Option<u64>,
    /// Vendor of the device; null if the kernel does not know it.
    pub vendor: Option<String>,
    /// Model of the device.
    pub model: Option<String>,
    /// Revision of the firmware.
    pub firmware: Option<String>,
    /// Temperature at the start, in thousandths of a degree Celsius.
    pub temperature_millicelsius: Option<i64>,
    /// True if the device reports rotating disks.
    pub rotational: Option<bool>,
    /// Settings of the request queue; null for a partition, which has no queue of its own.
    pub queue: Option<QueueSettings>,
}

/// Settings of a block device's request queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueSettings {
    /// I/O scheduler in use: `none`, `mq-deadline`.
    pub scheduler: Option<String>,
    /// Maximum number of requests in the queue.
    pub requests: Option<u64>,
    /// Maximum size of a request of the kernel, in bytes.
    pub request_bytes_max: Option<u64>,
    /// Read-ahead of the device, in bytes.
    pub read_ahead_bytes: Option<u64>,
    /// Smallest block that the device addresses, in bytes.
    pub logical_block_bytes: Option<u64>,
    /// Smallest block that the device writes without reading first, in bytes.
    pub physical_block_bytes: Option<u64>,
    /// Write cache of the device: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Latency target of the kernel's writeback throttling, in nanoseconds; 0 means off.
    pub writeback_throttle_ns: Option<u64>,
    /// Discard granularity, in bytes; 0 means no discard.
    pub discard_bytes: Option<u64>,
}
