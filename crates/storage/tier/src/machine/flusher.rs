//! Flushes of the cache device: one at a time, for whoever waits.
//!
//! Invariant: a flush makes durable what every log had accepted when it began, and nothing that was accepted later. So
//! what is wanted while one is under way waits for the next.

use super::log::LogId;

/// Who wants a flush, and which is under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Flusher {
    /// Somebody wants what is accepted now to be durable, some time.
    is_wanted: bool,
    /// What each log had accepted when the flush began.
    in_flight: Option<Vec<(LogId, u64)>>,
    /// Whether the checkpoint waits for the next, and for this one.
    is_checkpoint_next: bool,
    is_checkpoint: bool,
}

/// What a flush that ended well says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Flushed {
    /// Last group of each log that is durable by it.
    pub(super) covers: Vec<(LogId, u64)>,
    /// Whether the checkpoint waited for it.
    pub(super) is_checkpoint: bool,
}

impl Flusher {
    /// Somebody wants what is accepted by then to be durable, without waiting for it.
    pub(super) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// The checkpoint waits for the next flush.
    pub(super) fn want_for_checkpoint(&mut self) {
        self.is_checkpoint_next = true;
    }

    /// Whether one is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Whether the end of a flush will say something of this disk's log.
    pub(super) fn is_of(&self, index: u16) -> bool {
        self.in_flight.iter().flatten().any(|(log, _)| *log == LogId::Disk(index))
    }

    /// A disk left: the end of a flush says nothing of the one that has its index next.
    pub(super) fn forget(&mut self, index: u16) {
        let covers = self.in_flight.iter_mut();
        covers.for_each(|covers| covers.retain(|(log, _)| *log != LogId::Disk(index)));
    }

    /// Whether a flush is to begin, none being under way: somebody waits for it, or wants it and there is something
    /// new. What was wanted and is durable already is wanted no more.
    pub(super) fn is_due(&mut self, is_waited_for: bool, has_new: bool) -> bool {
        if self.is_busy() {
            return false;
        }
        self.is_wanted &= has_new;
        is_waited_for || self.is_wanted || self.is_checkpoint_next
    }

    /// One begins, with what each log has accepted now.
    pub(super) fn begin(&mut self, covers: Vec<(LogId, u64)>) {
        assert!(!self.is_busy(), "one flush at a time");
        self.in_flight = Some(covers);
        self.is_checkpoint = std::mem::take(&mut self.is_checkpoint_next);
        self.is_wanted = false;
    }

    /// The flush that is under way has ended.
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
