//! What travels between a controller and its agents. Questions and answers are JSON; slices are
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

/// What can be asked, as topics.
pub mod topic {
    /// Who are you? Answered with [`super::Hello`].
    pub const HELLO: &str = "hello";
    /// What opening a target would come to: [`super::Open`], answered with [`super::Examined`].
    pub const EXAMINE: &str = "examine";
    /// What a command of the program says there: [`super::Order`], answered with [`super::Said`].
    pub const COMMAND: &str = "command";
    /// Which runs left disks that fit: [`super::Reusable`], answered with a list of [`bench::run::KeptRun`].
    pub const KEPT: &str = "kept";
    /// Open a target for a run: [`super::Open`], answered with [`super::Opened`].
    pub const OPEN: &str = "open";
    /// Whether what another host made is seen: [`super::Sees`], answered with a truth value.
    pub const SEES: &str = "sees";
    /// Begin something that takes long: [`super::Job`].
    pub const JOB: &str = "job";
    /// How far it is: answered with [`super::JobState`].
    pub const JOB_STATE: &str = "job-state";
    /// End it early.
    pub const JOB_STOP: &str = "job-stop";
    /// Build the machines of a load: [`super::Ready`].
    pub const READY: &str = "ready";
    /// Begin it at a moment: [`super::Begin`], answered with [`super::Began`].
    pub const BEGIN: &str = "begin";
    /// The measured time begins now: an epoch.
    pub const MARK: &str = "mark";
    /// A slice that did not arrive: [`super::Lost`], answered with a [`super::Sent`], or with nothing
    /// if there is none yet.
    pub const SLICE: &str = "slice";
    /// End the load: an epoch.
    pub const STOP: &str = "stop";
    /// What it came to: an epoch, answered with [`super::Finished`], or with nothing while it goes on.
    pub const FINISH: &str = "finish";
    /// A tile stops here and goes elsewhere: [`super::Take`], answered with [`super::Taken`].
    pub const TAKE: &str = "take";
    /// A tile comes here: [`super::Put`], answered with [`super::Came`].
    pub const PUT: &str = "put";
    /// The load stands still: [`super::Stand`], answered with [`super::Stands`].
    pub const STAND: &str = "stand";
    /// The host loses its power: [`super::Lose`].
    pub const LOSE: &str = "lose";
    /// Simulate points of a study: [`super::Study`].
    pub const STUDY: &str = "study";
    /// Begin one: [`super::SimulatePoint`].
    pub const POINT: &str = "point";
    /// What it came to: its number, answered with a [`study::PartOutcome`], or with nothing while it goes on.
    pub const POINT_OUTCOME: &str = "point-outcome";
    /// End those that go on.
    pub const STUDY_STOP: &str = "study-stop";
    /// Simulate steps of a run: [`super::Simulation`].
    pub const SIMULATION: &str = "simulation";
    /// Begin one: [`super::SimulateStep`].
    pub const STEP: &str = "step";
    /// Whether it is there, to be fetched as [`super::step_name`]: its number, answered with nothing while it
    /// goes on, or with why it could not be simulated.
    pub const STEP_OUTCOME: &str = "step-outcome";
    /// That is all: leave.
    pub const LEAVE: &str = "leave";
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The program.
    pub tool: ToolFacts,
    /// The kernel's name of the host.
    pub hostname: String,
    /// What may be written there, as its owner wrote it.
    pub allowed: Vec<String>,
    /// Who else works with this host now, in words.
    pub held_by: Option<String>,
    /// Processors that it may use; other versions did not say.
    #[serde(default)]
    pub processors: usize,
}

/// A study whose points are to be simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Its name, and who controls, in words.
    pub name: String,
    /// Its configurations, so that no host reads a file that another has not.
    pub configurations: Vec<ResolvedConfiguration>,
}

/// Begins a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulatePoint {
    /// Its number with this controller.
    pub number: u64,
    /// Position of its configuration.
    pub index: usize,
    /// Tiles.
    pub tiles: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// The study's seed.
    pub seed: u64,
    /// Points whose outcomes have arrived: they need not be kept.
    pub received: Vec<u64>,
}

/// A run whose steps are to be simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// Every value of the plan.
    pub plan: Plan,
    /// Its tile, so that no host reads a file that another has not.
    pub tile: ResolvedTile,
    /// The array, for the same reason.
    pub array: Array,
}

/// Begins a step of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulateStep {
    /// Its number with this controller.
    pub number: u64,
    /// Tiles.
    pub tiles: u32,
    /// Repeat, from 0.
    pub repeat: u32,
    /// Steps that have arrived: they need not be kept.
    pub received: Vec<u64>,
}

/// What a step is offered as.
pub fn step_name(number: u64) -> String {
    format!("step-{number}")
}

/// A step's load as bytes: slices are postcard, and what is documents elsewhere is JSON.
pub fn write_step(step: &Foreseen) -> Vec<u8> {
    let Foreseen { slices, model, energy, outcome } = step;
    let rest = serde_json::to_vec(&(model, energy, outcome)).expect("they are documents");
    postcard::to_stdvec(&(slices, rest)).expect("numbers and texts are postcard")
}

/// From bytes; nothing if they are something else.
pub fn read_step(bytes: &[u8]) -> Option<Foreseen> {
    let (slices, rest): (_, Vec<u8>) = postcard::from_bytes(bytes).ok()?;
    let (model, energy, outcome) = serde_json::from_slice(&rest).ok()?;
    Some(Foreseen { slices, model, energy, outcome })
}

/// Opens a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// The run, with the host in it.
    pub run_id: String,
    /// Who controls, in words.
    pub controller: String,
    /// Every value of the plan.
    pub plan: Plan,
    /// Its tile, so that no host reads a file that another has not.
    pub tile: ResolvedTile,
    /// Bytes that the first step needs there.
    pub needed_bytes: u64,
    /// Tiles (from 0) that are driven there, of those that are certain to be visited.
    #[serde(default)]
    pub tiles: Vec<u32>,
    /// The part of an earlier run, with the host in it, whose disks are used again.
    #[serde(default)]
    pub adopt: Option<String>,
    /// What the person who started the run allowed.
    pub allowances: Allowances,
}

impl Open {
    /// The run id by which disks are made there.
    pub fn made_by(&self) -> &str {
        self.adopt.as_deref().unwrap_or(&self.run_id)
    }
}

/// Whose disks may be used again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reusable {
    /// What is to be opened.
    pub open: Open,
    /// An id or a part of one without the host in it, `latest` or `latest~1`.
    pub reuse: String,
}

/// What the person who started a run allowed; the host's owner has the last word.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Allowances {
    /// Identity of the block device whose content may be lost.
    pub destroy_data: Option<String>,
    /// An existing file may be overwritten.
    pub overwrite_file: bool,
    /// A root, memory or overlay file system may be used.
    pub allow_root_fs: bool,
    /// The disks stay.
    pub keep: bool,
}

/// A command of the program, for a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Whether the host is fit for measuring, and a target for a run.
    Doctor {
        /// The target, if one is named.
        target: Option<String>,
    },
    /// Remove what runs left in a target.
    Cleanup {
        /// The target.
        target: String,
        /// Only say what would be removed.
        dry_run: bool,
        /// Identity of the block device whose label is erased.
        destroy_data: Option<String>,
    },
}

impl Order {
    /// The target that the host's owner must have allowed.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Doctor { target } => target.as_deref(),
            Self::Cleanup { target, .. } => Some(target),
        }
    }

    /// The same of another target, where it has one.
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

/// What a command came to on a host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Said {
    /// For people.
    pub text: String,
    /// The same as a document; null where the command has none.
    pub document: serde_json::Value,
    /// What went wrong without ending it, a line each.
    pub errors: Vec<String>,
    /// Its exit code.
    pub exit: u8,
}

/// What is found where nothing was touched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examined {
    /// The examination.
    pub preflight: datastore::Preflight,
    /// Why a run would be refused.
    pub refusals: Vec<Refused>,
}

/// Why a run is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Stable name.
    pub id: String,
    /// In words.
    pub text: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// What was opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Bytes that disks may take.
    pub capacity_bytes: u64,
    /// One line about the target.
    pub summary: String,
    /// Its kind, as a result names it.
    pub kind: String,
    /// Where disks are made.
    pub path: String,
    /// What its examination warned of.
    pub warnings: Vec<Warning>,
    /// What is seen of caches on the way.
    pub caches: String,
    /// The examination.
    pub preflight: serde_json::Value,
    /// The machine.
    pub environment: serde_json::Value,
}

/// Whether what another made is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sees {
    /// The run id that the other opened with.
    pub run_id: String,
}

/// Something that takes long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// Make and fill the disks of these tiles (from 0).
    Prepare {
        /// Which.
        tiles: Vec<u32>,
    },
    /// All of it is made: from now on it stays.
    Keep,
    /// Read back everything that was written.
    Check,
    /// Read back what was written to disks of another part of the run, whose host is gone.
    CheckOf {
        /// The run id by which they were made.
        run_id: String,
        /// Whose disks, tiles from 0.
        tiles: Vec<u32>,
    },
    /// Remove what was made; or leave it, as evidence.
    Clear {
        /// Blocks on it are wrong: leave all in place.
        is_evidence: bool,
    },
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// Under way.
    Going {
        /// Bytes done.
        done: u64,
        /// Bytes to do.
        total: u64,
        /// Speed over the last moment.
        bytes_per_s: f64,
    },
    /// It is done.
    Done(JobDone),
    /// It was not done.
    Failed(Failed),
}

/// What a job came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JobDone {
    /// What filling came to.
    pub prefilled: Option<Prefilled>,
    /// What reading back found, in words.
    pub verified: Option<String>,
    /// What stays there, each with why.
    pub stays: Vec<String>,
    /// What could not be removed.
    pub not_removed: Vec<String>,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Error of the host.
    pub error: RemoteError,
    /// It was asked to end early.
    pub is_interrupted: bool,
    /// Blocks that were wrong, in words.
    pub wrong_blocks: Vec<String>,
}

/// Builds the machines of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Which load of the run.
    pub epoch: u64,
    /// Its part of the step, and after it what may come here.
    pub order: StepOrder,
    /// Tiles (from 0) of the order that others drive until they come here, each with the run id by which
    /// its disks were made.
    #[serde(default)]
    pub guests: BTreeMap<u32, String>,
}

/// Takes a tile out of a load. Not asked twice: the second time it is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    /// Which load.
    pub epoch: u64,
    /// Which tile, from 0.
    pub tile: u32,
}

/// A tile on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// Its instances, in the order of the step.
    pub instances: Vec<Carried>,
}

impl Taken {
    /// Since when the first of its instances has stood still, from the start of the load.
    pub fn stood(&self) -> Nanos {
        self.instances.iter().map(|carried| carried.left).min().unwrap_or_default()
    }
}

/// Puts a tile into a load. Postcard, as its answer to [`topic::TAKE`] is: there may be much of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Put {
    /// Which load.
    pub epoch: u64,
    /// Which tile, from 0.
    pub tile: u32,
    /// What it has become; without it its users begin anew.
    pub taken: Option<Taken>,
}

/// A tile goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Came {
    /// Since when all of it does, in nanoseconds from the start of the load, by that host's clock.
    pub goes_on_ns: u64,
}

/// Lets a load stand still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stand {
    /// Which load.
    pub epoch: u64,
    /// How long, in nanoseconds.
    pub for_ns: u64,
}

/// It stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stands {
    /// Since when, in nanoseconds from the start of the load, by that host's clock.
    pub from_ns: u64,
    /// Until when.
    pub until_ns: u64,
}

/// Lets a host lose its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lose {
    /// Which load.
    pub epoch: u64,
    /// How long it stays away, in nanoseconds: then it joins again, for the next step.
    pub away_ns: u64,
}

/// Begins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Which load.
    pub epoch: u64,
    /// When, by the agent's own monotonic clock, in nanoseconds.
    pub at_ns: u64,
}

/// It has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// The unit in which the storage takes requests, in bytes.
    pub unit_bytes: u64,
    /// How long after the moment, by that host's clock, in nanoseconds.
    pub began_late_ns: u64,
}

/// Asks for a slice again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Which load.
    pub epoch: u64,
    /// Its number in the load.
    pub number: u64,
}

/// What a load came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// How many slices there were.
    pub slices: u64,
    /// What was done; or why that is not known.
    pub outcome: Result<LoadOutcome, RemoteError>,
}

/// What an agent sends without being asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Which load.
    pub epoch: u64,
    /// Its number in the load.
    pub number: u64,
    /// What was done; without one the load has ended, by itself or because it was stopped, after so
    /// many slices.
    pub slice: Option<Slice>,
    /// What was read beside it on that host.
    pub gauges: Vec<Gauge>,
}

impl Sent {
    /// As bytes.
    pub fn write(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("numbers and texts are postcard")
    }

    /// From bytes; nothing if they are something else.
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

    /// A point is simulated from what arrives: a number that changes on the way is another result.
    #[test]
    fn every_configuration_of_a_shipped_study_is_the_same_after_a_message() {
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
