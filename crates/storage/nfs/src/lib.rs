//! Client of NFS 3 that shows an export of another server as a directory.
//!
//! Function: [`Export`] parses the name of an export. [`Client::connect`] finds the server's
//! services (RFC 1833), gets the export's root (RFC 1813, appendix I) and asks for its properties.
//! [`serve`] shows the export at a mount point by FUSE until the connection is lost or the process
//! ends.
//!
//! Refused: links and special files are neither created nor followed, and conditional renames fail,
//! because NFS 3 has none. A lost connection is not opened again, because a measurement on a server
//! that went away is not valid.
//!
//! Invariants: no data is cached here. Reads and writes go to the server one by one, and a flush is
//! answered when the server reports that everything is on stable storage. The size of data from a
//! server is checked before it is read, and its content is never trusted. Locks are local to this
//! computer.
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
