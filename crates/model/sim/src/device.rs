use std::convert::Infallible;

use hardware::{ModelEffects, Ticket};
use state_machine::{IoError, IoRequest};
use units::Nanos;

use crate::model::Model;

/// Time and result of a request's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Time of the answer, from the start of the run. A time before the submission is replaced by
    /// the time of submission.
    pub at: Nanos,
    /// Success, or the error that the request fails with.
    pub result: Result<(), IoError>,
}

/// A modelled device that knows a request's completion time at submission.
pub trait Device {
    /// Accepts at `now` a request of the instance at this position (in the list given to the run);
    /// returns when and how it will be answered.
    fn submit(&mut self, now: Nanos, instance: usize, request: &IoRequest) -> Completion;
}

/// Ideal storage, which answers at once. A closed group without think time, CPU steps or waits
/// never lets time pass on it; the driver reports that as a runaway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Instant;

impl Device for Instant {
    fn submit(&mut self, now: Nanos, _instance: usize, _request: &IoRequest) -> Completion {
        Completion { at: now, result: Ok(()) }
    }
}

/// Answers every request after the same time, however many are in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed(pub Nanos);

impl Device for Fixed {
    fn submit(&mut self, now: Nanos, _instance: usize, _request: &IoRequest) -> Completion {
        Completion { at: now.saturating_add(self.0), result: Ok(()) }
    }
}

/// Adapter that drives a [`Device`] as a model.
pub(crate) struct AtOnce<'a, D>(pub &'a mut D);

impl<D: Device> Model for AtOnce<'_, D> {
    type Alarm = Infallible;

    #[inline]
    fn submit(
        &mut self,
        now: Nanos,
        (instance, ticket): (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<Infallible>,
    ) {
        let answer = self.0.submit(now, instance, request);
        fx.done.push((answer.at, ticket, answer.result));
    }

    fn wake(&mut self, _now: Nanos, alarm: Infallible, _fx: &mut ModelEffects<Infallible>) {
        match alarm {}
    }
}
