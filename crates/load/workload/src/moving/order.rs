use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use units::Nanos;

/// Interval at which both sides check an order.
pub(crate) const POLL: Nanos = Nanos::from_millis(10);

const IDLE: u8 = 0;
const GIVING: u8 = 1;
const ASKED: u8 = 2;
const MOVING: u8 = 3;
const DONE: u8 = 4;
/// State in which the first stage failed. The number of a later stage is added.
const FAILED: u8 = 5;

/// Task on a disk of a running VM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Moves the disk.
    Move,
    /// Makes a snapshot of the disk, keeps it for the given time, and deletes it.
    Snapshot {
        /// Time for which the snapshot is kept, above 0.
        keep: Nanos,
    },
}

/// Order for a task on a disk, shared by the side that gives it and the side that carries it out.
/// One task is in progress at a time.
#[derive(Debug, Default)]
pub struct MoveOrder {
    state: AtomicU8,
    /// Time for which a snapshot is kept; 0 for a move.
    keep: AtomicU64,
    began: AtomicU64,
    switched: AtomicU64,
    ended: AtomicU64,
    checked: AtomicU64,
}

/// Result of a task. Times count from the start of the step, like times of events. A stage that did
/// not take place has zero length, and lies at the end of the previous stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Time at which the first block was read; for a snapshot, time at which requests began to be
    /// held.
    pub began: Nanos,
    /// Time at which requests began to be held; for a snapshot, time at which they were released.
    pub switched: Nanos,
    /// Time at which requests were released; for a snapshot, time at which its deletion began.
    pub ended: Nanos,
    /// Time at which the comparison was complete; for a snapshot, time at which it was deleted.
    pub checked: Nanos,
    /// Number of the failed stage, counted from 0; `None` after a success.
    pub failed: Option<u8>,
}

impl Moved {
    /// Returns true if no stage failed.
    pub const fn ok(&self) -> bool {
        self.failed.is_none()
    }

    /// Returns start and end of each of the three stages, and true if the stage succeeded. Ends
    /// with the failed stage.
    pub fn stages(&self) -> impl Iterator<Item = ((Nanos, Nanos), bool)> {
        let ends = [self.switched, self.ended, self.checked];
        let begins = [self.began, self.switched, self.ended];
        let last = self.failed.map_or(ends.len(), |stage| usize::from(stage) + 1);
        let failed = self.failed.map(usize::from);
        let stages = begins.into_iter().zip(ends).take(last).enumerate();
        stages.map(move |(at, times)| (times, failed != Some(at)))
    }
}

impl MoveOrder {
    /// Gives the order. Returns false if a task is in progress.
    pub fn ask(&self, task: Task) -> bool {
        let giving = self.state.compare_exchange(IDLE, GIVING, Ordering::AcqRel, Ordering::Acquire);
        if giving.is_err() {
            return false;
        }
        let keep = match task {
            Task::Move => Nanos::ZERO,
            Task::Snapshot { keep } => keep.max(Nanos(1)),
        };
        self.keep.store(keep.0, Ordering::Relaxed);
        self.state.store(ASKED, Ordering::Release);
        true
    }

    /// Takes the order, if one was given.
    pub fn take(&self) -> Option<Task> {
        let taken = self.state.compare_exchange(ASKED, MOVING, Ordering::AcqRel, Ordering::Acquire);
        taken.ok()?;
        Some(match Nanos(self.keep.load(Ordering::Relaxed)) {
            Nanos::ZERO => Task::Move,
            keep => Task::Snapshot { keep },
        })
    }

    /// Reports the result of the task.
    pub fn tell(&self, moved: Moved) {
        self.began.store(moved.began.0, Ordering::Relaxed);
        self.switched.store(moved.switched.0, Ordering::Relaxed);
        self.ended.store(moved.ended.0, Ordering::Relaxed);
        self.checked.store(moved.checked.0, Ordering::Relaxed);
        self.state.store(moved.failed.map_or(DONE, |stage| FAILED + stage), Ordering::Release);
    }

    /// Takes the result, if there is one. Then another order can be given.
    pub fn told(&self) -> Option<Moved> {
        let state = self.state.load(Ordering::Acquire);
        if state < DONE {
            return None;
        }
        let time = |at: &AtomicU64| Nanos(at.load(Ordering::Relaxed));
        let (began, switched) = (time(&self.began), time(&self.switched));
        let (ended, checked) = (time(&self.ended), time(&self.checked));
        self.state.store(IDLE, Ordering::Release);
        let failed = state.checked_sub(FAILED);
        Some(Moved { began, switched, ended, checked, failed })
    }
}
