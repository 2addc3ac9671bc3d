//! The NBD protocol without I/O: what a server and a client say to each other about one disk.
//!
//! What it does: the fixed newstyle handshake of both sides as machines that are fed bytes and write
//! bytes ([`server::Handshake`], [`client::Handshake`]), with a change to TLS in the middle; then
//! requests and replies, simple and structured. A server's driver asks [`server::Session`] what a
//! request's header says and has it write the headers of replies; a client's driver keeps a
//! [`client::Requests`], which matches replies in any order and any number of chunks. The source is
//! `doc/proto.md` of the NBD project (public domain), named here as "the specification"; what of it is spoken
//! is in `docs/formats/nbd.md`.
//!
//! What it refuses: sockets, TLS, threads and time, which are the driver's; touching the data of a
//! read or write: it says whose the next bytes are, and the driver moves them where they belong; the
//! oldstyle handshake; metadata contexts (asked for one, a server says that it has none); extended
//! headers (64-bit lengths). Requests that the export cannot carry out are answered with the error
//! that the specification wants, before the driver sees them.
//!
//! Invariants: nothing the other side sends makes it panic, or take more memory than the limits in
//! [`limits`]; what breaks a mandatory rule is a [`Violation`], after which the connection must be
//! closed; what it writes depends on the bytes alone and not on how they were split. A client's
//! request ends once, and a read that ends well has had every byte of its range, exactly once.
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
pub use uri::{Place, Uri, UriError};
pub use violation::Violation;
