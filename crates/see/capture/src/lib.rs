//! Captures block I/O live from the kernel's tracepoints.
//!
//! It reads block events from the raw ring buffers of its own tracing instance, and joins them into
//! [`trace::IoRecord`]s. It finds the initiator of each I/O (process, control group, QEMU virtual
//! machine), and writes the records to a trace while summing them up ([`Recorder`]).
//!
//! It never slows the traced I/O: it loses and counts events rather than blocking, and needs no
//! wake-ups. It leaves tracing instances of others alone, and reads the kernel's own description of
//! each event instead of assuming a layout.
//!
//! Invariants: records are in order of issue, or of completion on request. Each I/O whose start was
//! seen is a record or counted in [`Counts`] by reason. The instance is removed when a [`Capture`]
//! is dropped, and the instance of a killed capture at the next start or by [`remove_stale`].
#![forbid(unsafe_code)]

mod capture;
mod decode;
mod devices;
mod error;
mod format;
mod holders;
mod join;
mod moved;
mod owner;
mod page;
mod recorder;
mod rwbs;
mod sieve;
mod stack;
mod tally;
mod tracefs;
mod window;

pub use capture::{Capture, Options, Progress, Report, raise_priority};
pub use devices::{Disk, Reach, disks_below, disks_of};
pub use error::CaptureError;
pub use join::Counts;
pub use owner::{By, RunningVm, SenderFilter, find_running_vm, running_vms};
pub use recorder::{RecordError, Recorder, Turn};
pub use tally::{Gap, NotRecorded, Recorded, Row, Tally};
pub use tracefs::remove_stale;
pub use window::Order;
