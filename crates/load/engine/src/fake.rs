//! Storage in virtual time, for tests. It completes after a fixed service time, with stalls and
//! errors on request, and identically in every run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::ptr::NonNull;

use run_store::slice::Slice;
use state_machine::{Machine, Operation};
use units::Nanos;

use crate::backend::{Backend, Completion, Submission, Wait};
use crate::direct;
use crate::{EngineError, EngineInstance, Options, Outcome};

/// Interval in which the storage does nothing at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// Start of the stall.
    pub at: Nanos,
    /// Length of the stall.
    pub length: Nanos,
}

/// Request that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Number of the request, counted from 0 in the order of submission.
    pub ordinal: u64,
    /// Negated error number, or the number of bytes of a short transfer.
    pub result: i32,
}

/// Record of a request that was submitted to the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRecord {
    /// Time of submission.
    pub at: Nanos,
    /// Position of the file.
    pub file: u32,
    /// Read, write or flush.
    pub operation: Operation,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

impl RequestRecord {
    pub(crate) fn of(submission: &Submission, at: Nanos) -> Self {
        let Submission { file, operation, offset, length, .. } = *submission;
        Self { at, file, operation, offset, length }
    }
}

/// Recorded completion to replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Number of the request, counted from 0 in the order of submission.
    pub ordinal: u64,
    /// Time of the completion.
    pub at: Nanos,
    /// Bytes moved, or a negated error number.
    pub result: i32,
}

/// Behaviour of the storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fake {
    /// Service time of a request, without queueing.
    pub service: Nanos,
    /// Number of requests served concurrently, at least 1. Further requests wait in order.
    pub servers: usize,
    /// Capacity of the queue in requests. A submission beyond it waits for a completion.
    pub queue: usize,
    /// Intervals in which the storage does nothing.
    pub stalls: Vec<Stall>,
    /// Requests that fail.
    pub faults: Vec<Fault>,
    /// Completions of a recorded run, in their order. If not empty, only these completions occur,
    /// and further requests never complete.
    pub replay: Vec<Answer>,
    /// Time after which the backend itself fails, even with requests in flight.
    pub breaks: Option<Nanos>,
}

impl Default for Fake {
    /// Creates storage with one server, a service time of 100 us, an unlimited queue, no stall and
    /// no fault.
    fn default() -> Self {
        Self {
            service: Nanos::from_micros(100),
            servers: 1,
            queue: usize::MAX,
            stalls: Vec::new(),
            faults: Vec::new(),
            replay: Vec::new(),
            breaks: None,
        }
    }
}

/// Result of a run against fake storage.
#[derive(Debug)]
pub struct FakeRun {
    /// Slices, in order.
    pub slices: Vec<Slice>,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Requests that were submitted to the storage, in order.
    pub asked: Vec<RequestRecord>,
}

/// Runs instances against fake storage on the calling thread until a virtual time.
///
/// # Errors
/// As [`crate::start`].
pub fn run<M: Machine>(
    instances: Vec<EngineInstance<M>>,
    options: &Options,
    fake: Fake,
    until: Nanos,
) -> Result<FakeRun, EngineError> {
    let mut storage = Storage::new(fake);
    let (slices, outcome) = direct::run(instances, options, &mut storage, "fake", until)?;
    Ok(FakeRun { slices, outcome, asked: storage.asked })
}

/// Storage in virtual time.
#[derive(Debug)]
pub struct Storage {
    fake: Fake,
    now: Nanos,
    queued: Vec<Submission>,
    /// Times at which the servers become free.
    servers: BinaryHeap<Reverse<Nanos>>,
    /// Pending completions: (time, order, slot, result).
    pending: BinaryHeap<Reverse<(Nanos, u64, u32, i32)>>,
    done: VecDeque<Completion>,
    asked: Vec<RequestRecord>,
    /// Completions to replay by ordinal, with their position.
    answers: Vec<Option<(u64, Answer)>>,
}

impl Storage {
    /// Creates idle storage at time zero.
    pub fn new(fake: Fake) -> Self {
        let mut answers = Vec::new();
        for (position, answer) in (0..).zip(&fake.replay) {
            let ordinal = usize::try_from(answer.ordinal).expect("a count of requests in memory");
            if answers.len() <= ordinal {
                answers.resize(ordinal + 1, None);
            }
            answers[ordinal] = Some((position, *answer));
        }
        Self {
            servers: (0..fake.servers.max(1)).map(|_| Reverse(Nanos::ZERO)).collect(),
            fake,
            now: Nanos::ZERO,
            queued: Vec::new(),
            pending: BinaryHeap::new(),
            done: VecDeque::new(),
            asked: Vec::new(),
            answers,
        }
    }

    fn accept(&mut self, submission: &Submission) {
        let ordinal = self.asked.len();
        self.asked.push(RequestRecord::of(submission, self.now));
        if !self.fake.replay.is_empty() {
            if let Some((position, answer)) = self.answers.get(ordinal).copied().flatten() {
                let at = answer.at.max(self.now);
                self.pending.push(Reverse((at, position, submission.slot, answer.result)));
            }
            return;
        }
        let order = ordinal as u64;
        let Reverse(free) = self.servers.pop().expect("at least one server");
        let finish = self.finish(free.max(self.now));
        self.servers.push(Reverse(finish));
        let fault = self.fake.faults.iter().find(|fault| fault.ordinal == order);
        let moved = i32::try_from(submission.length).expect("lengths are at most 4 MiB");
        let result = fault.map_or(moved, |fault| fault.result);
        self.pending.push(Reverse((finish, order, submission.slot, result)));
    }

    fn answer_until_now(&mut self) {
        while let Some(Reverse((at, _, slot, result))) = self.pending.peek().copied() {
            if at > self.now {
                break;
            }
            self.pending.pop();
            self.done.push_back(Completion { slot, result, at: self.now });
        }
    }

    /// Returns the end of a service that begins at `start`. A stall suspends the service.
    fn finish(&self, start: Nanos) -> Nanos {
        let mut finish = start + self.fake.service;
        for stall in &self.fake.stalls {
            let end = stall.at + stall.length;
            if start < end && finish > stall.at {
                finish += end.saturating_sub(start.max(stall.at));
            }
        }
        finish
    }
}

impl Backend for &mut Storage {
    fn now(&mut self) -> Nanos {
        self.now
    }

    fn push(&mut self, submission: &Submission) {
        self.queued.push(*submission);
    }

    fn submit(&mut self) -> io::Result<()> {
        for submission in std::mem::take(&mut self.queued) {
            while self.pending.len() >= self.fake.queue {
                let Some(Reverse((at, ..))) = self.pending.peek().copied() else { break };
                self.now = self.now.max(at);
                self.answer_until_now();
            }
            self.accept(&submission);
        }
        Ok(())
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        self.submit()?;
        if self.fake.breaks.is_some_and(|at| self.now >= at) {
            return Err(io::Error::from_raw_os_error(libc::ENXIO));
        }
        if !self.done.is_empty() {
            return Ok(());
        }
        let next = self.pending.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at);
        self.now = self.now.max(next.min(wait.until));
        self.answer_until_now();
        Ok(())
    }

    fn reap(&mut self, done: &mut Vec<Completion>, limit: usize) {
        let count = self.done.len().min(limit);
        done.extend(self.done.drain(..count));
    }

    fn add_chunk(&mut self, _chunk: u16, _start: NonNull<u8>, _length: usize) {}

    fn cpu(&mut self) -> Nanos {
        Nanos::ZERO
    }

    fn burn(&mut self, span: Nanos) {
        self.now += span;
    }
}
