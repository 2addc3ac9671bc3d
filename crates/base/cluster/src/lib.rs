//! Lets processes on several hosts work as one: a [`Hub`] in the controller of a run, and a
//! [`Member`] on each host, over Zenoh.
//!
//! It has six operations: a member **joins** by an [`Invitation`], and joining and leaving are
//! [`Event`]s; the hub **asks** and waits for the answer ([`Hub::ask`]); it measures the offset of
//! a member's **clock** ([`Hub::clock`]), so that all can begin at one moment; a member **sends**
//! without waiting ([`Member::send`]); the hub **fetches** a member's offers ([`Hub::fetch`]); a
//! side that loses the other **stops** ([`Member::is_alone`]).
//!
//! It does not interpret what is asked, sent or fetched. It refuses a connection without a
//! certificate of this cluster on both sides, also on loopback, where other users are; discovery
//! (nothing is announced or searched); messages of more than [`MESSAGE_MAX`]; invalid names.
//!
//! # How it works
//!
//! The hub is a Zenoh router in this process and the only listener. It makes an authority for each
//! cluster, with a server certificate for itself and a client certificate for each member, and
//! admits only these. TLS between hosts is done here (rustls); Zenoh runs through it, from socket
//! to socket in directories that only the user can enter. A member can send only under its own
//! name: it has a password beside its certificate, and the hub's access control uses the name of
//! that password. Keys:
//!
//! ```text
//! tilemark/CLUSTER/hub                  liveliness: the hub is there
//! tilemark/CLUSTER/member/NAME          liveliness: the member is there
//! tilemark/CLUSTER/asked/NAME/TOPIC     questions to a member
//! tilemark/CLUSTER/sent/NAME            what a member sends
//! ```
//!
//! A process that ends is missed as soon as its connection closes. One that hangs or is cut off is
//! missed after the *lease* without a message. Zenoh has its own threads: nothing here waits for
//! the threads that generate load.
//!
//! Invariants: messages of a member are numbered, so lost ones are counted and never silent;
//! fetched data are complete by length and SHA-256, or an error; a request is answered once or
//! fails within its time; no key leaves the process except in an invitation.
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

/// Largest message; receivers drop larger ones. Our choice.
pub const MESSAGE_MAX: Bytes = Bytes::new(16 << 20);
