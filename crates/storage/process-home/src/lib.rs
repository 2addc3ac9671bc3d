//! Processes that a run starts: their user, start, end, private directories and leftovers.
//!
//! Function: [`Process::start`] starts a server whose command sets its user ([`Account`]) and control
//! groups ([`entering`]), waits until it is ready, names it with its phase if it ends by itself, and
//! ends it with all its children. [`Tree`] copies directories of that user. [`Home::make`] creates a directory in `/tmp` that only this user can enter, for the
//! sockets, logs and mount points of processes. Each process carries the directory's random name in
//! its environment. [`sweep`] finds the directories of runs that were killed, ends the processes
//! that carry their names, detaches FUSE and NFS mounts inside, and removes the directories.
//!
//! Refused: to end a process that does not carry the name; to detach a mount that is neither FUSE
//! nor NFS 4, or not inside the directory; to remove a file that its kind does not know.
//!
//! Invariants: the marker is written before the first process is started. Before a process is
//! killed, it is opened as a pidfd and checked again, because its id may have been reused.
#![forbid(unsafe_code)]

mod account;
pub mod careful;
mod copy;
mod home;
mod mounts;
mod process;
mod processes;

pub use account::{Account, AccountError, entering};
pub use copy::{Tree, release_cache};
pub use home::{Guests, Home, HomeError, HomeKind, Swept, sweep};
pub use mounts::unmount;
pub use process::{Ending, Launch, Phase, Process, ProcessError, Receiver, last_lines};
pub use processes::{carriers, cpu_time, is_stopped};
