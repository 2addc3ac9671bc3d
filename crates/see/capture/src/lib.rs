//! Live capture of block I/O from the kernel's tracepoints.
//!
//! What it does: reads block events from the raw ring buffers of a tracing instance of its own,
//! joins them into [`trace::IoRecord`]s, and says whose I/O each was (process, control group,
//! QEMU virtual machine); writes them to a trace while it sums them up ([`Recorder`]).
//!
//! What it refuses: slowing what it watches (it loses and counts, it never blocks the traced
//! I/O, and asks for no wake-ups from it), other people's tracing instances, guessing at an
//! event's layout (the kernel's own description of it is read each time).
//!
//! Invariants: records come in order of issue; each I/O that was seen to start is a record or
//! counted in [`Counts`] with the reason why not; the instance is gone when a [`Capture`] is
//! dropped, and that of a killed capture when the next one starts or [`remove_stale`] is asked.
#![forbid(unsafe_code)]

mod capture;
mod decode;
mod devices;
mod error;
mod format;
mod join;
mod owner;
mod page;
mod recorder;
mod rwbs;
mod sieve;
mod tally;
mod tracefs;
mod window;

pub use capture::{Capture, Options, Progress, Report};
pub use devices::{Disk, Reach, disks_of};
pub use error::CaptureError;
pub use join::Counts;
pub use owner::{By, Wanted, find_running_vm};
pub use recorder::{RecordError, Recorder, Turn};
pub use tally::{Gap, NotRecorded, Recorded, Row, Tally};
pub use tracefs::remove_stale;
