use std::collections::VecDeque;

use state_machine::IoError;
use units::Nanos;

use crate::error::{Check, ParameterError};
use crate::part::{Component, Job, Outbox, PartId, StreamId, Ticket};
use crate::usage::{Meter, Usage};
use state_machine::Slab;

/// Limits on the number of requests that may be outstanding behind a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitParameters {
    /// Maximum outstanding requests while a single stream uses the queue; at least 1. The HBA's
    /// depth per LUN is 30 to 64 (QLogic's execution throttle is 16 by default, and above 64 has no
    /// effect: boche.net, frankdenneman.nl).
    pub depth: u32,
    /// Maximum outstanding requests while several streams use the queue, at least 1 and at most
    /// `depth`: the host's limit when virtual machines share a LUN (`Disk.SchedNumReqOutstanding`,
    /// 32 by default; same sources).
    pub depth_shared: u32,
}

/// A queue that limits the outstanding requests behind it: a LUN's queue in a host, or the host's
/// queue at an adapter. Streams take turns, so that a deep queue in one virtual machine cannot
/// block another.
#[derive(Debug)]
pub struct QueueLimit {
    parameters: LimitParameters,
    next: PartId,
    /// Waiting jobs, by stream; the list grows on first use.
    waiting: Vec<VecDeque<Job>>,
    /// Streams with waiting jobs, in order of their turns.
    turns: VecDeque<u32>,
    /// Jobs outstanding or waiting, by stream.
    present: Vec<u32>,
    present_streams: u32,
    outstanding: u32,
    passed: Slab<Job>,
    meter: Meter,
}

impl QueueLimit {
    /// Creates a limit in front of `next`.
    ///
    /// # Errors
    ///
    /// When a depth is outside its range.
    pub fn new(parameters: LimitParameters, next: PartId) -> Result<Self, ParameterError> {
        let check = Check("queue limit");
        check.that(parameters.depth > 0, "depth", parameters.depth, "at least 1")?;
        let is_within = (1..=parameters.depth).contains(&parameters.depth_shared);
        let shared = parameters.depth_shared;
        check.that(is_within, "depth_shared", shared, "at least 1 and at most depth")?;
        Ok(Self {
            parameters,
            next,
            waiting: Vec::new(),
            turns: VecDeque::new(),
            present: Vec::new(),
            present_streams: 0,
            outstanding: 0,
            passed: Slab::new(),
            meter: Meter::new(parameters.depth),
        })
    }

    fn limit(&self) -> u32 {
        if self.present_streams > 1 { self.parameters.depth_shared } else { self.parameters.depth }
    }

    fn place(&mut self, stream: StreamId) -> usize {
        let place = stream.0 as usize;
        if place >= self.waiting.len() {
            self.waiting.resize_with(place + 1, VecDeque::new);
            self.present.resize(place + 1, 0);
        }
        place
    }

    fn pass(&mut self, now: Nanos, out: &mut Outbox) {
        while self.outstanding < self.limit() {
            let Some(stream) = self.turns.pop_front() else { return };
            let queue = &mut self.waiting[stream as usize];
            let job = queue.pop_front().expect("a stream with a turn has a job waiting");
            if !queue.is_empty() {
                self.turns.push_back(stream);
            }
            self.outstanding += 1;
            self.meter.start(now);
            let ticket = Ticket(self.passed.insert(job));
            out.ask(self.next, Job { ticket, ..job });
        }
    }
}

impl Component for QueueLimit {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.meter.enter(now);
        let place = self.place(job.stream);
        if self.waiting[place].is_empty() {
            self.turns.push_back(job.stream.0);
        }
        self.waiting[place].push_back(job);
        self.present_streams += u32::from(self.present[place] == 0);
        self.present[place] += 1;
        self.pass(now, out);
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let job = self.passed.remove(ticket.0);
        self.meter.leave(now, job.length);
        self.meter.stop(now);
        self.outstanding -= 1;
        let place = job.stream.0 as usize;
        self.present[place] -= 1;
        self.present_streams -= u32::from(self.present[place] == 0);
        out.answer(&job, result);
        self.pass(now, out);
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a queue limit sets no alarm");
    }

    /// Returns the counters. "Servers" are slots: a busy one is a request outstanding behind the
    /// limit.
    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
