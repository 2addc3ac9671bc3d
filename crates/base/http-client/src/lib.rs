//! Questions to services that speak HTTP/1.1: meters, management controllers, hypervisors.
//!
//! What it does: one question and its answer, a connection each, plain or over TLS; credentials from a file
//! or the environment.
//!
//! What it refuses: following what an answer points to; credentials on a command line or in any text; a
//! certificate for which nobody vouches, unless the caller says that any will do.
//!
//! Invariants: an answer is read until its own end, a deadline, or 1 MiB, whichever comes first. What is sent has
//! no line break that a caller did not write. An answer never holds the secret of its question: who echoes it,
//! as it was sent or encoded, is read with `***` in its place.
#![forbid(unsafe_code)]

mod credentials;
mod error;
mod escape;
mod hide;
mod http;
mod tls;

pub use credentials::{Identity, Secret};
pub use error::RemoteError;
pub use escape::escaped;
pub use http::{Answer, Method, Place, Question, host_and_port};
pub use tls::Trust;
