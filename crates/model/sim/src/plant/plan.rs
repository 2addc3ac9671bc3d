use cache::tier::ConfigError;
use hardware::ParameterError;
use state_machine::KindId;
use units::Bytes;

/// A virtual disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantDisk {
    /// Its name in the workload.
    pub name: String,
    /// The workload.
    pub workload: String,
    /// What it holds.
    pub role: spec::workload::Role,
    /// Its size; laid out in whole MiB.
    pub size: Bytes,
    /// Its virtual machine, as a position in the instance.
    pub vm: usize,
    /// The pool on which it lies whatever the array's places say; none leaves it to them.
    pub pool: Option<String>,
}

/// An instance of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantInstance {
    /// Its tile, counted from 0.
    pub tile: u32,
    /// Virtual processors of each of its virtual machines.
    pub vcpus: Vec<u32>,
    /// Names of its virtual machines, `workload/machine`, for [`run_store::run::VmFacts`]; a
    /// machine without a name is left out there.
    pub vms: Vec<String>,
    /// Its disks, by `state_machine::DiskId`.
    pub disks: Vec<PlantDisk>,
    /// Kinds of its I/O that copy whole disks ([`hardware::Class::Copy`]).
    pub copy_kinds: Vec<KindId>,
}

impl PlantInstance {
    /// Virtual machines, those named by disks only included.
    pub(super) fn vm_count(&self) -> usize {
        let named = self.disks.iter().map(|disk| disk.vm + 1).max().unwrap_or(0);
        self.vcpus.len().max(named)
    }
}

/// What a plant is made of.
#[derive(Debug, Clone, Copy)]
pub struct PlantPlan<'a> {
    /// The storage and the hosts.
    pub array: &'a spec::array::Array,
    /// What runs on it, in the order of the machines.
    pub instances: &'a [PlantInstance],
    /// The run's seed.
    pub seed: u64,
}

/// Why a plant cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlantError {
    /// The virtual disks do not fit.
    #[error("the virtual disks take {needed} of pool \"{pool}\", which holds {capacity}")]
    TooSmall {
        /// The pool, with its tile if every tile has one.
        pool: String,
        /// What the disks on it take.
        needed: Bytes,
        /// What it holds.
        capacity: Bytes,
    },
    /// A tier is larger than the disks it is on.
    #[error("tier \"{tier}\" of {size} is larger than its disks, which hold {capacity}")]
    TierTooLarge {
        /// The tier.
        tier: String,
        /// Its size.
        size: Bytes,
        /// What its disks hold.
        capacity: Bytes,
    },
    /// A request would take no time, so that a closed loop would never let time pass.
    #[error("disk \"{disk}\" answers 4 KiB in 0 s")]
    ZeroService {
        /// The disk.
        disk: String,
    },
    /// No pool to lie on.
    #[error("array \"{array}\" has no pool for virtual disk \"{disk}\"")]
    NoPool {
        /// The array.
        array: String,
        /// The disk.
        disk: String,
    },
    /// A name that nothing has.
    #[error("array \"{array}\" names {what} \"{name}\", which does not exist")]
    Unknown {
        /// The array.
        array: String,
        /// What the name should name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A component refused a value.
    #[error("{of}")]
    Parameter {
        /// What of the array.
        of: String,
        /// The value.
        #[source]
        source: ParameterError,
    },
    /// A tier refused a value.
    #[error("tier \"{tier}\"")]
    Tier {
        /// The tier.
        tier: String,
        /// The value.
        #[source]
        source: ConfigError,
    },
    /// A set of the served tier cannot be divided so.
    #[error("tier \"{tier}\"")]
    TierSet {
        /// The tier.
        tier: String,
        /// Why.
        #[source]
        source: tier::GeometryError,
    },
    /// More than can be numbered.
    #[error("{count} virtual machines are more than 65,536")]
    TooMany {
        /// How many there are.
        count: usize,
    },
}

impl PlantError {
    /// Says what refused a value.
    pub(super) fn parameter(of: impl Into<String>) -> impl FnOnce(ParameterError) -> Self {
        let of = of.into();
        move |source| Self::Parameter { of, source }
    }
}
