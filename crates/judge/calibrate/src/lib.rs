//! Models a real disk: measures it, fits a model, and reports the model's error.
//!
//! [`measure()`] runs closed loops of several sizes, depths and mixes on a rig. [`fit()`] searches
//! parameters of a modelled disk with the same latencies in these loops in virtual time.
//! [`Calibration`] reports the error in the usual measure of disk simulators ([`demerit()`]).
//!
//! It refuses to measure memory as if it were the storage, and to replace a file that it did not
//! create.
//!
//! Invariants: a model is checked with loops to which it was not fitted. The report contains the
//! distance of the model from the disk, and the distance of the disk from itself.
#![forbid(unsafe_code)]

mod check;
mod demerit;
mod disk;
mod document;
mod error;
mod fit;
mod guess;
mod loops;
mod matrix;
mod measure;
mod noise;
mod options;
mod place;
mod session;
mod sweep;
mod table;
mod tally;
#[cfg(test)]
mod tests;
mod vary;
mod virtual_time;

pub use demerit::{demerit, demerit_p99};
pub use disk::{DiskModel, model_disk};
pub use document::{
    Calibration, CandidateFacts, Demerits, Drift, Machine, MixDemerits, Noise, PointFacts, Side,
};
pub use error::CalibrateError;
pub use fit::{Candidate, Effort, Fit, fit};
pub use loops::Span;
pub use matrix::{Mix, Point, matrix};
pub use measure::{Answers, Measured, Pace, Passage, measure};
pub use options::CalibrateOptions;
pub use place::user_arrays;
pub use session::calibrate;
pub use sweep::ROUNDS;
