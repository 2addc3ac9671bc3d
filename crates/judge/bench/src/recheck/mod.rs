//! A stored run judged again from its raw series, offline: the same verdict and score code,
//! fed from the files instead of from a load.
//!
//! What no series has cannot be judged again; it is listed, with why.

mod document;
mod run;
#[cfg(test)]
mod tests;

pub use document::{Agreement, Item, NotRechecked, Recheck, SCHEMA, StepRecheck};
pub use run::{RecheckError, recheck};
