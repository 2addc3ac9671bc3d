//! Names of the files in a run directory.

/// What was found ([`crate::run::Run`]).
pub const RUN: &str = "run.json";
/// The resolved plan, which runs again.
pub const PLAN: &str = "plan.toml";
/// The modelled array of a simulation, every key with its value.
pub const ARRAY: &str = "array.toml";
/// The tile that the run made itself, for a recorded load.
pub const TILE: &str = "tile.toml";
/// The workload of that tile.
pub const WORKLOAD: &str = "workload.toml";
/// What was checked about the target before anything was written to it.
pub const PREFLIGHT: &str = "preflight.json";
/// The machine ([`crate::env::Environment`]).
pub const ENV: &str = "env.json";
/// What happened when, one JSON object per line.
pub const EVENTS: &str = "events.jsonl";
/// I/O by slice of time.
pub const SERIES: &str = "series.parquet";
/// Calls by slice of time; only where there are any.
pub const CALLS: &str = "calls.parquet";
/// Actions by slice of time.
pub const ACTIONS: &str = "actions.parquet";
/// What had not finished by slice of time.
pub const OPEN: &str = "open.parquet";
/// The load generator's own state by slice of time.
pub const GENERATOR: &str = "generator.parquet";
/// What the machine, the device and modelled parts did meanwhile ([`crate::gauge`]).
pub const GAUGES: &str = "gauges.parquet";
/// The run at the resolution of looking at it ([`crate::rollup::Rollup`]).
pub const ROLLUP: &str = "rollup.parquet";
/// The report for people.
pub const REPORT: &str = "report.html";
/// HdrHistogram log, if it was exported into the directory.
pub const HLOG: &str = "hist.hlog";
/// SHA-256 of every other file, as `sha256sum` writes it.
pub const SUMS: &str = "SHA256SUMS";
/// Directory of series parts, while the run lasts.
pub const PARTS: &str = "parts";
/// Locked by the process that writes the directory, while the run lasts.
pub const LOCK: &str = ".lock";

/// Every file a complete or partial run may hold; anything else was put there by others.
pub const ALL: [&str; 19] = [
    RUN, PLAN, ARRAY, TILE, WORKLOAD, PREFLIGHT, ENV, EVENTS, SERIES, CALLS, ACTIONS, OPEN,
    GENERATOR, GAUGES, ROLLUP, REPORT, HLOG, SUMS, LOCK,
];

/// End of the name of a directory that is not complete.
pub const PARTIAL: &str = ".partial";
/// End of the name of a file that is being written.
pub const TEMPORARY: &str = ".tmp";
