//! Storage protocols that are set up below a run's disks, and taken down after the run.
//!
//! Function: [`check`] finds a protocol's programs and checks their versions. [`Session::set_up`]
//! starts a server of the protocol for files of a datastore, and an initiator through which the
//! same files are accessed: an address for the engine's own NBD client, files of a FUSE mount, or
//! block devices of the kernel.
//! [`Session::end`] stops both in reverse order. [`MountedExport`] shows an export of an existing
//! server as a directory. [`sweep`] removes the leftovers of a killed run.
//!
//! Refused, before anything is created: files whose path cannot be passed to the programs; a
//! protocol whose programs are missing, too old or not allowed.
//!
//! Invariants: all services listen only on loopback or in a private network namespace. No file of
//! the system is written: sockets, logs, settings and mount points are in a private directory
//! ([`process_home::Home`]). Every process carries the name of that directory and ends with the
//! thread that started it. Objects of the kernel carry the directory's digits in their names. If a
//! server has ended, or no longer answers, the error names the server.
#![forbid(unsafe_code)]

mod error;
mod export;
mod fuse;
mod ganesha;
mod iscsi;
mod kernel;
mod kinds;
mod nbd;
mod network;
mod nfs3;
mod nfs4;
mod nvme;
mod nvme_tcp;
mod process;
mod program;
mod protocol;
mod session;
mod set_up;

pub use error::OverError;
pub use export::{ExportFacts, MountedExport};
pub use kinds::{PROTOCOLS, find};
pub use program::Program;
pub use protocol::{Checked, Protocol, ProtocolFacts, check};
pub use session::{Answered, Session, sweep};
pub use set_up::{Reached, ServedFile};
