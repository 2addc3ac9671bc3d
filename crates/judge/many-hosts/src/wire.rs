//! Messages between a controller and its agents. Requests and answers are JSON. Slices are
//! postcard, because there are many.

use std::collections::BTreeMap;

use bench::fleet::StepOrder;
use bench::rig::{Carried, Foreseen, LoadOutcome, Prefilled};
use cluster::RemoteError;
use run_store::gauge::Gauge;
use run_store::run::{ToolFacts, Warning};
use run_store::slice::Slice;
use serde::{Deserialize, Serialize};
use spec::ResolvedTile;
use spec::array::Array;
use spec::plan::Plan;
use spec::study::ResolvedConfiguration;
use units::Nanos;

/// Topics of requests.
pub mod topic {
    /// Identifies the agent: answered with [`super::Hello`].
    pub const HELLO: &str = "hello";
    /// Examines a target: [`super::Open`], answered with [`super::Examined`].
    pub const EXAMINE: &str = "examine";
    /// Runs a command of the program: [`super::Order`], answered with [`super::Said`].
    pub const COMMAND: &str = "command";
    /// Lists runs with suitable disks: [`super::Reusable`], answered with a list of
    /// [`bench::run::ReusableRun`].
    pub const KEPT: &str = "kept";
    /// Opens a target for a run: [`super::Open`], answered with [`super::Opened`].
    pub const OPEN: &str = "open";
    /// Checks that another host's files are visible: [`super::Sees`], answered with a boolean.
    pub const SEES: &str = "sees";
    /// Starts long work: [`super::Job`].
    pub const JOB: &str = "job";
    /// Reads the state of the long work: answered with [`super::JobState`].
    pub const JOB_STATE: &str = "job-state";
    /// Ends the long work early.
    pub const JOB_STOP: &str = "job-stop";
    /// Builds the VMs of a load: [`super::Ready`].
    pub const READY: &str = "ready";
    /// Starts the load at a given time: [`super::Begin`], answered with [`super::Began`].
    pub const BEGIN: &str = "begin";
    /// Starts the measurement: an epoch.
    pub const MARK: &str = "mark";
    /// Sends a lost slice again: [`super::Lost`], answered with a [`super::Sent`], or empty if the
    /// slice does not exist yet.
    pub const SLICE: &str = "slice";
    /// Ends the load: an epoch.
    pub const STOP: &str = "stop";
    /// Reads the load's result: an epoch, answered with [`super::Finished`], or empty while the
    /// load runs.
    pub const FINISH: &str = "finish";
    /// Takes a tile out of the load: [`super::Take`], answered with [`super::Taken`].
    pub const TAKE: &str = "take";
    /// Puts a tile into the load: [`super::Put`], answered with [`super::Came`].
    pub const PUT: &str = "put";
    /// Pauses the load: [`super::Stand`], answered with [`super::Stands`].
    pub const STAND: &str = "stand";
    /// Simulates a power loss of the host: [`super::Lose`].
    pub const LOSE: &str = "lose";
    /// Prepares to simulate points of a study: [`super::Study`].
    pub const STUDY: &str = "study";
    /// Starts a point: [`super::SimulatePoint`].
    pub const POINT: &str = "point";
    /// Reads a point's result: its number, answered with a [`study::PartOutcome`], or empty while
    /// the point runs.
    pub const POINT_OUTCOME: &str = "point-outcome";
    /// Stops running points.
    pub const STUDY_STOP: &str = "study-stop";
    /// Prepares to simulate steps of a run: [`super::Simulation`].
    pub const SIMULATION: &str = "simulation";
    /// Starts a step: [`super::SimulateStep`].
    pub const STEP: &str = "step";
    /// Checks if a step is ready, to be fetched as [`super::step_name`]: its number. Answered empty
    /// while the step runs, or with the reason of its failure.
    pub const STEP_OUTCOME: &str = "step-outcome";
    /// Reads the watch store: a question of `watch`, answered by [`watch::answer`].
    pub const WATCH: &str = "watch";
    /// Leaves the controller.
    pub const LEAVE: &str = "leave";
}

/// Identity of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the program.
    pub tool: ToolFacts,
    /// Host name according to the kernel.
    pub hostname: String,
    /// Targets that may be written there, in the owner's notation.
    pub allowed: Vec<String>,
    /// Description of the current other holder of this host, if any.
    pub held_by: Option<String>,
    /// Number of CPUs that the agent may use; 0 from older versions.
    #[serde(default)]
    pub processors: usize,
}

/// Study whose points are to be simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Name of the study, and description of the controller.
    pub name: String,
    /// Configurations in full, so that hosts need no files.
    pub configurations: Vec<ResolvedConfiguration>,
}

/// Order to simulate a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulatePoint {
    /// Number of the point, assigned by this controller.
    pub number: u64,
    /// Position of the configuration in the study.
    pub index: usize,
    /// Number of tiles.
    pub tiles: u32,
    /// Repeat, counted from 1.
    pub repeat: u32,
    /// Seed of the study.
    pub seed: u64,
    /// Numbers of the points whose results the controller has received. The agent may drop them.
    pub received: Vec<u64>,
}

/// Run whose steps are to be simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// Plan in which every value is set.
    pub plan: Plan,
    /// Tile in full, so that hosts need no files.
    pub tile: ResolvedTile,
    /// Array in full, so that hosts need no files.
    pub array: Array,
}

/// Order to simulate a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulateStep {
    /// Number of the step, assigned by this controller.
    pub number: u64,
    /// Number of tiles.
    pub tiles: u32,
    /// Repeat, counted from 0.
    pub repeat: u32,
    /// Numbers of the steps that the controller has received. The agent may drop them.
    pub received: Vec<u64>,
}

/// Returns the name of a step among the offered files.
pub fn step_name(number: u64) -> String {
    format!("step-{number}")
}

/// Encodes a step's load: slices as postcard, and the rest as JSON. Events of hosts follow only if
/// there are any, because older controllers expect three documents.
pub fn write_step(step: &Foreseen) -> Vec<u8> {
    let Foreseen { slices, model, energy, events, outcome } = step;
    let rest = if events.is_empty() {
        serde_json::to_vec(&(model, energy, outcome))
    } else {
        serde_json::to_vec(&(model, energy, outcome, events))
    };
    let rest = rest.expect("they are documents");
    postcard::to_stdvec(&(slices, rest)).expect("numbers and strings can be encoded")
}

/// Decodes a step's load; `None` if the bytes are invalid.
pub fn read_step(bytes: &[u8]) -> Option<Foreseen> {
    let (slices, rest): (_, Vec<u8>) = postcard::from_bytes(bytes).ok()?;
    let (model, energy, outcome, events) = match serde_json::from_slice(&rest) {
        Ok(with_events) => with_events,
        Err(_) => {
            let (model, energy, outcome) = serde_json::from_slice(&rest).ok()?;
            (model, energy, outcome, Vec::new())
        }
    };
    Some(Foreseen { slices, model, energy, events, outcome })
}

/// Order to open a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Run id, with the host's suffix.
    pub run_id: String,
    /// Description of the controller.
    pub controller: String,
    /// Plan in which every value is set.
    pub plan: Plan,
    /// Tile in full, so that hosts need no files.
    pub tile: ResolvedTile,
    /// Bytes that the first step needs on that host.
    pub needed_bytes: u64,
    /// Tiles (counted from 0) that the host drives, among those that are certain to run.
    #[serde(default)]
    pub tiles: Vec<u32>,
    /// Identifier, with the host's suffix, of the part of an earlier run whose disks are reused.
    #[serde(default)]
    pub adopt: Option<String>,
    /// Permissions from the user who started the run.
    pub allowances: Allowances,
}

impl Open {
    /// Returns the run id with which disks are created there.
    pub fn made_by(&self) -> &str {
        self.adopt.as_deref().unwrap_or(&self.run_id)
    }
}

/// Request for runs whose disks may be reused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reusable {
    /// Target to open.
    pub open: Open,
    /// Run id or a part of it, without the host's suffix; or `latest` or `latest~1`.
    pub reuse: String,
}

/// Permissions from the user who started a run. The host's owner decides if they apply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Allowances {
    /// Identity of the block device that may be overwritten.
    pub destroy_data: Option<String>,
    /// True if an existing file may be overwritten.
    pub overwrite_file: bool,
    /// True if a root, memory or overlay file system may be used.
    pub allow_root_fs: bool,
    /// True if the disks stay after the run.
    pub keep: bool,
}

/// Command of the program, for a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Checks that the host is suitable for measuring, and optionally a target for a run.
    Doctor {
        /// Target, if one is given.
        target: Option<String>,
    },
    /// Removes objects that runs left in a target.
    Cleanup {
        /// Target to clean.
        target: String,
        /// True to only list the objects that would be removed.
        dry_run: bool,
        /// Identity of the block device whose label is erased.
        destroy_data: Option<String>,
    },
}

impl Order {
    /// Returns the target that the host's owner must have allowed.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Doctor { target } => target.as_deref(),
            Self::Cleanup { target, .. } => Some(target),
        }
    }

    /// Returns the order with another target, if it has a target.
    #[must_use]
    pub fn with_target(&self, other: String) -> Self {
        let mut own = self.clone();
        match &mut own {
            Self::Doctor { target } => *target = Some(other),
            Self::Cleanup { target, .. } => *target = other,
        }
        own
    }
}

/// Result of a command on a host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Said {
    /// Text for display.
    pub text: String,
    /// Document; null if the command has none.
    pub document: serde_json::Value,
    /// Errors that did not end the command, one per line.
    pub errors: Vec<String>,
    /// Exit code.
    pub exit: u8,
}

/// Result of an examination without writing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examined {
    /// Result of the examination.
    pub preflight: datastore::Preflight,
    /// Reasons why a run would be refused.
    pub refusals: Vec<Refused>,
}

/// Reason why a run is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Stable name.
    pub id: String,
    /// Text for display.
    pub text: String,
    /// Hint on what to do.
    pub hint: Option<String>,
}

/// Facts about an opened target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Maximum number of bytes that disks may occupy.
    pub capacity_bytes: u64,
    /// Description of the target in one line.
    pub summary: String,
    /// Kind of the target, as in results.
    pub kind: String,
    /// Directory or device of the disks.
    pub path: String,
    /// Warnings of the examination.
    pub warnings: Vec<Warning>,
    /// Description of the caches in front of the target.
    pub caches: String,
    /// Result of the examination.
    pub preflight: serde_json::Value,
    /// Environment of the host.
    pub environment: serde_json::Value,
}

/// Request to check that another host's files are visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sees {
    /// Run id with which the other host opened the target.
    pub run_id: String,
}

/// Work that takes long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// Creates and fills the disks of tiles.
    Prepare {
        /// Tiles to prepare, counted from 0.
        tiles: Vec<u32>,
    },
    /// Keeps everything that was created.
    Keep,
    /// Reads back everything that was written.
    Check,
    /// Reads back the disks of another part of the run, whose host is lost.
    CheckOf {
        /// Run id with which the disks were created.
        run_id: String,
        /// Tiles of the disks, counted from 0.
        tiles: Vec<u32>,
    },
    /// Removes everything that was created, or leaves it as evidence.
    Clear {
        /// True if blocks are wrong, so that everything stays in place.
        is_evidence: bool,
    },
}

/// Progress or outcome of a job that an agent does in the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// The job is in progress.
    Going {
        /// Number of bytes done.
        done: u64,
        /// Total number of bytes.
        total: u64,
        /// Current rate in bytes per second.
        bytes_per_s: f64,
    },
    /// The job is complete, with its result.
    Done(JobDone),
    /// The job failed, with the reason.
    Failed(Failed),
}

/// Result of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JobDone {
    /// Result of filling disks.
    pub prefilled: Option<Prefilled>,
    /// Result of reading back, as text.
    pub verified: Option<String>,
    /// Files that remain there, each with the reason.
    pub stays: Vec<String>,
    /// Files that could not be removed.
    pub not_removed: Vec<String>,
}

/// Reason why work was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Error of the host.
    pub error: RemoteError,
    /// True if the job was told to end early.
    pub is_interrupted: bool,
    /// Descriptions of wrong blocks.
    pub wrong_blocks: Vec<String>,
}

/// Order to build the VMs of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Epoch of the load.
    pub epoch: u64,
    /// Members that this host drives, followed by the tiles that may move here.
    pub order: StepOrder,
    /// Tiles (counted from 0) of the order that other hosts drive until they move here, each with
    /// the run id with which its disks were created.
    #[serde(default)]
    pub guests: BTreeMap<u32, String>,
}

/// Order to take a tile out of a load. It cannot be repeated, because the second time the tile is
/// gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    /// Epoch of the load.
    pub epoch: u64,
    /// Number of the tile, counted from 0.
    pub tile: u32,
}

/// State of a tile that moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// State of its instances, in the order of the step.
    pub instances: Vec<Carried>,
}

impl Taken {
    /// Returns the time at which the first of its instances was paused, since the start of the
    /// load.
    pub fn stood(&self) -> Nanos {
        self.instances.iter().map(|carried| carried.left).min().unwrap_or_default()
    }
}

/// Order to put a tile into a load. Encoded as postcard, like the answer to [`topic::TAKE`],
/// because it may be large.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Put {
    /// Epoch of the load.
    pub epoch: u64,
    /// Number of the tile, counted from 0.
    pub tile: u32,
    /// State of the tile on the host that it comes from. If absent, the tile's users start from the
    /// beginning.
    pub taken: Option<Taken>,
}

/// Answer that the tile continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Came {
    /// Time at which the whole tile continues, in nanoseconds since the start of the load, on that
    /// host's clock.
    pub goes_on_ns: u64,
}

/// Order to pause a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stand {
    /// Epoch of the load.
    pub epoch: u64,
    /// Length of the pause, in nanoseconds.
    pub for_ns: u64,
}

/// Answer that the load pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stands {
    /// Start of the pause, in nanoseconds since the start of the load, on that host's clock.
    pub from_ns: u64,
    /// End of the pause, in nanoseconds since the start of the load.
    pub until_ns: u64,
}

/// Order to simulate a power loss of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lose {
    /// Epoch of the load.
    pub epoch: u64,
    /// Duration of the absence, in nanoseconds. After that the host joins again, for the next step.
    pub away_ns: u64,
}

/// Order to start the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Epoch of the load.
    pub epoch: u64,
    /// Start on the agent's own monotonic clock, in nanoseconds.
    pub at_ns: u64,
}

/// Answer that the load has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// Minimum unit of the storage's requests, in bytes.
    pub unit_bytes: u64,
    /// Delay after the ordered start, on that host's clock, in nanoseconds.
    pub began_late_ns: u64,
}

/// Request for a lost slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Epoch of the load.
    pub epoch: u64,
    /// Number of the slice in the load.
    pub number: u64,
}

/// Result of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Total number of slices.
    pub slices: u64,
    /// Outcome, or the reason why it is unknown.
    pub outcome: Result<LoadOutcome, RemoteError>,
}

/// Message that an agent sends without a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Epoch of the load.
    pub epoch: u64,
    /// Number of the slice in the load.
    pub number: u64,
    /// Slice; `None` if the load has ended or was stopped. `number` is then the total number of
    /// slices.
    pub slice: Option<Slice>,
    /// Gauges that were sampled with the slice on that host.
    pub gauges: Vec<Gauge>,
}

impl Sent {
    /// Encodes the message.
    pub fn write(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("numbers and strings can be encoded")
    }

    /// Decodes a message; `None` if the bytes are invalid.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_the_same_after_a_message_and_garbage_is_none() {
        let slice = Slice { start: Nanos(7), width: Nanos::SECOND, ..Slice::default() };
        let sent = Sent { epoch: 3, number: 9, slice: Some(slice), gauges: Vec::new() };
        assert_eq!(Sent::read(&sent.write()), Some(sent));
        for garbage in [&b""[..], b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"{}"] {
            assert_eq!(Sent::read(garbage), None);
        }
    }

    /// Checks that a message keeps all numbers. A point is simulated from the received message, so
    /// a changed number would change the result.
    #[test]
    fn shipped_study_configurations_survive_a_message_unchanged() {
        let mut seen = 0;
        for name in spec::shipped::study_names() {
            let study = spec::study::resolve_study(name).expect(name);
            for configuration in study.configurations {
                let bytes = serde_json::to_vec(&configuration).expect("JSON");
                let again: ResolvedConfiguration = serde_json::from_slice(&bytes).expect("reads");
                assert_eq!(again, configuration, "{name}");
                seen += 1;
            }
        }
        assert!(seen > 10, "{seen}");
    }
}
