use std::collections::VecDeque;

use state_machine::{IoError, Operation};
use units::{Bytes, Nanos, Ratio};

use super::dirty::{DirtyPages, Marks, Run};
use crate::error::{Check, ParameterError};
use crate::part::{Class, Component, Job, Outbox, PartId, StreamId, Ticket};
use crate::usage::{Meter, Usage};
use state_machine::Slab;

/// Parameters of a controller's write-back memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WriteBackParameters {
    /// Size of the memory for writes; half of it is usable if mirrored.
    pub memory: Bytes,
    /// Whether the memory is mirrored in a second controller, as in arrays with two controllers.
    pub mirrored: Mirrored,
    /// Page size: 512 B to 64 KiB, a power of two. VNX: 8 or 16 KiB.
    pub page: Bytes,
    /// Unit in which dirty pages are written together: the element of the RAID set behind, 1 to 64
    /// pages.
    pub element: Bytes,
    /// Share of the memory down to which flushing continues. VNX: 60 %.
    pub low: Ratio,
    /// Share of the memory at which flushing starts, at least `low`. VNX: 80 %.
    pub high: Ratio,
    /// Latency of an I/O that completes from memory: 0.2 to 0.5 ms in arrays of this kind.
    pub hit: Nanos,
    /// Maximum number of child writes in progress while flushing, at least 1; it should keep the
    /// disks behind busy.
    pub flush_depth: u32,
}

/// Whether the memory has a copy in a second controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mirrored {
    /// Every page has a copy: half of the memory can hold data.
    Yes,
    /// There is no copy: all of the memory can hold data.
    No,
}

/// Counters of a write-back memory or of a write buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteBackCounts {
    /// Writes that completed from memory.
    pub writes: u64,
    /// Writes that had to wait for a page (forced flushing).
    pub forced: u64,
    /// Pages that were written again while dirty, so their earlier data never reached the disks.
    pub coalesced_pages: u64,
    /// Reads that completed from dirty pages.
    pub read_hits: u64,
    /// Child writes of flushing.
    pub flushes: u64,
    /// Bytes of these child writes.
    pub flushed_bytes: u64,
}

/// A controller's write-back memory. Writes are answered when they are in memory. Dirty pages are
/// written to the component behind between two watermarks, in address order and element by element.
/// Writes that find no free page wait (forced flushing).
///
/// The memory is protected by battery, so a flush is answered at once. Writes larger than the
/// memory bypass it. Left out: a read cache and prefetching of sequential reads; reads that lie
/// partly in dirty pages go to the component behind.
#[derive(Debug)]
pub struct WriteBack {
    parameters: WriteBackParameters,
    next: PartId,
    marks: Marks,
    dirty: DirtyPages,
    /// Number of pages with data not yet on disk, including pages being flushed.
    held: u64,
    is_flushing: bool,
    under_way: u32,
    /// Number of pages of each child write.
    flushes: Slab<u32>,
    /// Scratch list, empty between uses; kept so that the memory is reused.
    runs: Vec<Run>,
    /// Writes that wait for pages.
    waiting: VecDeque<Job>,
    /// Pending completions from memory with their due times, in order of arrival.
    answers: VecDeque<(Nanos, Job)>,
    counts: WriteBackCounts,
    meter: Meter,
}

const CHECK: Check = Check("write-back memory");

impl WriteBack {
    /// Creates an empty memory in front of `next`.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(parameters: WriteBackParameters, next: PartId) -> Result<Self, ParameterError> {
        let WriteBackParameters { page, element, low, high, .. } = parameters;
        let dirty = DirtyPages::new(&CHECK, page, element)?;
        let depth = parameters.flush_depth;
        CHECK.that(depth > 0, "flush_depth", depth, "at least 1")?;
        let usable = match parameters.mirrored {
            Mirrored::Yes => parameters.memory.get() / 2,
            Mirrored::No => parameters.memory.get(),
        };
        let all = usable / page.get();
        let is_enough = usable >= element.get();
        CHECK.that(is_enough, "memory", parameters.memory, "an element at least, mirrored")?;
        let marks = Marks::new(&CHECK, (low, high), all)?;
        Ok(Self {
            parameters,
            next,
            marks,
            dirty,
            held: 0,
            is_flushing: false,
            under_way: 0,
            flushes: Slab::new(),
            runs: Vec::new(),
            waiting: VecDeque::new(),
            answers: VecDeque::new(),
            counts: WriteBackCounts::default(),
            meter: Meter::new(0),
        })
    }

    /// Destages independently and in turn the parts of the address space that begin at these bytes,
    /// ascending; each part is destaged in order of address. So sets of disks that follow one
    /// another in the address space work at the same time.
    #[must_use]
    pub fn sweeping(mut self, starts: &[u64]) -> Self {
        self.dirty.divide(starts);
        self
    }

    /// Returns the counters since the start.
    pub const fn counts(&self) -> WriteBackCounts {
        self.counts
    }

    /// Returns the share of the usable memory that has data not yet on disk, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.marks.fill(self.held)
    }

    /// Admits a write to memory if there is room.
    fn admit(&mut self, now: Nanos, job: &Job, out: &mut Outbox) -> bool {
        let new = self.dirty.clean_of(job);
        if self.held + new > self.marks.all {
            return false;
        }
        self.counts.coalesced_pages += self.dirty.add(job);
        self.held += new;
        self.counts.writes += 1;
        self.answer_from_memory(now, *job, out);
        true
    }

    fn answer_from_memory(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        let at = now.saturating_add(self.parameters.hit);
        if self.answers.is_empty() {
            out.wake_at(at, 0);
        }
        self.answers.push_back((at, job));
    }

    /// Starts child writes while flushing is on.
    fn flush(&mut self, out: &mut Outbox) {
        self.is_flushing |= self.held >= self.marks.high || !self.waiting.is_empty();
        let mut runs = std::mem::take(&mut self.runs);
        while self.is_flushing
            && self.under_way < self.parameters.flush_depth
            && self.dirty.take(&mut runs)
        {
            runs.drain(..).for_each(|run| self.write(run, out));
        }
        self.runs = runs;
    }

    fn write(&mut self, run: Run, out: &mut Outbox) {
        self.under_way += 1;
        self.counts.flushes += 1;
        self.counts.flushed_bytes += u64::from(run.length);
        out.ask(
            self.next,
            Job {
                from: self.next,
                ticket: Ticket(self.flushes.insert(run.pages)),
                operation: Operation::Write,
                offset: run.offset,
                length: run.length,
                stream: StreamId(0),
                class: destage_class(&self.waiting),
            },
        );
    }
}

/// Returns the class of a destage, which is as urgent as the writes that wait for room.
pub(super) fn destage_class(waiting: &VecDeque<Job>) -> Class {
    if waiting.is_empty() { Class::Destage } else { Class::Foreground }
}

impl Component for WriteBack {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.meter.enter(now);
        match job.operation {
            Operation::Write => {
                if self.dirty.most(&job) > self.marks.all {
                    self.meter.leave(now, job.length);
                    return out.hand_on(self.next, job);
                }
                if !self.waiting.is_empty() || !self.admit(now, &job, out) {
                    self.counts.forced += 1;
                    self.waiting.push_back(job);
                }
                self.flush(out);
            }
            Operation::Read if job.length > 0 && self.dirty.hold(&job) => {
                self.counts.read_hits += 1;
                self.answer_from_memory(now, job, out);
            }
            Operation::Read => {
                self.meter.leave(now, job.length);
                out.hand_on(self.next, job);
            }
            Operation::Flush => self.answer_from_memory(now, job, out),
        }
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        _result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        self.held -= u64::from(self.flushes.remove(ticket.0));
        self.under_way -= 1;
        while let Some(job) = self.waiting.pop_front() {
            if !self.admit(now, &job, out) {
                self.waiting.push_front(job);
                break;
            }
        }
        if self.held <= self.marks.low && self.waiting.is_empty() {
            self.is_flushing = false;
        }
        self.flush(out);
    }

    fn wake(&mut self, now: Nanos, _tag: u32, out: &mut Outbox) {
        let (_, job) = self.answers.pop_front().expect("an alarm has its answer");
        if let Some((at, _)) = self.answers.front() {
            out.wake_at(*at, 0);
        }
        self.meter.leave(now, job.length);
        out.answer(&job, Ok(()));
    }

    /// Returns the counters. Jobs inside are the jobs that complete from memory, including waiting
    /// ones.
    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
