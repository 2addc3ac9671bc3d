//! NBD protocol without I/O: the messages of a server and a client about one disk.
//!
//! It implements the fixed newstyle handshake of both sides as state machines that are fed bytes
//! and write bytes ([`server::Handshake`], [`client::Handshake`]), with a change to TLS in the
//! middle; then requests and replies, simple and structured. A server's driver calls
//! [`server::Session`] to parse a request's header and to write the headers of replies; a client's
//! driver has a [`client::Requests`], which matches replies in any order and any number of chunks.
//! The source is `doc/proto.md` of the NBD project (public domain), named here as "the
//! specification"; the implemented part is in `docs/formats/nbd.md`.
//!
//! It has no sockets, TLS, threads or time, which belong to the driver, and never touches the data
//! of a read or write: it reports the request of the next bytes, and the driver copies them. It
//! refuses the oldstyle handshake, metadata contexts (a server answers that it has none) and
//! extended headers (64-bit lengths). Requests that the export cannot carry out are answered with
//! the specification's error, before the driver sees them.
//!
//! Invariants: no input makes it panic, or use more memory than the limits in [`limits`]; input
//! that breaks a mandatory rule is a [`Violation`], after which the connection must be closed; its
//! output depends on the bytes alone and not on how they were split. A client's request ends once,
//! and a successful read has received every byte of its range, exactly once.
#![forbid(unsafe_code)]

pub mod client;
pub mod limits;
pub mod server;

mod abilities;
mod bytes;
mod code;
mod export;
mod operation;
mod progress;
mod uri;
mod violation;
mod wire;

pub use abilities::Abilities;
pub use code::Code;
pub use export::{BlockSizes, Export, ExportError};
pub use operation::Operation;
pub use progress::Progress;
pub use uri::{NbdAddress, Uri, UriError};
pub use violation::Violation;
