//! Puts records that complete in any order back into the order in which they were issued, or passes
//! them on in order of completion.

use std::collections::VecDeque;

use trace::IoRecord;

/// Number of an I/O, in order of issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket(u64);

#[derive(Debug, Clone, Copy)]
enum Slot<K> {
    Open { since: u64, key: K },
    Done(IoRecord),
    Gone,
}

/// Order in which records are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Order of issue, for traces. An I/O that hangs holds back all later ones.
    #[default]
    Issue,
    /// Order of completion, for watching: nothing waits for an I/O that hangs.
    End,
}

/// Window of open I/Os. In order of issue it holds a record back until all I/Os issued earlier have
/// completed or are abandoned.
#[derive(Debug)]
pub(crate) struct Window<K> {
    order: Order,
    slots: VecDeque<Slot<K>>,
    first: u64,
    /// Records in order of completion.
    ended: Vec<IoRecord>,
}

impl<K: Copy> Window<K> {
    /// Creates an empty window.
    pub fn new(order: Order) -> Self {
        Self { order, slots: VecDeque::new(), first: 0, ended: Vec::new() }
    }

    /// Returns the order in which records are returned.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Adds an I/O that is issued at `since` (nanoseconds), with its key.
    pub fn open(&mut self, since: u64, key: K) -> Ticket {
        self.slots.push_back(Slot::Open { since, key });
        Ticket(self.first + self.slots.len() as u64 - 1)
    }

    /// Completes an I/O with its record.
    pub fn done(&mut self, ticket: Ticket, record: IoRecord) {
        match self.order {
            Order::Issue => self.set(ticket, Slot::Done(record)),
            Order::End => {
                self.ended.push(record);
                self.set(ticket, Slot::Gone);
            }
        }
    }

    /// Drops an I/O without a record.
    pub fn gone(&mut self, ticket: Ticket) {
        self.set(ticket, Slot::Gone);
    }

    /// Returns the number of I/Os in the window, including completed ones behind open ones.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns the first I/O that has not completed, and its issue time.
    pub fn oldest(&self) -> Option<(Ticket, u64)> {
        match self.slots.front()? {
            Slot::Open { since, .. } => Some((Ticket(self.first), *since)),
            Slot::Done(_) | Slot::Gone => None,
        }
    }

    /// Appends the records that are next in order.
    pub fn take(&mut self, into: &mut Vec<IoRecord>) {
        into.append(&mut self.ended);
        while let Some(slot) = self.slots.front() {
            match slot {
                Slot::Open { .. } => return,
                Slot::Done(record) => into.push(*record),
                Slot::Gone => {}
            }
            self.slots.pop_front();
            self.first += 1;
        }
    }

    /// Returns the key of an I/O; `None` if it has completed.
    pub fn key(&mut self, ticket: Ticket) -> Option<K> {
        match self.slot(ticket)? {
            Slot::Open { key, .. } => Some(*key),
            Slot::Done(_) | Slot::Gone => None,
        }
    }

    /// Changes the key of an I/O.
    pub fn set_key(&mut self, ticket: Ticket, to: K) {
        if let Some(Slot::Open { key, .. }) = self.slot(ticket) {
            *key = to;
        }
    }

    fn set(&mut self, ticket: Ticket, slot: Slot<K>) {
        if let Some(have) = self.slot(ticket) {
            debug_assert!(matches!(have, Slot::Open { .. }), "an I/O completes once");
            *have = slot;
        }
    }

    fn slot(&mut self, ticket: Ticket) -> Option<&mut Slot<K>> {
        let place = usize::try_from(ticket.0.checked_sub(self.first)?).ok()?;
        self.slots.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use trace::Operation;
    use units::Nanos;

    use super::*;

    fn record(issue: u64) -> IoRecord {
        IoRecord::new(Nanos(issue), Operation::Read, 0, 512)
    }

    #[test]
    fn what_ended_first_waits_for_what_was_issued_first() {
        let mut window = Window::new(Order::Issue);
        let tickets: Vec<Ticket> = (0..4).map(|since| window.open(since, ())).collect();
        let mut out = Vec::new();
        window.done(tickets[1], record(1));
        window.gone(tickets[2]);
        window.take(&mut out);
        assert_eq!((out.len(), window.oldest()), (0, Some((tickets[0], 0))));
        window.done(tickets[0], record(0));
        window.take(&mut out);
        assert_eq!(out, [record(0), record(1)]);
        assert_eq!((window.len(), window.oldest()), (1, Some((tickets[3], 3))));
    }

    #[test]
    fn record_in_order_of_end_waits_for_no_open_one() {
        let mut window = Window::new(Order::End);
        let tickets: Vec<Ticket> = (0..3).map(|since| window.open(since, ())).collect();
        let mut out = Vec::new();
        window.done(tickets[2], record(2));
        window.take(&mut out);
        assert_eq!(out, [record(2)]);
        window.done(tickets[0], record(0));
        window.take(&mut out);
        assert_eq!(out, [record(2), record(0)]);
        assert_eq!((window.len(), window.oldest()), (2, Some((tickets[1], 1))));
    }
}
