//! Both sides of the protocol, against each other and against those who lie.
#![expect(clippy::unwrap_used, reason = "tests")]

mod both;
mod client_hostile;
mod feeding;
mod handshake;
mod options;
mod replies;
mod requests;
