use std::collections::VecDeque;

use state_machine::{IoError, Operation};
use units::{Bytes, Nanos, Ratio};

use super::dirty::{DirtyPages, Marks, Run};
use super::memory::{WriteBackCounts, destage_class};
use crate::error::{Check, ParameterError};
use crate::part::{Component, Job, Outbox, PartId, StreamId, Ticket};
use crate::usage::{Meter, Usage};
use state_machine::Slab;

/// Parameters of a write buffer on a solid-state disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SsdBufferParameters {
    /// Size of the buffer on the disk, at least an element. Hyper-converged hosts of the modelled
    /// kind give 30 % of the cache disk to writes (VMware, "Virtual SAN 6.0 Design and Sizing
    /// Guide").
    pub size: Bytes,
    /// First byte of the buffer on the disk.
    pub base: u64,
    /// Page size: 512 B to 64 KiB, a power of two.
    pub page: Bytes,
    /// Unit in which dirty pages are read back and destaged together: 1 to 64 pages.
    pub element: Bytes,
    /// Share down to which destaging continues, above 0 and at most `high`.
    pub low: Ratio,
    /// Share at which destaging starts, at most 100 %.
    pub high: Ratio,
    /// Maximum number of runs of pages being destaged at the same time, at least 1.
    pub destage_depth: u32,
}

impl SsdBufferParameters {
    /// Returns a buffer of this size at the beginning of its disk, with pages of 4 KiB, elements of
    /// 256 KiB, and destaging from 30 down to 25 % with 32 runs in progress. In VMware's
    /// description such a buffer starts destaging at a fill of 30 %; the other values are our
    /// choice.
    pub fn new(size: Bytes) -> Self {
        Self {
            size,
            base: 0,
            page: Bytes::new(4 << 10),
            element: Bytes::new(256 << 10),
            low: Ratio::new(0.25),
            high: Ratio::new(0.30),
            destage_depth: 32,
        }
    }
}

/// A write buffer on a solid-state disk in front of slower storage. A write is answered when the
/// disk has it. Dirty pages are read back and written to the storage behind between two watermarks,
/// in address order and element by element. Reads of dirty pages are served by the disk. Writes
/// that find no room wait.
///
/// A flush is answered at once, because answered data is safe on the disk. Writes larger than the
/// buffer bypass it. Left out: the log's own metadata, and reads that lie partly in dirty pages,
/// which go to the storage behind. Pages being destaged are also read there.
#[derive(Debug)]
pub struct SsdBuffer {
    parameters: SsdBufferParameters,
    ways: BufferWays,
    marks: Marks,
    dirty: DirtyPages,
    /// Number of pages with data that is not yet on the storage behind, including pages being
    /// destaged.
    held: u64,
    is_destaging: bool,
    under_way: u32,
    works: Slab<Work>,
    /// Scratch list, empty between uses; kept so that the memory is reused.
    runs: Vec<Run>,
    /// Writes that wait for room.
    waiting: VecDeque<Job>,
    counts: WriteBackCounts,
    meter: Meter,
}

/// Content of an [`SsdBuffer`] before its first job, to be copied into another one.
#[derive(Debug, Clone)]
pub struct SsdBufferContent {
    dirty: DirtyPages,
    held: u64,
}

/// Components that a buffer uses.
#[derive(Debug, Clone, Copy)]
struct BufferWays {
    disk: PartId,
    behind: PartId,
}

#[derive(Debug, Clone, Copy)]
enum Work {
    /// A request served by the disk.
    Serve(Job),
    /// Dirty pages being read back from the disk.
    Load(Run),
    /// Pages being written to the storage behind.
    Store(Run),
}

const CHECK: Check = Check("ssd buffer");

impl SsdBuffer {
    /// Creates an empty buffer on `disk` in front of `behind`.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(
        parameters: SsdBufferParameters,
        disk: PartId,
        behind: PartId,
    ) -> Result<Self, ParameterError> {
        let SsdBufferParameters { size, page, element, low, high, destage_depth, .. } = parameters;
        let dirty = DirtyPages::new(&CHECK, page, element)?;
        CHECK.that(size >= element, "size", size, "an element at least")?;
        CHECK.that(destage_depth > 0, "destage_depth", destage_depth, "at least 1")?;
        let marks = Marks::new(&CHECK, (low, high), size.get() / page.get())?;
        Ok(Self {
            parameters,
            ways: BufferWays { disk, behind },
            marks,
            dirty,
            held: 0,
            is_destaging: false,
            under_way: 0,
            works: Slab::new(),
            runs: Vec::new(),
            waiting: VecDeque::new(),
            counts: WriteBackCounts::default(),
            meter: Meter::new(0),
        })
    }

    /// Returns the counters since the start; "flushes" are destaged runs.
    pub const fn counts(&self) -> WriteBackCounts {
        self.counts
    }

    /// Returns the number of bytes that are only in the buffer.
    pub fn dirty_bytes(&self) -> u64 {
        self.held * self.parameters.page.get()
    }

    /// Returns the share of the buffer that has data not yet on the storage behind, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.marks.fill(self.held)
    }

    /// Adds a write without timing, to warm up the buffer before a run. Above the high mark, pages
    /// leave in destaging order down to the low mark, as if they had been destaged. Nothing is
    /// counted. Allowed only before the first job.
    pub fn place(&mut self, offset: u64, length: u32) {
        let job = self.job(Operation::Write, offset, length, 0);
        if length == 0 || self.dirty.most(&job) > self.marks.all {
            return;
        }
        self.held += self.dirty.clean_of(&job);
        self.dirty.add(&job);
        if self.held < self.marks.high {
            return;
        }
        while self.held > self.marks.low && self.dirty.take(&mut self.runs) {
            self.held -= self.runs.drain(..).map(|run| u64::from(run.pages)).sum::<u64>();
        }
    }

    /// Returns a copy of the pages that were placed so far. Allowed only before the first job.
    pub fn content(&self) -> SsdBufferContent {
        SsdBufferContent { dirty: self.dirty.clone(), held: self.held }
    }

    /// Replaces the content by that of a buffer with the same parameters. Allowed only before the
    /// first job.
    pub fn restore(&mut self, content: &SsdBufferContent) {
        self.dirty = content.dirty.clone();
        self.held = content.held;
    }

    /// Returns the address of bytes on the disk. The real positions in the log are not modelled,
    /// because on flash the distance between addresses does not matter.
    fn on_disk(&self, offset: u64, length: u32) -> u64 {
        let within = offset % self.parameters.size.get();
        let fits = within + u64::from(length) <= self.parameters.size.get();
        self.parameters.base + if fits { within } else { 0 }
    }

    fn job(&self, operation: Operation, offset: u64, length: u32, ticket: u32) -> Job {
        let (from, ticket) = (self.ways.disk, Ticket(ticket));
        Job {
            from,
            ticket,
            operation,
            offset,
            length,
            stream: StreamId(0),
            class: destage_class(&self.waiting),
        }
    }

    /// Lets the disk serve a request.
    fn serve(&mut self, job: Job, out: &mut Outbox) {
        let ticket = Ticket(self.works.insert(Work::Serve(job)));
        let offset = self.on_disk(job.offset, job.length);
        out.ask(self.ways.disk, Job { ticket, offset, ..job });
    }

    /// Admits a write if there is room.
    fn admit(&mut self, job: &Job, out: &mut Outbox) -> bool {
        let new = self.dirty.clean_of(job);
        if self.held + new > self.marks.all {
            return false;
        }
        self.counts.coalesced_pages += self.dirty.add(job);
        self.held += new;
        self.counts.writes += 1;
        self.serve(*job, out);
        true
    }

    /// Starts to read runs back, while destaging is active.
    fn destage(&mut self, out: &mut Outbox) {
        self.is_destaging |= self.held >= self.marks.high || !self.waiting.is_empty();
        let mut runs = std::mem::take(&mut self.runs);
        while self.is_destaging
            && self.under_way < self.parameters.destage_depth
            && self.dirty.take(&mut runs)
        {
            for run in runs.drain(..) {
                self.under_way += 1;
                let ticket = self.works.insert(Work::Load(run));
                let offset = self.on_disk(run.offset, run.length);
                out.ask(self.ways.disk, self.job(Operation::Read, offset, run.length, ticket));
            }
        }
        self.runs = runs;
    }

    /// Handles a run that has reached the storage behind.
    fn stored(&mut self, run: Run, out: &mut Outbox) {
        self.counts.flushes += 1;
        self.counts.flushed_bytes += u64::from(run.length);
        self.held -= u64::from(run.pages);
        self.under_way -= 1;
        while let Some(job) = self.waiting.pop_front() {
            if !self.admit(&job, out) {
                self.waiting.push_front(job);
                break;
            }
        }
        if self.held <= self.marks.low && self.waiting.is_empty() {
            self.is_destaging = false;
        }
        self.destage(out);
    }
}

impl Component for SsdBuffer {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        match job.operation {
            Operation::Flush => out.answer(&job, Ok(())),
            Operation::Write if job.length > 0 && self.dirty.most(&job) <= self.marks.all => {
                self.meter.enter(now);
                if !self.waiting.is_empty() || !self.admit(&job, out) {
                    self.counts.forced += 1;
                    self.waiting.push_back(job);
                }
                self.destage(out);
            }
            Operation::Read if job.length > 0 && self.dirty.hold(&job) => {
                self.meter.enter(now);
                self.counts.read_hits += 1;
                self.serve(job, out);
            }
            _ => out.hand_on(self.ways.behind, job),
        }
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        match self.works.remove(ticket.0) {
            Work::Serve(job) => {
                self.meter.leave(now, job.length);
                out.answer(&job, result);
            }
            Work::Load(run) => {
                let ticket = self.works.insert(Work::Store(run));
                let job = self.job(Operation::Write, run.offset, run.length, ticket);
                out.ask(self.ways.behind, job);
            }
            Work::Store(run) => self.stored(run, out),
        }
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a buffer on a disk sets no alarm");
    }

    /// Returns the counters. Jobs inside are those that the disk serves, including waiting ones;
    /// other jobs are not counted.
    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
