//! Compares two groups of runs: their differences in addition to the figures, the change of each
//! figure, and whether the change is more than chance.
//!
//! Every figure gets the ratio of the groups' geometric means, with an interval from the
//! differences of blocks, repeats and runs. The verdict compares the whole interval with the
//! minimum relevant effect, so noise is `inconclusive` and never `worse`.
//!
//! It refuses to measure, to judge a step again, and to read anything other than a run's files.
//!
//! Invariants: all compared values are in the files of the runs; a run compared with itself is
//! never `worse` or `better`.
#![forbid(unsafe_code)]

mod differ;
mod document;
mod extract;
mod figures;
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
pub use figures::{RunFigure, figures};
pub use judge::{CompareError, Options, compare};
pub use subject::Subject;
pub use within::Within;

/// Returns the runs as subjects without their environment.
#[cfg(test)]
fn subjects(runs: &[run_store::run::Run]) -> Vec<Subject<'_>> {
    runs.iter().map(|run| Subject { run, environment: None, within: None }).collect()
}
