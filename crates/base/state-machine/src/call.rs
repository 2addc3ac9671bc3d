use units::Nanos;

use crate::{Draws, KindId, Token};

/// Index of an endpoint in its workload's list. An endpoint is a service that is called by name;
/// only the driver knows its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u16);

/// Request to a service. It is not block I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Call {
    /// Token that is returned with the answer ([`crate::Event::Done`]).
    pub token: Token,
    /// Endpoint of the call.
    pub endpoint: EndpointId,
    /// Kind for limits and the series. Kinds of calls and kinds of I/O share one numbering.
    pub kind: KindId,
    /// Intended start of the call. Response time counts from here.
    pub due: Nanos,
    /// Maximum size of the answer, in bytes. A modelled service answers with this many bytes; a
    /// longer answer of a real service is an error.
    pub size: u32,
    /// Random numbers that determine the values in the request text; 0 if the text has no values.
    pub draws: Draws,
}
