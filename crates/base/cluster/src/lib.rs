//! Cluster of processes on several hosts that work as one: a [`Hub`] in the controller of a run,
//! and a [`Member`] on each host, over Zenoh.
//!
//! It has six operations:
//!
//! - A member **joins** by an [`Invitation`]. Joining and leaving are [`Event`]s.
//! - The hub **asks** a member and waits for the answer ([`Hub::ask`]).
//! - The hub measures the offset of a member's **clock** ([`Hub::clock`]), so that all can begin at
//!   one moment.
//! - A member **sends** messages without waiting ([`Member::send`]).
//! - The hub **fetches** a member's offers ([`Hub::fetch`]).
//! - A side that loses the other **stops** ([`Member::is_alone`]).
//!
//! The content of requests, messages and offers is not interpreted. Refused: a connection without a
//! certificate of this cluster on both sides, also on loopback, which other users can reach;
//! discovery (nothing is announced or searched); messages larger than [`MESSAGE_MAX`]; invalid
//! names.
//!
//! # How it works
//!
//! The hub is a Zenoh router in this process and the only listener. It creates a certificate
//! authority for each cluster, with a server certificate for itself and a client certificate for
//! each member, and accepts only these. This crate does TLS between hosts (rustls); Zenoh's
//! connections run through it, between sockets in directories that only the user can enter. A
//! member can send only under its own name: it has a password in addition to its certificate, and
//! the hub's access control uses the name that belongs to the password. Keys:
//!
//! ```text
//! tilemark/CLUSTER/hub                  liveliness: the hub is present
//! tilemark/CLUSTER/member/NAME          liveliness: the member is present
//! tilemark/CLUSTER/asked/NAME/TOPIC     requests to a member
//! tilemark/CLUSTER/sent/NAME            messages of a member
//! ```
//!
//! When a process ends, its absence is detected as soon as its connection closes. If it hangs or
//! is cut off, its absence is detected after the *lease* without a message. Zenoh has its own
//! threads: this crate never waits for the threads that generate load.
//!
//! Invariants: messages of a member are numbered, so lost messages are counted. Fetched data are
//! complete by length and SHA-256; otherwise there is an error. A request is answered once or fails
//! within its time. No key leaves the process except in an invitation.
#![forbid(unsafe_code)]

mod clock;
mod error;
mod hub;
mod identity;
mod member;
mod name;
mod private;
mod session;
mod tunnel;

use units::Bytes;

pub use clock::{ClockOffset, monotonic};
pub use error::{ClusterError, RemoteError};
pub use hub::{Event, Hub, HubOptions};
pub use identity::Invitation;
pub use member::{Answer, Asked, Member};
pub use name::{Name, NameError};
pub use private::remove_stale;

/// Maximum size of a message; receivers drop larger messages. Our choice.
pub const MESSAGE_MAX: Bytes = Bytes::new(16 << 20);
