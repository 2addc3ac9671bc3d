//! Private directories of processes that a run starts, and their removal after a kill.
//!
//! Function: [`Home::make`] creates a directory in `/tmp` that only this user can enter, for the
//! sockets, logs and mount points of processes. Each process carries the directory's random name in
//! its environment. [`sweep`] finds the directories of runs that were killed, ends the processes
//! that carry their names, detaches FUSE mounts inside, and removes the directories.
//!
//! Refused: to end a process that does not carry the name; to detach a mount that is not FUSE or
//! not inside the directory; to remove a file that its kind does not know.
//!
//! Invariants: the marker is written before the first process is started. Before a process is
//! killed, it is opened as a pidfd and checked again, because its id may have been reused.
#![forbid(unsafe_code)]

mod home;
mod mounts;
mod processes;

pub use home::{Guests, Home, HomeError, HomeKind, Swept, sweep};
pub use mounts::unmount;
pub use processes::{carriers, cpu_time, is_stopped};
