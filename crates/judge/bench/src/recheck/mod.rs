//! Rechecks a stored run from its raw series, offline. The code for verdicts and scores is the
//! same, but its input comes from the files instead of a load.
//!
//! Results that are in no series cannot be rechecked. They are listed, with reasons.

mod document;
mod run;
#[cfg(test)]
mod tests;

pub use document::{Agreement, Item, NotRechecked, Recheck, SCHEMA, StepRecheck};
pub use run::{RecheckError, recheck};
