use cache::tier::ConfigError;
use hardware::ParameterError;
use state_machine::KindId;
use units::Bytes;

/// A virtual disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantDisk {
    /// Name of the disk in the workload.
    pub name: String,
    /// Name of the workload.
    pub workload: String,
    /// Role of the disk's data.
    pub role: spec::workload::Role,
    /// Size of the disk, which occupies whole MiB in the layout.
    pub size: Bytes,
    /// Virtual machine of the disk, as a position in the instance.
    pub vm: usize,
    /// Pool of the disk. It overrides all place rules of the array; with `None`, the rules choose
    /// the pool.
    pub pool: Option<String>,
}

/// An instance of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantInstance {
    /// Tile of the instance, counted from 0.
    pub tile: u32,
    /// Number of virtual processors of each virtual machine.
    pub vcpus: Vec<u32>,
    /// Names of the virtual machines, `workload/VM`, for [`run_store::run::VmFacts`], which omits
    /// VMs without a name.
    pub vms: Vec<String>,
    /// Disks of the instance, by `state_machine::DiskId`.
    pub disks: Vec<PlantDisk>,
    /// Kinds of the instance's I/O that copy whole disks ([`hardware::Class::Copy`]).
    pub copy_kinds: Vec<KindId>,
}

impl PlantInstance {
    /// Returns the number of virtual machines, including those that only disks name.
    pub(super) fn vm_count(&self) -> usize {
        let named = self.disks.iter().map(|disk| disk.vm + 1).max().unwrap_or(0);
        self.vcpus.len().max(named)
    }
}

/// Input of a plant.
#[derive(Debug, Clone, Copy)]
pub struct PlantPlan<'a> {
    /// Storage and hosts.
    pub array: &'a spec::array::Array,
    /// Instances that run on the plant, in the order of their state machines.
    pub instances: &'a [PlantInstance],
    /// Seed of the run.
    pub seed: u64,
}

/// Reason why a plant cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlantError {
    /// The virtual disks do not fit.
    #[error("the virtual disks take {needed} of pool \"{pool}\", but it holds only {capacity}")]
    TooSmall {
        /// Name of the pool, with its tile if every tile has one.
        pool: String,
        /// Size of all disks in the pool.
        needed: Bytes,
        /// Capacity of the pool.
        capacity: Bytes,
    },
    /// A tier is larger than the disks that store it.
    #[error("tier \"{tier}\" of {size} is larger than its disks, which hold {capacity}")]
    TierTooLarge {
        /// Name of the tier.
        tier: String,
        /// Size of the tier.
        size: Bytes,
        /// Capacity of the tier's disks.
        capacity: Bytes,
    },
    /// A request would take no time, so that a closed loop would never let time pass.
    #[error("disk \"{disk}\" takes 0 s for 4 KiB")]
    ZeroService {
        /// Name of the disk.
        disk: String,
    },
    /// There is no pool for a disk.
    #[error("array \"{array}\" has no pool for virtual disk \"{disk}\"")]
    NoPool {
        /// Name of the array.
        array: String,
        /// Name of the disk.
        disk: String,
    },
    /// A name does not refer to anything.
    #[error("array \"{array}\" names {what} \"{name}\", which does not exist")]
    Unknown {
        /// Name of the array.
        array: String,
        /// Kind of thing that the name should refer to.
        what: &'static str,
        /// The unknown name.
        name: String,
    },
    /// A component refused a value.
    #[error("{of}")]
    Parameter {
        /// Component of the array.
        of: String,
        /// The component's error.
        #[source]
        source: ParameterError,
    },
    /// A tier refused a value.
    #[error("tier \"{tier}\"")]
    Tier {
        /// Name of the tier.
        tier: String,
        /// The tier's error.
        #[source]
        source: ConfigError,
    },
    /// A set of the served tier cannot be divided in this way.
    #[error("tier \"{tier}\"")]
    TierSet {
        /// Name of the tier.
        tier: String,
        /// Error of the tier's geometry.
        #[source]
        source: tier::GeometryError,
    },
    /// An event of a host is not possible with the array.
    #[error("array \"{array}\": {why}")]
    Event {
        /// Name of the array.
        array: String,
        /// Reason, and advice.
        why: String,
    },
    /// There are more virtual machines than ids.
    #[error("{count} virtual machines are more than the maximum of 65,536")]
    TooMany {
        /// Number of virtual machines.
        count: usize,
    },
}

impl PlantError {
    /// Wraps a component's error with the component's name.
    pub(super) fn parameter(of: impl Into<String>) -> impl FnOnce(ParameterError) -> Self {
        let of = of.into();
        move |source| Self::Parameter { of, source }
    }
}
