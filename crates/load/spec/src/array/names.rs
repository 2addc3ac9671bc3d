//! Names that array files may use for shipped parts.
//!
//! The parts themselves are in the crates `hardware` and `cache`, which the language does not
//! depend on; a test of the crate `sim`, which sees both, holds the lists together.

use units::Bytes;

/// A shipped disk as far as checks must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedDisk {
    /// Its name.
    pub name: &'static str,
    /// Usable size.
    pub capacity: Bytes,
}

const fn disk(name: &'static str, gb: u64) -> ShippedDisk {
    ShippedDisk { name, capacity: Bytes::new(gb * 1_000_000_000) }
}

/// Disks with a head on platters, slowest first (`device::HddPreset`).
pub const HDDS: [ShippedDisk; 3] =
    [disk("hdd-7200", 500), disk("hdd-10k", 300), disk("hdd-15k", 600)];

/// Disks of flash (`device::SsdPreset`).
pub const SSDS: [ShippedDisk; 3] =
    [disk("ssd-sata-enterprise", 200), disk("ssd-nvme-mqsim", 480), disk("ssd-nvme-consumer", 500)];

/// Links (`device::LinkPreset`).
pub const LINKS: [&str; 7] =
    ["fc-4g", "fc-8g", "fc-16g", "ethernet-1g", "ethernet-10g", "ethernet-25g", "nvme-pcie3x4"];

/// Replacement policies (`cache::PolicyKind`).
pub const POLICIES: [&str; 9] =
    ["lru", "fifo", "clock", "2q", "arc", "s3fifo", "sieve", "lirs", "w-tinylfu"];

/// What a tier may consist of beside disks.
pub const MEMORY: &str = "memory";
