use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TierFacts;

/// State of the modelled storage and hosts in the measured time of a simulated step. For a measured
/// step, only the host can be known, from the system's processor counters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ModelFacts {
    /// All parts, in the order in which an I/O passes them. Equal parts are one entry.
    pub parts: Vec<PartFacts>,
    /// All tiers, and all memory that answers reads.
    pub tiers: Vec<TierFacts>,
    /// All hosts.
    pub hosts: Vec<HostFacts>,
    /// All virtual machines with modelled virtual CPUs. Virtual machines of the same name in
    /// several tiles are one entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vms: Vec<VmFacts>,
    /// Hosts of each workload of each tile; absent if no hosts are modelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceFacts>,
    /// Number of events that the simulation handled, including the warm-up.
    pub events: u64,
    /// Bytes of all distinct pages that each tile has touched since the start.
    pub touched_bytes: Vec<u64>,
}

/// Hosts of a workload of a tile. All its copies are one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceFacts {
    /// Tile, from 0.
    pub tile: u32,
    /// Name of the workload.
    pub workload: String,
    /// Names of the hosts of its virtual machines, each once: `host-1`.
    pub hosts: Vec<String>,
}

/// Part of the model, or several equal parts together.
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
    /// I/Os per second, summed over these parts.
    pub iops: f64,
    /// Bytes per second, summed over these parts.
    pub bytes_per_s: f64,
    /// Mean number of waiting or served I/Os, summed over these parts.
    pub inside: f64,
}

/// Kind of a part of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Disk of a pool.
    Disk,
    /// Disk or memory of a tier.
    TierDisk,
    /// Link between hosts and storage, or between hosts.
    Link,
    /// Limit on the number of I/Os in flight.
    Queue,
    /// Processor of a controller.
    Processor,
    /// Write memory of a controller.
    WriteMemory,
}

impl PartKind {
    /// Returns true if the part has servers that do work. A queue or a write memory only fills up
    /// because of the parts behind it.
    pub const fn works(self) -> bool {
        match self {
            Self::Disk | Self::TierDisk | Self::Link | Self::Processor => true,
            Self::Queue | Self::WriteMemory => false,
        }
    }
}

/// CPU use of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// Name of the host: `host-1`, `host-2`, ...
    pub name: String,
    /// Used share of all cores, 0 to 1, whatever their frequency.
    pub used: f64,
    /// Used cycles, as a share of all cycles at the nominal frequency. vCenter counts usage this
    /// way; with turbo, it is more than `used`. Null if all cores have one frequency, as it then
    /// equals `used`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<f64>,
    /// Share of all cores that virtual machines may use.
    #[serde(default = "all")]
    pub capacity: f64,
    /// Largest `used` in a single second.
    pub used_max_1s: f64,
    /// Largest `used` over 20 seconds.
    pub used_max_20s: f64,
    /// Ready time of all virtual machines of the host, in seconds per second of the run.
    pub ready: f64,
    /// Largest `ready` in a single second.
    pub ready_max_1s: f64,
    /// Largest `ready` over 20 seconds.
    pub ready_max_20s: f64,
}

const fn all() -> f64 {
    1.0
}

/// Use of a virtual machine's virtual CPUs. An entry for several of the same name has means, and
/// the maximum over all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VmFacts {
    /// Names of the workload and the virtual machine: `shop/shop-db`.
    pub name: String,
    /// Number of virtual machines of that name.
    pub count: u32,
    /// Used share of all virtual CPUs, 0 to 1.
    pub used: f64,
    /// Largest `used` in a single second.
    pub used_max_1s: f64,
    /// Largest `used` over 20 seconds.
    pub used_max_20s: f64,
    /// Ready time of all virtual CPUs together, in seconds per second of the run.
    pub ready: f64,
    /// Largest `ready` in a single second.
    pub ready_max_1s: f64,
    /// Largest `ready` over 20 seconds.
    pub ready_max_20s: f64,
}
