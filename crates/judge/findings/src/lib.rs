//! Result of a study: its document, and its output as a page, as values for plots and as text.
//!
//! It defines [`StudyResult`], stores it beside the runs and reads it back, and generates its
//! documentation page and its CSV.
//!
//! It refuses to run anything and to judge a claim.
//!
//! Invariants: a page and all views of a result agree, because they come from the same document; a
//! document of another major version is refused.
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
