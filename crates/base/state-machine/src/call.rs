use units::Nanos;

use crate::{Draws, KindId, Token};

/// Position of an endpoint in its workload's list: a service that is called by name. Only the
/// driver knows its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u16);

/// Request to a service, which is not block I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call {
    /// Returned with the answer ([`crate::Event::Done`]).
    pub token: Token,
    /// Endpoint of the call.
    pub endpoint: EndpointId,
    /// For limits and the series; numbered together with the kinds of I/O.
    pub kind: KindId,
    /// Intended start, as an I/O's.
    pub due: Nanos,
    /// Bytes of the answer at most: a modelled service answers with so many, and a longer answer
    /// of a real one is none.
    pub size: u32,
    /// Random numbers from which the values in the request text are drawn; 0 if it has none.
    pub draws: Draws,
}
