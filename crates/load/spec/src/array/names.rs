//! Names that array files may use for shipped parts.
//!
//! The parts themselves are in the crates `hardware` and `cache`, on which the language does not
//! depend. A test of the crate `sim`, which uses both, keeps the lists equal.

use units::Bytes;

/// A shipped disk, with the properties that checks need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedDisk {
    /// Name of the disk.
    pub name: &'static str,
    /// Usable size of the disk.
    pub capacity: Bytes,
}

const fn disk(name: &'static str, gb: u64) -> ShippedDisk {
    ShippedDisk { name, capacity: Bytes::new(gb * 1_000_000_000) }
}

/// Hard disks, slowest first (`device::HddPreset`).
pub const HDDS: [ShippedDisk; 3] =
    [disk("hdd-7200", 500), disk("hdd-10k", 300), disk("hdd-15k", 600)];

/// Flash disks (`device::SsdPreset`).
pub const SSDS: [ShippedDisk; 3] =
    [disk("ssd-sata-enterprise", 200), disk("ssd-nvme-mqsim", 480), disk("ssd-nvme-consumer", 500)];

/// Kinds of links (`device::LinkPreset`).
pub const LINKS: [&str; 7] =
    ["fc-4g", "fc-8g", "fc-16g", "ethernet-1g", "ethernet-10g", "ethernet-25g", "nvme-pcie3x4"];

/// Names of replacement policies (`cache::PolicyKind`).
pub const POLICIES: [&str; 9] =
    ["lru", "fifo", "clock", "2q", "arc", "s3fifo", "sieve", "lirs", "w-tinylfu"];

/// Medium of a tier that is memory and not a disk.
pub const MEMORY: &str = "memory";
