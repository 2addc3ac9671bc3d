//! Clients that make calls to services.
//!
//! A protocol is one file: bytes in, bytes out, without sockets, clocks or threads ([`Client`];
//! `http`, `smtp`, `imap`). Addresses, deadlines, and bounded and reused connections are common to
//! all protocols (`Calls`, one for each worker whose instances have endpoints).
//!
//! A service may also be in this process ([`Here`]). It is called over a socket pair, like any
//! other service over a connection.
//!
//! Refuses: to call an address other than the given ones, whatever an answer contains; to keep the
//! content of answers, except for the message of the first refusal.
//!
//! Invariants: every call is answered exactly once, by its deadline at the latest, unless it is
//! abandoned at the end of the run. Memory is bounded to a few KiB per connection, whatever a
//! service sends.

mod address;
mod calls;
mod connection;
mod here;
mod http;
mod imap;
mod postgres;
mod slab;
mod smtp;
mod tls;
mod upgrade;

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use http_client::{Secret, Trust};
use state_machine::{CallError, Draws, RequestText};

pub use address::{Address, AddressError, Here, Service, ServiceError};
pub(crate) use calls::{Called, Calls};
pub use imap::new as imap;
pub use smtp::{new as smtp, new_lmtp as lmtp};

/// Protocol for calls to services.
#[derive(Debug)]
pub struct Protocol {
    /// Name before `://` in addresses.
    pub name: &'static str,
    /// Name of the protocol in workloads. Protocols with the same word differ only in TLS.
    pub word: &'static str,
    /// Default port.
    pub port: u16,
    /// Use of users and passwords.
    pub logins: Logins,
    /// True if an address may have a path.
    pub has_path: bool,
    /// Query with which an address ends; `None` if a query is a part of the path.
    pub query: Option<&'static str>,
    /// Begin of the encryption.
    encryption: Encryption,
    /// Function that creates the client side of one connection to an address.
    pub client: fn(&Address, &Login) -> Box<dyn Client>,
}

/// Use of users and passwords by a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logins {
    /// Neither is sent. A password would be sent in clear text, or the service asks for none.
    None,
    /// The calls name the users, who all have one password.
    Password,
    /// An address may name a user, and a password is sent if the service asks for it.
    User,
    /// An address may name a user, who logs in if there is a password.
    UserWithPassword,
}

/// Begin of the encryption of a connection. With TLS the service proves its name.
#[derive(Debug, Clone, Copy)]
enum Encryption {
    /// None: all is sent in clear text.
    None,
    /// TLS from the first byte.
    AtOnce,
    /// TLS after an exchange in clear text.
    After(fn() -> Box<dyn tls::Upgrade>),
}

/// Protocols that textual addresses can name.
static PROTOCOLS: &[&Protocol] = &[
    &http::HTTP,
    &http::HTTPS,
    &imap::IMAP,
    &imap::IMAPS,
    &upgrade::IMAP_STARTTLS,
    &postgres::POSTGRES,
    &upgrade::POSTGRES_TLS,
    &smtp::SMTP,
    &smtp::SMTPS,
    &upgrade::SMTP_STARTTLS,
];

/// Client side of a protocol on one connection. It carries one call at a time. If an answer allows
/// it, the next call uses the same connection.
pub trait Client: Debug + Send {
    /// Begins a call: appends the request to `out`. The first call on a connection also begins the
    /// session's greeting and login. Their time counts as time of the call.
    fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>);

    /// Consumes received bytes, which may be split anywhere, and appends bytes to send in return to
    /// `out`. Returns `None` until the answer is complete or invalid. Keeps only a bounded part of
    /// the answer.
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answer>;

    /// Consumes bytes that arrived while no call was on the connection. Returns true if the
    /// connection can still be used: in some protocols, the service may send notices at any time.
    fn unasked(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Returns true if a call changes nothing. Such a call is repeated on a new connection if the
    /// service closed a reused connection before the first byte of the answer.
    fn may_repeat(&self) -> bool {
        false
    }

    /// Returns true if bytes of the last call's answer have arrived, once any bytes have arrived.
    fn has_answer_begun(&self) -> bool {
        true
    }

    /// Returns the service's message in its last refusal, for display, such as a status.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// Handles the end of the connection before the answer was complete.
    fn ended(&mut self) -> Answer {
        Answer::failed(CallError::Closed)
    }
}

/// Caller of a service, and what it trusts.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// Password of the caller; `None` if the service asks for none.
    pub password: Option<Arc<Secret>>,
    /// Authorities that must have signed the service's certificate; `None` for those of this
    /// system. Unused without TLS.
    pub trust: Option<Arc<Trust>>,
}

/// Request of a call.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Request text in the syntax of the protocol, from the workload.
    pub text: Option<&'a RequestText>,
    /// Random numbers of the call, for placeholders in the text and for generated content.
    pub draws: Draws,
    /// Maximum size of a successful answer, in bytes.
    pub size: u32,
}

impl<'a> Ask<'a> {
    /// Creates a request with this unchanged text, for tests. The text is never freed.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str, size: u32) -> Self {
        let text = RequestText::parse(text).ok().map(|text| &*Box::leak(Box::new(text)));
        Self { text, draws: Draws::default(), size }
    }

    /// Returns the text with this call's values in place of the placeholders.
    pub fn filled(&self) -> Option<Cow<'a, str>> {
        self.text.map(|text| text.filled(self.draws))
    }
}

/// Result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Size of a successful answer in bytes, or the failure.
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
