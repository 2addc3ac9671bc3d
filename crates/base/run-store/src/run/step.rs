use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ActionResult, AgainstOthers, Bottleneck, CallTotal, Figure, GeneratorHealth, HostStep,
    Interval, Latency, ModelFacts, PooledLimit, ReplayFacts, StepEvent, StepPower, Verdict, Wait,
    Warning, WorkloadResult,
};
use crate::gauge::{Gauge, GaugeName};
use crate::slice::Direction;
use units::Nanos;

/// One repeat of one step of the ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Step of the ladder, from 1, in the order the ladder visited tile counts; with
    /// `repeat` the key into the series.
    pub step: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Place among everything that was run, from 1.
    pub order: u32,
    /// Tiles that ran at the same time.
    pub tiles: u32,
    /// Virtual machines in those tiles.
    pub vms: u32,
    /// When its load started (RFC 3339, UTC): time 0 of its rows in the series.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Whether every limit held.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// Why, for programs; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Whose work was in the way, whatever the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<Disturbance>,
    /// What was at its limit; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// What the action whose limit broke waited for, largest share first; empty if none broke.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// What gauges of the machine, of devices, of a model and of meters came to over the measured
    /// time; empty where nobody looked. Runs of earlier versions have those of the machine alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gauges: Vec<Gauge>,
    /// How it warmed up.
    pub warm_up: WarmUp,
    /// Whether the measured time was steady; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// Measured time, in nanoseconds.
    pub measured_ns: u64,
    /// What each workload reached.
    pub workloads: Vec<WorkloadResult>,
    /// Each limit held against the samples of all tiles together, which is what decides the
    /// step; the limits of `workloads` are those of one tile alone.
    #[serde(default)]
    pub limits: Vec<PooledLimit>,
    /// Each action over all tiles together; those of `workloads` are one tile's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<PooledAction>,
    /// All I/O of the measured time by direction.
    pub io: Vec<IoTotal>,
    /// All calls of the measured time by workload and kind; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallTotal>,
    /// Work of the measured time per second.
    pub throughput: Throughput,
    /// The step's score; null if none could be computed.
    pub score: Option<Score>,
    /// Watts of the measured time; absent without a meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<StepPower>,
    /// How the load generator fared; a saturated one makes the step inconclusive.
    pub generator: GeneratorHealth,
    /// What each host's part came to, where several drove it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostStep>,
    /// What infrastructure operations cost the tiles, where any ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_operations: Option<UnderOperations>,
    /// What happened to hosts, in the order in which it was begun; absent if nothing did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<StepEvent>,
    /// Checks of the measurement against itself.
    pub checks: Vec<Check>,
    /// What a reader should know before trusting this step.
    pub warnings: Vec<Warning>,
    /// What the modelled parts did; absent on real storage, or the host alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelFacts>,
    /// What was played of recorded loads, and how punctually; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayFacts>,
}

/// An action over all tiles of a step together: percentiles do not average, so they are
/// taken from the samples of all tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PooledAction {
    /// The workload whose action it is.
    pub workload: String,
    /// What was measured over all tiles.
    pub result: ActionResult,
}

/// Part of a step that a slice of time belongs to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before the numbers count.
    WarmUp,
    /// The numbers count.
    Measured,
    /// After the numbers counted, while load ends.
    RampDown,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 3] = [Self::WarmUp, Self::Measured, Self::RampDown];

    /// `warm-up`, `measured` or `ramp-down`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Measured => "measured",
            Self::RampDown => "ramp-down",
        }
    }
}

/// How a step warmed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// The rule that decided when it was warm.
    pub rule: String,
    /// Whether the rule was met before its cap on time.
    pub reached: bool,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// What the rule saw.
    pub detail: String,
}

/// Whether the measured time was steady.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steady {
    /// The rule it was held against.
    pub rule: String,
    /// Whether it was met; null if there was too little to hold against it.
    pub reached: Option<bool>,
    /// What the rule saw.
    pub detail: String,
}

/// All I/O of one direction in the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoTotal {
    /// Which way.
    pub direction: Direction,
    /// I/Os that succeeded.
    pub count: u64,
    /// I/Os that failed; they are not in the latencies.
    pub errors: u64,
    /// Bytes moved by those that succeeded.
    pub bytes: u64,
    /// Successful I/Os per second.
    pub operations_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Submitted to done.
    pub service: Latency,
    /// Intended start to done.
    pub response: Latency,
}

/// Work of the measured time per second, all tiles together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Successful I/Os per second, all directions.
    pub operations_per_s: f64,
    /// Bytes per second, all directions.
    pub bytes_per_s: f64,
    /// Finished actions per second, all workloads.
    pub actions_per_s: f64,
}

/// The tiles' actions while infrastructure operations did I/O, against the same actions while none
/// did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnderOperations {
    /// Share of the measured time, slice by slice, in which an operation did I/O.
    pub share_of_time: f64,
    /// Response times of the tiles' actions in that time, against the rest of the time.
    pub against_rest: AgainstOthers,
}

/// A step's score: tiles' worth of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// How the parts make the total, in a sentence.
    pub definition: String,
    /// Each tile's part.
    pub tiles: Vec<TileScore>,
    /// Sum of the tiles' geometric means.
    pub applications: Figure,
    /// Geometric mean of what each infrastructure operation was done, against its reference; absent
    /// where none ran.
    pub infrastructure: Figure,
    /// The score: 0.8 x `applications` + 0.2 x `infrastructure`; absent without the second.
    pub total: Figure,
    /// The interval of `total`, or of `applications` where there is no total; null if it has none.
    pub interval: Option<Interval>,
}

impl Score {
    /// What the step is worth: the total, or the applications' part where no operations ran.
    pub const fn value(&self) -> Option<f64> {
        match self.total.value {
            Some(total) => Some(total),
            None => self.applications.value,
        }
    }
}

/// One tile's part of the score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TileScore {
    /// Tile, from 0.
    pub tile: u32,
    /// Geometric mean of its workloads' normalised metrics; 1 is one tile's worth.
    pub geometric_mean: Figure,
}

/// What the identifier of a warning of a failed check begins with; the check's own follows.
pub const CHECK_WARNING: &str = "check-";

/// A check of the measurement against itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Stable identifier: `littles-law`, `submitted-is-completed`.
    pub id: String,
    /// What should have been found, in `unit`.
    pub expected: Figure,
    /// What was found, in `unit`.
    pub found: Figure,
    /// Unit of both: `I/Os`.
    pub unit: String,
    /// Largest difference that passes, as a share of `expected`; 0 for exact checks.
    pub tolerance: f64,
    /// Whether it passed.
    pub passed: bool,
}

/// Work of others that was in the way of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// What showed it.
    pub gauge: GaugeName,
    /// Who did most of it: the name of a process, or a word.
    pub by: String,
    /// How much it was: a share between 0 and 1, or a number of events.
    pub value: f64,
    /// How much is allowed.
    pub limit: f64,
}

impl std::fmt::Display for Disturbance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (by, share, limit) = (&self.by, self.value * 100.0, self.limit * 100.0);
        match self.gauge {
            GaugeName::CpuOthers => write!(
                f,
                "other processes used {share:.0} % of the processors (limit {limit:.0} %), most of \
                 it {by}"
            ),
            GaugeName::CpuSteal => {
                write!(f, "{by} took {share:.1} % of the processors (limit {limit:.0} %)")
            }
            GaugeName::IoOthers => write!(
                f,
                "other processes moved {share:.0} % of the bytes (limit {limit:.0} %), most of them \
                 {by}"
            ),
            GaugeName::DeviceBytes => write!(
                f,
                "{share:.0} % of the bytes of {by} were not this run's (limit {limit:.0} %), and \
                 no process was seen to move them"
            ),
            GaugeName::Paused => write!(
                f,
                "this program did not run for {share:.0} % of the time at a stretch (limit \
                 {limit:.0} %): {by}"
            ),
            GaugeName::PressureMemory => write!(
                f,
                "tasks waited for memory in {share:.0} % of the time (limit {limit:.0} %): {by}"
            ),
            GaugeName::Throttled => {
                write!(f, "processors slowed down by {by}, {} times", self.value)
            }
            other => {
                write!(f, "{} was {:.3} (limit {:.3}), {by}", other.title(), self.value, self.limit)
            }
        }
    }
}

/// Why a step's verdict is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Every limit held.
    LimitsHeld,
    /// A limit was broken.
    LimitBroken,
    /// Users gave up too many of their starts.
    GaveUp,
    /// A workload got no answer at all.
    NoAnswer,
    /// Too many calls of a workload failed.
    CallsFailed,
    /// The samples do not decide.
    Undecided,
    /// Rates or service times still drifted.
    NotSteady,
    /// The load generator was the limit, or did not run.
    Generator,
    /// Somebody else's work was in the way.
    Disturbed,
    /// The step's own figures contradict each other.
    Inconsistent,
    /// It was ended early.
    Unfinished,
}

impl Step {
    /// Its gauges, whatever its length: sums by the second.
    pub fn levels(&self) -> impl Iterator<Item = Gauge> {
        let level = |own: &Gauge| own.name.level(own.value, Nanos(self.measured_ns));
        self.gauges.iter().map(move |own| Gauge { value: level(own), ..own.clone() })
    }
}
