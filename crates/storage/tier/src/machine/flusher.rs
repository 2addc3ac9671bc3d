//! Flushes of the cache device, one at a time for all waiters.
//!
//! Invariant: a flush makes durable only the groups that each log had accepted when the flush
//! began. So a request for a flush during another flush waits for the next one.

use super::log::LogId;

/// Requests for flushes, and the flush in progress.
#[derive(Debug, Clone, Default)]
pub(super) struct Flusher {
    /// True if accepted groups should become durable, without a request waiting for that.
    is_wanted: bool,
    /// Last accepted group of each log when the flush in progress began.
    in_flight: Option<Vec<(LogId, u64)>>,
    /// True if the checkpoint waits for the next flush.
    is_checkpoint_next: bool,
    /// True if the checkpoint waits for the flush in progress.
    is_checkpoint: bool,
}

/// Result of a successful flush.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Flushed {
    /// Last group of each log that the flush has made durable.
    pub(super) covers: Vec<(LogId, u64)>,
    /// True if the checkpoint waited for this flush.
    pub(super) is_checkpoint: bool,
}

impl Flusher {
    /// Requests a flush of the groups that are accepted when it begins. No request waits for it.
    pub(super) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Makes the checkpoint wait for the next flush.
    pub(super) fn want_for_checkpoint(&mut self) {
        self.is_checkpoint_next = true;
    }

    /// Returns true if a flush is in progress.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Returns true if the flush in progress covers this disk's log.
    pub(super) fn is_of(&self, index: u16) -> bool {
        self.in_flight.iter().flatten().any(|(log, _)| *log == LogId::Disk(index))
    }

    /// Removes a disk from the flush in progress, so that the flush does not affect the next disk
    /// with its index.
    pub(super) fn forget(&mut self, index: u16) {
        let covers = self.in_flight.iter_mut();
        covers.for_each(|covers| covers.retain(|(log, _)| *log != LogId::Disk(index)));
    }

    /// Returns true if a flush should begin: none is in progress, and a request waits for one, or
    /// one is wanted and there are new groups. If all groups are durable already, the want is
    /// dropped.
    pub(super) fn is_due(&mut self, is_waited_for: bool, has_new: bool) -> bool {
        if self.is_busy() {
            return false;
        }
        self.is_wanted &= has_new;
        is_waited_for || self.is_wanted || self.is_checkpoint_next
    }

    /// Begins a flush. `covers` has the last accepted group of each log.
    pub(super) fn begin(&mut self, covers: Vec<(LogId, u64)>) {
        assert!(!self.is_busy(), "at most one flush is in flight");
        self.in_flight = Some(covers);
        self.is_checkpoint = std::mem::take(&mut self.is_checkpoint_next);
        self.is_wanted = false;
    }

    /// Ends the flush in progress.
    pub(super) fn end(&mut self) -> Flushed {
        let covers = self.in_flight.take().unwrap_or_default();
        Flushed { covers, is_checkpoint: std::mem::take(&mut self.is_checkpoint) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_during_a_flush_waits_for_the_next() {
        let mut flusher = Flusher::default();
        flusher.want();
        assert!(flusher.is_due(false, true));
        flusher.begin(vec![(LogId::Pool, 3), (LogId::Disk(1), 7)]);
        assert!(flusher.is_of(1) && !flusher.is_of(0));
        flusher.want_for_checkpoint();
        assert!(!flusher.is_due(true, true), "one at a time");
        let ended = flusher.end();
        assert_eq!(ended.covers, [(LogId::Pool, 3), (LogId::Disk(1), 7)]);
        assert!(!ended.is_checkpoint, "that flush began before the checkpoint asked");
        assert!(flusher.is_due(false, false));
        flusher.begin(Vec::new());
        assert!(flusher.end().is_checkpoint);
        assert!(!flusher.is_due(false, true), "nobody wants another");
    }

    #[test]
    fn flush_says_nothing_of_the_disk_that_has_an_index_next() {
        let mut flusher = Flusher::default();
        flusher.begin(vec![(LogId::Pool, 3), (LogId::Disk(1), 7)]);
        flusher.forget(1);
        assert_eq!(flusher.end().covers, [(LogId::Pool, 3)]);
    }

    #[test]
    fn what_is_durable_already_is_wanted_no_more() {
        let mut flusher = Flusher::default();
        flusher.want();
        assert!(!flusher.is_due(false, false), "nothing is new");
        assert!(!flusher.is_due(false, true), "and what comes later was not asked for");
    }
}
