//! Server side of the protocol.

mod handshake;
mod options;
mod replies;
mod requests;
mod session;

pub use handshake::{Handshake, Next, Tls};
pub use replies::DATA_HEADER_MAX;
pub use requests::{Incoming, REQUEST_BYTES, Refusal, Request};
pub use session::Session;
