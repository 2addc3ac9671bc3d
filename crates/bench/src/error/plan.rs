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
    /// Something was said to answer an endpoint that nobody calls.
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
    /// A model where a service has to be there, or the other way round.
    #[error("the endpoint \"{name}\" is answered by {given}, and here that takes {takes}")]
    WrongEndpoint {
        /// The endpoint.
        name: String,
        /// What was given.
        given: String,
        /// `an address` or `a model`.
        takes: &'static str,
        /// What would do.
        help: String,
    },
    /// An address that no call can go to.
    #[error("the endpoint \"{name}\": {why}")]
    Address {
        /// The endpoint.
        name: String,
        /// What is wrong with it.
        why: engine::client::AddressError,
    },
    /// Tiles cannot be placed as was said.
    #[error("hosts.placement: {0}")]
    Placement(#[from] spec::PlacementError),
    /// The plan cannot be written as TOML.
    #[error("the resolved plan cannot be written as TOML: {0}")]
    Unwritable(String),
}
