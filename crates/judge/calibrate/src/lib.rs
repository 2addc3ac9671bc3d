//! A model of a real disk: measure, fit, and say how far off it is.
//!
//! [`measure()`] drives closed loops of several sizes, depths and mixes on a rig, [`fit()`]
//! searches the parameters of a modelled disk that answers the same loops alike in virtual
//! time, and [`Calibration`] says how well that went, by the measure that simulators of disks
//! are judged by ([`demerit()`]).
//!
//! What it refuses: measuring memory as if it were the storage, replacing a file that it did not
//! make.
//!
//! Invariants: the loops that a model is held against are not those it was fitted to; a model
//! comes with how far it is from the disk, and how far the disk is from itself.
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
mod search;
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
