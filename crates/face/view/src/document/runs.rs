use run_store::run::{Phase, Run, Verdict};
use run_store::rundir::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Fact, FoldedWarning, Headline};

/// Answer of `GET /api/v1/runs`: stored runs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// Directory that was listed.
    pub base: String,
    /// Stored runs, or a sample run if there is none.
    pub runs: Vec<RunRow>,
}

/// Source of a run's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Real storage was measured.
    Measured,
    /// A model of storage.
    Simulated,
    /// A replayed trace, on real storage or a model.
    Replayed,
    /// Observed I/O of other programs.
    Recorded,
    /// I/O of a host that is watched all the time.
    Watched,
    /// Sample run that comes with the program.
    Sample,
}

/// Completeness of a run's files, or the progress of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// The run directory is complete.
    Complete,
    /// The run is in progress.
    Running,
    /// The process that wrote the run died.
    Abandoned,
}

/// A row in the list of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRow {
    /// Identifier of the run, as in paths.
    pub id: String,
    /// Source of the run's numbers.
    pub kind: RunKind,
    /// State of the run.
    pub state: RunState,
    /// Status: `complete`, `ended-early`, `interrupted` or `inconclusive`; none while the run is in
    /// progress.
    pub status: Option<String>,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// Time under load, nanoseconds.
    pub duration_ns: u64,
    /// Name of the tile or of the trace.
    pub tile: String,
    /// Description of the target in one line.
    pub target: String,
    /// Answer in one sentence.
    pub sentence: String,
    /// Largest number of tiles at which all limits were met, if the run searched for it.
    pub tiles_held: Option<u32>,
    /// The same number with its interval, as text: `26 to 29 tiles`, `at least 8 tiles`.
    #[serde(default)]
    pub tiles: Option<String>,
    /// Profile: `quick`, `standard`, `full`; none for observed I/O.
    #[serde(default)]
    pub profile: Option<String>,
    /// Scaling: `disks 1/512`; none at full size.
    #[serde(default)]
    pub scale: Option<String>,
    /// Number of steps that other work disturbed.
    #[serde(default)]
    pub disturbed_steps: u32,
    /// The score, if there is one.
    pub score: Option<f64>,
    /// Size of the directory, in bytes.
    pub size_bytes: u64,
    /// I/Os per second over the run, at most 60 points, each the mean of its interval.
    pub spark: Vec<f64>,
    /// Reason why the run cannot be read; none if it can.
    pub error: Option<String>,
}

/// Answer of `GET /api/v1/runs/{id}`: everything that does not depend on the lens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPage {
    /// Row in the list of runs.
    pub row: RunRow,
    /// Answer in parts; none while the run is in progress, and for observed I/O.
    #[serde(default)]
    pub headline: Option<Headline>,
    /// Warnings of the run and its steps, folded.
    #[serde(default)]
    pub warnings: Vec<FoldedWarning>,
    /// Facts about the measurement; empty without `run.json`.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// Content of `run.json`; none if it could not be read yet.
    pub run: Option<Run>,
    /// Content of `env.json`.
    pub environment: Option<serde_json::Value>,
    /// Content of `preflight.json`.
    pub preflight: Option<serde_json::Value>,
    /// Text of `plan.toml`.
    pub plan: Option<String>,
    /// Text of `SHA256SUMS`; none while the run is in progress.
    pub checksums: Option<String>,
    /// Values that a view of the run can be filtered by, and the kinds of data that the run has.
    pub dimensions: Dimensions,
    /// Steps on the run's axis, in the order in which they ran.
    pub steps: Vec<StepSpan>,
    /// End of the run's axis, nanoseconds.
    pub end_ns: u64,
    /// Finest resolution of time, nanoseconds.
    pub slice_ns: u64,
    /// Live state, while the run is in progress.
    pub live: Option<LiveState>,
}

/// Values that a view of the run can be filtered by, and the kinds of data that the run has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dimensions {
    /// Names of the workloads; in a recorded trace the VMs.
    pub workloads: Vec<String>,
    /// Largest number of tiles that ran at the same time; tiles are numbered from 1.
    pub tiles: u32,
    /// Hosts that drove the load; empty for a single host.
    pub hosts: Vec<String>,
    /// Labels of the eight size classes, smallest first.
    pub classes: Vec<String>,
    /// True if an acceleration tier took part.
    pub has_tier: bool,
    /// True if endpoints were called.
    pub has_calls: bool,
    /// True if there are tiles and limits; a recorded trace has none.
    pub has_ladder: bool,
    /// True if submission times are known; without them, there are no rates.
    pub has_times: bool,
    /// True if latencies are known.
    pub has_latencies: bool,
    /// Sentence in place of charts whose times or latencies are unknown.
    pub lacks: Option<String>,
}

/// A phase of a step on the run's axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepSpan {
    /// Number of the step in the ladder, from 1.
    pub step: u32,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Number of tiles of the step.
    pub tiles: u32,
    /// Phase of the step.
    pub phase: Phase,
    /// Begin on the run's axis, nanoseconds.
    pub from_ns: u64,
    /// End on the run's axis, nanoseconds.
    pub to_ns: u64,
    /// Verdict of the step; none while it runs.
    pub verdict: Option<Verdict>,
}

/// Activity of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LivePhase {
    /// The run fills its disks, or has not begun.
    Preparing,
    /// Load runs, but is not measured yet.
    WarmUp,
    /// Load runs and is measured.
    Measured,
    /// The measurements are judged.
    Judging,
    /// The run has ended.
    Ended,
}

/// Live state of a run. `GET /api/v1/runs/{id}/live` sends it about once a second, as server-sent
/// events named `state`. The last event is named `end`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveState {
    /// Number that rises with every change, so that views are requested again.
    pub version: u64,
    /// Current activity.
    pub phase: LivePhase,
    /// Answer so far: `Held so far: 8 tiles. Trying 12, about 2 min left.`
    #[serde(default)]
    pub headline: String,
    /// Summary in one sentence: the load, its progress, and the users' latency.
    pub sentence: String,
    /// Number of tiles of the step.
    pub tiles: u32,
    /// Time under load so far, nanoseconds.
    pub elapsed_ns: u64,
    /// Maximum time left of this phase, nanoseconds.
    pub left_ns: Option<u64>,
    /// Time left of the whole run in words: `about 2 min left`; none if it cannot be estimated.
    #[serde(default)]
    pub run_left: Option<String>,
    /// Share of the preparation that is done, 0 to 1.
    pub prepared: Option<f64>,
    /// I/Os per second in the last second.
    pub operations_per_s: f64,
    /// Successful calls in the last second; none without calls, or before the number is known.
    #[serde(default)]
    pub calls_per_s: Option<f64>,
    /// Bytes per second in the last second.
    pub bytes_per_s: f64,
    /// 99th percentile of the service time in the last second, nanoseconds. It is for I/Os, or for
    /// calls if there is no I/O.
    pub p99_ns: Option<u64>,
    /// Limits of the running step over all tiles together, the one with the least room first.
    #[serde(default)]
    pub limits: Vec<LiveLimit>,
    /// Reasons to doubt the numbers: current disturbances, disturbed steps, and the reason why the
    /// last step was not decided.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// Rates of each of several hosts in the last slice; empty for one host, and if another process
    /// carries out the run.
    #[serde(default)]
    pub hosts: Vec<HostRate>,
    /// Number of slices that the live view dropped because it was behind; in a recording, batches
    /// of I/Os.
    pub lost_slices: u64,
}

/// A limit during its measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveLimit {
    /// Name of the limit, such as `shop order p95`.
    pub name: String,
    /// Value measured so far, nanoseconds; none without samples.
    pub measured_ns: Option<u64>,
    /// Limit, in nanoseconds.
    pub limit_ns: u64,
    /// Measured value divided by the limit; above 1 the limit is broken so far.
    pub share: Option<f64>,
}

/// Rates of one of several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostRate {
    /// Name of the host.
    pub host: String,
    /// Successful I/Os per second.
    pub operations_per_s: f64,
    /// Throughput, in bytes per second.
    pub bytes_per_s: f64,
}

/// Answer of `GET /api/v1/runs/{id}/events`: events in the order of their times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventList {
    /// Lines of `events.jsonl`. Their times are on the run's clock, which includes pauses between
    /// steps.
    pub events: Vec<Event>,
}
