use std::sync::atomic::{AtomicU64, Ordering};

/// What a server has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Clients that were let in.
    pub connections: u64,
    /// Clients that were sent away because there were too many.
    pub sent_away: u64,
    /// Clients that were cut off because they broke the protocol.
    pub violations: u64,
    /// Clients that took too long to choose a disk.
    pub late: u64,
    /// Requests that a disk was given.
    pub requests: u64,
    /// Requests that were refused before, and those that a disk answered with an error.
    pub errors: u64,
}

/// The same, while it counts.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub connections: Counter,
    pub sent_away: Counter,
    pub violations: Counter,
    pub late: Counter,
    pub requests: Counter,
    pub errors: Counter,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// One thread counts; others look.
    pub fn add(&self, more: u64) {
        self.0.store(self.get() + more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub fn counts(&self) -> Counts {
        Counts {
            connections: self.connections.get(),
            sent_away: self.sent_away.get(),
            violations: self.violations.get(),
            late: self.late.get(),
            requests: self.requests.get(),
            errors: self.errors.get(),
        }
    }
}
