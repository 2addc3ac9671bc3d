use std::cmp::Reverse;
use std::collections::BinaryHeap;

use state_machine::{Operation, mix};
use units::Nanos;

use super::schedule::{Counts, Schedule, Step, Waits};

/// Recorded I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Time of submission, from any origin. It is never earlier than the submission of the previous
    /// I/O.
    pub issue: Nanos,
    /// Time from submission to completion; `None` if the trace does not record it.
    pub latency: Option<Nanos>,
    /// Initiator of the I/O. I/Os only wait for completions of the same initiator.
    pub sender: u16,
    /// Position of its disk in the workload.
    pub disk: u16,
    /// Operation; `None` for a discard, which is counted and not replayed.
    pub operation: Option<Operation>,
    /// Offset of the first byte on its device.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

/// Settings for building a schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScheduleOptions {
    /// Event that an I/O waits for.
    pub waits: Waits,
    /// Speed, by which all times are divided. `None` removes all pauses, which only makes sense
    /// with [`Waits::ForAnswers`].
    pub speed: Option<f64>,
    /// True if an initiator has one outstanding I/O at a time, so that each waits for the previous
    /// one. Without recorded completion times, this is the only known order.
    pub one_at_a_time: bool,
    /// Maximum number of I/Os in the schedule.
    pub steps_max: u64,
}

/// Reason why a trace cannot become a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The trace has more I/Os than allowed.
    #[error("the trace has more than {max} I/Os to play, {bytes} B of memory")]
    TooMany {
        /// Maximum number of I/Os.
        max: u64,
        /// Memory for that many I/Os, in bytes.
        bytes: u64,
    },
}

/// Builder of a schedule from a trace, I/O by I/O.
///
/// With [`Waits::ForAnswers`], let `j` be the I/O of the same initiator with the last completion
/// before the submission of `i`. Then `i` waits for `j`, and for the pause between that completion
/// and the submission of `i`. As time advances, `j` never decreases. So the I/Os that wait for one
/// completion are consecutive among their initiator's I/Os, and a range describes them.
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

/// I/Os of one initiator. With fixed times, there is one lane for all I/Os.
#[derive(Debug, Default)]
struct Lane {
    steps: Vec<Step>,
    /// Completion times of the outstanding I/Os, with their places.
    under_way: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Last completed I/O: its completion time and its place.
    answered: Option<(Nanos, u32)>,
    /// Number of I/Os before the first completion.
    roots: u32,
}

impl ScheduleBuilder {
    /// Creates a builder for a schedule without I/Os on `disks` disks. I/Os on further disks add
    /// these disks.
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

    /// Adds the next I/O.
    ///
    /// # Errors
    /// If there are more I/Os than allowed.
    pub fn push(&mut self, observed: &Observed) -> Result<(), ScheduleError> {
        let Some(operation) = observed.operation else {
            self.counts.discards += 1;
            return Ok(());
        };
        if operation != Operation::Flush && observed.length == 0 {
            self.counts.empty += 1;
            return Ok(());
        }
        // The place of a step is a u32, whatever memory there is.
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

    /// Builds the schedule from the added I/Os.
    pub fn finish(mut self) -> Schedule {
        let trace_span = self.last.saturating_sub(self.begun.unwrap_or(self.last));
        let mut roots = Vec::with_capacity(self.lanes.len());
        let mut steps = Vec::new();
        for mut lane in std::mem::take(&mut self.lanes) {
            let base =
                u32::try_from(steps.len()).expect("the entries were counted when they were pushed");
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
        let place = u32::try_from(self.steps.len())
            .expect("the entries were counted when they were pushed");
        let issue = observed.issue;
        let waits_for = self.waits_for(options, place, issue);
        let since = match waits_for {
            None => begun,
            // With one at a time, the previous answer may have come after this submission.
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

    /// Returns the completion that this I/O waits for: its time, and the place of its I/O.
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
