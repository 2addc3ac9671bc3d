//! Epochs of a disk's log, and the choice of the epochs that are destaged next.
//!
//! Invariant: the backing store passes only through states that the disk had, unless its sidecar is
//! *applying*. So a batch has whole epochs, oldest first, all of them closed and durable in the
//! log. A batch of several epochs is written only when the sidecar is *applying*. If a crash left
//! epochs half applied, they are destaged as one batch before anything else.

use std::collections::VecDeque;

use units::Nanos;

use super::PAUSE;
use super::batch::{Batch, Phase};
use super::epoch::{Epoch, Logged};
use crate::format::SidecarState;

/// Maximum size of a batch, in bytes of its writes; a single epoch may be larger.
const BATCH_BYTES: u64 = 32 << 20;
/// Pause between the end of a batch and the next batch. Our choice. Without it, a guest that
/// flushes thousands of times per second would make its backing store flush as often, but disks
/// manage a hundred flushes per second. With it, those epochs form one batch, and a block that was
/// rewritten is written once.
const REST: Nanos = Nanos(100_000_000);

#[derive(Debug, Clone, Default)]
pub(crate) struct Destager {
    /// Epochs, oldest first. New writes belong to the last one, if it is not closed.
    epochs: VecDeque<Epoch>,
    batch: Option<Batch>,
    /// Time until which the next batch waits for more epochs.
    rests_until: Option<Nanos>,
    /// Time of the oldest write in the open epoch.
    open_since: Option<Nanos>,
    /// True if the log has bytes that cannot be read. No later write may then be destaged.
    is_damaged: bool,
}

impl Destager {
    /// Creates a destager with the epochs recovered from a log, all of them closed.
    pub(super) fn new(epochs: VecDeque<Epoch>) -> Self {
        Self { epochs, ..Self::default() }
    }

    /// Begins a batch of all epochs; used before the disk is served.
    pub(crate) fn begin_all(&mut self) {
        if self.has_epochs() {
            let mut batch = Batch::new(self.epochs.iter());
            batch.may_write();
            self.batch = Some(batch);
        }
    }

    /// Iterates over the writes that are not destaged, oldest first.
    pub(crate) fn writes(&mut self) -> impl Iterator<Item = &mut Logged> {
        self.epochs.iter_mut().flat_map(|epoch| &mut epoch.writes)
    }

    pub(crate) fn write_count(&self) -> usize {
        self.epochs.iter().map(|epoch| epoch.writes.len()).sum()
    }

    pub(super) fn epochs(&self) -> usize {
        self.epochs.len()
    }

    pub(super) fn has_epochs(&self) -> bool {
        !self.epochs.is_empty()
    }

    /// Returns true if all writes are on the backing store.
    pub(super) fn is_idle(&self) -> bool {
        self.epochs.is_empty() && self.batch.is_none()
    }

    /// Returns the time of the oldest write that is not destaged.
    pub(super) fn oldest(&self) -> Option<Nanos> {
        self.epochs.front().map(|epoch| epoch.since)
    }

    /// Returns the last group with a write that is not destaged; 0 if there is none.
    pub(super) fn last_seq(&self) -> u64 {
        self.epochs.back().map_or(0, |epoch| epoch.last_seq)
    }

    /// Returns the group that must be durable before the next batch begins.
    pub(super) fn awaited_seq(&self) -> Option<u64> {
        let next = self.epochs.front().filter(|next| next.is_closed && self.batch.is_none());
        next.map(|next| next.last_seq)
    }

    /// Returns the number of the epoch to which new writes belong. `applied` is the last epoch on
    /// the backing store.
    pub(super) fn open_number(&self, applied: u64) -> u64 {
        match self.epochs.back() {
            Some(last) => last.number + u64::from(last.is_closed),
            None => applied + 1,
        }
    }

    pub(super) fn has_open(&self) -> bool {
        self.epochs.back().is_some_and(|last| !last.is_closed)
    }

    /// Adds the writes of a group to the open epoch, and opens one if there is none. Returns the
    /// epoch's number.
    pub(super) fn add(&mut self, seq: u64, logged: Vec<Logged>, applied: u64, now: Nanos) -> u64 {
        let number = self.open_number(applied);
        if !self.has_open() {
            self.epochs.push_back(Epoch { number, since: now, ..Epoch::default() });
        }
        if let Some(open) = self.epochs.back_mut() {
            open.last_seq = seq;
            open.writes.extend(logged);
        }
        self.open_since.get_or_insert(now);
        number
    }

    /// Closes the open epoch, after a flush or an equivalent request.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.epochs.back_mut().filter(|last| !last.is_closed) {
            open.is_closed = true;
            self.open_since = None;
        }
    }

    /// Handles the time. Returns true if the open epoch is old enough to end.
    pub(super) fn tick(&mut self, now: Nanos) -> bool {
        self.rests_until = self.rests_until.filter(|until| now < *until);
        let is_old = self.open_since.is_some_and(|since| now >= since + PAUSE);
        if is_old {
            self.open_since = None;
        }
        is_old
    }

    /// Iterates over the times at which the destager must be called again.
    pub(super) fn due(&self) -> impl Iterator<Item = Nanos> + use<> {
        let closed = self.epochs.front().is_some_and(|next| next.is_closed);
        let step = self.batch.as_ref().and_then(|batch| match batch.phase() {
            Phase::Retiring(at) | Phase::Mapping(at) => Some(at),
            _ => None,
        });
        let ends = self.open_since.map(|since| since + PAUSE);
        [ends, self.rests_until.filter(|_| closed), step].into_iter().flatten()
    }

    /// Returns true if the pause after the last batch is not over.
    pub(super) fn rests(&self, now: Nanos) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Records that the only copy of an acknowledged write cannot be read. Returns true at the
    /// first call.
    pub(super) fn damage(&mut self) -> bool {
        !std::mem::replace(&mut self.is_damaged, true)
    }

    pub(super) fn batch(&mut self) -> Option<&mut Batch> {
        self.batch.as_mut()
    }

    pub(super) fn has_batch(&self) -> bool {
        self.batch.is_some()
    }

    /// Begins a batch of closed epochs whose groups are durable up to `durable`. Returns the state
    /// that the sidecar must have before the batch is written. `None` if there is no batch, or if
    /// the sidecar need not change.
    pub(super) fn begin(&mut self, durable: u64, word: SidecarState) -> Option<SidecarState> {
        if self.is_damaged || self.batch.is_some() {
            return None;
        }
        // Epochs that a crash may have left half applied are destaged as one batch, before anything
        // else.
        let least = match word {
            SidecarState::Applying { to, .. } => to,
            _ => 0,
        };
        let (mut count, mut bytes) = (0_usize, 0);
        for epoch in self.epochs.iter().take_while(|e| e.is_closed && e.last_seq <= durable) {
            let more: u64 = epoch.writes.iter().map(|w| u64::from(w.bytes)).sum();
            if count > 0 && bytes + more > BATCH_BYTES && epoch.number > least {
                break;
            }
            bytes += more;
            count += 1;
        }
        let last = &self.epochs[count.checked_sub(1)?];
        if last.number < least {
            return None;
        }
        let batch = self.batch.insert(Batch::new(self.epochs.iter().take(count)));
        let (from, to) = (batch.ends().first_epoch, batch.ends().last_epoch);
        if from < to && least == 0 {
            return Some(SidecarState::Applying { from, to });
        }
        batch.may_write();
        None
    }

    /// Removes a batch that waits for the sidecar.
    pub(super) fn give_up_waiting(&mut self) -> Option<Batch> {
        self.batch.take_if(|batch| batch.phase() == Phase::Sidecar)
    }

    /// Removes a failed batch. Its epochs stay, to be destaged again.
    pub(super) fn fail_batch(&mut self) -> Option<Batch> {
        self.batch.take()
    }

    /// Removes the batch's epochs. From then on reads use the backing store.
    pub(super) fn retire(&mut self) {
        if let Some(batch) = &self.batch {
            let last = batch.ends().last_epoch;
            self.epochs.retain(|epoch| epoch.number > last);
        }
    }

    /// Ends the batch, and starts the pause before the next one.
    pub(super) fn end_batch(&mut self, now: Nanos) -> Option<Batch> {
        self.rests_until = Some(now + REST);
        self.batch.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::overlay::Source;

    fn logged(order: u64) -> Logged {
        let source = Source::Flash { at: order << 12 };
        Logged { order, offset: order << 12, bytes: 4096, source, sums: [0].into() }
    }

    /// Returns three closed epochs of one group each, and an open epoch.
    fn epochs() -> Destager {
        let mut destager = Destager::default();
        for seq in 1..=4 {
            assert_eq!(destager.add(seq, vec![logged(seq)], 10, Nanos(seq)), 10 + seq);
            if seq < 4 {
                destager.close();
            }
        }
        destager
    }

    #[test]
    fn batch_is_of_closed_epochs_that_are_durable() {
        let mut destager = epochs();
        assert_eq!((destager.begin(0, SidecarState::Dirty), destager.has_batch()), (None, false));
        assert_eq!(destager.awaited_seq(), Some(1));
        assert_eq!(destager.begin(1, SidecarState::Dirty), None, "one epoch is no torn state");
        let batch = destager.batch().expect("it began");
        assert_eq!((batch.phase(), batch.ends().last_epoch), (Phase::Writing, 11));
        let mut destager = epochs();
        let word = destager.begin(9, SidecarState::Dirty);
        assert_eq!(word, Some(SidecarState::Applying { from: 11, to: 13 }), "the last is open");
        assert_eq!(destager.batch().expect("it waits").phase(), Phase::Sidecar);
        assert!(destager.give_up_waiting().is_some() && !destager.is_idle());
    }

    #[test]
    fn what_may_be_half_applied_goes_as_one_before_anything_else() {
        let mut destager = epochs();
        let word = SidecarState::Applying { from: 11, to: 12 };
        assert_eq!((destager.begin(1, word), destager.has_batch()), (None, false));
        assert_eq!((destager.begin(2, word), destager.has_batch()), (None, true), "it is said");
    }

    #[test]
    fn nothing_behind_damage_goes_to_the_backing_store() {
        let mut destager = epochs();
        assert!(destager.damage() && !destager.damage());
        assert_eq!((destager.begin(9, SidecarState::Dirty), destager.has_batch()), (None, false));
    }

    #[test]
    fn epochs_leave_with_their_batch_and_the_next_one_rests() {
        let mut destager = epochs();
        destager.begin(2, SidecarState::Dirty);
        destager.retire();
        assert_eq!((destager.epochs(), destager.is_idle()), (2, false));
        assert!(destager.end_batch(Nanos(5)).is_some());
        assert!(destager.rests(Nanos(6)) && !destager.rests(Nanos(5) + REST));
        assert_eq!(destager.open_number(10), 14, "writes go on in the open epoch");
        assert!(!destager.tick(Nanos(6)) && destager.tick(Nanos(4) + PAUSE));
    }
}
