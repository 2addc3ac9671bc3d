//! Observed I/O: one record type for every source, a store, and readers of other tools' formats.
//!
//! What it does: defines [`IoRecord`] (one observed I/O, of a live capture or of any trace) and
//! [`Source`] (records in order of issue, a batch at a time); reads and writes traces.
//!
//! What it refuses: to judge or count what the records mean (that is `analyze`), to touch a device,
//! and to hold a whole trace in memory.
//!
//! Invariants: a source hands out records in order of issue. Data that a source could not use (bad
//! lines, dropped events, records too far out of order) is counted in [`Losses`] and never silently
//! left out. Times count from the begin of the trace.
#![forbid(unsafe_code)]

pub mod derive;
mod error;
pub mod generate;
mod import;
mod info;
mod record;
mod senders;
mod source;
pub mod store;
pub mod vscsi_stats;

pub use error::TraceError;
pub use import::{Format, OpenOptions, open, open_stream};
pub use info::{Clock, Device, Losses, TraceInfo};
pub use record::{DeviceIndex, Flags, IoRecord, Operation, VmIndex};
pub use senders::Senders;
pub use source::{BATCH, CountedOnce, Memory, Source};
