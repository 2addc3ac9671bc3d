//! NBD protocol without I/O: the messages between a server and a client about one disk.
//!
//! It implements the fixed newstyle handshake of both sides as state machines that consume and
//! write bytes ([`server::Handshake`], [`client::Handshake`]), with a change to TLS in the middle,
//! and then simple and structured requests and replies. A server's driver calls [`server::Session`]
//! to parse a request's header and to write the headers of replies. A client's driver has a
//! [`client::Requests`], which matches replies in any order and any number of chunks. The source is
//! `doc/proto.md` of the NBD project (public domain), named here as "the specification".
//! `docs/formats/nbd.md` lists the implemented part.
//!
//! Sockets, TLS, threads and time belong to the driver. The crate never touches the data of a read
//! or write: it reports the request to which the next bytes belong, and the driver copies them. It
//! refuses the oldstyle handshake, metadata contexts (a server answers that it has none) and
//! extended headers (64-bit lengths). Requests that the export cannot execute are answered with the
//! specification's error, and the driver does not see them.
//!
//! Invariants: no input causes a panic, or uses more memory than the limits in [`limits`]. Input
//! that breaks a mandatory rule is a [`Violation`], after which the connection must be closed. The
//! output depends only on the input bytes, not on how they were split. A client's request completes
//! once, and a successful read has received every byte of its range exactly once.
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
