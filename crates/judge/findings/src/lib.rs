//! What a study found: its document, and that as a page, as values for plotting and in words.
//!
//! What it does: defines [`StudyResult`], keeps it beside the runs and reads it back; makes its
//! page of documentation and its CSV.
//!
//! What it refuses: running anything, judging a claim.
//!
//! Invariants: a page and all views of a result say the same, because they come from the same
//! document; a document of another major version is not read.
#![forbid(unsafe_code)]

mod csv;
mod document;
mod markdown;
mod number;
mod page;
mod read;
pub mod store;
mod words;

pub use csv::csv;
pub use document::{
    ClaimResult, ConfigurationFacts, KindCount, Outcome, PointFigures, PointResult, PointRun,
    PointVerdict, SCHEMA, StudyResult, Summary, TableResult, TableRow, TierShares, json_schema,
};
pub use markdown::markdown;
pub use number::{met, ours, published_text, tolerance_text};
pub use page::{Block, CLAIMS_NOTE, Page, Section};
pub use read::{ReadError, parse};
pub use words::{claims, facts, heading, missed, notes_on_points, points, summary, table, why};
