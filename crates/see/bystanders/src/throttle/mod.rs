//! Slow storage made of fast storage: the kernel limits what this process may do to one block
//! device.
//!
//! A control group of our own, below the one the process is in, gets the limits, and the whole
//! process moves into it. Nobody else is slowed down. When the [`Throttle`] is dropped the
//! process moves back and the group is removed. After `kill -9` an empty group stays; it does
//! nothing, and the next throttle in the same group removes it.
//!
//! What the limits mean (Linux `block/blk-throttle.c`): I/Os and bytes per second in each
//! direction, handed out in portions of 100 ms. So it is a cap on a rate, not a latency on
//! every I/O: what comes below the rate passes at the device's own speed. Control groups of
//! version 1 (`blkio.throttle.*`) do not limit what the kernel writes back from the page cache;
//! version 2 (`io.max`) does where the file system supports it (ext4, btrfs, xfs).

mod group;
mod hierarchy;
mod limits;
mod refusal;

pub use group::{Throttle, remove_stale};
pub use refusal::ThrottleRefusal;
pub use spec::study::Limits;
