//! Storage protocols set up below a run's disks, and taken down after it.
//!
//! What it does: [`check`] finds a protocol's programs and asks their versions. [`Session::set_up`]
//! starts a server of the protocol for files of a datastore, and an initiator through which the
//! same files are reached again: an address for the engine's own NBD client, or files of a FUSE
//! mount. [`Session::end`] stops both in reverse order. [`MountedExport`] shows an export that
//! another server has already as a directory. [`sweep`] removes what a killed run left.
//!
//! What it refuses: files whose path the programs cannot be told; a protocol whose programs are
//! missing, too old or not allowed, before anything is made.
//!
//! Invariants: nothing listens beyond loopback or a private network namespace, and no file of the
//! system is written: sockets, logs, settings and mount points are in a private directory
//! ([`process_home::Home`]). Every process carries that directory's name and dies with the thread
//! that started it. A server that has ended, or no longer answers, is an error that names it.
#![forbid(unsafe_code)]

mod error;
mod export;
mod fuse;
mod iscsi;
mod kinds;
mod nbd;
mod network;
mod nfs3;
mod process;
mod program;
mod protocol;
mod session;
mod set_up;

pub use error::{OverError, Phase};
pub use export::{ExportFacts, MountedExport};
pub use kinds::{PROTOCOLS, find};
pub use program::Program;
pub use protocol::{Checked, Protocol, ProtocolFacts, check};
pub use session::{Answered, Session, sweep};
pub use set_up::{Reached, ServedFile};
