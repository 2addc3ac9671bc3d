use state_machine::{IoError, Token};
use units::Nanos;

use crate::part::Ticket;

/// Answers and alarms from a model to its driver; `A` is the data of an alarm. Times before the
/// present count as the present. The driver drains the lists after every call and reuses them.
#[derive(Debug)]
pub struct ModelEffects<A> {
    /// Requests that are answered, each with the time of the answer.
    pub done: Vec<(Nanos, Ticket, Result<(), IoError>)>,
    /// CPU bursts that end, each with the time, instance and token.
    pub ran: Vec<(Nanos, usize, Token)>,
    /// Times at which the model must be woken, each with the data of the alarm.
    pub alarms: Vec<(Nanos, A)>,
}

impl<A> Default for ModelEffects<A> {
    fn default() -> Self {
        Self { done: Vec::new(), ran: Vec::new(), alarms: Vec::new() }
    }
}
