use state_machine::{IoError, Token};
use units::Nanos;

use crate::part::Ticket;

/// What a model wants done; `A` is what it wants to be reminded of. Times before the present
/// count as the present. The driver drains it after every call and reuses it.
#[derive(Debug)]
pub struct ModelEffects<A> {
    /// Requests answered at a time.
    pub done: Vec<(Nanos, Ticket, Result<(), IoError>)>,
    /// CPU bursts that end at a time: instance and token.
    pub ran: Vec<(Nanos, usize, Token)>,
    /// Alarms to set.
    pub alarms: Vec<(Nanos, A)>,
}

impl<A> Default for ModelEffects<A> {
    fn default() -> Self {
        Self { done: Vec::new(), ran: Vec::new(), alarms: Vec::new() }
    }
}
