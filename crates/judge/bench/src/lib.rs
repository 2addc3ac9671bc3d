//! The method: ladder, warm-up, verdicts, score, repeats, run directory.
//!
//! What it does: takes a plan, prepares its datastore, climbs its ladder and says how many
//! tiles it holds, what broke at the edge, and how sure that is.
//!
//! What it refuses: drawing, talking to a terminal, touching a target except through
//! `datastore`.
//!
//! Invariants: a step passes only if all its repeats pass; a step whose generator was
//! saturated has no verdict about the storage; every number it reports can be computed
//! again from the run directory.
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
