use std::collections::{BTreeMap, VecDeque};

use machine::{IoError, Operation};
use units::{Bytes, Nanos, Ratio};

use crate::error::{Check, ParameterError};
use crate::part::{Component, Job, Outbox, PartId, StreamId, Ticket};
use crate::slab::Slab;
use crate::usage::{Meter, Usage};

/// What a controller's write-back memory is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WriteBackParameters {
    /// Memory for writes; half of it is usable when mirrored.
    pub memory: Bytes,
    /// Whether a second controller holds a copy, as arrays with two controllers do.
    pub mirrored: Mirrored,
    /// Page: 512 B to 64 KiB, a power of two. VNX: 8 or 16 KiB.
    pub page: Bytes,
    /// Unit in which dirty pages are written together, the element of the RAID set behind:
    /// 1 to 64 pages.
    pub element: Bytes,
    /// Share of the memory that flushing goes down to. VNX: 60 %.
    pub low: Ratio,
    /// Share of the memory at which flushing starts, at least `low`. VNX: 80 %.
    pub high: Ratio,
    /// Time to answer from memory: 0.2 to 0.5 ms in arrays of that kind.
    pub hit: Nanos,
    /// Child writes under way at most while flushing, at least 1; enough to keep the disks
    /// behind busy.
    pub flush_depth: u32,
}

/// Whether the memory has a copy in a second controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mirrored {
    /// A copy of every page: half of the memory holds data.
    Yes,
    /// One controller.
    No,
}

/// What happened in the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteBackCounts {
    /// Writes answered from memory.
    pub writes: u64,
    /// Of these, writes that had to wait for a page (forced flushing).
    pub forced: u64,
    /// Pages written again while dirty: what never reached the disks.
    pub coalesced_pages: u64,
    /// Reads answered from dirty pages.
    pub read_hits: u64,
    /// Child writes of flushing.
    pub flushes: u64,
    /// Bytes of those.
    pub flushed_bytes: u64,
}

/// A controller's write-back memory: writes are answered when they are in memory, dirty
/// pages are written to the component behind between two watermarks, in address order and
/// element by element; writes that find no free page wait (forced flushing).
///
/// Protected by battery, so a flush is answered at once. Writes larger than the memory can
/// ever hold go past it. Left out: a read cache and prefetching of sequential reads; reads
/// that lie partly in dirty pages go to the component behind.
#[derive(Debug)]
pub struct WriteBack {
    parameters: WriteBackParameters,
    next: PartId,
    marks: Marks,
    /// Dirty pages of each element, a bit each.
    dirty: BTreeMap<u64, u64>,
    /// Pages that hold data not yet on disk, those being flushed included.
    held: u64,
    is_flushing: bool,
    under_way: u32,
    /// Pages of each child write.
    flushes: Slab<u32>,
    /// The element flushed last.
    cursor: u64,
    /// Writes that wait for pages.
    waiting: VecDeque<Job>,
    /// Answers from memory, in order of their time, which is that of their coming.
    answers: VecDeque<(Nanos, Job)>,
    counts: WriteBackCounts,
    meter: Meter,
}

/// Pages.
#[derive(Debug)]
struct Marks {
    low: u64,
    high: u64,
    all: u64,
}

const CHECK: Check = Check("write-back memory");

impl WriteBack {
    /// An empty memory in front of `next`.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(parameters: WriteBackParameters, next: PartId) -> Result<Self, ParameterError> {
        let WriteBackParameters { page, element, low, high, .. } = parameters;
        let is_page = (512..=65536).contains(&page.get()) && page.get().is_power_of_two();
        CHECK.that(is_page, "page", page, "a power of two, 512 B to 64 KiB")?;
        let pages = element.get() / page.get();
        let is_element = (1..=64).contains(&pages) && element.get() == pages * page.get();
        CHECK.that(is_element, "element", element, "1 to 64 pages")?;
        CHECK.that(low <= high && low > Ratio::ZERO, "low", low, "above 0 % and at most high")?;
        let depth = parameters.flush_depth;
        CHECK.that(depth > 0, "flush_depth", depth, "at least 1")?;
        let usable = match parameters.mirrored {
            Mirrored::Yes => parameters.memory.get() / 2,
            Mirrored::No => parameters.memory.get(),
        };
        let all = usable / page.get();
        CHECK.that(all >= pages, "memory", parameters.memory, "an element at least, mirrored")?;
        let share = |ratio: Ratio| Bytes::new(all).scale(ratio.get()).get();
        Ok(Self {
            parameters,
            next,
            marks: Marks { low: share(low), high: share(high), all },
            dirty: BTreeMap::new(),
            held: 0,
            is_flushing: false,
            under_way: 0,
            flushes: Slab::new(),
            cursor: 0,
            waiting: VecDeque::new(),
            answers: VecDeque::new(),
            counts: WriteBackCounts::default(),
            meter: Meter::new(0),
        })
    }

    /// What happened so far.
    pub const fn counts(&self) -> WriteBackCounts {
        self.counts
    }

    /// Share of the usable memory that holds data not yet on disk, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "pages of a memory")]
    pub fn fill(&self) -> f64 {
        self.held as f64 / self.marks.all as f64
    }

    /// Elements of a span, each with the bits of the pages it touches.
    fn pages(&self, job: &Job) -> impl Iterator<Item = (u64, u64)> + use<> {
        let page = self.parameters.page.get();
        let per_element = self.parameters.element.get() / page;
        let (first, end) = (job.offset / page, job.end().div_ceil(page));
        (first / per_element..=(end - 1) / per_element).map(move |element| {
            let from = first.max(element * per_element) - element * per_element;
            let to = end.min((element + 1) * per_element) - element * per_element;
            (element, (u64::MAX >> (64 - (to - from))) << from)
        })
    }

    fn new_pages(&self, job: &Job) -> u64 {
        let absent = |(element, bits): (u64, u64)| {
            u64::from((bits & !self.dirty.get(&element).copied().unwrap_or(0)).count_ones())
        };
        self.pages(job).map(absent).sum()
    }

    /// Takes a write into memory if there is room.
    fn admit(&mut self, now: Nanos, job: &Job, out: &mut Outbox) -> bool {
        let new = self.new_pages(job);
        if self.held + new > self.marks.all {
            return false;
        }
        for (element, bits) in self.pages(job) {
            let dirty = self.dirty.entry(element).or_insert(0);
            self.counts.coalesced_pages += u64::from((*dirty & bits).count_ones());
            *dirty |= bits;
        }
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

    fn is_held(&self, job: &Job) -> bool {
        !self.dirty.is_empty() && self.new_pages(job) == 0
    }

    /// Starts child writes while flushing is on.
    fn flush(&mut self, out: &mut Outbox) {
        self.is_flushing |= self.held >= self.marks.high || !self.waiting.is_empty();
        while self.is_flushing && self.under_way < self.parameters.flush_depth {
            let ahead = self.dirty.range(self.cursor..).next();
            let Some((&element, &bits)) = ahead.or_else(|| self.dirty.iter().next()) else {
                return;
            };
            self.dirty.remove(&element);
            self.cursor = element + 1;
            self.write_runs(element, bits, out);
        }
    }

    /// One child write for each run of dirty pages of an element.
    fn write_runs(&mut self, element: u64, mut bits: u64, out: &mut Outbox) {
        let page = self.parameters.page.get();
        while bits != 0 {
            let from = bits.trailing_zeros();
            let pages = (bits >> from).trailing_ones();
            bits &= !((u64::MAX >> (64 - pages)) << from);
            let offset = element * self.parameters.element.get() + u64::from(from) * page;
            let length =
                u32::try_from(u64::from(pages) * page).expect("an element is 4 MiB at most");
            self.under_way += 1;
            self.counts.flushes += 1;
            self.counts.flushed_bytes += u64::from(length);
            out.ask(
                self.next,
                Job {
                    from: self.next,
                    ticket: Ticket(self.flushes.insert(pages)),
                    operation: Operation::Write,
                    offset,
                    length,
                    stream: StreamId(0),
                },
            );
        }
    }
}

impl Component for WriteBack {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.meter.enter(now);
        match job.operation {
            Operation::Write => {
                let pages = u64::from(job.length) / self.parameters.page.get() + 2;
                if pages > self.marks.all {
                    self.meter.leave(now, job.length);
                    return out.hand_on(self.next, job);
                }
                if !self.waiting.is_empty() || !self.admit(now, &job, out) {
                    self.counts.forced += 1;
                    self.waiting.push_back(job);
                }
                self.flush(out);
            }
            Operation::Read if job.length > 0 && self.is_held(&job) => {
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

    /// Jobs inside are those answered from memory, waiting ones included.
    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
