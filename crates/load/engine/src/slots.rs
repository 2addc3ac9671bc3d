use state_machine::IoRequest;
use units::Nanos;

use crate::arena::Buffer;
use crate::content::Ticket;

/// Request from its admission to its completion.
///
/// Each request completes exactly once. Dropping a request that was neither completed nor
/// deliberately abandoned panics, unless the thread is already unwinding.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) instance: u32,
    /// Position in the worker's own list of disks.
    pub(crate) disk: u32,
    pub(crate) request: IoRequest,
    /// Time at which the instance issued the request.
    pub(crate) admitted: Nanos,
    /// Time just before the call that submitted it to the kernel.
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

/// Requests in flight on one worker: a slab with as many slots as the queue is deep.
// Not `state_machine::Slab`: it has all of its memory from the start, so that no request waits for more.
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

    /// Takes a free slot. Panics if there is none.
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

    /// Returns true if a request of this instance is open.
    pub(crate) fn has(&self, instance: u32) -> bool {
        self.entries.iter().flatten().any(|flight| flight.instance == instance)
    }

    /// Returns the requests that were submitted and have not completed.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = &InFlight> {
        self.entries.iter().flatten().filter(|flight| flight.submitted > Nanos::ZERO)
    }

    /// Completes a request. A second completion of one request panics.
    #[inline]
    pub(crate) fn complete(&mut self, slot: u32) -> InFlight {
        let mut flight =
            self.entries[slot as usize].take().expect("a request is answered exactly once");
        flight.settled = true;
        self.free.push(slot);
        flight
    }

    /// Abandons all open requests, because the storage no longer responds. Returns their number.
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
