//! Studies: every step their claims need, once each and spread over threads; claims judged; text,
//! JSON, CSV and a page of documentation from one result.
//!
//! Invariants: the result does not depend on the number of threads or on their order; a
//! repeat has the same random numbers in every configuration; a figure that is not there is
//! never met; only predicted claims count as reproduced.

mod absent;
mod csv;
mod document;
mod evaluate;
mod figures;
mod grid;
mod judge;
mod markdown;
mod model;
mod needs;
mod number;
mod point;
mod real;
mod report;
mod run;
mod simulated;
pub mod store;
#[cfg(test)]
mod tests;
mod text;

pub use absent::Absent;
pub use csv::csv;
pub use document::{
    ClaimResult, ConfigurationFacts, KindCount, Outcome, PointFigures, PointResult, PointRun,
    SCHEMA, StudyResult, Summary, TableResult, TableRow, TierShares, json_schema,
};
pub use markdown::markdown;
pub use number::{published_text, tolerance_text};
pub use point::{Point, PointError, Simulate};
pub use real::RealStorage;
pub use run::{Options, Progress, StudyError, run};
pub use simulated::Simulated;
pub use text::text;
