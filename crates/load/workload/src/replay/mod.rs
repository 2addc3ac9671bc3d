//! Playback of a recorded load.
//!
//! A [`Schedule`] has the I/Os of a trace with their times at the chosen speed. A
//! [`ScheduleBuilder`] builds it once, and all instances share it. A [`ReplayMachine`] plays it in
//! one of two ways ([`Waits`]): by the clock alone, or each I/O after the answer that its sender
//! had last when it was recorded.

mod builder;
mod machine;
mod mapping;
mod schedule;

pub use builder::{Observed, ScheduleBuilder, ScheduleError, ScheduleOptions};
pub use machine::ReplayMachine;
pub use mapping::{Folded, LENGTH_MAX, Mapping};
pub use schedule::{Counts, STEP_BYTES, Schedule, Waits};
