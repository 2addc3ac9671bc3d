use spec::workload::Workload;
use state_machine::RequestTextError;
use units::ParseError;

/// Reason why a workload cannot be built. A definition that `spec` has checked can only fail
/// because of limits on numbers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// A scale is not above zero.
    #[error("{what} scale {value} of workload \"{workload}\" is not a number above 0")]
    Scale {
        /// Name of the scale: footprint or time.
        what: &'static str,
        /// Name of the workload.
        workload: String,
        /// Value as given, which must be above 0.
        value: f64,
    },
    /// A name is not defined.
    #[error("{user} of workload \"{workload}\" names {what} \"{name}\", which does not exist")]
    Unknown {
        /// Name of the workload.
        workload: String,
        /// Action or group that uses the name.
        user: String,
        /// Kind of the name: disk, endpoint, VM or action.
        what: &'static str,
        /// Undefined name.
        name: String,
    },
    /// A block size in a mix cannot be parsed.
    #[error("block size in {user} of workload \"{workload}\"")]
    BlockSize {
        /// Name of the workload.
        workload: String,
        /// Action with the mix.
        user: String,
        /// Fault of the text.
        #[source]
        source: Box<ParseError>,
    },
    /// The request text of a call cannot be parsed.
    #[error("request text of a call of workload \"{workload}\"")]
    RequestText {
        /// Name of the workload.
        workload: String,
        /// Fault of the text.
        #[source]
        source: RequestTextError,
    },
    /// The weights cannot choose anything.
    #[error(
        "weights of {user} of workload \"{workload}\" are not all finite, zero or more, and one \
         above zero"
    )]
    Weights {
        /// Name of the workload.
        workload: String,
        /// Group, phase or block-size mix.
        user: String,
    },
    /// An action does nothing, so a user would repeat it forever without time passing.
    #[error("action \"{action}\" of workload \"{workload}\" has no step that is executed")]
    EmptyAction {
        /// Name of the workload.
        workload: String,
        /// Name of the action.
        action: String,
    },
    /// The trace of a replay was not read.
    #[error("the trace of workload \"{workload}\" was not read")]
    NoTrace {
        /// Name of the workload.
        workload: String,
    },
    /// The disks of a replay differ from the disks for which its trace was read.
    #[error("workload \"{workload}\" has {disks} disks, but its trace was read for {devices}")]
    OtherDisks {
        /// Name of the workload.
        workload: String,
        /// Number of its disks.
        disks: usize,
        /// Number of devices in the schedule.
        devices: usize,
    },
    /// There are more objects of a kind than ids.
    #[error("workload \"{workload}\" has {count} {what}; at most {max} can be numbered")]
    TooMany {
        /// Name of the workload.
        workload: String,
        /// Kind of the objects.
        what: &'static str,
        /// Number of the objects.
        count: u64,
        /// Maximum allowed number.
        max: u64,
    },
}

/// Creates the error of an undefined name.
pub fn unknown(workload: &Workload, user: String, what: &'static str, name: &str) -> BuildError {
    BuildError::Unknown { workload: workload.name.clone(), user, what, name: name.to_owned() }
}
