//! One step: its warm-up, its measurement, and the sums of its slices.

pub(crate) mod against;
pub(crate) mod bottleneck;
pub(crate) mod checks;
pub(crate) mod course;
pub(crate) mod felt;
mod hosts;
pub(crate) mod playing;
pub(crate) mod power;
pub(crate) mod report;
mod rounds;
pub(crate) mod runner;
pub(crate) mod sink;
mod tick;
pub(crate) mod waits;
mod warm_up;

pub use hosts::SLOW_MIN;
pub use report::StepPlace;
pub use rounds::Rounds;
pub use runner::{Measured, StepBench, place_now, step_at_most};
pub use sink::{Nowhere, Sink};
pub use warm_up::{WarmUpBounds, WarmUpRule};
