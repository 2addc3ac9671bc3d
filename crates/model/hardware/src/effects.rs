use state_machine::{IoError, Token};
use units::Nanos;

use crate::part::Ticket;

/// Answers and alarms that a model gives to its driver; `A` is what it wants to be reminded of.
/// Times before the present count as the present. The driver drains the lists after every call
/// and reuses them.
#[derive(Debug)]
pub struct ModelEffects<A> {
    /// Requests answered at a time.
    pub done: Vec<(Nanos, Ticket, Result<(), IoError>)>,
    /// CPU bursts that end at a time: instance and token.
    pub ran: Vec<(Nanos, usize, Token)>,
    /// Times at which the model asks to be woken, each with what it wants to be reminded of.
    pub alarms: Vec<(Nanos, A)>,
}

impl<A> Default for ModelEffects<A> {
    fn default() -> Self {
        Self { done: Vec::new(), ran: Vec::new(), alarms: Vec::new() }
    }
}
