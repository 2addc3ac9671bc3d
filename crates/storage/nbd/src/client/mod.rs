//! Client side of the protocol.

mod agreed;
mod error;
mod failure;
mod handshake;
mod inner;
mod parts;
mod requests;
mod slots;

pub use agreed::{Agreed, ClientDemands};
pub use error::{ClientError, Unfit};
pub use failure::Failure;
pub use handshake::{Handshake, Next};
pub use requests::{Received, Requests};
