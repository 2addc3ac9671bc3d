//! A stored run judged again from its raw series, offline: the same verdict and score code,
//! fed from the files instead of from a load.
//!
//! What no series has cannot be judged again; it is listed, with why.

mod document;
mod replayed;
mod run;
#[cfg(test)]
mod tests;

pub use document::{Agreement, Item, NotRechecked, Recheck, SCHEMA, StepRecheck};
pub(crate) use replayed::Replayed;
pub use run::{RecheckError, recheck};
