//! A client of NFS 3 that shows an export of another server as a directory.
//!
//! What it does: [`Export`] reads the name of an export. [`Client::connect`] finds the server's
//! services (RFC 1833), gets the export's root (RFC 1813, appendix I) and asks what it allows.
//! [`serve`] shows it at a mount point by FUSE until the connection is lost or the process ends.
//!
//! What it refuses: links and special files are neither made nor followed, and nothing is renamed
//! on condition, because NFS 3 cannot. A lost connection is not made again: a measurement on a
//! server that went away is none.
//!
//! Invariants: nothing is kept here that the server does not have. Reads and writes go to it one by
//! one, and a flush is answered when the server says that all is on stable storage. What a server
//! sends is bounded before it is read, and never trusted. Locks are those of this computer.
#![forbid(unsafe_code)]

mod attributes;
mod call;
mod client;
mod connection;
mod error;
mod export;
mod fs;
mod nodes;
mod serve;
mod services;
mod transfer;
mod xdr;

pub use client::{Client, Facts};
pub use error::{Lost, NfsError, Trouble};
pub use export::{Export, ExportError};
pub use serve::serve;
