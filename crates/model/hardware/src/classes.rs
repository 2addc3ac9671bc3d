use std::collections::VecDeque;

use state_machine::{IoError, Operation, Slab};
use units::Nanos;

use crate::error::{Check, ParameterError};
use crate::part::{Class, Component, Job, Outbox, PartId, Ticket};
use crate::usage::Usage;

/// Bounds of background I/O at one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassParameters {
    /// Number of I/Os of each background class that may always be at the disk, at least 1, so that
    /// no class starves.
    pub least: u32,
    /// Number of I/Os of all background classes together that may be at the disk while foreground
    /// is fast, at least `least`.
    pub most: u32,
    /// Mean response time of foreground at the disk from which only `least` background I/Os may be
    /// there, above zero.
    pub slow: Nanos,
}

/// Queue in front of a disk that serves I/O by [`Class`].
///
/// Foreground passes at once. Background waits here, sorted by class and then by arrival, so that
/// it does not fill the disk's own queue:
///
/// 1. A class with fewer than `least` I/Os at the disk may send, the most urgent class first.
/// 2. Otherwise the most urgent class may send while there are fewer background I/Os at the disk
///    than a limit. The limit is `most` while foreground takes up to half of `slow`, and `least`
///    from `slow` on; between, it falls linearly.
///
/// This is the form of the ZFS I/O scheduler (OpenZFS documentation, "ZIO Scheduler"): minimum and
/// maximum of active I/Os by class, minimums first. There, the number of background writes goes
/// from minimum to maximum linearly with the share of dirty data, and non-interactive classes stay
/// at the minimum while the disk is not idle. Ours depends on the response time instead, as arrays
/// flush "at a modest rate" until they are forced to (EMC, watermarks of the VNX write cache).
///
/// The mean response time moves by an eighth of each difference (as RFC 6298 smooths round trips).
/// While no foreground is at the disk it falls by an eighth with each background I/O, so that an
/// idle disk soon serves background.
#[derive(Debug)]
pub struct ClassQueue {
    parameters: ClassParameters,
    next: PartId,
    /// Number of I/Os at the disk, by class.
    active: [u32; Class::COUNT],
    /// Waiting background I/Os, by class; the list of foreground stays empty.
    waiting: [VecDeque<Job>; Class::COUNT],
    asked: Slab<(Job, Nanos)>,
    response: Nanos,
}

impl ClassQueue {
    /// Creates a queue in front of the disk `next`.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(parameters: ClassParameters, next: PartId) -> Result<Self, ParameterError> {
        let ClassParameters { least, most, slow } = parameters;
        let check = Check("classes");
        check.that(least > 0, "least", least, "at least 1")?;
        check.that(most >= least, "most", most, "at least the least")?;
        check.that(slow > Nanos::ZERO, "slow", slow, "above 0 s")?;
        Ok(Self {
            parameters,
            next,
            active: [0; Class::COUNT],
            waiting: Default::default(),
            asked: Slab::new(),
            response: Nanos::ZERO,
        })
    }

    fn send(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.active[job.class as usize] += 1;
        let ticket = Ticket(self.asked.insert((job, now)));
        out.ask(self.next, Job { ticket, ..job });
    }

    /// Returns how many background I/Os may be at the disk together.
    fn limit(&self) -> u32 {
        let ClassParameters { least, most, slow } = self.parameters;
        let left = slow.saturating_sub(self.response).0.min(slow.0 / 2);
        let more = u128::from(most - least) * u128::from(left) / u128::from((slow.0 / 2).max(1));
        least + u32::try_from(more).unwrap_or(most - least).min(most - least)
    }

    fn next_class(&self) -> Option<usize> {
        let classes = Class::BACKGROUND.map(|class| class as usize).into_iter();
        let mut waiting = classes.filter(|class| !self.waiting[*class].is_empty());
        let first = waiting.clone().next()?;
        let below = waiting.find(|class| self.active[*class] < self.parameters.least);
        let background: u32 = self.active.iter().skip(1).sum();
        below.or_else(|| (background < self.limit()).then_some(first))
    }

    fn pump(&mut self, now: Nanos, out: &mut Outbox) {
        while let Some(class) = self.next_class() {
            if let Some(job) = self.waiting[class].pop_front() {
                self.send(now, job, out);
            }
        }
    }

    /// Includes an answered I/O in the mean response time.
    fn note(&mut self, class: Class, took: Nanos) {
        let mean = self.response.0;
        if class == Class::Foreground {
            self.response = Nanos(mean - mean / 8 + took.0 / 8);
        } else if self.active[Class::Foreground as usize] == 0 {
            self.response = Nanos(mean - mean.div_ceil(8));
        }
    }
}

impl Component for ClassQueue {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        if job.class == Class::Foreground || job.operation == Operation::Flush {
            return self.send(now, job, out);
        }
        self.waiting[job.class as usize].push_back(job);
        self.pump(now, out);
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let (job, since) = self.asked.remove(ticket.0);
        self.active[job.class as usize] -= 1;
        self.note(job.class, now.saturating_sub(since));
        out.answer(&job, result);
        self.pump(now, out);
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a queue by class sets no alarm");
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}
