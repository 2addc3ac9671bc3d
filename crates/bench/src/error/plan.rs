use spec::LadderError;

/// Why a plan cannot be carried out as written.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// Nobody said where.
    #[error("no datastore was given")]
    NoDatastore,
    /// Nobody said what.
    #[error("no tile was given")]
    NoTile,
    /// The ladder is not a number or a range.
    #[error("ladder.tiles: {0}")]
    Tiles(#[from] LadderError),
    /// A number is outside its range.
    #[error("{key} is {value}, and must be {allowed}")]
    Range {
        /// Its place in the plan.
        key: &'static str,
        /// The value seen.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A model was given for an endpoint that nobody calls.
    #[error("no workload of the tile calls an endpoint \"{name}\"")]
    UnknownEndpoint {
        /// The name as given.
        name: String,
        /// The nearest name and all known ones.
        help: String,
    },
    /// Nobody said what answers an endpoint.
    #[error(
        "the workload \"{workload}\" calls the endpoint \"{name}\", and nothing says what answers"
    )]
    MissingEndpoint {
        /// The workload.
        workload: String,
        /// The endpoint.
        name: String,
        /// What would say it.
        help: String,
    },
    /// A run of a workload with calls: there is no client yet that makes them.
    #[error("the workload \"{workload}\" calls endpoints, which only a simulation can do")]
    CallsAreSimulated {
        /// The workload.
        workload: String,
    },
    /// The plan cannot be written as TOML.
    #[error("the resolved plan cannot be written as TOML: {0}")]
    Unwritable(String),
}
