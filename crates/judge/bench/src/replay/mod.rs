//! Recorded loads: reads the trace that a workload names, and builds a tile from a trace.
//!
//! A trace is read once, before anything is written, into a [`workload::replay::Schedule`] that all
//! tiles, steps and repeats share.

mod definition;
mod load;
mod select;
mod traces;

pub use definition::{Asked, Definition, definition};
pub use load::{RECORDS_MAX, Recording, load};
pub use traces::Traces;

pub use crate::error::ReplayError;
