//! Processes on several hosts that work as one: a [`Hub`] in whoever controls a run, and a [`Member`] on
//! each host, over Zenoh.
//!
//! What it does, in six operations: a member **joins** by an [`Invitation`], and who comes and goes
//! is told ([`Event`]); the hub **asks** and waits for the answer ([`Hub::ask`]); it finds how far a
//! member's **clock** is from its own ([`Hub::clock`]), so that all can begin at one moment; a member **sends** without waiting for anybody ([`Member::send`]); the hub
//! **fetches** what a member has ([`Hub::fetch`]); whoever loses the other **stops**
//! ([`Member::is_alone`]).
//!
//! What it refuses: knowing what is asked, sent or fetched; a connection without a certificate
//! of this cluster on both sides, also on loopback, where other users are; being found (nothing is
//! announced or looked for); messages of more than [`MESSAGE_MAX`]; names that are no names.
//!
//! # How it works
//!
//! The hub is a Zenoh router in this very process and the only one who listens. It makes an
//! authority of its own for each cluster, with a certificate for itself (a server's) and one for each
//! member (a client's), and lets in who has one of these: the way between hosts is ours (rustls), and Zenoh
//! speaks through it, from socket to socket in directories that only the user enters. A member may speak
//! under its own name alone: it has a password beside its certificate, and access control at the hub goes
//! by the name that belongs to it. Keys:
//!
//! ```text
//! tilemark/CLUSTER/hub                  liveliness: the hub is there
//! tilemark/CLUSTER/member/NAME          liveliness: the member is there
//! tilemark/CLUSTER/asked/NAME/TOPIC     questions to a member
//! tilemark/CLUSTER/sent/NAME            what a member sends
//! ```
//!
//! A process that ends is missed as soon as its connection closes, one that hangs or is cut off when
//! nothing came from it for the *lease*. Zenoh has its own threads: nothing here waits for the
//! threads that make load.
//!
//! Invariants: what a member sends is numbered, so that what was lost on the way is counted and never
//! silent; what is fetched is whole, by its length and SHA-256, or an error; a question is answered
//! once or is an error within its time; no key leaves the process but inside an invitation.
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

/// Larger messages are dropped by whoever gets them. Our choice.
pub const MESSAGE_MAX: Bytes = Bytes::new(16 << 20);
