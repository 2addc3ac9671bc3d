//! Runs studies: runs every step that their claims need once, on several threads or hosts, and
//! judges the claims.
//!
//! It refuses to count an input or a fitted value as reproduced, and to count a claim as met
//! because of missing values.
//!
//! Invariants: the result does not depend on the number of threads or hosts or on their order; a
//! repeat has the same random numbers in every configuration; a missing figure never meets a claim;
//! only predicted claims count as reproduced.
#![forbid(unsafe_code)]

mod absent;
mod evaluate;
mod figures;
mod judge;
mod merge;
mod model;
mod needs;
mod options;
mod part;
mod point;
mod real;
mod report;
mod run;
mod shard;
mod simulated;
#[cfg(test)]
mod tests;

pub use absent::Absent;
pub use merge::{MergeError, merge, run_shard};
pub use options::Options;
pub use part::{Job, PART_SCHEMA, PartError, PartOutcome, PartRun, StudyPart, part_json_schema};
pub use point::{Point, PointError, Simulate};
pub use real::RealStorage;
pub use run::{Progress, StudyError, run};
pub use shard::{Shard, ShardError};
pub use simulated::Simulated;
