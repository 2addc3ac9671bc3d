//! Requests that wait for a disk's log: to be placed in a group, or until their group is accepted
//! or durable.
//!
//! Invariant: a write is answered only when its group and all groups before it are accepted by the
//! cache device and all copies. A flush or a durable write is answered when these groups are
//! durable there. Answers come in the order of the requests.

use state_machine::RequestId;

use std::collections::{BTreeMap, VecDeque};

/// Request that waits to be placed in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    Write(u32),
    Flush(RequestId),
    /// End of an epoch, because of an order or a timer.
    EpochEnd,
}

/// Request that waits until a group is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    Flush(RequestId),
    Write(u32),
}

/// Write in a group, and the address of its payload on the cache device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) write: u32,
    pub(super) at: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct LogQueue {
    pending: VecDeque<Pending>,
    /// Writes of each group whose write is in progress.
    groups: BTreeMap<u64, Vec<Placed>>,
    /// Writes that are answered when their group is accepted, with the group's number.
    accepted: VecDeque<(u64, u32)>,
    durable: VecDeque<(u64, Durable)>,
}

/// Requests that were waiting when the log failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) flushes: Vec<RequestId>,
    /// Writes that are on the cache device.
    pub(super) landed: Vec<u32>,
    /// Writes that the cache device may not have.
    pub(super) unlanded: Vec<u32>,
}

impl LogQueue {
    pub(super) fn push(&mut self, pending: Pending) {
        self.pending.push_back(pending);
    }

    /// Returns the first request that waits to be placed in a group.
    pub(super) fn first(&self) -> Option<Pending> {
        self.pending.front().copied()
    }

    /// Removes the first request, which needs no place in a group.
    pub(super) fn pop(&mut self) {
        self.pending.pop_front();
    }

    /// Removes the first request, a write, which was placed in group `seq`.
    pub(super) fn pop_write(&mut self, seq: u64, write: u32, is_durable: bool) {
        self.pending.pop_front();
        match is_durable {
            true => self.durable.push_back((seq, Durable::Write(write))),
            false => self.accepted.push_back((seq, write)),
        }
    }

    /// Removes the first request, a flush, which is answered when group `seq` is durable.
    pub(super) fn pop_flush(&mut self, seq: u64, id: RequestId) {
        self.pending.pop_front();
        self.durable.push_back((seq, Durable::Flush(id)));
    }

    /// Queues an end of the epoch after the waiting requests, unless one is queued already.
    /// `is_open` is true if the open epoch has writes.
    pub(super) fn end_epoch(&mut self, is_open: bool) {
        if (is_open || self.has_pending()) && !self.pending.contains(&Pending::EpochEnd) {
            self.pending.push_back(Pending::EpochEnd);
        }
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns true if a request waits to be placed, or its group is being written.
    pub(super) fn is_busy(&self) -> bool {
        self.has_pending() || !self.groups.is_empty()
    }

    /// Returns true if the queue has no request.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_busy() && self.durable.is_empty()
    }

    /// Records that the write of a group with these writes is in progress.
    pub(super) fn begin_group(&mut self, seq: u64, writes: Vec<Placed>) {
        self.groups.insert(seq, writes);
    }

    /// Removes and returns the writes of the oldest group in progress, if the cache device has
    /// accepted groups up to `accepted` and this group is among them.
    pub(super) fn take_landed(&mut self, accepted: u64) -> Option<Vec<Placed>> {
        let first = self.groups.first_entry()?;
        (*first.key() <= accepted).then(|| first.remove())
    }

    /// Removes and returns the next write to answer, if groups up to `accepted` are accepted by the
    /// cache device and all copies.
    pub(super) fn take_accepted(&mut self, accepted: u64) -> Option<u32> {
        let (_, write) = *self.accepted.front().filter(|(seq, _)| *seq <= accepted)?;
        self.accepted.pop_front();
        Some(write)
    }

    /// Removes and returns the next request to answer, if groups up to `durable` are durable on the
    /// cache device and in all copies.
    pub(super) fn take_durable(&mut self, durable: u64) -> Option<Durable> {
        let (_, waiter) = *self.durable.front().filter(|(seq, _)| *seq <= durable)?;
        self.durable.pop_front();
        Some(waiter)
    }

    /// Returns true if a request waits until one of these groups is durable.
    pub(super) fn waits_for(&self, mut is_wanted: impl FnMut(u64) -> bool) -> bool {
        self.durable.iter().any(|(seq, _)| is_wanted(*seq))
    }

    /// Removes all requests, because no write will be accepted any more.
    pub(super) fn fail(&mut self) -> Failed {
        let Self { pending, groups, accepted, durable } = std::mem::take(self);
        let mut failed = Failed::default();
        failed.unlanded.extend(groups.into_values().flatten().map(|placed| placed.write));
        for pending in pending {
            match pending {
                Pending::Write(write) => failed.unlanded.push(write),
                Pending::Flush(id) => failed.flushes.push(id),
                Pending::EpochEnd => {}
            }
        }
        // The cache device has these writes, but a copy lacks them.
        failed.landed.extend(accepted.into_iter().map(|(_, write)| write));
        for (_, waiter) in durable {
            match waiter {
                Durable::Flush(id) => failed.flushes.push(id),
                Durable::Write(write) => failed.landed.push(write),
            }
        }
        failed.landed.retain(|write| !failed.unlanded.contains(write));
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(write: u32) -> Placed {
        Placed { write, at: 0 }
    }

    #[test]
    fn requests_are_answered_in_order_and_not_before_their_group() {
        let mut queue = LogQueue::default();
        let flush = Pending::Flush(RequestId(3));
        for pending in [Pending::Write(1), Pending::Write(2), flush, Pending::Write(4)] {
            queue.push(pending);
        }
        queue.pop_write(10, 1, false);
        queue.pop_write(10, 2, true);
        queue.pop_flush(10, RequestId(3));
        queue.pop_write(11, 4, false);
        queue.begin_group(10, vec![placed(1), placed(2)]);
        queue.begin_group(11, vec![placed(4)]);
        assert_eq!((queue.take_landed(9), queue.take_accepted(9)), (None, None));
        assert_eq!(queue.take_landed(10), Some(vec![placed(1), placed(2)]));
        assert_eq!((queue.take_landed(10), queue.take_accepted(10)), (None, Some(1)));
        assert_eq!(queue.take_accepted(10), None, "the last write is of a later group");
        assert!(queue.waits_for(|seq| seq == 10) && !queue.waits_for(|seq| seq > 10));
        assert_eq!(queue.take_durable(9), None, "it was accepted, and is not durable");
        assert_eq!(queue.take_durable(10), Some(Durable::Write(2)));
        assert_eq!(queue.take_durable(10), Some(Durable::Flush(RequestId(3))));
        assert!(queue.is_busy() && !queue.is_idle());
    }

    #[test]
    fn failure_tells_each_waiter_once_and_what_landed_apart() {
        let mut queue = LogQueue::default();
        (1..=3).for_each(|write| queue.push(Pending::Write(write)));
        queue.pop_write(10, 1, false);
        queue.begin_group(10, vec![placed(1)]);
        queue.pop_write(11, 2, true);
        queue.begin_group(11, vec![placed(2)]);
        queue.take_landed(10);
        queue.push(Pending::Flush(RequestId(9)));
        let failed = queue.fail();
        assert_eq!((failed.landed, failed.unlanded), (vec![1], vec![2, 3]));
        assert_eq!(failed.flushes, [RequestId(9)]);
        assert!(queue.is_idle());
    }

    #[test]
    fn epoch_ends_once_behind_what_waits() {
        let mut queue = LogQueue::default();
        queue.end_epoch(false);
        assert!(!queue.has_pending(), "there is nothing to end");
        queue.end_epoch(true);
        queue.end_epoch(true);
        assert_eq!(queue.first(), Some(Pending::EpochEnd));
        queue.pop();
        assert!(queue.is_idle());
    }
}
