//! Messages between a controller and its agents. Requests and answers are JSON; slices are
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
    /// Identify the agent: answered with [`super::Hello`].
    pub const HELLO: &str = "hello";
    /// Examine a target: [`super::Open`], answered with [`super::Examined`].
    pub const EXAMINE: &str = "examine";
    /// Run a command of the program: [`super::Order`], answered with [`super::Said`].
    pub const COMMAND: &str = "command";
    /// List runs whose disks fit: [`super::Reusable`], answered with a list of
    /// [`bench::run::ReusableRun`].
    pub const KEPT: &str = "kept";
    /// Open a target for a run: [`super::Open`], answered with [`super::Opened`].
    pub const OPEN: &str = "open";
    /// Check that another host's files are seen: [`super::Sees`], answered with a boolean.
    pub const SEES: &str = "sees";
    /// Begin long work: [`super::Job`].
    pub const JOB: &str = "job";
    /// Read its state: answered with [`super::JobState`].
    pub const JOB_STATE: &str = "job-state";
    /// End it early.
    pub const JOB_STOP: &str = "job-stop";
    /// Build the VMs of a load: [`super::Ready`].
    pub const READY: &str = "ready";
    /// Begin the load at a moment: [`super::Begin`], answered with [`super::Began`].
    pub const BEGIN: &str = "begin";
    /// Begin the measured time: an epoch.
    pub const MARK: &str = "mark";
    /// Send a lost slice: [`super::Lost`], answered with a [`super::Sent`], or empty if there is
    /// none yet.
    pub const SLICE: &str = "slice";
    /// End the load: an epoch.
    pub const STOP: &str = "stop";
    /// Read the load's result: an epoch, answered with [`super::Finished`], or empty while running.
    pub const FINISH: &str = "finish";
    /// Take a tile out: [`super::Take`], answered with [`super::Taken`].
    pub const TAKE: &str = "take";
    /// Put a tile in: [`super::Put`], answered with [`super::Came`].
    pub const PUT: &str = "put";
    /// Pause the load: [`super::Stand`], answered with [`super::Stands`].
    pub const STAND: &str = "stand";
    /// Simulate a power loss of the host: [`super::Lose`].
    pub const LOSE: &str = "lose";
    /// Simulate points of a study: [`super::Study`].
    pub const STUDY: &str = "study";
    /// Begin a point: [`super::SimulatePoint`].
    pub const POINT: &str = "point";
    /// Read a point's result: its number, answered with a [`study::PartOutcome`], or empty while
    /// running.
    pub const POINT_OUTCOME: &str = "point-outcome";
    /// Stop running points.
    pub const STUDY_STOP: &str = "study-stop";
    /// Simulate steps of a run: [`super::Simulation`].
    pub const SIMULATION: &str = "simulation";
    /// Begin a step: [`super::SimulateStep`].
    pub const STEP: &str = "step";
    /// Check that a step is ready, to be fetched as [`super::step_name`]: its number, answered
    /// empty while running, or with the reason of its failure.
    pub const STEP_OUTCOME: &str = "step-outcome";
    /// Read the watch store: a question of `watch`, answered by [`watch::answer`].
    pub const WATCH: &str = "watch";
    /// Leave the controller.
    pub const LEAVE: &str = "leave";
}

/// Identity of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the program.
    pub tool: ToolFacts,
    /// Kernel's name of the host.
    pub hostname: String,
    /// Targets that may be written there, as its owner wrote them.
    pub allowed: Vec<String>,
    /// Other holder of this host now, as text.
    pub held_by: Option<String>,
    /// Processors that it may use; 0 from older versions.
    #[serde(default)]
    pub processors: usize,
}

/// Study whose points are to be simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Name of the study, and controller as text.
    pub name: String,
    /// Configurations, so that no host needs a file that another lacks.
    pub configurations: Vec<ResolvedConfiguration>,
}

/// Order to simulate a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulatePoint {
    /// Number with this controller.
    pub number: u64,
    /// Position of the configuration.
    pub index: usize,
    /// Number of tiles.
    pub tiles: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Seed of the study.
    pub seed: u64,
    /// Points whose results have arrived and need not be kept.
    pub received: Vec<u64>,
}

/// Run whose steps are to be simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// Plan with every value.
    pub plan: Plan,
    /// Tile, so that no host needs a file that another lacks.
    pub tile: ResolvedTile,
    /// Array, for the same reason.
    pub array: Array,
}

/// Order to simulate a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulateStep {
    /// Number with this controller.
    pub number: u64,
    /// Number of tiles.
    pub tiles: u32,
    /// Repeat, from 0.
    pub repeat: u32,
    /// Steps that have arrived and need not be kept.
    pub received: Vec<u64>,
}

/// Name of a step among the offered files.
pub fn step_name(number: u64) -> String {
    format!("step-{number}")
}

/// Encodes a step's load: slices as postcard, the rest as JSON.
pub fn write_step(step: &Foreseen) -> Vec<u8> {
    let Foreseen { slices, model, energy, outcome } = step;
    let rest = serde_json::to_vec(&(model, energy, outcome)).expect("they are documents");
    postcard::to_stdvec(&(slices, rest)).expect("numbers and texts are postcard")
}

/// Decodes a step's load; `None` for other bytes.
pub fn read_step(bytes: &[u8]) -> Option<Foreseen> {
    let (slices, rest): (_, Vec<u8>) = postcard::from_bytes(bytes).ok()?;
    let (model, energy, outcome) = serde_json::from_slice(&rest).ok()?;
    Some(Foreseen { slices, model, energy, outcome })
}

/// Order to open a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Run id, with the host's suffix.
    pub run_id: String,
    /// Controller, as text.
    pub controller: String,
    /// Plan with every value.
    pub plan: Plan,
    /// Tile, so that no host needs a file that another lacks.
    pub tile: ResolvedTile,
    /// Bytes that the first step needs there.
    pub needed_bytes: u64,
    /// Tiles (from 0) driven there, of those that are certain to run.
    #[serde(default)]
    pub tiles: Vec<u32>,
    /// Part of an earlier run, with the host's suffix, whose disks are reused.
    #[serde(default)]
    pub adopt: Option<String>,
    /// Permissions by the user who started the run.
    pub allowances: Allowances,
}

impl Open {
    /// Run id by which disks are made there.
    pub fn made_by(&self) -> &str {
        self.adopt.as_deref().unwrap_or(&self.run_id)
    }
}

/// Request for runs whose disks may be reused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reusable {
    /// Target to open.
    pub open: Open,
    /// Id or a part of one without the host's suffix, `latest` or `latest~1`.
    pub reuse: String,
}

/// Permissions by the user who started a run; the host's owner decides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Allowances {
    /// Identity of the block device that may be overwritten.
    pub destroy_data: Option<String>,
    /// True if an existing file may be overwritten.
    pub overwrite_file: bool,
    /// True if a root, memory or overlay file system may be used.
    pub allow_root_fs: bool,
    /// True if the disks stay.
    pub keep: bool,
}

/// Command of the program, for a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Check that the host is fit for measuring, and a target for a run.
    Doctor {
        /// Target, if one is named.
        target: Option<String>,
    },
    /// Remove what runs left in a target.
    Cleanup {
        /// Target to clean.
        target: String,
        /// True to only list what would be removed.
        dry_run: bool,
        /// Identity of the block device whose label is erased.
        destroy_data: Option<String>,
    },
}

impl Order {
    /// Target that the host's owner must have allowed.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Doctor { target } => target.as_deref(),
            Self::Cleanup { target, .. } => Some(target),
        }
    }

    /// Order for another target, if it has one.
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
    /// Text for people.
    pub text: String,
    /// Document; null if the command has none.
    pub document: serde_json::Value,
    /// Errors that did not end the command, a line each.
    pub errors: Vec<String>,
    /// Exit code.
    pub exit: u8,
}

/// Findings of an examination without writing.
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
    /// Text for people.
    pub text: String,
    /// Hint on what to do.
    pub hint: Option<String>,
}

/// Facts of an opened target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Bytes that disks may occupy.
    pub capacity_bytes: u64,
    /// Target, as one line.
    pub summary: String,
    /// Kind, as in results.
    pub kind: String,
    /// Directory or device of the disks.
    pub path: String,
    /// Warnings of the examination.
    pub warnings: Vec<Warning>,
    /// Caches found on the way.
    pub caches: String,
    /// Result of the examination.
    pub preflight: serde_json::Value,
    /// Environment of the host.
    pub environment: serde_json::Value,
}

/// Request to check that another host's files are seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sees {
    /// Run id that the other host opened with.
    pub run_id: String,
}

/// Work that takes long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// Create and fill the disks of these tiles (from 0).
    Prepare {
        /// Tiles to prepare.
        tiles: Vec<u32>,
    },
    /// Keep everything that was made.
    Keep,
    /// Read back everything that was written.
    Check,
    /// Read back the disks of another part of the run, whose host is lost.
    CheckOf {
        /// Run id by which they were made.
        run_id: String,
        /// Tiles of the disks, from 0.
        tiles: Vec<u32>,
    },
    /// Remove what was made, or leave it as evidence.
    Clear {
        /// True if blocks are wrong, so that all stays in place.
        is_evidence: bool,
    },
}

/// State of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// In progress.
    Going {
        /// Bytes done.
        done: u64,
        /// Bytes in all.
        total: u64,
        /// Present rate.
        bytes_per_s: f64,
    },
    /// Done, with its result.
    Done(JobDone),
    /// Failed, with the reason.
    Failed(Failed),
}

/// Result of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JobDone {
    /// Result of filling.
    pub prefilled: Option<Prefilled>,
    /// Result of reading back, as text.
    pub verified: Option<String>,
    /// Files that stay there, each with the reason.
    pub stays: Vec<String>,
    /// Files that could not be removed.
    pub not_removed: Vec<String>,
}

/// Reason why work was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Error of the host.
    pub error: RemoteError,
    /// True if it was told to end early.
    pub is_interrupted: bool,
    /// Wrong blocks, as text.
    pub wrong_blocks: Vec<String>,
}

/// Order to build the VMs of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Epoch of the load.
    pub epoch: u64,
    /// Part of the step on this host, then the tiles that may move here.
    pub order: StepOrder,
    /// Tiles (from 0) of the order that other hosts drive until they move here, each with the run
    /// id by which its disks were made.
    #[serde(default)]
    pub guests: BTreeMap<u32, String>,
}

/// Order to take a tile out of a load. Not repeatable: the second time the tile is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    /// Epoch of the load.
    pub epoch: u64,
    /// Tile, from 0.
    pub tile: u32,
}

/// State of a tile that moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// Instances, in the order of the step.
    pub instances: Vec<Carried>,
}

impl Taken {
    /// Time at which the first of its instances paused, since the start of the load.
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
    /// Tile, from 0.
    pub tile: u32,
    /// State of the tile; without it the users restart.
    pub taken: Option<Taken>,
}

/// Answer: the tile continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Came {
    /// Time from which all of it continues, in nanoseconds from the start of the load, by that
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

/// Answer: the load pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stands {
    /// Start of the pause, in nanoseconds from the start of the load, by that host's clock.
    pub from_ns: u64,
    /// End of the pause.
    pub until_ns: u64,
}

/// Order to simulate a power loss of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lose {
    /// Epoch of the load.
    pub epoch: u64,
    /// Time away, in nanoseconds; then the host joins again, for the next step.
    pub away_ns: u64,
}

/// Order to begin the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Epoch of the load.
    pub epoch: u64,
    /// Start by the agent's own monotonic clock, in nanoseconds.
    pub at_ns: u64,
}

/// Answer: the load has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// Smallest request unit of the storage, in bytes.
    pub unit_bytes: u64,
    /// Delay after the ordered start, by that host's clock, in nanoseconds.
    pub began_late_ns: u64,
}

/// Request for a lost slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Epoch of the load.
    pub epoch: u64,
    /// Number in the load.
    pub number: u64,
}

/// Result of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Number of slices.
    pub slices: u64,
    /// Outcome, or the reason why it is unknown.
    pub outcome: Result<LoadOutcome, RemoteError>,
}

/// Message that an agent sends by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Epoch of the load.
    pub epoch: u64,
    /// Number in the load.
    pub number: u64,
    /// Slice; `None` if the load has ended, by itself or stopped, after so many slices.
    pub slice: Option<Slice>,
    /// Gauges sampled with it on that host.
    pub gauges: Vec<Gauge>,
}

impl Sent {
    /// Encodes the message.
    pub fn write(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("numbers and texts are postcard")
    }

    /// Decodes a message; `None` for other bytes.
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

    /// A point is simulated from the received message: a changed number would change the result.
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
