//! Studies: every step their claims need, once each and spread over threads; claims judged.
//!
//! What it refuses: counting what was put in or fitted as reproduced, a claim that was met by
//! what is not there.
//!
//! Invariants: the result does not depend on the number of threads or on their order; a
//! repeat has the same random numbers in every configuration; a figure that is not there is
//! never met; only predicted claims count as reproduced.
#![forbid(unsafe_code)]

mod absent;
mod evaluate;
mod figures;
mod judge;
mod model;
mod needs;
mod options;
mod point;
mod real;
mod report;
mod run;
mod simulated;
#[cfg(test)]
mod tests;

pub use absent::Absent;
pub use options::Options;
pub use point::{Point, PointError, Simulate};
pub use real::RealStorage;
pub use run::{Progress, StudyError, run};
pub use simulated::Simulated;
