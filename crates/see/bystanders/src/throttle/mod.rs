//! Makes slow storage from fast storage: the kernel limits this process's I/O to one block device.
//!
//! A new control group below the process's own group gets the limits, and the whole process moves
//! into the new group. No other process is slowed down. When the [`Throttle`] is dropped, the
//! process moves back and the group is removed. After `kill -9` an empty group stays, without
//! effect; the next throttle in the same group removes it.
//!
//! Meaning of the limits (Linux `block/blk-throttle.c`): I/Os and bytes per second in each
//! direction, in portions of 100 ms. They limit a rate, and do not delay every I/O: I/Os below the
//! rate pass at the device's own speed. Control groups of version 1 (`blkio.throttle.*`) do not
//! limit writeback from the page cache; version 2 (`io.max`) does if the file system supports it
//! (ext4, btrfs, xfs).

mod group;
mod hierarchy;
mod limits;
mod refusal;

pub use group::{Throttle, remove_stale};
pub use refusal::ThrottleRefusal;
pub use spec::study::Limits;
