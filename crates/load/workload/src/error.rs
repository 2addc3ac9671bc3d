use spec::workload::Workload;
use units::ParseError;

/// Why a workload cannot be built. A definition that `spec` has checked gives none of
/// these but the limits on numbers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// A scale that scales nothing.
    #[error("{what} scale {value} of workload \"{workload}\" is not a number above 0")]
    Scale {
        /// Footprint or time.
        what: &'static str,
        /// The workload.
        workload: String,
        /// The scale.
        value: f64,
    },
    /// A name that is not defined.
    #[error("{user} of workload \"{workload}\" names {what} \"{name}\", which does not exist")]
    Unknown {
        /// The workload.
        workload: String,
        /// What uses the name: an action or a group.
        user: String,
        /// Disk, endpoint, VM or action.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A block size in a mix that cannot be read.
    #[error("block size in {user} of workload \"{workload}\"")]
    BlockSize {
        /// The workload.
        workload: String,
        /// The action.
        user: String,
        /// What is wrong with the text.
        #[source]
        source: Box<ParseError>,
    },
    /// Weights that choose nothing.
    #[error(
        "weights of {user} of workload \"{workload}\" are not all finite, zero or more, and one \
         above zero"
    )]
    Weights {
        /// The workload.
        workload: String,
        /// A group, a phase or a block-size mix.
        user: String,
    },
    /// An action that does nothing, which a user would repeat for ever without time passing.
    #[error("action \"{action}\" of workload \"{workload}\" has no step that takes place")]
    EmptyAction {
        /// The workload.
        workload: String,
        /// The action.
        action: String,
    },
    /// A replay whose trace was not read.
    #[error("the trace of workload \"{workload}\" was not read")]
    NoTrace {
        /// The workload.
        workload: String,
    },
    /// A replay with other disks than its trace was read for.
    #[error("workload \"{workload}\" has {disks} disks, and its trace was read for {devices}")]
    OtherDisks {
        /// The workload.
        workload: String,
        /// Its disks.
        disks: usize,
        /// Devices in the schedule.
        devices: usize,
    },
    /// More of something than ids allow.
    #[error("workload \"{workload}\" has {count} {what}; at most {max} can be numbered")]
    TooMany {
        /// The workload.
        workload: String,
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        max: u64,
    },
}

/// A name that is not defined.
pub fn unknown(workload: &Workload, user: String, what: &'static str, name: &str) -> BuildError {
    BuildError::Unknown { workload: workload.name.clone(), user, what, name: name.to_owned() }
}
