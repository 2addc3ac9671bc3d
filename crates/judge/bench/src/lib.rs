//! The method: ladder, warm-up, verdicts, score, repeats, run directory.
//!
//! What it does: takes a plan, prepares its datastore, climbs its ladder, and reports how many
//! tiles the datastore holds, what broke at the edge, and how certain that is.
//!
//! What it refuses: to draw, to talk to a terminal, and to touch a target except through
//! `datastore`.
//!
//! Invariants: a step passes only if all its repeats pass. A step with a saturated generator has no
//! verdict about the storage. Every reported number can be computed again from the run directory.
#![forbid(unsafe_code)]

mod error;
mod expect;
pub mod fleet;
pub mod ladder;
mod not_slower;
mod placed;
pub mod plan;
pub mod progress;
pub mod real;
pub mod recheck;
pub mod replay;
mod replayed;
pub mod rig;
pub mod run;
pub mod sample;
pub mod score;
pub mod simulate;
pub mod step;
mod tile_load;
pub mod verdict;
pub mod window;

pub use error::BenchError;
pub use placed::Placed;
