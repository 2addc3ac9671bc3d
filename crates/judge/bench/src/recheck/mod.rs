//! Judges a stored run again from its raw series, offline: the same code for verdicts and scores,
//! fed from the files instead of from a load.
//!
//! Results that are in no series cannot be judged again. They are listed, with reasons.

mod document;
mod run;
#[cfg(test)]
mod tests;

pub use document::{Agreement, Item, NotRechecked, Recheck, SCHEMA, StepRecheck};
pub use run::{RecheckError, recheck};
