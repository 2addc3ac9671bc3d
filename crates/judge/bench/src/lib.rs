//! The measurement method: ladder, warm-up, verdicts, score, repeats, run directory.
//!
//! What it does: takes a plan, prepares its datastore, and climbs its ladder. It reports the
//! largest number of tiles at which all limits are met, the limit that broke at the edge, and the
//! certainty of both.
//!
//! What it refuses: to draw, to use a terminal, and to touch a target except through `datastore`.
//!
//! Invariants: a step passes only if all its repeats pass. A step with a saturated generator has no
//! verdict about the storage. Every reported number can be recomputed from the run directory.
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
