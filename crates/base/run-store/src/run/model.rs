use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TierFacts;

/// Parts of the modelled storage and hosts in the measured time of a simulated step. Of a real
/// step, at most the host is known, from the system's processor counters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ModelFacts {
    /// All parts, in the order in which an I/O meets them; equal parts are one entry.
    pub parts: Vec<PartFacts>,
    /// All tiers, and memory that answers reads.
    pub tiers: Vec<TierFacts>,
    /// All hosts.
    pub hosts: Vec<HostFacts>,
    /// All virtual machines with virtual CPUs of their own; those of the same name in several tiles
    /// are one entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vms: Vec<VmFacts>,
    /// Hosts of each workload of each tile; absent where there are no hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceFacts>,
    /// Events that the simulation handled, including the warm-up.
    pub events: u64,
    /// Bytes of different pages touched since the start, by tile.
    pub touched_bytes: Vec<u64>,
}

/// Hosts of a workload of a tile, its copies together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceFacts {
    /// Number of the tile, from 0.
    pub tile: u32,
    /// Name of the workload.
    pub workload: String,
    /// Names of the hosts of its virtual machines, each once: `host-1`.
    pub hosts: Vec<String>,
}

/// A part, or several equal parts together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartFacts {
    /// Name in the array's file, such as `pool lun1`, followed by the kind of part: `pool lun1
    /// disks`.
    pub name: String,
    /// Kind of the part.
    pub kind: PartKind,
    /// Number of equal parts in this entry.
    pub count: u32,
    /// Mean share of time in which the part's servers were busy, 0 to 1.
    pub utilisation: f64,
    /// Share of time in which the busiest of the equal parts was busy, 0 to 1.
    pub utilisation_max: f64,
    /// I/Os per second of all of these parts together.
    pub iops: f64,
    /// Bytes per second of all of these parts together.
    pub bytes_per_s: f64,
    /// Mean number of I/Os inside, waiting or served, of all of these parts together.
    pub inside: f64,
}

/// Kind of a part of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Disk of a pool.
    Disk,
    /// Disk, or memory, of a tier.
    TierDisk,
    /// Link between hosts and storage, or between hosts.
    Link,
    /// Limit of I/Os under way.
    Queue,
    /// Processor of a controller.
    Processor,
    /// Memory of a controller for writes.
    WriteMemory,
}

impl PartKind {
    /// True if the part has servers that work. A queue and a write memory only fill up because of
    /// the parts behind them.
    pub const fn works(self) -> bool {
        match self {
            Self::Disk | Self::TierDisk | Self::Link | Self::Processor => true,
            Self::Queue | Self::WriteMemory => false,
        }
    }
}

/// Processors of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Name of the host: `host-1`, `host-2`, ...
    pub name: String,
    /// Used share of all cores, 0 to 1, at whatever frequency they ran.
    pub used: f64,
    /// Used cycles as a share of those at the nominal frequency, as vCenter counts usage; with
    /// turbo, this is more than `used`. Null where cores have one frequency, and the two are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<f64>,
    /// Share of all cores that virtual machines may use.
    #[serde(default = "all")]
    pub capacity: f64,
    /// Largest value of a second.
    pub used_max_1s: f64,
    /// Largest value over 20 seconds.
    pub used_max_20s: f64,
    /// Ready time per second of run, in seconds, of all virtual machines of the host.
    pub ready: f64,
    /// Largest value of a second.
    pub ready_max_1s: f64,
    /// Largest ready time over 20 seconds, per second.
    pub ready_max_20s: f64,
}

const fn all() -> f64 {
    1.0
}

/// Virtual CPUs of a virtual machine. For several of the same name, means, and the largest of any
/// of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VmFacts {
    /// Names of workload and virtual machine: `shop/shop-db`.
    pub name: String,
    /// Number of virtual machines of that name.
    pub count: u32,
    /// Used share of all virtual CPUs.
    pub used: f64,
    /// Largest value of a second.
    pub used_max_1s: f64,
    /// Largest value over 20 seconds.
    pub used_max_20s: f64,
    /// Ready time per second of run, in seconds, all virtual CPUs together.
    pub ready: f64,
    /// Largest value of a second.
    pub ready_max_1s: f64,
    /// Largest ready time over 20 seconds, per second.
    pub ready_max_20s: f64,
}
