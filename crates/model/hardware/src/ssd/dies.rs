use std::collections::VecDeque;

use units::Nanos;

use crate::part::Outbox;

/// Work of a die other than reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Program of a page from the write buffer.
    Program,
    /// Moving a page or erasing a block, for garbage collection.
    Collect,
}

/// Dies, each with a queue of reads, which are served first, and a queue of all other work. Work in
/// progress is not interrupted, so reads wait for at most one program or erase.
///
/// Work that comes later never delays a read, so the end of a read is known on arrival. Programs
/// and collections are brought up to date only when needed. A die that completes one at the very
/// instant of an arrival has completed it. A caller that must know at once requests alarms.
#[derive(Debug)]
pub struct Dies {
    dies: Vec<Die>,
    /// Total time of all tasks that arrived, in nanoseconds.
    asked_ns: u128,
    /// Number of page writes and collections that are not complete, as of the last update.
    writing: u64,
    /// Completed programs that were not reported yet.
    programmed: u64,
}

#[derive(Debug, Default)]
struct Die {
    /// Time at which the work in progress and the reads that wait for it are complete.
    free_at: Nanos,
    /// Program or collection in progress, with its end.
    current: Option<(Task, Nanos)>,
    /// Waiting programs and collections, each with the time it takes; the first begins at
    /// `free_at`.
    others: VecDeque<(Task, Nanos)>,
    /// Begin and end of the present busy period, if no more work arrives.
    busy: (Nanos, Nanos),
    has_alarm: bool,
}

impl Dies {
    pub fn new(count: u32) -> Self {
        let dies = (0..count).map(|_| Die::default()).collect();
        Self { dies, asked_ns: 0, writing: 0, programmed: 0 }
    }

    pub fn len(&self) -> u64 {
        self.dies.len() as u64
    }

    /// Returns the number of page writes and collections that are not complete.
    pub const fn writing(&self) -> u64 {
        self.writing
    }

    /// Adds a read to a die; returns the time at which it will be complete.
    #[inline]
    pub fn read(&mut self, now: Nanos, die: u32, time: Nanos) -> Nanos {
        self.settle(now, die);
        self.asked_ns += u128::from(time.0);
        let state = &mut self.dies[die as usize];
        state.extend(now, time);
        state.free_at = state.free_at.max(now) + time;
        state.free_at
    }

    /// Adds a program or a collection to a die.
    #[inline]
    pub fn add(&mut self, now: Nanos, die: u32, (task, time): (Task, Nanos)) {
        self.settle(now, die);
        self.asked_ns += u128::from(time.0);
        self.writing += 1;
        let state = &mut self.dies[die as usize];
        state.extend(now, time);
        if state.free_at <= now {
            state.free_at = now + time;
            state.current = Some((task, state.free_at));
        } else {
            state.others.push_back((task, time));
        }
    }

    /// Updates a die to `now`: completes finished work and begins waiting work.
    #[inline]
    pub fn settle(&mut self, now: Nanos, die: u32) {
        let state = &mut self.dies[die as usize];
        loop {
            if let Some((task, end)) = state.current {
                if end > now {
                    return;
                }
                state.current = None;
                self.writing -= 1;
                self.programmed += u64::from(task == Task::Program);
            }
            if state.free_at > now {
                return;
            }
            let Some((task, time)) = state.others.pop_front() else { return };
            state.free_at += time;
            state.current = Some((task, state.free_at));
        }
    }

    /// Settles every die, see [`Self::settle`].
    pub fn settle_all(&mut self, now: Nanos) {
        (0..self.dies.len()).for_each(|die| {
            self.settle(now, u32::try_from(die).expect("dies are numbered by u32"));
        });
    }

    /// Returns the number of programs that completed since the last call.
    #[inline]
    pub fn take_programmed(&mut self) -> u64 {
        std::mem::take(&mut self.programmed)
    }

    /// Requests an alarm, with the die as its tag, for the completion of the die's next program or
    /// collection. Does nothing if the die has no such work, or already has an alarm.
    pub fn alarm(&mut self, die: u32, out: &mut Outbox) {
        let state = &mut self.dies[die as usize];
        let is_waiting = (!state.others.is_empty()).then_some(state.free_at);
        let next = state.current.map(|(_, end)| end).or(is_waiting);
        if let (false, Some(at)) = (state.has_alarm, next) {
            state.has_alarm = true;
            out.wake_at(at, die);
        }
    }

    /// Requests an alarm for every die, see [`Self::alarm`].
    pub fn alarm_all(&mut self, out: &mut Outbox) {
        (0..self.dies.len()).for_each(|die| {
            self.alarm(u32::try_from(die).expect("dies are numbered by u32"), out);
        });
    }

    /// Handles a die's alarm.
    pub fn woken(&mut self, now: Nanos, die: u32) {
        self.dies[die as usize].has_alarm = false;
        self.settle(now, die);
    }

    /// Returns the total time for which dies were busy up to `now`, in nanoseconds.
    pub fn busy_ns(&self, now: Nanos) -> u128 {
        let to_come = |die: &Die| {
            let (from, until) = die.busy;
            u128::from(until.saturating_sub(from.max(now)).0)
        };
        self.asked_ns - self.dies.iter().map(to_come).sum::<u128>()
    }
}

impl Die {
    /// Extends the busy period of the die. A die works without pause while it has work, so the
    /// order does not matter.
    #[inline]
    fn extend(&mut self, now: Nanos, time: Nanos) {
        let (from, until) = self.busy;
        self.busy = if until < now { (now, now + time) } else { (from, until + time) };
    }
}
