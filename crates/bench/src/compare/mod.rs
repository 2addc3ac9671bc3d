//! Two groups of runs compared: what differs around them, by how much each figure changed,
//! and whether that is more than chance.
//!
//! Every figure gets Hodges and Lehmann's estimate of the change with the exact interval
//! that inverts Mann and Whitney's test; its verdict compares the whole interval with the
//! smallest change that counts, so noise is `inconclusive` and never `worse`.

mod differ;
mod document;
mod extract;
#[cfg(test)]
pub(crate) mod fixtures;
mod judge;
mod text;

pub use document::{
    Better, Change, Comparison, Decision, Difference, MetricComparison, SCHEMA, Seeds, SideFacts,
    Strictness, Unit, Verdict, json_schema,
};
pub use judge::{CompareError, Options, Subject, compare};
pub use text::render;
