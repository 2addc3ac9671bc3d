use state_machine::{IoError, Operation, Slab};
use units::Nanos;

use crate::error::ParameterError;
use crate::lane::Lane;
use crate::part::{Class, Component, Job, Outbox, PartId, Ticket};
use crate::usage::{Meter, Usage};
use crate::wire::LinkParameters;

/// A full-duplex link in front of a component. Data of writes share the direction to the component,
/// data of reads the direction back, frame by frame. Commands and answers without data take only
/// the latency.
#[derive(Debug)]
pub struct Link {
    parameters: LinkParameters,
    next: PartId,
    there: Lane<Job>,
    back: Lane<(Job, Result<(), IoError>)>,
    asked: Slab<Job>,
    meter: Meter,
    copies: Copies,
}

/// Path of the data that [`crate::Class::Copy`] moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Copies {
    /// Over the link, like copies by hosts that read and write.
    #[default]
    OverLinks,
    /// Inside the array (full copy, XCOPY): only commands cross the link.
    InArray,
}

const THERE: u32 = 0;
const BACK: u32 = 1;

impl Link {
    /// Creates a link in front of `next`.
    ///
    /// # Errors
    ///
    /// When the rate is not a number above zero, or frames carry no data.
    pub fn new(
        parameters: LinkParameters,
        copies: Copies,
        next: PartId,
    ) -> Result<Self, ParameterError> {
        parameters.check("link")?;
        let latency = parameters.latency;
        let (there, back) = (Lane::new(latency, THERE), Lane::new(latency, BACK));
        let (asked, meter) = (Slab::new(), Meter::new(2));
        Ok(Self { parameters, next, there, back, asked, meter, copies })
    }
}

impl Link {
    /// Returns the wire time of a job's data, in the direction of the data.
    fn wire_time(&self, job: &Job) -> Nanos {
        if job.class == Class::Copy && self.copies == Copies::InArray {
            return Nanos::ZERO;
        }
        self.parameters.wire_time(job.length)
    }
}

impl Component for Link {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.meter.enter(now);
        let is_data = job.operation == Operation::Write;
        let wire = if is_data { self.wire_time(&job) } else { Nanos::ZERO };
        self.there.send(now, wire, job);
        self.there.arm(out);
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let job = self.asked.remove(ticket.0);
        let is_data = job.operation == Operation::Read && result.is_ok();
        let wire = if is_data { self.wire_time(&job) } else { Nanos::ZERO };
        self.back.send(now, wire, (job, result));
        self.back.arm(out);
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        if tag == THERE {
            self.there.wake(now);
            while let Some(job) = self.there.pop(now) {
                let ticket = Ticket(self.asked.insert(job));
                out.ask(self.next, Job { ticket, ..job });
            }
            self.there.arm(out);
        } else {
            self.back.wake(now);
            while let Some((job, result)) = self.back.pop(now) {
                self.meter.leave(now, job.length);
                out.answer(&job, result);
            }
            self.back.arm(out);
        }
    }

    /// Returns the counters. Jobs inside include those at the far end. The two servers are the
    /// directions; their busy time includes bytes that are accepted but not sent yet.
    fn usage(&self, now: Nanos) -> Usage {
        let busy_ns = u128::from(self.there.busy().0) + u128::from(self.back.busy().0);
        Usage { busy_ns, ..self.meter.usage(now) }
    }
}
