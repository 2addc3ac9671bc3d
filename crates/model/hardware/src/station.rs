use std::collections::VecDeque;

use state_machine::Stream;
use units::Nanos;

use crate::error::{Check, ParameterError};
use crate::part::{Component, Job, Outbox, PartId};
use crate::usage::{Meter, Usage};
use state_machine::Slab;

/// Time that a server needs for a job.
#[derive(Debug, Clone)]
pub enum ServiceTime {
    /// The same time for every job, above zero.
    Constant(Nanos),
    /// Exponentially distributed with this mean, above zero; for comparison with theory and for
    /// rough models.
    Exponential(Nanos, Stream),
    /// A fixed time, plus the bytes at a rate in bytes per second above zero.
    PerByte(Nanos, f64),
}

impl ServiceTime {
    fn draw(&mut self, job: &Job) -> Nanos {
        match self {
            Self::Constant(time) => *time,
            Self::Exponential(mean, stream) => stream.exponential(*mean),
            Self::PerByte(fixed, rate) => {
                *fixed + Nanos::from_secs_f64(f64::from(job.length) / *rate)
            }
        }
    }
}

/// Equal servers behind one queue, first come first served: a controller's processors, or
/// the textbook's M/M/c.
#[derive(Debug)]
pub struct Station {
    time: ServiceTime,
    next: Option<PartId>,
    idle: u32,
    waiting: VecDeque<Job>,
    served: Slab<Job>,
    meter: Meter,
}

impl Station {
    /// Creates a station with this number of servers, at least one. A served job is handed on to
    /// `next`, or answered if there is none.
    ///
    /// # Errors
    ///
    /// Without servers, with a mean time of zero, or a rate not above zero.
    pub fn new(
        servers: u32,
        time: ServiceTime,
        next: Option<PartId>,
    ) -> Result<Self, ParameterError> {
        let check = Check("station");
        check.that(servers > 0, "servers", servers, "at least 1")?;
        match time {
            ServiceTime::Constant(mean) | ServiceTime::Exponential(mean, _) => {
                check.that(mean > Nanos::ZERO, "service time", mean, "above 0 s")?;
            }
            ServiceTime::PerByte(_, rate) => {
                let is_rate = rate.is_finite() && rate > 0.0;
                check.that(is_rate, "rate", format!("{rate} B/s"), "above 0 B/s and finite")?;
            }
        }
        let (waiting, served) = (VecDeque::new(), Slab::new());
        Ok(Self { time, next, idle: servers, waiting, served, meter: Meter::new(servers) })
    }

    fn serve(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        let end = now.saturating_add(self.time.draw(&job));
        out.wake_at(end, self.served.insert(job));
    }
}

impl Component for Station {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.meter.enter(now);
        if self.idle == 0 {
            self.waiting.push_back(job);
            return;
        }
        self.idle -= 1;
        self.meter.start(now);
        self.serve(now, job, out);
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        let job = self.served.remove(tag);
        self.meter.leave(now, job.length);
        match self.next {
            Some(next) => out.hand_on(next, job),
            None => out.answer(&job, Ok(())),
        }
        if let Some(job) = self.waiting.pop_front() {
            self.serve(now, job, out);
        } else {
            self.idle += 1;
            self.meter.stop(now);
        }
    }

    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
