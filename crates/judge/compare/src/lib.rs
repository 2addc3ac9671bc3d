//! Two groups of runs compared: what differs around them, by how much each figure changed,
//! and whether that is more than chance.
//!
//! Every figure gets the ratio of the groups' geometric means with an interval that knows how
//! blocks of a repeat, repeats of a run and runs differ; its verdict compares the whole interval
//! with the smallest change that counts, so noise is `inconclusive` and never `worse`.
//!
//! What it refuses: measuring, judging a step again, reading anything but what a run left.
//!
//! Invariants: what is compared is in the files of the runs; a run held against itself is never
//! `worse` or `better`.
#![forbid(unsafe_code)]

mod differ;
mod document;
mod extract;
mod judge;
mod names;
#[cfg(test)]
mod simulated_pairs;
mod subject;
mod within;

pub use document::{
    Better, Bound, Change, Comparison, Decision, Difference, MetricComparison, SCHEMA, Seeds,
    SideFacts, Strictness, Unit, Verdict, json_schema,
};
pub use judge::{CompareError, Options, compare};
pub use subject::Subject;
pub use within::Within;

/// The runs without their environment.
#[cfg(test)]
fn subjects(runs: &[run_store::run::Run]) -> Vec<Subject<'_>> {
    runs.iter().map(|run| Subject { run, environment: None, within: None }).collect()
}
