use std::collections::VecDeque;

use units::Nanos;

use crate::part::Outbox;
use crate::slab::Slab;
use crate::usage::Meter;

/// Work of a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// A page of the read in this place.
    Read(u32),
    /// A page of the write buffer.
    Program,
    /// Moving a page or erasing a block, for garbage collection.
    Collect,
}

/// Dies with a queue of reads, served first, and one of everything else. What has begun is
/// not interrupted, so reads wait behind at most one program or erase.
#[derive(Debug)]
pub struct Dies {
    dies: Vec<Die>,
    pub meter: Meter,
    /// Page writes and collections not done.
    pub writing: u64,
}

#[derive(Debug, Default)]
struct Die {
    current: Option<Task>,
    reads: VecDeque<(Task, Nanos)>,
    others: VecDeque<(Task, Nanos)>,
}

/// Reads under way: what is answered when the last page is there.
pub type Reads<T> = Slab<(T, u32)>;

impl Dies {
    pub fn new(count: u32) -> Self {
        let dies = (0..count).map(|_| Die::default()).collect();
        Self { dies, meter: Meter::new(count), writing: 0 }
    }

    pub fn len(&self) -> u64 {
        self.dies.len() as u64
    }

    #[inline]
    pub fn add(&mut self, now: Nanos, die: u32, (task, time): (Task, Nanos), out: &mut Outbox) {
        let state = &mut self.dies[die as usize];
        if let Task::Read(_) = task {
            state.reads.push_back((task, time));
        } else {
            self.writing += 1;
            state.others.push_back((task, time));
        }
        if state.current.is_none() {
            self.meter.start(now);
            self.start(now, die, out);
        }
    }

    fn start(&mut self, now: Nanos, die: u32, out: &mut Outbox) {
        let state = &mut self.dies[die as usize];
        match state.reads.pop_front().or_else(|| state.others.pop_front()) {
            Some((task, time)) => {
                state.current = Some(task);
                out.wake_at(now + time, die);
            }
            None => self.meter.stop(now),
        }
    }

    /// Ends the current task of a die and starts its next one.
    #[inline]
    pub fn finish(&mut self, now: Nanos, die: u32, out: &mut Outbox) -> Task {
        let task = self.dies[die as usize].current.take().expect("an alarm ends a task");
        self.writing -= u64::from(!matches!(task, Task::Read(_)));
        self.start(now, die, out);
        task
    }
}
