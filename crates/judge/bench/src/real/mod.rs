//! Single steps on real storage, for those who decide themselves which: no run directory, no
//! live view, under the safety rules of every run, and with the storage slowed down if asked.
//!
//! Invariants: one step at a time, as each would disturb the other; disks are filled before
//! the storage is slowed down; nothing of ours is left when a step ends.

mod step;
#[cfg(test)]
mod tests;
mod watcher;

pub use step::{RealError, RealPlace, RealSettings, step};
