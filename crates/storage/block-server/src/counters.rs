use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a server since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Clients that were accepted.
    pub connections: u64,
    /// Clients that were turned away because there were too many.
    pub sent_away: u64,
    /// Clients that were cut off because they broke the protocol.
    pub violations: u64,
    /// Clients that took too long to choose a disk.
    pub late: u64,
    /// Requests that were submitted to a disk.
    pub requests: u64,
    /// Requests that were refused before a disk got them, and requests that a disk failed.
    pub errors: u64,
}

/// Running counts of a server.
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
    /// Adds `more` by a load and a store. No atomic addition is needed, because only one thread
    /// writes. Other threads may read.
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
