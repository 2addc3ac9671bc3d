//! Replay of a recorded load.
//!
//! A [`Schedule`] contains the I/Os of a trace with their times at the chosen speed. A
//! [`ScheduleBuilder`] builds it once, and all instances share it. A [`ReplayMachine`] replays it
//! in one of two ways ([`Waits`]): each I/O at its time, or after the last completion that its
//! initiator had seen in the recording.

mod builder;
mod machine;
mod mapping;
mod schedule;

pub use builder::{Observed, ScheduleBuilder, ScheduleError, ScheduleOptions};
pub use machine::ReplayMachine;
pub use mapping::{Folded, LENGTH_MAX, Mapping};
pub use schedule::{Counts, STEP_BYTES, Schedule, Waits};
