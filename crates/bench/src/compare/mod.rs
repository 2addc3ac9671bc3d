//! Two groups of runs compared: what differs around them, by how much each figure changed,
//! and whether that is more than chance.
//!
//! Every figure gets the ratio of the groups' geometric means with an interval that knows how
//! blocks of a repeat, repeats of a run and runs differ; its verdict compares the whole interval
//! with the smallest change that counts, so noise is `inconclusive` and never `worse`.

mod differ;
mod document;
mod extract;
#[cfg(test)]
pub(crate) mod fixtures;
mod judge;
#[cfg(test)]
mod simulated_pairs;
mod text;
mod within;

pub use document::{
    Better, Bound, Change, Comparison, Decision, Difference, MetricComparison, SCHEMA, Seeds,
    SideFacts, Strictness, Unit, Verdict, json_schema,
};
pub use judge::{CompareError, Options, Subject, compare};
pub use text::render;
pub use within::Within;
