use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use stats::Histogram;
use tier::{IoId, Op, Place};
use units::Nanos;

/// How long backing stores and the tier took, since a set was opened. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Times(Arc<Mutex<Taken>>);

/// What was measured.
#[derive(Debug, Clone)]
pub struct Taken {
    /// Reads of backing stores, for a request or to fill pages.
    pub backing_reads: Histogram,
    /// Writes of them, for a request or out of a log.
    pub backing_writes: Histogram,
    /// Clients' reads, from their coming to their answer.
    pub reads: Histogram,
    /// Their writes, and what they made zero.
    pub writes: Histogram,
    /// Their flushes.
    pub flushes: Histogram,
}

impl Default for Taken {
    fn default() -> Self {
        let none = Histogram::new;
        let (backing_reads, backing_writes) = (none(), none());
        Self { backing_reads, backing_writes, reads: none(), writes: none(), flushes: none() }
    }
}

impl Times {
    /// What was measured so far; nothing is from now on.
    #[must_use]
    pub fn take(&self) -> Taken {
        std::mem::take(&mut *self.lock())
    }

    /// What was measured so far.
    #[must_use]
    pub fn so_far(&self) -> Taken {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client was answered.
    pub(crate) fn answered(&self, op: Op, since: Instant) {
        let mut taken = self.lock();
        let of = match op {
            Op::Read => &mut taken.reads,
            Op::Write | Op::Zero { .. } => &mut taken.writes,
            Op::Flush => &mut taken.flushes,
        };
        of.record(Nanos::from(since.elapsed()));
    }
}

/// What is under way on backing stores, and since when.
#[derive(Debug, Default)]
pub(crate) struct Watch(Vec<Option<(bool, Instant)>>);

impl Watch {
    /// An I/O was begun, or goes on with what is left of it.
    pub(crate) fn begun(&mut self, io: IoId, place: Place, is_write: bool) {
        if !matches!(place, Place::Backing(_)) {
            return;
        }
        let at = io.0 as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at].get_or_insert_with(|| (is_write, Instant::now()));
    }

    /// It has ended.
    pub(crate) fn ended(&mut self, io: IoId, is_ok: bool, times: &Times) {
        let Some((is_write, since)) = self.0.get_mut(io.0 as usize).and_then(Option::take) else {
            return;
        };
        if is_ok {
            let mut taken = times.lock();
            let of = if is_write { &mut taken.backing_writes } else { &mut taken.backing_reads };
            of.record(Nanos::from(since.elapsed()));
        }
    }
}
