use state_machine::IoRequest;
use units::Nanos;

use crate::arena::Buffer;
use crate::content::Ticket;

/// A request the storage has been asked, from admission to its answer.
///
/// Each one is completed exactly once: dropping one that was neither completed nor
/// knowingly given up panics, unless the thread is already unwinding.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) instance: u32,
    /// Position in the worker's own list of disks.
    pub(crate) disk: u32,
    pub(crate) request: IoRequest,
    /// When the machine asked.
    pub(crate) admitted: Nanos,
    /// Just before the call that handed it to the kernel.
    pub(crate) submitted: Nanos,
    pub(crate) buffer: Option<Buffer>,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) settled: bool,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        assert!(
            self.settled || std::thread::panicking(),
            "a request for disk {} at offset {} was dropped without an answer",
            self.disk,
            self.request.offset
        );
    }
}

/// The requests in flight on one worker: a slab as long as the queue is deep.
#[derive(Debug)]
pub(crate) struct Slots {
    entries: Vec<Option<InFlight>>,
    free: Vec<u32>,
}

impl Slots {
    pub(crate) fn new(depth: u32) -> Self {
        Self { entries: (0..depth).map(|_| None).collect(), free: (0..depth).rev().collect() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Takes a slot. There must be a free one.
    #[inline]
    pub(crate) fn open(&mut self, flight: InFlight) -> u32 {
        let slot = self.free.pop().expect("the caller checked for a free slot");
        self.entries[slot as usize] = Some(flight);
        slot
    }

    #[inline]
    pub(crate) fn submitted(&mut self, slot: u32, at: Nanos) -> &InFlight {
        let flight = self.entries[slot as usize].as_mut().expect("an open slot");
        flight.submitted = at;
        flight
    }

    /// Whether a request of this instance is open.
    pub(crate) fn has(&self, instance: u32) -> bool {
        self.entries.iter().flatten().any(|flight| flight.instance == instance)
    }

    /// What was handed over and has no answer yet.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = &InFlight> {
        self.entries.iter().flatten().filter(|flight| flight.submitted > Nanos::ZERO)
    }

    /// Ends a request with its answer. A second answer for one request panics.
    #[inline]
    pub(crate) fn complete(&mut self, slot: u32) -> InFlight {
        let mut flight =
            self.entries[slot as usize].take().expect("a request is answered exactly once");
        flight.settled = true;
        self.free.push(slot);
        flight
    }

    /// Gives up all that is still open, because the storage no longer answers.
    pub(crate) fn abandon(&mut self) -> u64 {
        let mut count = 0;
        for flight in self.entries.iter_mut().filter_map(Option::as_mut) {
            flight.settled = true;
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_machine::{DiskId, KindId, Operation, Pattern, Token};

    fn flight() -> InFlight {
        InFlight {
            instance: 0,
            disk: 0,
            request: IoRequest {
                token: Token(0),
                disk: DiskId(0),
                operation: Operation::Read,
                kind: KindId(0),
                offset: 0,
                length: 4096,
                due: Nanos::ZERO,
                pattern: Pattern::default(),
                durable: false,
            },
            admitted: Nanos::ZERO,
            submitted: Nanos::ZERO,
            buffer: None,
            ticket: None,
            settled: false,
        }
    }

    #[test]
    #[should_panic(expected = "dropped without an answer")]
    fn losing_a_request_is_not_silent() {
        let mut slots = Slots::new(1);
        slots.open(flight());
    }

    #[test]
    #[should_panic(expected = "exactly once")]
    fn answering_a_request_twice_is_not_silent() {
        let mut slots = Slots::new(1);
        let slot = slots.open(flight());
        slots.complete(slot);
        slots.complete(slot);
    }

    #[test]
    fn slots_are_reused_and_can_be_given_up() {
        let mut slots = Slots::new(2);
        for _ in 0..10 {
            let slot = slots.open(flight());
            slots.complete(slot);
        }
        slots.open(flight());
        slots.open(flight());
        assert!(slots.is_full());
        assert_eq!(slots.abandon(), 2);
    }
}
