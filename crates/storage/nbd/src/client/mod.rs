//! What a client says and hears.

mod agreed;
mod error;
mod handshake;
mod inner;
mod operation;
mod parts;
mod requests;
mod slots;

pub use agreed::{Agreed, Wish};
pub use error::{ClientError, Unfit};
pub use handshake::{Handshake, Next};
pub use operation::{Failure, Operation};
pub use requests::{Received, Requests};
