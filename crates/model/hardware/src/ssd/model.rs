use std::collections::VecDeque;

use state_machine::{Operation, Stream};
use units::{Bytes, Nanos};

use super::dies::{Dies, Task};
use super::parameters::SsdParameters;
use super::slc::SlcSpace;
use super::write_amplification::write_amplification_greedy;
use crate::error::{Check, ParameterError};
use crate::part::{Component, Job, OUT_OF_RANGE, Outbox};
use crate::usage::{Meter, Usage};
use state_machine::Slab;

/// A solid-state disk without a mapping table, but with the queues that determine latency.
///
/// Commands pass the controller one after another. Reads become pages on the dies, over which their
/// addresses are striped. Writes are answered when the buffer has room. Their pages are programmed
/// on the dies in turn; two half pages become one. Each programmed page of random data adds `A - 1`
/// page moves and `A / pages_per_block` erases on random dies, with the closed-form amplification
/// `A`. A write that continues at the end of one of the last 16 writes counts as sequential and
/// adds only its erases. The device is assumed to be full and in steady state.
///
/// Commands pass in order of arrival. So the effect of a command on the dies is calculated on
/// arrival, for the time at which it will have passed. Only while a write waits for room do
/// commands and pages have alarms of their own.
#[derive(Debug)]
pub struct Ssd {
    parameters: SsdParameters,
    amplification: f64,
    stream: Stream,
    dies: Dies,
    /// Time at which the controller has passed all commands so far.
    free_at: Nanos,
    passing: VecDeque<(Nanos, Job)>,
    reads: Slab<Job>,
    waiting: VecDeque<Job>,
    /// True after a write larger than the buffer was admitted: the time at which room becomes free
    /// then depends on every page.
    is_overfull: bool,
    /// True if every die with work has an alarm, so that dies need not be updated.
    has_alarms: bool,
    /// Answers to writes, in order of time.
    answers: VecDeque<(Nanos, Job)>,
    /// Free bytes of the buffer.
    room: u64,
    /// Bytes in the buffer that do not fill a page yet.
    part_page: u64,
    next_die: u32,
    /// Page moves still to be done by garbage collection; `erases` are the erases still to be done.
    moves: f64,
    erases: f64,
    ends: [u64; 16],
    next_end: usize,
    slc: Option<SlcSpace>,
    meter: Meter,
}

const CONTROLLER: u32 = 1 << 20;
const ANSWER: u32 = CONTROLLER + 1;
/// First tag of reads; the read's position is added to it.
const READ: u32 = 1 << 21;
const CHECK: Check = Check("ssd");

impl Ssd {
    /// Creates a device in steady state. The random stream chooses the dies of garbage collection.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(parameters: SsdParameters, stream: Stream) -> Result<Self, ParameterError> {
        let SsdParameters { capacity, dies, page, buffer, rate, spare, .. } = parameters;
        CHECK.that(capacity > Bytes::ZERO, "capacity", capacity, "above 0 B")?;
        CHECK.that((1..=65536).contains(&dies), "dies", dies, "1 to 65,536")?;
        let is_page = (512..=1 << 20).contains(&page.get()) && page.get().is_multiple_of(512);
        CHECK.that(is_page, "page", page, "a multiple of 512 B up to 1 MiB")?;
        let block = parameters.pages_per_block;
        CHECK.that(block > 0, "pages_per_block", block, "at least 1")?;
        let shortest = parameters.read.min(parameters.program).min(parameters.erase);
        CHECK.that(shortest > Nanos::ZERO, "die times", shortest, "above 0 s")?;
        CHECK.that(spare > 0.0 && spare.is_finite(), "spare", spare, "above 0 and finite")?;
        let least = page.get() * u64::from(dies).max(2);
        CHECK.that(buffer.get() >= least, "buffer", buffer, "at least a page per die, or two")?;
        let is_rate = rate > 0.0 && rate.is_finite();
        CHECK.that(is_rate, "rate", format!("{rate} B/s"), "above 0 B/s and finite")?;
        if let Some(slc) = &parameters.slc {
            let holds = slc.size > Bytes::ZERO && slc.program > Nanos::ZERO && slc.fold_rate >= 0.0;
            CHECK.that(holds, "slc", slc.size, "a size, a program time and a rate")?;
        }
        Ok(Self {
            amplification: write_amplification_greedy(spare),
            stream,
            dies: Dies::new(dies),
            free_at: Nanos::ZERO,
            passing: VecDeque::new(),
            reads: Slab::new(),
            waiting: VecDeque::new(),
            is_overfull: false,
            has_alarms: false,
            answers: VecDeque::new(),
            room: buffer.get(),
            part_page: 0,
            next_die: 0,
            moves: 0.0,
            erases: 0.0,
            ends: [u64::MAX; 16],
            next_end: 0,
            slc: parameters.slc.map(SlcSpace::new),
            meter: Meter::new(dies),
            parameters,
        })
    }

    /// Returns the write amplification of random writes, by the closed form.
    pub const fn amplification(&self) -> f64 {
        self.amplification
    }

    /// Returns true while the end of every page must be known at once, because a write waits for
    /// room or there is an SLC cache.
    fn is_watched(&self) -> bool {
        !self.waiting.is_empty() || self.is_overfull || self.slc.is_some()
    }

    /// Handles a command that has passed the controller, or will have passed it by `now`.
    fn pass(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        match job.operation {
            Operation::Read if job.length > 0 => self.read(now, job, out),
            Operation::Write if job.length > 0 => {
                self.waiting.push_back(job);
                self.fill(now, out);
            }
            // The buffer is protected against power loss, so completed writes are already durable.
            _ => self.answer(now, job, out),
        }
    }

    fn read(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        let page = self.parameters.page.get();
        let mut end = now;
        for number in job.offset / page..job.end().div_ceil(page) {
            let die = u32::try_from(number % self.dies.len()).expect("dies are numbered by u32");
            end = end.max(self.dies.read(now, die, self.parameters.read));
        }
        let at = end.saturating_add(self.parameters.latency);
        out.wake_at(at, READ + self.reads.insert(job));
    }

    /// Admits waiting writes to the buffer, in order. A write larger than the buffer is admitted
    /// when the buffer is empty.
    fn fill(&mut self, now: Nanos, out: &mut Outbox) {
        while let Some(job) = self.waiting.front().copied() {
            // Less than a page may stay behind in the buffer, so more is never asked for.
            let most = self.parameters.buffer.get() - self.parameters.page.get();
            let length = u64::from(job.length);
            if length.min(most) > self.room && !self.has_alarms {
                self.dies.settle_all(now);
                self.free_room(now);
            }
            if length.min(most) > self.room {
                return self.watch(out);
            }
            self.waiting.pop_front();
            if length > self.room {
                self.is_overfull = true;
                self.watch(out);
            }
            self.room = self.room.saturating_sub(length);
            let is_random = self.is_random(&job);
            self.program(now, length, is_random, out);
            self.answer(now, job, out);
        }
        self.has_alarms &= self.is_watched();
    }

    fn watch(&mut self, out: &mut Outbox) {
        if !self.has_alarms {
            self.has_alarms = true;
            self.dies.alarm_all(out);
        }
    }

    /// Frees the room of pages that were programmed.
    fn free_room(&mut self, now: Nanos) {
        let pages = self.dies.take_programmed();
        if pages == 0 {
            return;
        }
        if let Some(slc) = &mut self.slc {
            slc.busy(now);
        }
        let most = self.parameters.buffer.get() - self.part_page;
        self.room = (self.room + pages * self.parameters.page.get()).min(most);
        self.is_overfull &= self.dies.writing() > 0;
    }

    fn is_random(&mut self, job: &Job) -> bool {
        let known = self.ends.iter().position(|end| *end == job.offset);
        let place = known.unwrap_or(self.next_end);
        self.ends[place] = job.end();
        if known.is_none() {
            self.next_end = (self.next_end + 1) % self.ends.len();
        }
        known.is_none()
    }

    /// Programs every full page in the buffer, after `bytes` were added.
    fn program(&mut self, now: Nanos, bytes: u64, is_random: bool, out: &mut Outbox) {
        let page = self.parameters.page.get();
        self.part_page += bytes;
        while self.part_page >= page {
            self.part_page -= page;
            let time = self.program_time(now, is_random);
            let die = self.next_die;
            self.next_die = (die + 1) % self.parameters.dies;
            self.work(now, die, (Task::Program, time), out);
            self.collect(now, out);
        }
    }

    /// Returns the time of a page's program, and adds the moves and erases that it causes. A page
    /// that goes to the SLC cache causes none.
    fn program_time(&mut self, now: Nanos, is_random: bool) -> Nanos {
        let is_writing = self.dies.writing() > 0;
        if let (Some(space), Some(slc)) = (&mut self.slc, self.parameters.slc) {
            if is_writing {
                space.busy(now);
            }
            if space.take(now, self.parameters.page.as_f64()) {
                return slc.program;
            }
        }
        let moves = if is_random { self.amplification - 1.0 } else { 0.0 };
        self.moves += moves;
        self.erases += (1.0 + moves) / f64::from(self.parameters.pages_per_block);
        self.parameters.program
    }

    fn collect(&mut self, now: Nanos, out: &mut Outbox) {
        let SsdParameters { read, program, erase, .. } = self.parameters;
        while self.moves >= 1.0 {
            self.moves -= 1.0;
            self.collect_somewhere(now, read + program, out);
        }
        while self.erases >= 1.0 {
            self.erases -= 1.0;
            self.collect_somewhere(now, erase, out);
        }
    }

    fn collect_somewhere(&mut self, now: Nanos, time: Nanos, out: &mut Outbox) {
        let die = u32::try_from(self.stream.below(self.dies.len())).expect("below the dies");
        self.work(now, die, (Task::Collect, time), out);
    }

    #[inline]
    fn work(&mut self, now: Nanos, die: u32, task: (Task, Nanos), out: &mut Outbox) {
        self.dies.add(now, die, task);
        if self.is_watched() {
            self.dies.alarm(die, out);
        }
    }

    fn answer(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        let at = now.saturating_add(self.parameters.latency);
        if self.answers.is_empty() {
            out.wake_at(at, ANSWER);
        }
        self.answers.push_back((at, job));
    }

    fn die_done(&mut self, now: Nanos, die: u32, out: &mut Outbox) {
        self.dies.woken(now, die);
        self.free_room(now);
        self.fill(now, out);
        if self.is_watched() {
            self.dies.alarm(die, out);
        }
    }
}

impl Component for Ssd {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        if job.end() > self.parameters.capacity.get() {
            return out.answer(&job, Err(OUT_OF_RANGE));
        }
        self.meter.enter(now);
        let bytes = Nanos::from_secs_f64(f64::from(job.length) / self.parameters.rate);
        self.free_at = self.free_at.max(now) + self.parameters.command + bytes;
        if self.passing.is_empty() {
            if !self.is_watched() {
                return self.pass(self.free_at, job, out);
            }
            out.wake_at(self.free_at, CONTROLLER);
        }
        self.passing.push_back((self.free_at, job));
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        if tag == CONTROLLER {
            let (_, job) = self.passing.pop_front().expect("an alarm has its command");
            if let Some((at, _)) = self.passing.front() {
                out.wake_at(*at, CONTROLLER);
            }
            self.pass(now, job, out);
        } else if tag == ANSWER {
            let (_, job) = self.answers.pop_front().expect("an alarm has its answer");
            if let Some((at, _)) = self.answers.front() {
                out.wake_at(*at, ANSWER);
            }
            self.meter.leave(now, job.length);
            out.answer(&job, Ok(()));
        } else if tag >= READ {
            let job = self.reads.remove(tag - READ);
            self.meter.leave(now, job.length);
            out.answer(&job, Ok(()));
        } else {
            self.die_done(now, tag, out);
        }
    }

    /// Returns the counters. The servers are the dies; jobs inside are requests.
    fn usage(&self, now: Nanos) -> Usage {
        let busy_ns = self.dies.busy_ns(now);
        Usage { busy_ns, ..self.meter.usage(now) }
    }
}
