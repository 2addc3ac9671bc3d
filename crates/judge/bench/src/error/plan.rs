use spec::LadderError;

/// Why a plan cannot be carried out as written.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// Nobody said where.
    #[error("no datastore was given")]
    NoDatastore,
    /// The second datastore is the first.
    #[error("{second} is the first datastore too, so nothing can move between the two")]
    SecondIsFirst {
        /// As given.
        second: String,
    },
    /// Nothing would lie on the second datastore.
    #[error(
        "a second datastore was given, and nothing of this run lies there: only operations move \
         disks to it, or have disks that are on = \"second\" (--operations)"
    )]
    SecondUnused,
    /// Nobody said what.
    #[error("no tile was given")]
    NoTile,
    /// The ladder is not a number or a range.
    #[error("ladder.tiles: {0}")]
    Tiles(#[from] LadderError),
    /// A number is outside its range.
    #[error(transparent)]
    Range(#[from] spec::plan::OutOfRange),
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
    /// An endpoint of machines that is no phase of an operation.
    #[error(
        "the workload \"{workload}\" calls the endpoint \"{name}\" of machines, which is no phase of an \
         operation, such as live-migration-copying"
    )]
    NoPhase {
        /// The workload.
        workload: String,
        /// The endpoint.
        name: String,
    },
    /// Blocks that machines write are followed by nobody here.
    #[error(
        "verification cannot follow what real machines write to the disks of \"{workload}\"; their guests \
         check it themselves"
    )]
    MachinesVerified {
        /// The workload.
        workload: String,
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
    /// Something is to happen to hosts, and there are none.
    #[error("{key}: there is no host for it to happen to")]
    NoHosts {
        /// Its place in the plan.
        key: &'static str,
    },
    /// Something is to happen to hosts that cannot.
    #[error("{0}")]
    Event(String),
    /// What one host has in its page cache another would not see.
    #[error(
        "events and restart take engine.buffered = false: a tile that moves leaves its page cache behind"
    )]
    BufferedMoves,
    /// Hosts are what no simulation has.
    #[error("events and restart are of hosts that drive load, and a simulation has none")]
    SimulatedEvents,
    /// Something is expected of what the tile does not have.
    #[error(transparent)]
    Expect(#[from] spec::expect::ExpectationError),
    /// The plan cannot be written as TOML.
    #[error("the resolved plan cannot be written as TOML: {0}")]
    Unwritable(String),
}
