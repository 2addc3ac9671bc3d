//! Recording of the requests and completions of a real run, so that [`crate::fake`] can replay the
//! run in virtual time.

use std::io;
use std::ptr::NonNull;

use run_store::slice::Slice;
use state_machine::Machine;
use units::Nanos;

use crate::backend::{Backend, Completion, Submission, Wait};
use crate::clock::Clock;
use crate::fake::{Answer, RequestRecord};
use crate::instance::table_of;
use crate::real::Real;
use crate::{EngineError, EngineInstance, Options, Outcome, direct};

/// Recorded run.
#[derive(Debug)]
pub struct Tape {
    /// Slices, in order.
    pub slices: Vec<Slice>,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Requests that were submitted to the storage, in order.
    pub asked: Vec<RequestRecord>,
    /// Completions, in the order in which they were seen.
    pub answers: Vec<Answer>,
}

/// Runs instances against real storage on the calling thread for a given time, and records
/// everything in memory.
///
/// # Errors
/// As [`crate::start`].
pub fn record<M: Machine>(
    instances: Vec<EngineInstance<M>>,
    options: &Options,
    span: Nanos,
) -> Result<Tape, EngineError> {
    let clock = Clock::start();
    let (real, _) = Real::new(clock, table_of(&instances).files, None, options)?;
    let name = real.name();
    match real {
        Real::Uring(mut ring) => with(instances, options, &mut *ring, name, span),
        Real::Threads(mut pool) => with(instances, options, &mut *pool, name, span),
    }
}

fn with<M: Machine, B: Backend>(
    instances: Vec<EngineInstance<M>>,
    options: &Options,
    backend: &mut B,
    name: &'static str,
    span: Nanos,
) -> Result<Tape, EngineError> {
    let mut recorder = Recorder {
        backend,
        queued: Vec::new(),
        asked: Vec::new(),
        answers: Vec::new(),
        ordinals: vec![0; options.depth as usize],
    };
    let (slices, outcome) = direct::run(instances, options, &mut recorder, name, span)?;
    Ok(Tape { slices, outcome, asked: recorder.asked, answers: recorder.answers })
}

struct Recorder<'a, B> {
    backend: &'a mut B,
    queued: Vec<Submission>,
    asked: Vec<RequestRecord>,
    answers: Vec<Answer>,
    /// Number of the request in each slot.
    ordinals: Vec<u64>,
}

impl<B: Backend> Backend for &mut Recorder<'_, B> {
    fn now(&mut self) -> Nanos {
        self.backend.now()
    }

    fn push(&mut self, submission: &Submission) {
        self.queued.push(*submission);
        self.backend.push(submission);
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        for submission in self.queued.drain(..) {
            self.ordinals[submission.slot as usize] = self.asked.len() as u64;
            self.asked.push(RequestRecord::of(&submission, wait.now));
        }
        self.backend.enter(wait)
    }

    fn reap(&mut self, done: &mut Vec<Completion>, limit: usize) {
        let before = done.len();
        self.backend.reap(done, limit);
        for Completion { slot, result, at } in done[before..].iter().copied() {
            self.answers.push(Answer { ordinal: self.ordinals[slot as usize], at, result });
        }
    }

    fn add_chunk(&mut self, chunk: u16, start: NonNull<u8>, length: usize) {
        self.backend.add_chunk(chunk, start, length);
    }

    fn cpu(&mut self) -> Nanos {
        self.backend.cpu()
    }

    fn burn(&mut self, span: Nanos) {
        self.backend.burn(span);
    }
}
