use std::collections::VecDeque;

use units::Nanos;

use crate::part::{Component, Job, Outbox, PartId};
use crate::usage::{Meter, Usage};

/// A part that delays every job by the same time, however many there are: memory, or a processor
/// without limit.
#[derive(Debug)]
pub struct Delay {
    time: Nanos,
    next: Option<PartId>,
    /// Jobs inside, with the time at which each leaves, in order of arrival.
    inside: VecDeque<(Nanos, Job)>,
    meter: Meter,
}

impl Delay {
    /// Creates a delay of this time, which may be zero. A job is then handed on to `next`, or
    /// answered if there is none.
    pub fn new(time: Nanos, next: Option<PartId>) -> Self {
        Self { time, next, inside: VecDeque::new(), meter: Meter::new(0) }
    }
}

impl Component for Delay {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.meter.enter(now);
        let at = now.saturating_add(self.time);
        if self.inside.is_empty() {
            out.wake_at(at, 0);
        }
        self.inside.push_back((at, job));
    }

    fn wake(&mut self, now: Nanos, _tag: u32, out: &mut Outbox) {
        let (_, job) = self.inside.pop_front().expect("every alarm has a job");
        if let Some((at, _)) = self.inside.front() {
            out.wake_at(*at, 0);
        }
        self.meter.leave(now, job.length);
        match self.next {
            Some(next) => out.hand_on(next, job),
            None => out.answer(&job, Ok(())),
        }
    }

    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
