use units::{Bytes, Nanos};

use super::{Failure, PlanError, ReferenceError, ReplayError};

/// Error that prevented a run from starting, or ended it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Error in the plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The tile cannot be built.
    #[error("building the tile \"{tile}\"")]
    Build {
        /// Name of the tile.
        tile: String,
        /// Reason for the failure.
        #[source]
        source: workload::BuildError,
    },
    /// Error in the computation of a workload's reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// Error of a recorded trace.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The text of the datastore is malformed.
    #[error(transparent)]
    Target(datastore::TargetError),
    /// The system returned no random characters for the run's identifier.
    #[error("drawing a run id")]
    Random {
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The target may not be used.
    #[error(transparent)]
    Refused(Box<datastore::Refusal>),
    /// Error of the datastore.
    #[error(transparent)]
    Datastore(Box<datastore::DatastoreError>),
    /// A service that the load calls cannot be reached.
    #[error(transparent)]
    Unreachable(#[from] engine::client::ServiceError),
    /// Error of a tile's real servers.
    #[error(transparent)]
    Application(#[from] Box<applications::ApplicationError>),
    /// Error of real virtual machines.
    #[error(transparent)]
    Machines(#[from] Box<vm::VmError>),
    /// An operation on real virtual machines could not begin.
    #[error(transparent)]
    Operation(#[from] Box<vm::Failure>),
    /// Error of a power meter.
    #[error(transparent)]
    Meter(#[from] meter::MeterError),
    /// Error of the load generator.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    /// Error when filling the disks.
    #[error(transparent)]
    Prefill(#[from] engine::prefill::PrefillError),
    /// Error of the run directory.
    #[error(transparent)]
    RunDir(#[from] run_store::rundir::RunDirError),
    /// Error of the stored series.
    #[error(transparent)]
    Series(#[from] run_store::series::SeriesError),
    /// The tiles of the first step do not fit into the datastore.
    #[error(
        "{tiles} tiles of {per_tile} need {needed}, but the datastore has room for {capacity}",
        needed = *.per_tile * u64::from(*.tiles)
    )]
    TooLarge {
        /// Tiles of the first step.
        tiles: u32,
        /// Size of one tile.
        per_tile: Bytes,
        /// Maximum number of bytes that the run may use.
        capacity: Bytes,
    },
    /// The tiles of the first step do not fit into the modelled array.
    #[error(
        "{tiles} tiles of {per_tile} need {needed}, but the array \"{array}\" holds {capacity}",
        needed = *.per_tile * u64::from(*.tiles)
    )]
    ArrayTooSmall {
        /// Name of the array.
        array: String,
        /// Tiles of the first step.
        tiles: u32,
        /// Size of one tile.
        per_tile: Bytes,
        /// Capacity of the array for that many tiles.
        capacity: Bytes,
    },
    /// The modelled array cannot be built, or cannot hold the tiles.
    #[error("the array \"{array}\" cannot carry this load")]
    Plant {
        /// Name of the array.
        array: String,
        /// Reason for the failure.
        #[source]
        source: sim::plant::PlantError,
    },
    /// A modelled service cannot be built.
    #[error("an endpoint's model cannot be built")]
    Service(#[source] sim::ParameterError),
    /// In a simulation, virtual time does not advance.
    #[error(
        "the {workload} of tile {tile} makes no progress in time: {events} events at {at}. Its \
         users have no think time, and the array \"{array}\" answers at once"
    )]
    Runaway {
        /// Name of the array.
        array: String,
        /// Name of the workload.
        workload: String,
        /// Number of the workload's tile, counted from 1.
        tile: u32,
        /// Virtual time that does not advance.
        at: Nanos,
        /// Number of events at that time.
        events: u64,
    },
    /// The simulation cannot continue.
    #[error(transparent)]
    Simulation(#[from] sim::SimError),
    /// There are no suitable disks of an earlier run.
    #[error(
        "no run matches {reuse}: it must have ended and have left disks at {datastore} that fit \
         {tiles} tile(s) of this plan (searched {looked_at})"
    )]
    NothingToReuse {
        /// Requested selection among the suitable runs: `latest`, `latest~1`.
        reuse: String,
        /// Datastore that was searched.
        datastore: String,
        /// Tiles of the first step.
        tiles: u32,
        /// Number of this program's sub-directories that were examined.
        looked_at: usize,
    },
    /// An earlier run left a disk of another size.
    #[error("disk \"{disk}\" of run {run_id} has {has}, but this plan needs {asked}")]
    ReuseSize {
        /// Identifier of the run.
        run_id: String,
        /// Name of the disk.
        disk: String,
        /// Size of the disk.
        has: Bytes,
        /// Size that the plan needs.
        asked: Bytes,
    },
    /// A search cannot be prepared in advance, because its number of tiles is unknown.
    #[error("prepare does not search, so it needs the number of tiles")]
    PrepareSearch,
    /// The load only reads, but the directory has no disks yet.
    #[error("--read-only needs existing data, but a directory has none until the run writes it")]
    NothingToRead,
    /// The storage failed I/Os.
    #[error("{}", describe(.failures, *.tiles))]
    Storage {
        /// Tiles of the step.
        tiles: u32,
        /// Failed I/Os by disk; at least one entry.
        failures: Vec<Failure>,
    },
    /// The users of the first step do not fit into memory.
    #[error("{tiles} tiles have {users} users, but at most {max} users are supported")]
    TooManyUsers {
        /// Tiles of the first step.
        tiles: u32,
        /// Number of their users.
        users: u64,
        /// Maximum number of users.
        max: u64,
    },
    /// Error of the tier in front of the datastore.
    #[error("the tier: {0}")]
    Tier(tier_service::Refusal),
    /// The disk is only a part of a file or device, and a tier serves whole ones.
    #[error(
        "disk \"{disk}\" is a part of a file or device, but a tier serves only whole files and \
        devices"
    )]
    TierParts {
        /// Name of the disk.
        disk: String,
    },
    /// A tier is used together with a feature for which other programs or hosts access the disks.
    #[error("--through-tier is for disks that only this host drives, but {what}")]
    TierAlone {
        /// Feature that accesses the disks.
        what: &'static str,
    },
    /// Error of the storage protocol of `--over`.
    #[error(transparent)]
    Over(std::sync::Arc<over::OverError>),
    /// The disk is not a whole file, and a protocol's server serves whole files.
    #[error("disk \"{disk}\" is not a file of its own, but --over serves only whole files")]
    OverParts {
        /// Name of the disk.
        disk: String,
    },
    /// The datastore has no file for each disk, and a protocol's server serves whole files.
    #[error("--over serves only whole files, but in {target} (a {noun}) disks are parts")]
    OverTarget {
        /// Datastore as given.
        target: String,
        /// Kind of the datastore, in words.
        noun: &'static str,
    },
    /// A workload's requests are smaller than the sectors of the initiator's disks.
    #[error(
        "--over {protocol} makes disks with sectors of {sector} B, but workload \"{workload}\" has \
         smaller or unaligned requests"
    )]
    OverSectors {
        /// Word of the protocol.
        protocol: &'static str,
        /// Size of the sectors in bytes.
        sector: u32,
        /// Name of the workload.
        workload: String,
    },
    /// `--over` is used together with a feature for which other programs or hosts access the disks.
    #[error("--over is for disks that only the load on this host uses, but {what}")]
    OverAlone {
        /// Feature that accesses the disks.
        what: &'static str,
    },
    /// The directory for the verification state cannot be created.
    #[error("creating {} for the verification state", .path.display())]
    StateDir {
        /// Path of the directory.
        path: std::path::PathBuf,
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The content of blocks differs from the last write. There is one text per finding.
    #[error("{}", wrong_blocks(.0))]
    Mismatch(Vec<String>),
    /// The written blocks could not be read back.
    #[error(transparent)]
    Check(#[from] engine::verify::CheckError),
    /// Error of a host that drives a part of the load.
    #[error("host {host}: {what}")]
    Host {
        /// Name of the host.
        host: String,
        /// Description of the problem.
        what: String,
        /// Advice, if there is any.
        hint: Option<String>,
    },
    /// A host refuses the datastore.
    #[error("host {host} refuses: {what}")]
    HostRefused {
        /// Name of the host.
        host: String,
        /// Reason in words.
        what: String,
        /// Advice, if there is any.
        hint: Option<String>,
    },
    /// Hosts cannot be reached, or do not match each other.
    #[error("{0}")]
    Hosts(String),
    /// These hosts, or hosts in general, do not support the request.
    #[error("{what}")]
    HostsRefused {
        /// Refused feature, and the reason.
        what: String,
        /// Advice on what to do instead.
        hint: &'static str,
    },
    /// The load generator has reported nothing for this time.
    #[error("the load generator reported nothing for {0}")]
    Silent(Nanos),
    /// A user requested a stop.
    #[error("interrupted")]
    Interrupted,
    /// A user requested an immediate abort.
    #[error("aborted")]
    Aborted,
}

impl From<datastore::Refusal> for BenchError {
    fn from(refusal: datastore::Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<over::OverError> for BenchError {
    fn from(error: over::OverError) -> Self {
        Self::Over(std::sync::Arc::new(error))
    }
}

impl From<datastore::DatastoreError> for BenchError {
    fn from(error: datastore::DatastoreError) -> Self {
        Self::Datastore(Box::new(error))
    }
}

impl BenchError {
    /// Returns true if a modelled array, or one of its pools, is too small for the tiles.
    pub fn is_array_too_small(&self) -> bool {
        let pool = |source: &sim::plant::PlantError| {
            matches!(source, sim::plant::PlantError::TooSmall { .. })
        };
        match self {
            Self::ArrayTooSmall { .. } => true,
            Self::Plant { source, .. } => pool(source),
            _ => false,
        }
    }

    /// Returns advice on what to do, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Target(error) => Some(error.hint()),
            Self::Reference(error) => error.hint().map(str::to_owned),
            Self::Replay(error) => error.hint(),
            Self::Refused(refusal) => refusal.hint(),
            Self::Datastore(error) => error.hint(),
            Self::Prefill(error) => error.hint().map(str::to_owned),
            Self::Engine(error) => error.hint().map(str::to_owned),
            Self::Check(error) => error.hint().map(str::to_owned),
            Self::Machines(error) => error.hint().map(str::to_owned),
            Self::Application(error) => error.hint(),
            Self::RunDir(error) => error.hint().map(str::to_owned),
            Self::Series(error) => error.hint().map(str::to_owned),
            Self::Over(error) => error.hint(),
            Self::OverParts { .. } | Self::OverTarget { .. } => {
                Some("name a directory: dir:PATH".to_owned())
            }
            Self::OverSectors { .. } => {
                Some("use a tile without this workload, or another protocol".to_owned())
            }
            Self::Tier(refusal) => refusal.hint.clone().map(Into::into),
            Self::Unreachable(error) => Some(error.hint().to_owned()),
            Self::Meter(error) => error.hint().map(str::to_owned),
            Self::TooManyUsers { .. } => {
                Some("begin with fewer tiles (--tiles), or a tile of fewer users".to_owned())
            }
            Self::TooLarge { .. } => {
                Some("use a smaller scale.footprint or a larger datastore".to_owned())
            }
            Self::ArrayTooSmall { .. } | Self::Plant { .. } => Some(
                "use fewer tiles, a smaller --footprint or another array; --with changes one key \
                 of the array"
                    .to_owned(),
            ),
            Self::Runaway { .. } => {
                Some("give the array a service time above 0, or the users a think time".to_owned())
            }
            Self::NothingToReuse { .. } => Some(
                "create the disks with tilemark prepare, with the same --tile and --footprint"
                    .to_owned(),
            ),
            Self::ReuseSize { .. } => {
                Some("use the --tile and --footprint that were used to prepare".to_owned())
            }
            Self::HostRefused { hint, .. } | Self::Host { hint, .. } => hint.clone(),
            Self::HostsRefused { hint, .. } => Some((*hint).to_owned()),
            Self::NothingToRead => {
                Some("leave out --read-only, or name a file or block device with data".to_owned())
            }
            Self::PrepareSearch => Some("say how many with --tiles N".to_owned()),
            _ => None,
        }
    }

    /// Returns true if a user requested this end.
    pub const fn is_interruption(&self) -> bool {
        matches!(
            self,
            Self::Interrupted
                | Self::Aborted
                | Self::Prefill(engine::prefill::PrefillError::Cancelled { .. })
        )
    }

    /// Returns the stable identifier for result files.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::Plan(_) | Self::Target(_) | Self::PrepareSearch | Self::NothingToRead => "plan",
            Self::NothingToReuse { .. } | Self::ReuseSize { .. } => "reuse",
            Self::Random { .. } => "random",
            Self::Build { .. } => "tile",
            Self::Reference(_) => "reference",
            Self::Replay(_) => "replay",
            Self::Refused(_) => "refused",
            Self::Datastore(_) => "datastore",
            Self::Meter(_) => "meter",
            Self::Engine(_) => "engine",
            Self::Prefill(_) => "prefill",
            Self::RunDir(_) | Self::Series(_) => "run-directory",
            Self::TooLarge { .. } | Self::TooManyUsers { .. } | Self::ArrayTooSmall { .. } => {
                "too-large"
            }
            Self::Plant { .. } => "array",
            Self::Service(_) | Self::Unreachable(_) => "endpoint",
            Self::Machines(_) | Self::Operation(_) => "machines",
            Self::Application(_) => "application",
            Self::Runaway { .. } | Self::Simulation(_) => "simulation",
            Self::Storage { .. } => "storage-failed",
            Self::Mismatch(_) => "verification-mismatch",
            Self::Check(_) | Self::StateDir { .. } => "verification",
            Self::Tier(_) | Self::TierParts { .. } | Self::TierAlone { .. } => "tier",
            Self::Over(_)
            | Self::OverParts { .. }
            | Self::OverTarget { .. }
            | Self::OverSectors { .. }
            | Self::OverAlone { .. } => "over",
            Self::Host { .. }
            | Self::HostRefused { .. }
            | Self::HostsRefused { .. }
            | Self::Hosts(_) => "host",
            Self::Silent(_) => "generator-silent",
            Self::Interrupted => "interrupted",
            Self::Aborted => "aborted",
        }
    }
}

fn wrong_blocks(mismatches: &[String]) -> String {
    let first = mismatches.first().map_or("verification failed", String::as_str);
    match mismatches.len() {
        0 | 1 => first.to_owned(),
        count => format!("{first} (the first of {count})"),
    }
}

fn describe(failures: &[Failure], tiles: u32) -> String {
    let Some(first) = failures.first() else { return "the storage failed".to_owned() };
    let total: u64 = failures.iter().map(|failure| failure.count).sum();
    let Failure { disk, offset, operation, error, during, .. } = first;
    let during = during.as_ref().map_or_else(String::new, |during| format!("{during}: "));
    let more = if total > 1 { format!(" ({total} I/Os failed in all)") } else { String::new() };
    format!(
        "{during}{operation} at byte {offset} of disk {disk} failed with {tiles} tiles: {error}{more}"
    )
}
