//! What hosts see of their storage: recordings on each, and what they say, folded where they lie.

mod agent;
mod controller;
mod wire;

pub(crate) use agent::{Seeing, Sight, in_memory};
pub use controller::{Collected, Going, Told};
pub use wire::{FoldOrder, RecordOrder, SenderBy};
