use std::ops::Range;

use cache::tier::{HostId, Step, StepDevice, Wait};
use hardware::{Job, Outbox};
use state_machine::Slab;
use state_machine::{IoError, Operation};

use super::phases::{Planned, plan};

/// Work of a tier that is in progress: the steps of each request or clean-up, phase by phase. A
/// request is answered when the steps it waits for are done.
#[derive(Debug)]
pub struct Works {
    works: Slab<Work>,
    /// Emptied lists of steps, kept to reuse their memory.
    spare: Vec<Vec<Planned>>,
    /// Bytes of clean-ups in progress, which are no longer dirty in the tier but not yet stored
    /// behind it.
    pub cleaning: u64,
}

/// Steps of a request, or of a page's clean-up.
#[derive(Debug)]
struct Work {
    /// Host of the VM that sent the request, or of the share that is cleaned.
    host: HostId,
    /// Request; `None` for a clean-up.
    job: Option<Job>,
    /// Steps by phase.
    steps: Vec<Planned>,
    /// First step that has not begun.
    next: usize,
    under_way: u32,
    /// Number of steps that the request still waits for.
    awaited: u32,
    has_background: bool,
    result: Result<(), IoError>,
}

/// Continuation after a finished step.
pub enum Then {
    /// Other steps of its phase are in progress.
    Wait,
    /// The next phase can begin.
    NextPhase,
    /// All steps are done.
    Over { host: HostId, is_clean_up: bool, has_background: bool },
}

impl Works {
    pub fn new() -> Self {
        Self { works: Slab::new(), spare: Vec::new(), cleaning: 0 }
    }

    /// Adds steps without beginning them. Returns their place, and true if the request does not
    /// wait for some of them.
    pub fn begin(&mut self, host: HostId, job: Option<Job>, steps: &[Step]) -> (u32, bool) {
        let mut planned = self.spare.pop().unwrap_or_default();
        plan(steps, &mut planned);
        if job.is_none() {
            self.cleaning += written_behind(&planned);
        }
        let awaited = planned.iter().filter(|planned| is_awaited(planned)).count();
        let has_background = awaited < planned.len();
        let place = self.works.insert(Work {
            host,
            job,
            steps: planned,
            next: 0,
            under_way: 0,
            awaited: u32::try_from(awaited).expect("a request has fewer than 2^32 steps"),
            has_background,
            result: Ok(()),
        });
        (place, has_background)
    }

    /// Starts the next phase. Returns the request and the range of the phase's steps, which then
    /// count as in progress.
    pub fn next_phase(&mut self, place: u32) -> (Option<Job>, Range<usize>) {
        let work = &mut self.works[place];
        let (from, phase) = (work.next, work.steps[work.next].phase);
        let count = work.steps[from..].iter().take_while(|own| own.phase == phase).count();
        work.next += count;
        work.under_way = u32::try_from(count).expect("a request has fewer than 2^32 steps");
        (work.job, from..from + count)
    }

    /// Returns a step of [`Works::next_phase`].
    pub fn step(&mut self, place: u32, at: usize) -> Step {
        self.works[place].steps[at].step
    }

    /// Records that a step has finished; `is_awaited` if the request waits for it.
    pub fn step_done(
        &mut self,
        place: u32,
        is_awaited: bool,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) -> Then {
        let work = &mut self.works[place];
        work.under_way -= 1;
        if is_awaited {
            work.result = work.result.and(result);
            work.awaited -= 1;
            if let (0, Some(job)) = (work.awaited, &work.job) {
                out.answer(job, work.result);
            }
        }
        if work.under_way > 0 {
            return Then::Wait;
        }
        if work.next < work.steps.len() {
            return Then::NextPhase;
        }
        let Work { host, job, mut steps, has_background, .. } = self.works.remove(place);
        if job.is_none() {
            self.cleaning -= written_behind(&steps);
        }
        steps.clear();
        self.spare.push(steps);
        Then::Over { host, is_clean_up: job.is_none(), has_background }
    }
}

/// Returns the number of bytes that steps write behind the tier.
fn written_behind(steps: &[Planned]) -> u64 {
    let steps = steps.iter().map(|planned| &planned.step);
    let behind = steps
        .filter(|step| step.place == StepDevice::Backing && step.operation == Operation::Write);
    behind.map(|step| u64::from(step.length)).sum()
}

fn is_awaited(planned: &Planned) -> bool {
    planned.step.wait == Wait::Request
}
