//! Predicts the effect of changes on a run's storage: its own tile on its array with something
//! changed, in virtual time.
//!
//! [`Changes`] are applied to the array of a [`Subject`], which is a simulated run's own, a given
//! one, or one that [`fit()`] makes from a measured run. [`what_if`] searches the edge of both with
//! the same seeds and reports the difference.
//!
//! It refuses to present a prediction as a measurement, and to answer without the model's error
//! against the run.
//!
//! Invariants: the same run, change and seeds give the same answer; both sides have the same random
//! numbers.
#![forbid(unsafe_code)]

mod answer;
mod apply;
mod cache;
mod change;
mod climb;
mod disks;
mod document;
mod fit;
mod measured;
mod model_error;
mod options;
mod run;
mod subject;
#[cfg(test)]
mod tests;
mod utilisation;
mod work;

pub use change::{Change, ChangeError, Changed, Changes, DiskCount, DiskCountError};
pub use document::{
    Bottleneck, Broken, LimitGap, ModelError, ModelKind, Point, SCHEMA, SeedEdge, Side, StepGap,
    Stopped, WhatIf, json_schema,
};
pub use fit::{FitError, fit};
pub use options::Options;
pub use run::{Progress, what_if};
pub use subject::{Subject, SubjectError, subject};
pub use work::{Far, Pace};
