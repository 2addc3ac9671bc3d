//! Recordings on hosts, and analyses that run where the traces are.

mod agent;
mod controller;
mod wire;

pub(crate) use agent::{Seeing, Sight, in_memory};
pub use controller::{Collected, Going, RecordingState};
pub use wire::{FoldOrder, RecordOrder, SenderBy};
