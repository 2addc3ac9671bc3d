use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TierFacts;

/// What the parts of the modelled storage and hosts did in the measured time of a simulated
/// step. Real storage does not say; of a real step at most the host is known, by what the
/// system says of its processors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ModelFacts {
    /// Every part, in the order an I/O meets them; equal parts are one entry.
    pub parts: Vec<PartFacts>,
    /// Every tier, and memory that answers reads.
    pub tiers: Vec<TierFacts>,
    /// Every host.
    pub hosts: Vec<HostFacts>,
    /// Every virtual machine with virtual CPUs of its own; those of the same name in several
    /// tiles are one entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vms: Vec<VmFacts>,
    /// Where each workload of each tile ran; absent where there are no hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceFacts>,
    /// Events the simulation handled, warm-up included.
    pub events: u64,
    /// Bytes of different pages touched since the start, by tile.
    pub touched_bytes: Vec<u64>,
}

/// Where a workload of a tile ran, its copies together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceFacts {
    /// Tile, from 0.
    pub tile: u32,
    /// The workload's name.
    pub workload: String,
    /// Names of the hosts of its virtual machines, each once: `host-1`.
    pub hosts: Vec<String>,
}

/// A part, or several equal ones together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartFacts {
    /// Its name in the array's file, such as `pool lun1`, and what of it: `pool lun1 disks`.
    pub name: String,
    /// What it is.
    pub kind: PartKind,
    /// How many equal parts this entry is the sum of.
    pub count: u32,
    /// Mean share of the time that its servers were busy, 0 to 1.
    pub utilisation: f64,
    /// The same for the busiest of them.
    pub utilisation_max: f64,
    /// I/Os per second of all of them together.
    pub iops: f64,
    /// Bytes per second of all of them together.
    pub bytes_per_s: f64,
    /// Mean number inside, waiting or served, of all of them together.
    pub inside: f64,
}

/// What a part of a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// A disk of a pool.
    Disk,
    /// A disk, or memory, of a tier.
    TierDisk,
    /// A link between hosts and storage, or between hosts.
    Link,
    /// A limit on what may be under way.
    Queue,
    /// A controller's processor.
    Processor,
    /// A controller's memory for writes.
    WriteMemory,
}

impl PartKind {
    /// Whether it has servers that work. A queue and a write memory are full because of what is
    /// behind them.
    pub const fn works(self) -> bool {
        match self {
            Self::Disk | Self::TierDisk | Self::Link | Self::Processor => true,
            Self::Queue | Self::WriteMemory => false,
        }
    }
}

/// What a host's processors did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// `host-1`, `host-2`, ...
    pub name: String,
    /// Share of all its cores that was used, 0 to 1, at whatever frequency they ran.
    pub used: f64,
    /// The same in cycles, as a share of those at the nominal frequency, as vCenter counts usage: more
    /// than `used` with turbo. Null where cores have one frequency, and it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<f64>,
    /// Share of all its cores that virtual machines may use.
    #[serde(default = "all")]
    pub capacity: f64,
    /// Largest of a second.
    pub used_max_1s: f64,
    /// Largest of sums over 20 seconds.
    pub used_max_20s: f64,
    /// Ready time per second of run, in seconds, of all its virtual machines.
    pub ready: f64,
    /// Largest of a second.
    pub ready_max_1s: f64,
    /// Largest of sums over 20 seconds, per second.
    pub ready_max_20s: f64,
}

const fn all() -> f64 {
    1.0
}

/// What the virtual CPUs of a virtual machine did; of several of the same name, their means,
/// and the largest of any of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VmFacts {
    /// Workload and virtual machine: `shop/shop-db`.
    pub name: String,
    /// How many of that name.
    pub count: u32,
    /// Share of all its virtual CPUs that was used.
    pub used: f64,
    /// Largest of a second.
    pub used_max_1s: f64,
    /// Largest of sums over 20 seconds.
    pub used_max_20s: f64,
    /// Ready time per second of run, in seconds, all its virtual CPUs together.
    pub ready: f64,
    /// Largest of a second.
    pub ready_max_1s: f64,
    /// Largest of sums over 20 seconds, per second.
    pub ready_max_20s: f64,
}
