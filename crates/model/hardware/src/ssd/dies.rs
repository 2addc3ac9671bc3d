use std::collections::VecDeque;

use units::Nanos;

use crate::part::Outbox;

/// Work of a die that is not a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// A page of the write buffer.
    Program,
    /// Moving a page or erasing a block, for garbage collection.
    Collect,
}

/// Dies with a queue of reads, served first, and one of everything else. What has begun is
/// not interrupted, so reads wait behind at most one program or erase.
///
/// Nothing that comes later delays a read, so its end is known when it comes. Programs and
/// collections are settled when somebody looks: a die that ends one at the very instant
/// something comes has ended it. Whoever must know at once asks for alarms.
#[derive(Debug)]
pub struct Dies {
    dies: Vec<Die>,
    /// Times of all tasks that came, in nanoseconds.
    asked_ns: u128,
    /// Page writes and collections not done, as far as settled.
    writing: u64,
    /// Programs found done that nobody was told of.
    programmed: u64,
}

#[derive(Debug, Default)]
struct Die {
    /// Time at which what has begun is done, and the reads that wait for it.
    free_at: Nanos,
    /// Program or collection that has begun, and its end.
    current: Option<(Task, Nanos)>,
    /// Programs and collections that wait, each with the time it takes; the first begins at
    /// `free_at`.
    others: VecDeque<(Task, Nanos)>,
    /// Begin and end of the time it is busy, if nothing more comes.
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

    /// Page writes and collections not done.
    pub const fn writing(&self) -> u64 {
        self.writing
    }

    /// A read comes to a die; when it will be done.
    #[inline]
    pub fn read(&mut self, now: Nanos, die: u32, time: Nanos) -> Nanos {
        self.settle(now, die);
        self.asked_ns += u128::from(time.0);
        let state = &mut self.dies[die as usize];
        state.extend(now, time);
        state.free_at = state.free_at.max(now) + time;
        state.free_at
    }

    /// A program or a collection comes to a die.
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

    /// Ends what is done by now on a die, and lets what waits begin.
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

    /// Programs found done since the last call.
    #[inline]
    pub fn take_programmed(&mut self) -> u64 {
        std::mem::take(&mut self.programmed)
    }

    /// Asks for an alarm, with the die for a tag, when a die's next program or collection is
    /// done; none if it has none, or an alarm already.
    pub fn alarm(&mut self, die: u32, out: &mut Outbox) {
        let state = &mut self.dies[die as usize];
        let is_waiting = (!state.others.is_empty()).then_some(state.free_at);
        let next = state.current.map(|(_, end)| end).or(is_waiting);
        if let (false, Some(at)) = (state.has_alarm, next) {
            state.has_alarm = true;
            out.wake_at(at, die);
        }
    }

    /// Asks for an alarm of every die, see [`Self::alarm`].
    pub fn alarm_all(&mut self, out: &mut Outbox) {
        (0..self.dies.len()).for_each(|die| {
            self.alarm(u32::try_from(die).expect("dies are numbered by u32"), out);
        });
    }

    /// A die's alarm has come due.
    pub fn woken(&mut self, now: Nanos, die: u32) {
        self.dies[die as usize].has_alarm = false;
        self.settle(now, die);
    }

    /// Time that dies were busy up to `now`, in nanoseconds.
    pub fn busy_ns(&self, now: Nanos) -> u128 {
        let to_come = |die: &Die| {
            let (from, until) = die.busy;
            u128::from(until.saturating_sub(from.max(now)).0)
        };
        self.asked_ns - self.dies.iter().map(to_come).sum::<u128>()
    }
}

impl Die {
    /// A die works without pause while it has work, whatever the order.
    #[inline]
    fn extend(&mut self, now: Nanos, time: Nanos) {
        let (from, until) = self.busy;
        self.busy = if until < now { (now, now + time) } else { (from, until + time) };
    }
}
