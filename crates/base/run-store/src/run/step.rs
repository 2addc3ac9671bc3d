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
    /// Step of the ladder, from 1, in the order in which the ladder visited tile counts. Together
    /// with `repeat`, it is the key into the series.
    pub step: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Position among all steps that ran, from 1.
    pub order: u32,
    /// Tiles that ran at the same time.
    pub tiles: u32,
    /// Virtual machines in those tiles.
    pub vms: u32,
    /// Start of the step's load (RFC 3339, UTC): time 0 of its rows in the series.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Verdict over all limits.
    pub verdict: Verdict,
    /// Reason of the verdict, in a sentence.
    pub reason: String,
    /// Reason of the verdict, for programs; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Work of others that disturbed the step, whatever the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<Disturbance>,
    /// Resource at its limit; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// Causes of waiting of the action whose limit broke, largest share first; empty if none broke.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// Gauges of the host, of devices, of a model and of meters over the measured time; empty if
    /// none were read. Runs of earlier versions have only those of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gauges: Vec<Gauge>,
    /// Warm-up of the step.
    pub warm_up: WarmUp,
    /// Steadiness of the measured time; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// Measured time, in nanoseconds.
    pub measured_ns: u64,
    /// Results of each workload.
    pub workloads: Vec<WorkloadResult>,
    /// Each limit against the samples of all tiles together, which decides the step. The limits in
    /// `workloads` are those of one tile alone.
    #[serde(default)]
    pub limits: Vec<PooledLimit>,
    /// Each action over all tiles together. The actions in `workloads` are those of one tile alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<PooledAction>,
    /// I/O of the measured time by direction.
    pub io: Vec<IoTotal>,
    /// Calls of the measured time by workload and kind; absent without calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallTotal>,
    /// Work of the measured time per second.
    pub throughput: Throughput,
    /// Score of the step; null if none could be computed.
    pub score: Option<Score>,
    /// Watts of the measured time; absent without a meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<StepPower>,
    /// State of the load generator; a saturated generator makes the step inconclusive.
    pub generator: GeneratorHealth,
    /// Part of each host, if several drove the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostStep>,
    /// Effect of infrastructure operations on the tiles, if any ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_operations: Option<UnderOperations>,
    /// Events of hosts, in the order of their begin; absent without events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<StepEvent>,
    /// Checks of the measurement against itself.
    pub checks: Vec<Check>,
    /// Warnings about the trustworthiness of this step.
    pub warnings: Vec<Warning>,
    /// State of the modelled parts; on real storage absent, or only the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelFacts>,
    /// Replay of recorded loads, with its punctuality; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayFacts>,
}

/// An action over all tiles of a step together. Percentiles cannot be averaged, so they are taken
/// from the samples of all tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PooledAction {
    /// Workload that the action belongs to.
    pub workload: String,
    /// Results over all tiles.
    pub result: ActionResult,
}

/// Phase of a step.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before the measured time.
    WarmUp,
    /// The measured time.
    Measured,
    /// After the measured time, while the load ends.
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

/// Warm-up of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// Rule that decided when the step was warm.
    pub rule: String,
    /// True if the rule was met before its time limit.
    pub reached: bool,
    /// Duration of the warm-up, in nanoseconds.
    pub duration_ns: u64,
    /// Numbers of the rule, in words.
    pub detail: String,
}

/// Steadiness of the measured time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steady {
    /// Rule for steadiness.
    pub rule: String,
    /// True if the rule was met; null if there was too little data.
    pub reached: Option<bool>,
    /// Numbers of the rule, in words.
    pub detail: String,
}

/// All I/O of one direction in the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoTotal {
    /// Direction of the I/O.
    pub direction: Direction,
    /// Number of successful I/Os.
    pub count: u64,
    /// I/Os that failed; they are not in the latencies.
    pub errors: u64,
    /// Bytes moved by successful I/Os.
    pub bytes: u64,
    /// Successful I/Os per second.
    pub operations_per_s: f64,
    /// Throughput, in bytes per second.
    pub bytes_per_s: f64,
    /// Service time: from submission to completion.
    pub service: Latency,
    /// Response time: from the intended start to completion.
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
    /// Response times of the tiles' actions in that time, compared with the rest of the time.
    pub against_rest: AgainstOthers,
}

/// Score of a step: tiles' worth of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// Definition of the total, in a sentence.
    pub definition: String,
    /// Score of each tile.
    pub tiles: Vec<TileScore>,
    /// Sum of the tiles' geometric means.
    pub applications: Figure,
    /// Geometric mean of the work of each infrastructure operation, divided by its reference;
    /// absent where none ran.
    pub infrastructure: Figure,
    /// The score: 0.8 x `applications` + 0.2 x `infrastructure`; absent without the latter.
    pub total: Figure,
    /// Interval of `total`, or of `applications` where there is no total; null without one.
    pub interval: Option<Interval>,
}

impl Score {
    /// Value of the step: the total, or `applications` where no operations ran.
    pub const fn value(&self) -> Option<f64> {
        match self.total.value {
            Some(total) => Some(total),
            None => self.applications.value,
        }
    }
}

/// Score of one tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TileScore {
    /// Number of the tile, from 0.
    pub tile: u32,
    /// Geometric mean of the normalised metrics of its workloads; 1 is one tile's worth.
    pub geometric_mean: Figure,
}

/// Prefix of the identifier of a failed check's warning; the identifier of the check follows.
pub const CHECK_WARNING: &str = "check-";

/// A check of the measurement against itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Stable identifier: `littles-law`, `submitted-is-completed`.
    pub id: String,
    /// Expected value, in `unit`.
    pub expected: Figure,
    /// Measured value, in `unit`.
    pub found: Figure,
    /// Unit of both: `I/Os`.
    pub unit: String,
    /// Largest difference that passes, as a share of `expected`; 0 for exact checks.
    pub tolerance: f64,
    /// True if the check passed.
    pub passed: bool,
}

/// Work of others that disturbed a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// Gauge that showed the disturbance.
    pub gauge: GaugeName,
    /// Source of most of it: the name of a process, or a word.
    pub by: String,
    /// Amount of the disturbance: a share between 0 and 1, or a number of events.
    pub value: f64,
    /// Largest amount that is allowed.
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
            GaugeName::CpuOwn => write!(
                f,
                "the run's own servers and generator used {share:.0} % of the processors (limit \
                 {limit:.0} %), most of it {by}"
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

/// Reason of a step's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// All limits held.
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
    /// Rates or service times still drifted in the measured time.
    NotSteady,
    /// The load generator was the limit, or did not run.
    Generator,
    /// Work of others disturbed the measurement.
    Disturbed,
    /// The step's own figures contradict each other.
    Inconsistent,
    /// The step was ended early.
    Unfinished,
}

impl Step {
    /// Gauges of the step, independent of its length: sums as rates per second.
    pub fn levels(&self) -> impl Iterator<Item = Gauge> {
        let level = |own: &Gauge| own.name.level(own.value, Nanos(self.measured_ns));
        self.gauges.iter().map(move |own| Gauge { value: level(own), ..own.clone() })
    }
}
