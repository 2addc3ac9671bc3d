use std::collections::{BTreeMap, VecDeque};

use state_machine::{Operation, Stream};
use units::{Bytes, Nanos};

use crate::error::{Check, ParameterError};
use crate::part::{Component, Job, OUT_OF_RANGE, Outbox};
use crate::usage::{Meter, Usage};
use crate::variation::{Course, Variation};
use state_machine::Slab;

/// Parameters of a disk whose inner structure is unknown; all of them can be fitted to
/// measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct ServersParameters {
    /// Usable size, above zero.
    pub capacity: Bytes,
    /// Number of requests served at the same time, at least 1.
    pub servers: u32,
    /// Time that a server takes for a read, above zero.
    pub read: Nanos,
    /// Time that a server takes for a write or flush, above zero.
    pub write: Nanos,
    /// Bytes read per second, after the server and one request after another, above zero.
    pub rate: f64,
    /// Bytes written per second, over the same path, above zero.
    pub write_rate: f64,
    /// Latency that occupies neither a server nor the path.
    pub latency: Nanos,
    /// Maximum bytes inside, or a single larger request. Further requests wait in front and are
    /// admitted by ascending address, then from the beginning again, as a host's elevator sorts
    /// requests beyond the disk's short queue. If absent, every request is admitted on arrival.
    pub window: Option<Bytes>,
    /// Variation of the disk's speed over time.
    pub variation: Variation,
}

impl ServersParameters {
    /// Returns parameters of a disk that writes at the same rate as it reads, without additional
    /// latency, window or variation.
    pub fn plain(capacity: Bytes, servers: u32, (read, write): (Nanos, Nanos), rate: f64) -> Self {
        let (latency, window, variation) = (Nanos::ZERO, None, Variation::default());
        let write_rate = rate;
        Self { capacity, servers, read, write, rate, write_rate, latency, window, variation }
    }
}

/// A disk of equal servers behind one queue, with a transfer path that all of them share:
///
/// ```text
/// (elevator ->) servers -> bytes at a rate -> latency -> answer
/// ```
///
/// It models devices whose inner structure is unknown (virtual disks): each number is a line in a
/// plot of the measurements. Flushes are served like writes.
#[derive(Debug)]
pub struct Servers {
    parameters: ServersParameters,
    course: Course,
    /// Requests that wait in front, by address; the number distinguishes equal addresses.
    outside: BTreeMap<(u64, u64), Job>,
    number: u64,
    /// Present address of the elevator.
    head: u64,
    /// Number of bytes and of requests inside.
    inside: (u64, u32),
    waiting: VecDeque<Job>,
    idle: u32,
    served: Slab<Job>,
    /// Requests on the shared path, with the time at which each leaves.
    passing: VecDeque<(Nanos, Job)>,
    free_at: Nanos,
    answers: VecDeque<(Nanos, Job)>,
    meter: Meter,
}

const TRANSFER: u32 = u32::MAX;
const ANSWER: u32 = u32::MAX - 1;
const CHECK: Check = Check("servers");

impl Servers {
    /// Creates an idle disk. The random stream draws paces and stalls.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(parameters: ServersParameters, stream: Stream) -> Result<Self, ParameterError> {
        let ServersParameters { capacity, servers, read, write, rate, write_rate, .. } = parameters;
        CHECK.that(capacity > Bytes::ZERO, "capacity", capacity, "above 0 B")?;
        CHECK.that(servers > 0, "servers", servers, "at least 1")?;
        CHECK.that(read > Nanos::ZERO, "read", read, "above 0 s")?;
        CHECK.that(write > Nanos::ZERO, "write", write, "above 0 s")?;
        for (name, rate) in [("rate", rate), ("write_rate", write_rate)] {
            let is_rate = rate.is_finite() && rate > 0.0;
            CHECK.that(is_rate, name, format!("{rate} B/s"), "above 0 B/s and finite")?;
        }
        Ok(Self {
            course: Course::new(parameters.variation.clone(), stream, &CHECK)?,
            outside: BTreeMap::new(),
            number: 0,
            head: 0,
            inside: (0, 0),
            waiting: VecDeque::new(),
            idle: servers,
            served: Slab::new(),
            passing: VecDeque::new(),
            free_at: Nanos::ZERO,
            answers: VecDeque::new(),
            meter: Meter::new(servers),
            parameters,
        })
    }

    fn has_room(&self, job: &Job) -> bool {
        let (bytes, requests) = self.inside;
        let window = self.parameters.window.map_or(u64::MAX, Bytes::get);
        requests == 0 || bytes.saturating_add(u64::from(job.length)) <= window
    }

    fn come_in(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.inside = (self.inside.0 + u64::from(job.length), self.inside.1 + 1);
        if self.idle == 0 {
            return self.waiting.push_back(job);
        }
        self.idle -= 1;
        self.meter.start(now);
        self.serve(now, job, out);
    }

    fn serve(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        let is_read = job.operation == Operation::Read;
        let work = if is_read { self.parameters.read } else { self.parameters.write };
        let end = self.course.end(now, work);
        out.wake_at(end, self.served.insert(job));
    }

    fn served(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        let job = self.served.remove(tag);
        if let Some(next) = self.waiting.pop_front() {
            self.serve(now, next, out);
        } else {
            self.idle += 1;
            self.meter.stop(now);
        }
        let ServersParameters { rate, write_rate, .. } = self.parameters;
        let rate = if job.operation == Operation::Read { rate } else { write_rate };
        let work = Nanos::from_secs_f64(f64::from(job.length) / rate);
        self.free_at = self.course.end(self.free_at.max(now), work);
        if self.passing.is_empty() {
            out.wake_at(self.free_at, TRANSFER);
        }
        self.passing.push_back((self.free_at, job));
    }

    fn transferred(&mut self, now: Nanos, out: &mut Outbox) {
        let (_, job) = self.passing.pop_front().expect("an alarm has its transfer");
        if let Some((at, _)) = self.passing.front() {
            out.wake_at(*at, TRANSFER);
        }
        self.inside = (self.inside.0 - u64::from(job.length), self.inside.1 - 1);
        let last = self.answers.back().map_or(now, |(at, _)| *at);
        let at = self.course.end(now, self.parameters.latency).max(last);
        if self.answers.is_empty() {
            out.wake_at(at, ANSWER);
        }
        self.answers.push_back((at, job));
        self.fill(now, out);
    }

    /// Admits waiting jobs while there is room, by ascending address from the elevator's position.
    fn fill(&mut self, now: Nanos, out: &mut Outbox) {
        while let Some(key) = self.next_outside() {
            if !self.has_room(&self.outside[&key]) {
                return;
            }
            let job = self.outside.remove(&key).expect("the key was just found");
            self.head = key.0;
            self.come_in(now, job, out);
        }
    }

    fn next_outside(&self) -> Option<(u64, u64)> {
        let above = self.outside.range((self.head, 0)..).next();
        above.or_else(|| self.outside.first_key_value()).map(|(key, _)| *key)
    }
}

impl Component for Servers {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        if job.end() > self.parameters.capacity.get() {
            return out.answer(&job, Err(OUT_OF_RANGE));
        }
        self.course.advance(now);
        self.meter.enter(now);
        if self.outside.is_empty() && self.has_room(&job) {
            return self.come_in(now, job, out);
        }
        self.number += 1;
        self.outside.insert((job.offset, self.number), job);
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        self.course.advance(now);
        match tag {
            TRANSFER => self.transferred(now, out),
            ANSWER => {
                let (_, job) = self.answers.pop_front().expect("an alarm has its answer");
                if let Some((at, _)) = self.answers.front() {
                    out.wake_at(*at, ANSWER);
                }
                self.meter.leave(now, job.length);
                out.answer(&job, Ok(()));
            }
            _ => self.served(now, tag, out),
        }
    }

    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
