use std::cmp::Reverse;
use std::collections::BinaryHeap;

use state_machine::{Operation, mix};
use units::Nanos;

use super::schedule::{Counts, Schedule, Step, Waits};

/// One I/O as it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// When it was sent, from any start; never before the one pushed before it.
    pub issue: Nanos,
    /// From sending to answer; none where the trace does not say.
    pub latency: Option<Nanos>,
    /// Who sent it: I/Os wait only for answers to the same sender.
    pub sender: u16,
    /// Position of its disk in the workload.
    pub disk: u16,
    /// What it did; none for a discard, which is counted and not played.
    pub operation: Option<Operation>,
    /// First byte on its device.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// How a schedule is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScheduleOptions {
    /// What an I/O waits for.
    pub waits: Waits,
    /// Times are divided by this; none leaves no pauses at all, which only
    /// [`Waits::ForAnswers`] makes sense of.
    pub speed: Option<f64>,
    /// Whether a sender has one I/O under way at a time, each waiting for the one before, as is
    /// the only order known where nothing tells when answers came.
    pub one_at_a_time: bool,
    /// Most I/Os to hold.
    pub steps_max: u64,
}

/// Why a trace makes no schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// More than may be held.
    #[error("the trace has more than {max} I/Os to play, {bytes} B of memory")]
    TooMany {
        /// How many are allowed.
        max: u64,
        /// Memory they would take.
        bytes: u64,
    },
}

/// Takes a trace I/O by I/O.
///
/// By answers: let `j` be the I/O of the same sender whose answer was the last to come before
/// `i` was sent. Then `i` waits for `j`, and for the pause between that answer and `i`. As `j`
/// never goes back while time goes on, those that wait for one answer follow one another among
/// their sender's I/Os, so a range says who they are.
#[derive(Debug)]
pub struct ScheduleBuilder {
    options: ScheduleOptions,
    lanes: Vec<Lane>,
    counts: Counts,
    ends: Vec<u64>,
    held: u64,
    begun: Option<Nanos>,
    last: Nanos,
    digest: u64,
}

/// The I/Os of one sender; by the clock there is one lane for all.
#[derive(Debug, Default)]
struct Lane {
    steps: Vec<Step>,
    /// When I/Os that were under way ended, and their places.
    under_way: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// The last that ended: when, and its place.
    answered: Option<(Nanos, u32)>,
    /// I/Os before the first answer.
    roots: u32,
}

impl ScheduleBuilder {
    /// A schedule of no I/Os on so many disks; those that I/Os name come to them.
    pub fn new(options: ScheduleOptions, disks: usize) -> Self {
        Self {
            options,
            lanes: Vec::new(),
            counts: Counts::default(),
            ends: vec![0; disks],
            held: 0,
            begun: None,
            last: Nanos::ZERO,
            digest: 0,
        }
    }

    /// Takes the next I/O.
    ///
    /// # Errors
    /// When there are more than may be held.
    pub fn push(&mut self, observed: &Observed) -> Result<(), ScheduleError> {
        let Some(operation) = observed.operation else {
            self.counts.discards += 1;
            return Ok(());
        };
        if operation != Operation::Flush && observed.length == 0 {
            self.counts.empty += 1;
            return Ok(());
        }
        // A step's place is a u32, whatever memory there is.
        let max = self.options.steps_max.min(u64::from(u32::MAX));
        if self.held >= max {
            let bytes = max * super::STEP_BYTES;
            return Err(ScheduleError::TooMany { max, bytes });
        }
        self.held += 1;
        self.last = observed.issue;
        let disks = usize::from(observed.disk) + 1;
        self.ends.resize(self.ends.len().max(disks), 0);
        let begun = *self.begun.get_or_insert(observed.issue);
        self.count(operation, observed);
        let lane = match self.options.waits {
            Waits::ForTheClock => 0,
            Waits::ForAnswers => usize::from(observed.sender),
        };
        if self.lanes.len() <= lane {
            self.lanes.resize_with(lane + 1, Lane::default);
        }
        let is_flush = operation == Operation::Flush;
        let step = Step {
            offset: if is_flush { 0 } else { observed.offset },
            after: Nanos::ZERO,
            length: if is_flush { 0 } else { observed.length },
            first: 0,
            waiting: 0,
            disk: observed.disk,
            operation,
        };
        self.lanes[lane].push(&self.options, begun, observed, step);
        Ok(())
    }

    fn count(&mut self, operation: Operation, observed: &Observed) {
        let counts = &mut self.counts;
        match operation {
            Operation::Read => counts.reads += 1,
            Operation::Write => counts.writes += 1,
            Operation::Flush => counts.flushes += 1,
        }
        counts.endless += u64::from(observed.latency.is_none());
        if operation != Operation::Flush {
            counts.bytes += u64::from(observed.length);
            let end = &mut self.ends[usize::from(observed.disk)];
            *end = (*end).max(observed.offset.saturating_add(u64::from(observed.length)));
        }
    }

    /// The schedule of what was taken.
    pub fn finish(mut self) -> Schedule {
        let trace_span = self.last.saturating_sub(self.begun.unwrap_or(self.last));
        let mut roots = Vec::with_capacity(self.lanes.len());
        let mut steps = Vec::new();
        for mut lane in std::mem::take(&mut self.lanes) {
            let base = u32::try_from(steps.len()).expect("counted when they were pushed");
            lane.steps.iter_mut().for_each(|step| step.first += base);
            if lane.roots > 0 {
                roots.push(base..base + lane.roots);
            }
            if steps.is_empty() { steps = lane.steps } else { steps.extend(lane.steps) }
        }
        for step in &steps {
            let parts = [
                step.offset,
                step.after.0,
                u64::from(step.length) << 32 | u64::from(step.waiting),
                u64::from(step.disk) << 8 | step.operation as u64,
            ];
            self.digest = parts.into_iter().fold(self.digest, |digest, part| mix(digest ^ part));
        }
        let by_clock = self.options.waits == Waits::ForTheClock;
        Schedule {
            span: steps.last().filter(|_| by_clock).map_or(Nanos::ZERO, |step| step.after),
            steps: steps.into_boxed_slice(),
            roots: roots.into_boxed_slice(),
            waits: self.options.waits,
            counts: self.counts,
            trace_span,
            ends: self.ends.into_boxed_slice(),
            digest: self.digest,
        }
    }
}

impl Lane {
    fn push(
        &mut self,
        options: &ScheduleOptions,
        begun: Nanos,
        observed: &Observed,
        mut step: Step,
    ) {
        let place = u32::try_from(self.steps.len()).expect("counted when they were pushed");
        let issue = observed.issue;
        let waits_for = self.waits_for(options, place, issue);
        let since = match waits_for {
            None => begun,
            // One at a time, the answer before is not known to have come before.
            Some((ended, _)) => ended.min(issue),
        };
        let pause = issue.saturating_sub(since);
        step.after = options.speed.map_or(Nanos::ZERO, |speed| pause.scale(1.0 / speed));
        match waits_for {
            None => self.roots += 1,
            Some((_, before)) => {
                let before = &mut self.steps[before as usize];
                if before.waiting == 0 {
                    before.first = place;
                }
                before.waiting += 1;
            }
        }
        self.steps.push(step);
        if options.waits == Waits::ForAnswers
            && !options.one_at_a_time
            && let Some(latency) = observed.latency
        {
            self.under_way.push(Reverse((issue.saturating_add(latency), place)));
        }
    }

    /// The answer that this one waits for: when it came, and to which I/O.
    fn waits_for(
        &mut self,
        options: &ScheduleOptions,
        place: u32,
        issue: Nanos,
    ) -> Option<(Nanos, u32)> {
        if options.waits == Waits::ForTheClock {
            return None;
        }
        if options.one_at_a_time {
            return place.checked_sub(1).map(|before| (issue, before));
        }
        while let Some(Reverse((end, ended))) = self.under_way.peek().copied() {
            if end > issue {
                break;
            }
            self.under_way.pop();
            self.answered = Some((end, ended));
        }
        self.answered
    }
}
