//! What makes calls to services.
//!
//! A protocol is one file: bytes in, bytes out, without sockets, clocks or threads ([`Client`],
//! `http`). Addresses, connections that are kept and bounded, and deadlines are the same for all
//! and here once (`Calls`, one for each worker whose machines have endpoints).
//!
//! What answers may also be in this process ([`Here`]); it is spoken to over a pair of sockets, as
//! everybody else is.
//!
//! Refuses: calling anything but the addresses it was given, whatever an answer says; keeping
//! what was answered.
//!
//! Invariants: every call is answered exactly once, by its deadline at the latest, or given up with
//! the run; nothing that a service sends makes memory grow beyond a few KiB for each connection.

mod address;
mod calls;
mod connection;
mod here;
mod http;
mod slab;

use std::fmt::Debug;

use state_machine::CallError;

pub use address::{Address, AddressError, Here, Service, ServiceError};
pub(crate) use calls::{Called, Calls};

/// One protocol.
#[derive(Debug)]
pub struct Protocol {
    /// The word in front of `://`, and in workloads.
    pub name: &'static str,
    /// The port where an address has none.
    pub port: u16,
    /// What speaks it on one connection to an address.
    pub client: fn(&Address) -> Box<dyn Client>,
}

/// One line for each.
static PROTOCOLS: &[&Protocol] = &[
    &http::HTTP, // http.rs
];

/// One connection's side of a protocol. One call at a time; after an answer that lets it go on the
/// next one is made on the same connection.
pub trait Client: Debug + Send {
    /// Begins a call: adds what is sent to `out`. The first one on a connection also begins what a
    /// session needs before it (a greeting, a login), and its time counts as that of the call.
    fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>);

    /// Takes what came, cut anywhere, and adds what is sent in return to `out`. Nothing until the
    /// answer is whole, or cannot become one. Keeps no more than a bounded part of it.
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answer>;

    /// Takes what came with no call on the connection. Whether the connection is still of use: a
    /// session's service may send notices at any time.
    fn unasked(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Whether a call changes nothing, so that it is made again on a new connection when the
    /// service closed a kept one before a word of the answer.
    fn may_repeat(&self) -> bool {
        false
    }

    /// The service closed the connection before the answer was whole.
    fn ended(&mut self) -> Answer {
        Answer::failed(CallError::Closed)
    }
}

/// What a call asks for.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// In the protocol's own words, as the workload has it.
    pub text: Option<&'a str>,
    /// An answer of more bytes is none.
    pub size: u32,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Bytes of a good answer, or why it is none.
    pub result: Result<u64, CallError>,
    /// Whether the connection can carry another call.
    pub can_go_on: bool,
}

impl Answer {
    /// One after which the connection is of no further use.
    pub const fn failed(error: CallError) -> Self {
        Self { result: Err(error), can_go_on: false }
    }
}
