use spec::LadderError;

/// Reason why a plan cannot be executed as written.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// The plan has no datastore.
    #[error("no datastore was given")]
    NoDatastore,
    /// The second datastore is the same as the first.
    #[error("{second} is also the first datastore, so nothing can move between the two")]
    SecondIsFirst {
        /// Datastore as given.
        second: String,
    },
    /// The plan has a second datastore, but no disk is placed on it.
    #[error(
        "a second datastore was given, but this run has no data there. Only operations \
         (--operations) move disks to it or create disks on it (on = \"second\")"
    )]
    SecondUnused,
    /// The plan has no tile.
    #[error("no tile was given")]
    NoTile,
    /// The ladder is neither a number nor a range.
    #[error("ladder.tiles: {0}")]
    Tiles(#[from] LadderError),
    /// A number is out of range.
    #[error(transparent)]
    Range(#[from] spec::plan::OutOfRange),
    /// The plan gives a service or model for an endpoint that no workload calls.
    #[error("no workload of the tile calls an endpoint \"{name}\"")]
    UnknownEndpoint {
        /// Name as given.
        name: String,
        /// Text with the nearest name and all known names.
        help: String,
    },
    /// Tiles need real servers, which need a directory, but the datastore is not a directory.
    #[error("real servers keep their data in a directory, but {} is not one", target.display())]
    NoPlaceForServers {
        /// Path of the datastore.
        target: std::path::PathBuf,
    },
    /// A password is given for an endpoint that uses none.
    #[error(
        "a password is given for \"{name}\", but no address of this name takes one. These do: \
         postgres://USER@HOST/DATABASE, and with TLS smtps://USER@HOST, smtp+starttls://USER@HOST, \
         imaps://HOST and imap+starttls://HOST"
    )]
    NoLogin {
        /// Name of the endpoint.
        name: String,
    },
    /// An authority is given for an endpoint without TLS.
    #[error(
        "a certificate authority is given for \"{name}\", but no address of this name has TLS. \
         These have: https://, smtps://, smtp+starttls://, imaps://, imap+starttls://, and \
         postgres:// with ?sslmode=verify-full"
    )]
    NoTls {
        /// Name of the endpoint.
        name: String,
    },
    /// A called endpoint has neither a service nor a model.
    #[error(
        "the workload \"{workload}\" calls the endpoint \"{name}\", but no service or model is \
        given for it"
    )]
    MissingEndpoint {
        /// Name of the workload.
        workload: String,
        /// Name of the endpoint.
        name: String,
        /// Advice on how to give a service or a model.
        help: String,
    },
    /// An endpoint of protocol `vm` is not a phase of an operation.
    #[error(
        "the workload \"{workload}\" calls the endpoint \"{name}\" of machines; that is not a \
         phase of an operation, such as live-migration-copying"
    )]
    NoPhase {
        /// Name of the workload.
        workload: String,
        /// Name of the endpoint.
        name: String,
    },
    /// Verification cannot track writes by real virtual machines.
    #[error(
        "verification cannot follow writes of real VMs to the disks of \"{workload}\"; the guests \
         check these writes themselves"
    )]
    MachinesVerified {
        /// Name of the workload.
        workload: String,
    },
    /// The endpoint needs a service and has a model, or vice versa.
    #[error("the endpoint \"{name}\" is answered by {given}, but this needs {takes}")]
    WrongEndpoint {
        /// Name of the endpoint.
        name: String,
        /// Value that was given.
        given: String,
        /// Kind of value that the endpoint needs: `an address` or `a model`.
        takes: &'static str,
        /// Advice on what to give.
        help: String,
    },
    /// The address is not valid for calls.
    #[error("the endpoint \"{name}\": {why}")]
    Address {
        /// Name of the endpoint.
        name: String,
        /// Reason why it is invalid.
        why: engine::client::AddressError,
    },
    /// The placement of tiles is impossible.
    #[error("hosts.placement: {0}")]
    Placement(#[from] spec::PlacementError),
    /// The plan has events of hosts, but no hosts.
    #[error("{key}: the plan has no host that this can happen to")]
    NoHosts {
        /// Key in the plan.
        key: &'static str,
    },
    /// The plan has an impossible event of a host.
    #[error("{0}")]
    Event(String),
    /// Moving tiles need direct I/O. A host cannot see another host's page cache, so moved tiles
    /// would lose their writes.
    #[error(
        "events and restart need engine.buffered = false: a tile that moves leaves its page cache \
        behind"
    )]
    BufferedMoves,
    /// The modelled array does not allow an event of its hosts.
    #[error("events: {0}")]
    ModelledEvent(#[from] sim::plant::PlantError),
    /// An expectation refers to an object that the tile does not have.
    #[error(transparent)]
    Expect(#[from] spec::expect::ExpectationError),
    /// The plan cannot be written as TOML.
    #[error("the resolved plan cannot be written as TOML: {0}")]
    Unwritable(String),
}
