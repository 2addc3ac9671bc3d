//! Clients that make calls to services.
//!
//! A protocol is one file: bytes in, bytes out, without sockets, clocks or threads ([`Client`];
//! `http`, `smtp`, `imap`). Addresses, bounded and reused connections, and deadlines are common to
//! all protocols (`Calls`, one for each worker whose instances have endpoints).
//!
//! A service may also be in this process ([`Here`]). It is called over a pair of sockets, like any
//! other.
//!
//! Refuses: calling any address but those it was given, whatever an answer says; keeping the
//! content of answers, except for the words of the first refusal.
//!
//! Invariants: every call is answered exactly once, by its deadline at the latest, or given up with
//! the run. Nothing that a service sends makes memory grow beyond a few KiB for each connection.

mod address;
mod calls;
mod connection;
mod here;
mod http;
mod imap;
mod postgres;
mod slab;
mod smtp;

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use http_client::Secret;
use state_machine::{CallError, Draws, RequestText};

pub use address::{Address, AddressError, Here, Service, ServiceError};
pub(crate) use calls::{Called, Calls};
pub use imap::new as imap;
pub use smtp::{new as smtp, new_lmtp as lmtp};

/// Protocol of services.
#[derive(Debug)]
pub struct Protocol {
    /// Name in front of `://`, and in workloads.
    pub name: &'static str,
    /// Port if an address has none.
    pub port: u16,
    /// True if the service asks who calls: an address may name a user, and a password is sent.
    pub has_logins: bool,
    /// True if an address may have a path.
    pub has_path: bool,
    /// Creates the client side of one connection to an address.
    pub client: fn(&Address, &Login) -> Box<dyn Client>,
}

/// Protocols that textual addresses can name, one line each.
static PROTOCOLS: &[&Protocol] = &[
    &http::HTTP,         // http.rs
    &imap::IMAP,         // imap.rs
    &postgres::POSTGRES, // postgres.rs
    &smtp::SMTP,         // smtp.rs
];

/// Client side of a protocol on one connection. It carries one call at a time. After an answer that
/// allows it, the next call goes over the same connection.
pub trait Client: Debug + Send {
    /// Begins a call: appends the request to `out`. The first call on a connection also begins what
    /// a session needs before it (a greeting, a login), and that time counts as time of the call.
    fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>);

    /// Takes received bytes, cut anywhere, and appends bytes to send in return to `out`. Returns
    /// `None` until the answer is complete or invalid. Keeps only a bounded part of the answer.
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answer>;

    /// Takes bytes that came while no call was on the connection. Returns true if the connection can
    /// still be used: the service of a session may send notices at any time.
    fn unasked(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Returns true if a call changes nothing. Such a call is made again on a new connection if the
    /// service closed a kept connection before the first byte of the answer.
    fn may_repeat(&self) -> bool {
        false
    }

    /// Words of the service in its last refusal, for people, such as a status.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// Handles the end of the connection before the answer was complete.
    fn ended(&mut self) -> Answer {
        Answer::failed(CallError::Closed)
    }
}

/// Caller of a service.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// Password of the caller; `None` if the service asks for none.
    pub password: Option<Arc<Secret>>,
}

/// Request of a call.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Text in the protocol's own terms, as the workload gives it.
    pub text: Option<&'a RequestText>,
    /// Random numbers of the call, for the values in the text and for made content.
    pub draws: Draws,
    /// Most bytes of a good answer.
    pub size: u32,
}

impl<'a> Ask<'a> {
    /// Request with this text as it is, for tests. The text lives to the end of the process.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str, size: u32) -> Self {
        let text = RequestText::parse(text).ok().map(|text| &*Box::leak(Box::new(text)));
        Self { text, draws: Draws::default(), size }
    }

    /// Text with the values of this call.
    pub fn filled(&self) -> Option<Cow<'a, str>> {
        self.text.map(|text| text.filled(self.draws))
    }
}

/// End of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Bytes of a good answer, or the failure.
    pub result: Result<u64, CallError>,
    /// True if the connection can carry another call.
    pub can_go_on: bool,
}

impl Answer {
    /// Creates a failure after which the connection cannot be used again.
    pub const fn failed(error: CallError) -> Self {
        Self { result: Err(error), can_go_on: false }
    }
}
