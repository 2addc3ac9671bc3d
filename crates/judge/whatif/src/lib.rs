//! What if: a run's own tile on its array with something changed, in virtual time.
//!
//! [`Changes`] are laid over the array of a [`Subject`], which is a simulated run's own, one
//! that was given, or one that [`fit()`] makes of a measured run; [`what_if`] searches the edge
//! of both with the same seeds and says how far they are apart.
//!
//! What it refuses: saying that anything was measured, an answer without how far the model is
//! from the run that it stands for.
//!
//! Invariants: the same run, change and seeds give the same answer; both sides have the same
//! random numbers.
#![forbid(unsafe_code)]

mod answer;
mod apply;
mod cache;
mod change;
mod climb;
mod disks;
mod document;
mod fit;
mod model_error;
mod options;
mod run;
mod subject;
#[cfg(test)]
mod tests;
mod utilisation;
mod work;

pub use change::{Change, ChangeError, Changed, Changes};
pub use document::{
    Bottleneck, Broken, LimitGap, ModelError, ModelKind, Point, SCHEMA, SeedEdge, Side, StepGap,
    Stopped, WhatIf, json_schema,
};
pub use fit::{FitError, fit};
pub use options::Options;
pub use run::{Progress, what_if};
pub use subject::{Subject, SubjectError, subject};
pub use work::{Far, Pace};
