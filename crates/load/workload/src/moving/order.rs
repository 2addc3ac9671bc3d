use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use units::Nanos;

/// How often both sides look at an order.
pub(crate) const POLL: Nanos = Nanos::from_millis(10);

const IDLE: u8 = 0;
const GIVING: u8 = 1;
const ASKED: u8 = 2;
const MOVING: u8 = 3;
const DONE: u8 = 4;
/// The first stage did; with the stage's number added, that one did.
const FAILED: u8 = 5;

/// What is done to a disk of a running machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// It moves.
    Move,
    /// A snapshot of it is made, kept for this long, and deleted.
    Snapshot {
        /// How long, above 0.
        keep: Nanos,
    },
}

/// An order about a disk, shared by the one who gives it and the one who carries it out. One is
/// under way at a time.
#[derive(Debug, Default)]
pub struct MoveOrder {
    state: AtomicU8,
    /// How long a snapshot is kept; 0 of a move.
    keep: AtomicU64,
    began: AtomicU64,
    switched: AtomicU64,
    ended: AtomicU64,
    checked: AtomicU64,
}

/// How a task went. Times are since the start of the step, as events have them; what did not come
/// to be has no length, and is where the stage before it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// When the first block was read; of a snapshot, when the machine began to stand still.
    pub began: Nanos,
    /// When the machine began to stand still; of a snapshot, when it went on.
    pub switched: Nanos,
    /// When it went on; of a snapshot, when its deletion began.
    pub ended: Nanos,
    /// When the new place had been compared with the old one; of a snapshot, when it was gone.
    pub checked: Nanos,
    /// The stage that failed, from 0, if one did.
    pub failed: Option<u8>,
}

impl Moved {
    /// Whether it went as it should have.
    pub const fn ok(&self) -> bool {
        self.failed.is_none()
    }

    /// When each of the three stages began and ended, and whether it went well; up to the one that
    /// failed.
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
    /// Gives the order, unless one is under way.
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

    /// Takes the order, if there is one.
    pub fn take(&self) -> Option<Task> {
        let taken = self.state.compare_exchange(ASKED, MOVING, Ordering::AcqRel, Ordering::Acquire);
        taken.ok()?;
        Some(match Nanos(self.keep.load(Ordering::Relaxed)) {
            Nanos::ZERO => Task::Move,
            keep => Task::Snapshot { keep },
        })
    }

    /// Says how it went.
    pub fn tell(&self, moved: Moved) {
        self.began.store(moved.began.0, Ordering::Relaxed);
        self.switched.store(moved.switched.0, Ordering::Relaxed);
        self.ended.store(moved.ended.0, Ordering::Relaxed);
        self.checked.store(moved.checked.0, Ordering::Relaxed);
        self.state.store(moved.failed.map_or(DONE, |stage| FAILED + stage), Ordering::Release);
    }

    /// How it went, once it has; another order may be given then.
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
