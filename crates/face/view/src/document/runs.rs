use run_store::run::{Phase, Run, Verdict};
use run_store::rundir::Event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Fact, FoldedWarning, Headline};

/// `GET /api/v1/runs`: what is stored, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// The directory that was looked at.
    pub base: String,
    /// Its runs, and a sample run if there is none.
    pub runs: Vec<RunRow>,
}

/// Where a run's numbers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Real storage.
    Measured,
    /// A model of storage.
    Simulated,
    /// A played trace, on real storage or a model.
    Replayed,
    /// Observed I/O of something else.
    Recorded,
    /// The run that comes with the program, to look at.
    Sample,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Its directory is complete.
    Complete,
    /// It goes on.
    Running,
    /// Its writer died.
    Abandoned,
}

/// One line of the list of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRow {
    /// Its id, as in paths.
    pub id: String,
    /// Where its numbers come from.
    pub kind: RunKind,
    /// How far it is.
    pub state: RunState,
    /// `complete`, `ended-early`, `interrupted` or `inconclusive`; none while it runs.
    pub status: Option<String>,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// Time under load, nanoseconds.
    pub duration_ns: u64,
    /// What ran: the tile's name, or the trace's.
    pub tile: String,
    /// On what, one line.
    pub target: String,
    /// The answer, one sentence.
    pub sentence: String,
    /// Tiles held, if the run asked.
    pub tiles_held: Option<u32>,
    /// The same with its interval: `26 to 29 tiles`, `at least 8 tiles`.
    #[serde(default)]
    pub tiles: Option<String>,
    /// The profile: `quick`, `standard`, `full`; none of what was only observed.
    #[serde(default)]
    pub profile: Option<String>,
    /// What was scaled down: `disks 1/512`; none at full size.
    #[serde(default)]
    pub scale: Option<String>,
    /// Steps in which other work was in the way.
    #[serde(default)]
    pub disturbed_steps: u32,
    /// The score, if there is one.
    pub score: Option<f64>,
    /// Bytes of the directory.
    pub size_bytes: u64,
    /// I/Os a second over the run, at most 60 points, each the mean of its part.
    pub spark: Vec<f64>,
    /// Why it cannot be read, if so.
    pub error: Option<String>,
}

/// `GET /api/v1/runs/{id}`: what does not depend on the lens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPage {
    /// Its line in the list.
    pub row: RunRow,
    /// The answer in parts; none while the run goes on, and of what was only observed.
    #[serde(default)]
    pub headline: Option<Headline>,
    /// Warnings of the run and its steps, folded.
    #[serde(default)]
    pub warnings: Vec<FoldedWarning>,
    /// How it was measured; empty without `run.json`.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// `run.json`; none if it could not be read yet.
    pub run: Option<Run>,
    /// `env.json`.
    pub environment: Option<serde_json::Value>,
    /// `preflight.json`.
    pub preflight: Option<serde_json::Value>,
    /// `plan.toml`, as text.
    pub plan: Option<String>,
    /// `SHA256SUMS`, as text; none while the run goes on.
    pub checksums: Option<String>,
    /// What can be chosen in the lens.
    pub dimensions: Dimensions,
    /// The steps on the run's axis, in the order in which they ran.
    pub steps: Vec<StepSpan>,
    /// The end of the axis, nanoseconds.
    pub end_ns: u64,
    /// The finest step of time that can be asked for, nanoseconds.
    pub slice_ns: u64,
    /// How it goes, while it runs.
    pub live: Option<LiveState>,
}

/// What can be chosen in the lens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dimensions {
    /// Names of workloads; of a recorded trace: the VMs.
    pub workloads: Vec<String>,
    /// Most tiles that ran at the same time; tiles are numbered from 1.
    pub tiles: u32,
    /// The hosts that drove the load; none where it was one machine.
    pub hosts: Vec<String>,
    /// Labels of the eight classes of sizes, smallest first.
    pub classes: Vec<String>,
    /// Whether an acceleration tier took part.
    pub has_tier: bool,
    /// Whether endpoints were called.
    pub has_calls: bool,
    /// Whether there are tiles and limits; a recorded trace has none.
    pub has_ladder: bool,
    /// Whether it is known when I/O was sent; without, there are no rates.
    pub has_times: bool,
    /// Whether it is known how long I/O took.
    pub has_latencies: bool,
    /// Sentence that stands in place of the charts of times or latencies that are not known.
    pub lacks: Option<String>,
}

/// One part of one step on the run's axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepSpan {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Tiles in it.
    pub tiles: u32,
    /// Which part.
    pub phase: Phase,
    /// Its begin on the axis, nanoseconds.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// What the step came to; none while it runs.
    pub verdict: Option<Verdict>,
}

/// What a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LivePhase {
    /// It fills its disks, or has not begun.
    Preparing,
    /// Load is on, and does not count yet.
    WarmUp,
    /// Load is on and counts.
    Measured,
    /// What was measured is held against the limits.
    Judging,
    /// It goes on no more.
    Ended,
}

/// How a run goes; also what `GET /api/v1/runs/{id}/live` sends about once a second
/// (server-sent events named `state`; the last one is named `end`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveState {
    /// Grows with every change: views are asked for again when it does.
    pub version: u64,
    /// What it does.
    pub phase: LivePhase,
    /// What is known of the answer so far: `Held so far: 8 tiles. Trying 12, about 2 min left.`
    #[serde(default)]
    pub headline: String,
    /// One sentence: what runs, how far it is, what users feel.
    pub sentence: String,
    /// Tiles in the step.
    pub tiles: u32,
    /// Time under load so far, nanoseconds.
    pub elapsed_ns: u64,
    /// Time left of this part of the step at most, nanoseconds.
    pub left_ns: Option<u64>,
    /// Time left of the whole run in words: `about 2 min left`; none where nobody can tell.
    #[serde(default)]
    pub run_left: Option<String>,
    /// Share of the preparation that is done, 0 to 1.
    pub prepared: Option<f64>,
    /// I/Os a second in the last second.
    pub operations_per_s: f64,
    /// Calls answered well in the last second; none where no calls are made, or before it is known.
    #[serde(default)]
    pub calls_per_s: Option<f64>,
    /// Bytes a second in the last second.
    pub bytes_per_s: f64,
    /// 99th percentile of the service time in the last second, of I/Os or, without any, of calls;
    /// nanoseconds.
    pub p99_ns: Option<u64>,
    /// Limits of the running step, all tiles together, the one with the least room first.
    #[serde(default)]
    pub limits: Vec<LiveLimit>,
    /// Sentences that weaken what is seen: others whose work is in the way now, steps that were
    /// disturbed, and why the last step decided nothing.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// What each of several hosts did in the last slice; none of one machine, nor where another process
    /// runs it.
    #[serde(default)]
    pub hosts: Vec<HostRate>,
    /// Slices that the live view did not get because it was behind; of a recording, batches of
    /// I/Os.
    pub lost_slices: u64,
}

/// A limit while it is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveLimit {
    /// `shop order p95`.
    pub name: String,
    /// Measured so far, nanoseconds; none without samples.
    pub measured_ns: Option<u64>,
    /// Allowed, nanoseconds.
    pub limit_ns: u64,
    /// Measured as a share of what is allowed: above 1 it is broken so far.
    pub share: Option<f64>,
}

/// What one of several hosts does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostRate {
    /// Its name.
    pub host: String,
    /// I/Os that ended well, a second.
    pub operations_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
}

/// `GET /api/v1/runs/{id}/events`: what happened, in the order in which it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventList {
    /// Lines of `events.jsonl`; their times are of the run's clock, pauses between steps included.
    pub events: Vec<Event>,
}
