//! Names of the files in a run directory.

/// Results of the run ([`crate::run::Run`]).
pub const RUN: &str = "run.json";
/// Resolved plan, which can be run again.
pub const PLAN: &str = "plan.toml";
/// Modelled array of a simulation, with every key and value.
pub const ARRAY: &str = "array.toml";
/// Tile that the run generated for a recorded load.
pub const TILE: &str = "tile.toml";
/// Workload of the generated tile.
pub const WORKLOAD: &str = "workload.toml";
/// Result of the checks of the target before anything was written.
pub const PREFLIGHT: &str = "preflight.json";
/// Properties of the host ([`crate::env::Environment`]).
pub const ENV: &str = "env.json";
/// Events of the run, one JSON object per line.
pub const EVENTS: &str = "events.jsonl";
/// Series of I/O by time slice.
pub const SERIES: &str = "series.parquet";
/// Series of calls by time slice; missing without calls.
pub const CALLS: &str = "calls.parquet";
/// Series of actions by time slice.
pub const ACTIONS: &str = "actions.parquet";
/// Unfinished work at the end of each time slice.
pub const OPEN: &str = "open.parquet";
/// State of the load generator by time slice.
pub const GENERATOR: &str = "generator.parquet";
/// Gauges of the host, the devices and modelled parts ([`crate::gauge`]).
pub const GAUGES: &str = "gauges.parquet";
/// Rollup of the run, at the resolution of its charts ([`crate::rollup::Rollup`]).
pub const ROLLUP: &str = "rollup.parquet";
/// Report for people.
pub const REPORT: &str = "report.html";
/// HdrHistogram log, if it was exported into the directory.
pub const HLOG: &str = "hist.hlog";
/// SHA-256 of every other file, as `sha256sum` writes it.
pub const SUMS: &str = "SHA256SUMS";
/// Directory of the series parts; it exists while the run is in progress.
pub const PARTS: &str = "parts";
/// Lock file of the process that writes the directory; it exists while the run is in progress.
pub const LOCK: &str = ".lock";

/// Names of all files of a complete or partial run. Any other file was not written by Tilemark.
pub const ALL: [&str; 19] = [
    RUN, PLAN, ARRAY, TILE, WORKLOAD, PREFLIGHT, ENV, EVENTS, SERIES, CALLS, ACTIONS, OPEN,
    GENERATOR, GAUGES, ROLLUP, REPORT, HLOG, SUMS, LOCK,
];

/// Suffix of the name of an incomplete directory.
pub const PARTIAL: &str = ".partial";
/// Suffix of the name of a file that is being written.
pub const TEMPORARY: &str = ".tmp";
