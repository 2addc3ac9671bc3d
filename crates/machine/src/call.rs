use std::fmt;

use units::Nanos;

use crate::{KindId, Token};

/// The position of an endpoint in its workload's list: a service that is called by name. Where it
/// is, is the driver's to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u16);

/// One request to a service, which is not block I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call {
    /// Returned with the answer ([`crate::Event::Done`]).
    pub token: Token,
    /// Whom it calls.
    pub endpoint: EndpointId,
    /// For limits and the series; numbered together with the kinds of I/O.
    pub kind: KindId,
    /// Intended start, as an I/O's.
    pub due: Nanos,
    /// Bytes of the answer at most: a modelled service answers with so many, and a longer answer
    /// of a real one is none.
    pub size: u32,
}

/// Why a call failed, reduced to what a machine may decide on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CallError {
    /// Nobody took the connection.
    Refused,
    /// No whole answer in the time allowed.
    TimedOut,
    /// The connection ended before the answer did.
    Closed,
    /// A whole answer that says that the request failed.
    Status,
    /// What came is no answer of the protocol, or longer than was asked for.
    Protocol,
}

impl CallError {
    /// All of them, in order.
    pub const ALL: [Self; 5] =
        [Self::Refused, Self::TimedOut, Self::Closed, Self::Status, Self::Protocol];

    /// `refused`, `timed-out`, `closed`, `status` or `protocol`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::TimedOut => "timed-out",
            Self::Closed => "closed",
            Self::Status => "status",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "nobody took the connection",
            Self::TimedOut => "no answer in the time allowed",
            Self::Closed => "the connection ended before the answer did",
            Self::Status => "the answer says that the request failed",
            Self::Protocol => "what came is not an answer",
        })
    }
}
