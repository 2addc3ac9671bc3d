use units::{Bytes, Nanos};

use super::{Failure, PlanError, ReferenceError, ReplayError};

/// Why a run could not begin or had to end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The tile cannot be built.
    #[error("building the tile \"{tile}\"")]
    Build {
        /// The tile.
        tile: String,
        /// Why.
        #[source]
        source: workload::BuildError,
    },
    /// A workload's reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A trace.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The datastore is not written as one.
    #[error(transparent)]
    Target(datastore::TargetError),
    /// The system gave no random letters for the run's id.
    #[error("drawing a run id")]
    Random {
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The target may not be used.
    #[error(transparent)]
    Refused(Box<datastore::Refusal>),
    /// The datastore.
    #[error(transparent)]
    Datastore(Box<datastore::DatastoreError>),
    /// A service that is to be called.
    #[error(transparent)]
    Unreachable(#[from] engine::client::ServiceError),
    /// Real virtual machines.
    #[error(transparent)]
    Machines(#[from] Box<vm::VmError>),
    /// An operation on real virtual machines that could not begin.
    #[error(transparent)]
    Operation(#[from] Box<vm::Failure>),
    /// A meter of watts.
    #[error(transparent)]
    Meter(#[from] meter::MeterError),
    /// The load generator.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    /// Filling the disks.
    #[error(transparent)]
    Prefill(#[from] engine::prefill::PrefillError),
    /// The run directory.
    #[error(transparent)]
    RunDir(#[from] run_store::rundir::RunDirError),
    /// The series.
    #[error(transparent)]
    Series(#[from] run_store::series::SeriesError),
    /// The first step does not fit.
    #[error(
        "{tiles} tiles of {per_tile} need {needed}, and the datastore has room for {capacity}",
        needed = *.per_tile * u64::from(*.tiles)
    )]
    TooLarge {
        /// Tiles of the first step.
        tiles: u32,
        /// Bytes of one tile.
        per_tile: Bytes,
        /// Bytes that may be used.
        capacity: Bytes,
    },
    /// The first step does not fit the modelled array.
    #[error(
        "{tiles} tiles of {per_tile} need {needed}, and the array \"{array}\" holds {capacity}",
        needed = *.per_tile * u64::from(*.tiles)
    )]
    ArrayTooSmall {
        /// The array's name.
        array: String,
        /// Tiles of the first step.
        tiles: u32,
        /// Bytes of one tile.
        per_tile: Bytes,
        /// Bytes that it holds with so many tiles.
        capacity: Bytes,
    },
    /// The modelled array cannot be built, or cannot hold the tiles.
    #[error("the array \"{array}\" cannot carry this load")]
    Plant {
        /// The array's name.
        array: String,
        /// Why.
        #[source]
        source: sim::plant::PlantError,
    },
    /// A modelled service that cannot be built.
    #[error("an endpoint's model cannot be built")]
    Service(#[source] sim::ParameterError),
    /// Time stands still in a simulation.
    #[error(
        "the {workload} of tile {tile} lets no time pass: {events} events at {at}, because its \
         users do not pause and the array \"{array}\" answers them at once"
    )]
    Runaway {
        /// The array's name.
        array: String,
        /// The workload.
        workload: String,
        /// Its tile, from 1.
        tile: u32,
        /// When time stopped.
        at: Nanos,
        /// Events at that instant.
        events: u64,
    },
    /// The simulation cannot go on.
    #[error(transparent)]
    Simulation(#[from] sim::SimError),
    /// No run left disks that fit.
    #[error(
        "no {reuse} among the runs that have ended and left disks at {datastore} that fit {tiles} \
         tile(s) of this plan (looked at {looked_at})"
    )]
    NothingToReuse {
        /// Which one of those that fit was asked for: `latest`, `latest~1`.
        reuse: String,
        /// The target.
        datastore: String,
        /// Tiles of the first step.
        tiles: u32,
        /// Sub-directories of ours that were looked at.
        looked_at: usize,
    },
    /// A run left a disk of another size.
    #[error("disk \"{disk}\" of run {run_id} has {has}, and this plan asks for {asked}")]
    ReuseSize {
        /// The run.
        run_id: String,
        /// The disk.
        disk: String,
        /// Its size.
        has: Bytes,
        /// What the plan asks for.
        asked: Bytes,
    },
    /// Preparing needs to know how much.
    #[error("preparing searches for nothing and needs the number of tiles")]
    PrepareSearch,
    /// A directory has no disks before a run makes them.
    #[error("a directory holds nothing that could be read without writing it first")]
    NothingToRead,
    /// The storage failed I/Os.
    #[error("{}", describe(.failures, *.tiles))]
    Storage {
        /// Tiles of the step.
        tiles: u32,
        /// What failed, disk by disk; never empty.
        failures: Vec<Failure>,
    },
    /// More users than there is memory for.
    #[error("{tiles} tiles have {users} users, and at most {max} are kept in memory")]
    TooManyUsers {
        /// Tiles of the first step.
        tiles: u32,
        /// Their users.
        users: u64,
        /// Most.
        max: u64,
    },
    /// The tier before the datastore could not be had, or failed.
    #[error("the tier: {0}")]
    Tier(tier_service::Refusal),
    /// A tier serves whole files and devices.
    #[error("disk \"{disk}\" is a part of a file or device, and a tier serves whole ones")]
    TierParts {
        /// Which.
        disk: String,
    },
    /// Others drive the disks, or use them beside the load.
    #[error("--through-tier is for disks that this machine alone drives, and {what}")]
    TierAlone {
        /// What there is beside it.
        what: &'static str,
    },
    /// There is no place for the state of verification.
    #[error("making {} for the state of verification", .path.display())]
    StateDir {
        /// Where it was to be.
        path: std::path::PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Blocks did not hold what was written to them.
    #[error("{}", wrong_blocks(.0))]
    Mismatch(Vec<String>),
    /// Everything written could not be read back.
    #[error(transparent)]
    Check(#[from] engine::verify::CheckError),
    /// A host that drives a part of the load.
    #[error("host {host}: {what}")]
    Host {
        /// Its name.
        host: String,
        /// What is wrong, in words.
        what: String,
        /// What to do about it, if that is known.
        hint: Option<&'static str>,
    },
    /// A host refuses the target.
    #[error("host {host} refuses: {what}")]
    HostRefused {
        /// Its name.
        host: String,
        /// Why, in words.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Hosts cannot be reached, or do not fit together.
    #[error("{0}")]
    Hosts(String),
    /// What was asked for is not done over hosts, or not with these.
    #[error("{what}")]
    HostsRefused {
        /// What is refused, and why.
        what: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// The generator went silent.
    #[error("the load generator reported nothing for {0}")]
    Silent(Nanos),
    /// Asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// Asked to abort.
    #[error("aborted")]
    Aborted,
}

impl From<datastore::Refusal> for BenchError {
    fn from(refusal: datastore::Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<datastore::DatastoreError> for BenchError {
    fn from(error: datastore::DatastoreError) -> Self {
        Self::Datastore(Box::new(error))
    }
}

impl BenchError {
    /// Whether a modelled array, or one of its pools, has no room for the tiles.
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

    /// What to do about it, if anything is known to help.
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
            Self::RunDir(error) => error.hint().map(str::to_owned),
            Self::Series(error) => error.hint().map(str::to_owned),
            Self::Tier(refusal) => refusal.hint.clone().map(Into::into),
            Self::Unreachable(_) => {
                Some("start the service, or name another address with --endpoint".to_owned())
            }
            Self::Meter(error) => error.hint().map(str::to_owned),
            Self::TooManyUsers { .. } => {
                Some("begin with fewer tiles (--tiles), or a tile of fewer users".to_owned())
            }
            Self::TooLarge { .. } => {
                Some("use a smaller scale.footprint or a larger datastore".to_owned())
            }
            Self::ArrayTooSmall { .. } | Self::Plant { .. } => Some(
                "fewer tiles, a smaller --footprint, or another array; --with changes one key \
                 of it"
                    .to_owned(),
            ),
            Self::Runaway { .. } => {
                Some("give the array a service time above 0, or the users a think time".to_owned())
            }
            Self::NothingToReuse { .. } => Some(
                "make them with tilemark prepare, with the same --tile and --footprint".to_owned(),
            ),
            Self::ReuseSize { .. } => {
                Some("use the --tile and --footprint that were used to prepare".to_owned())
            }
            Self::HostRefused { hint, .. } => hint.clone(),
            Self::HostsRefused { hint, .. } | Self::Host { hint: Some(hint), .. } => {
                Some((*hint).to_owned())
            }
            Self::NothingToRead => {
                Some("leave out --read-only, or name a file or block device with data".to_owned())
            }
            Self::PrepareSearch => Some("say how many with --tiles N".to_owned()),
            _ => None,
        }
    }

    /// Whether somebody asked for this end.
    pub const fn is_interruption(&self) -> bool {
        matches!(
            self,
            Self::Interrupted
                | Self::Aborted
                | Self::Prefill(engine::prefill::PrefillError::Cancelled { .. })
        )
    }

    /// Stable identifier for result files.
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
            Self::Runaway { .. } | Self::Simulation(_) => "simulation",
            Self::Storage { .. } => "storage-failed",
            Self::Mismatch(_) => "verification-mismatch",
            Self::Check(_) | Self::StateDir { .. } => "verification",
            Self::Tier(_) | Self::TierParts { .. } | Self::TierAlone { .. } => "tier",
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
