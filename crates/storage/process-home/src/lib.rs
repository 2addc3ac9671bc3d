//! Private directories of processes that a run starts, and their removal after a kill.
//!
//! What it does: [`Home::make`] makes a directory in `/tmp` that only this user can enter, for the
//! sockets, logs and mount points of processes. Each process carries the directory's random name in
//! its environment. [`sweep`] finds the directories of runs that were killed, ends the processes
//! that carry their names, detaches FUSE mounts inside, and removes the directories.
//!
//! What it refuses: to end a process that does not carry the name; to detach a mount that is not of
//! FUSE or not inside the directory; to remove a file that its kind does not know.
//!
//! Invariants: the marker is written before the first process is started. A process is opened as a
//! pidfd and looked at again before it is killed, because its number may have been reused.
#![forbid(unsafe_code)]

mod home;
mod mounts;
mod processes;

pub use home::{Guests, Home, HomeError, HomeKind, Swept, sweep};
pub use mounts::unmount;
pub use processes::{carriers, cpu_time, is_stopped};
