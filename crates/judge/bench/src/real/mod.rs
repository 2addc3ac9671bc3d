//! Single steps on real storage, for callers that choose their steps themselves. There is no run
//! directory and no live view, but the safety rules of every run apply. The storage can be slowed
//! down.
//!
//! Invariants: one step at a time, because steps would disturb each other. Disks are filled before
//! the storage is slowed down. None of this program's files remain when a step ends.

mod step;
#[cfg(test)]
mod tests;
mod watcher;

pub use step::{RealError, RealPlace, RealSettings, step};
