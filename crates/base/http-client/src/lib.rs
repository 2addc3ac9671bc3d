//! Client for services over HTTP/1.1: meters, management controllers, hypervisors.
//!
//! It sends one request and reads its answer, on a new connection for each request, plain or over
//! TLS, with credentials from a file or the environment.
//!
//! It does not follow redirects. It refuses credentials on a command line or in any text. It
//! refuses an untrusted certificate, unless the caller accepts any.
//!
//! Invariants: an answer is read until its own end, a deadline, or 1 MiB, whichever comes first. A
//! sent request has no line break that the caller did not write. An answer never contains the
//! secret of its request: an echo, as sent or encoded, is replaced by `***`.
#![forbid(unsafe_code)]

mod address;
mod credentials;
mod error;
mod escape;
mod hide;
mod http;
mod tls;

pub use address::{Address, AddressError, PostError};
pub use credentials::{Identity, Secret};
pub use error::RemoteError;
pub use escape::escaped;
pub use http::{Answer, Method, Question, ServiceAddress, host_and_port};
pub use tls::Trust;
