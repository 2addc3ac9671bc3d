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
    /// Step of the ladder, from 1, in the order in which the ladder visited tile counts. `step` and
    /// `repeat` together are the key of the step in the series.
    pub step: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Number of this entry among all that ran, from 1.
    pub order: u32,
    /// Number of tiles that ran at the same time.
    pub tiles: u32,
    /// Number of virtual machines in those tiles.
    pub vms: u32,
    /// Start of the step's load (RFC 3339, UTC). Times of its rows in the series count from here.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Combined verdict on all limits.
    pub verdict: Verdict,
    /// Reason for the verdict, in a sentence.
    pub reason: String,
    /// Reason for the verdict, for programs; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Disturbances by other programs or users of the same storage, whatever the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<Disturbance>,
    /// Resource at its limit, or closest to it; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// Causes of waiting in the action whose limit was exceeded, sorted by share, largest first;
    /// empty if no limit was exceeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// Gauges of the host, devices, the model and meters over the measured time; empty if none were
    /// read. Runs of earlier versions have gauges of the host only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gauges: Vec<Gauge>,
    /// Warm-up of the step.
    pub warm_up: WarmUp,
    /// Result of the check that the measured time was in steady state; absent in runs of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// Duration of the measured time, in nanoseconds.
    pub measured_ns: u64,
    /// Results of each workload.
    pub workloads: Vec<WorkloadResult>,
    /// Each limit, checked against the samples of all tiles together. These results decide the
    /// step; the limits in `workloads` are for one tile each.
    #[serde(default)]
    pub limits: Vec<PooledLimit>,
    /// Each action, with the samples of all tiles together. The actions in `workloads` are for one
    /// tile each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<PooledAction>,
    /// I/O in the measured time, by direction.
    pub io: Vec<IoTotal>,
    /// Calls in the measured time, by workload and kind; empty without calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallTotal>,
    /// Work per second in the measured time.
    pub throughput: Throughput,
    /// Score of the step; null if none could be computed.
    pub score: Option<Score>,
    /// Power in the measured time; absent without a meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<StepPower>,
    /// State of the load generator; a saturated generator makes the step inconclusive.
    pub generator: GeneratorHealth,
    /// Share of each host in the step; empty unless several drove the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostStep>,
    /// Effect of infrastructure operations on the tiles; absent if none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_operations: Option<UnderOperations>,
    /// Events of hosts, sorted by start; empty without events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<StepEvent>,
    /// Consistency checks of the measurement.
    pub checks: Vec<Check>,
    /// Warnings that concern how far the step's numbers can be trusted.
    pub warnings: Vec<Warning>,
    /// State of the modelled parts. On real storage, absent or with the host only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelFacts>,
    /// Replay of recorded loads, with its timing accuracy; absent without a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayFacts>,
}

/// Results of an action, from the samples of all tiles of a step together, because percentiles
/// cannot be averaged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PooledAction {
    /// Workload of the action.
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
    /// Time before the measured time.
    WarmUp,
    /// Measured time.
    Measured,
    /// Time after the measured time, while the load ends.
    RampDown,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 3] = [Self::WarmUp, Self::Measured, Self::RampDown];

    /// Returns the name: `warm-up`, `measured` or `ramp-down`.
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
    /// Rule that decided when the warm-up was complete.
    pub rule: String,
    /// True if the rule was met before the time limit.
    pub reached: bool,
    /// Duration of the warm-up, in nanoseconds.
    pub duration_ns: u64,
    /// Values that the rule was applied to, in words.
    pub detail: String,
}

/// Result of the check that the measured time was in steady state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steady {
    /// Rule that defines the steady state.
    pub rule: String,
    /// True if the rule was met; null if there was too little data.
    pub reached: Option<bool>,
    /// Values that the rule was applied to, in words.
    pub detail: String,
}

/// All I/O of one direction in the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoTotal {
    /// Direction of the I/O.
    pub direction: Direction,
    /// Number of successful I/Os.
    pub count: u64,
    /// Number of failed I/Os; they are not in the latencies.
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

/// Work per second in the measured time, summed over all tiles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Successful I/Os per second, all directions.
    pub operations_per_s: f64,
    /// Bytes per second, all directions.
    pub bytes_per_s: f64,
    /// Completed actions per second, all workloads.
    pub actions_per_s: f64,
}

/// Response times of the tiles' actions while infrastructure operations did I/O, compared with the
/// rest of the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnderOperations {
    /// Share of the measured time in which an operation did I/O, 0 to 1, counted by slices.
    pub share_of_time: f64,
    /// Comparison of the response times in that time with the rest of the measured time.
    pub against_rest: AgainstOthers,
}

/// Score of a step, in tiles' worth of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// Definition of `total`, in a sentence.
    pub definition: String,
    /// Score of each tile.
    pub tiles: Vec<TileScore>,
    /// Sum of the tiles' geometric means.
    pub applications: Figure,
    /// Geometric mean over the infrastructure operations of work divided by reference; absent if
    /// none ran.
    pub infrastructure: Figure,
    /// Score: 0.8 x `applications` + 0.2 x `infrastructure`; absent without `infrastructure`.
    pub total: Figure,
    /// Confidence interval of `total`, or of `applications` if there is no total; null without one.
    pub interval: Option<Interval>,
}

impl Score {
    /// Returns the score of the step: `total`, or `applications` if no operations ran.
    pub const fn value(&self) -> Option<f64> {
        match self.total.value {
            Some(total) => Some(total),
            None => self.applications.value,
        }
    }
}

/// Score of one tile, in tiles' worth of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TileScore {
    /// Tile, from 0.
    pub tile: u32,
    /// Geometric mean of the normalised metrics of the tile's workloads; 1 is one tile's worth.
    pub geometric_mean: Figure,
}

/// Prefix of the identifier of the warning about a failed check. The identifier of the check
/// follows it.
pub const CHECK_WARNING: &str = "check-";

/// Consistency check of the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Stable identifier: `littles-law`, `submitted-is-completed`.
    pub id: String,
    /// Expected value, in `unit`.
    pub expected: Figure,
    /// Measured value, in `unit`.
    pub found: Figure,
    /// Unit of both values: `I/Os`.
    pub unit: String,
    /// Largest accepted difference, as a share of `expected`; 0 for exact checks.
    pub tolerance: f64,
    /// True if the check passed.
    pub passed: bool,
}

/// Disturbance of the measurement by other programs or users of the same storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// Gauge that showed it.
    pub gauge: GaugeName,
    /// Main source: the name of a process, or a word.
    pub by: String,
    /// Amount: a share, 0 to 1, or a number of events.
    pub value: f64,
    /// Largest accepted amount.
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

/// Reason for a step's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// All limits were met.
    LimitsHeld,
    /// A limit was exceeded.
    LimitBroken,
    /// Too many intended starts of users were dropped.
    GaveUp,
    /// A workload got no answer at all.
    NoAnswer,
    /// Too many calls of a workload failed.
    CallsFailed,
    /// The samples are not sufficient to decide.
    Undecided,
    /// Rates or service times drifted during the measured time.
    NotSteady,
    /// The load generator was the bottleneck, or did not run.
    Generator,
    /// Other programs or users disturbed the measurement.
    Disturbed,
    /// Numbers of the step contradict each other.
    Inconsistent,
    /// The step was stopped before its end.
    Unfinished,
}

impl Step {
    /// Returns the gauges of the step, made independent of its length: sums become rates per
    /// second.
    pub fn levels(&self) -> impl Iterator<Item = Gauge> {
        let level = |own: &Gauge| own.name.level(own.value, Nanos(self.measured_ns));
        self.gauges.iter().map(move |own| Gauge { value: level(own), ..own.clone() })
    }
}
