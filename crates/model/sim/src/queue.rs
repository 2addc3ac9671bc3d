use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use units::Nanos;

use crate::wheel::{TIME_SHIFT, Wheel};

/// Pending events in the order of their time; events of equal time in the order in which they were
/// added.
///
/// A key consists of the time (64 bits), a sequence number (32) and the payload's place in a slab
/// (32), so that the heap moves 16 bytes and the payload never moves. The top that was just taken
/// stays in the heap until the next call: an event usually causes another one, which then takes its
/// place with one sift instead of two.
///
/// Only events due within about a millisecond are in the heap. It stays small and in the
/// processor's caches, however many users are thinking; the other events wait in a [`Wheel`].
#[derive(Debug)]
pub struct Queue<T> {
    heap: BinaryHeap<Reverse<u128>>,
    wheel: Wheel,
    payloads: Vec<T>,
    free: Vec<u32>,
    sequence: u32,
    /// True if the heap's top was already taken.
    hole: bool,
}

const SEQUENCE_SHIFT: u32 = 32;

impl<T: Copy> Queue<T> {
    /// Makes an empty queue.
    pub fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            wheel: Wheel::new(),
            payloads: Vec::new(),
            free: Vec::new(),
            sequence: 0,
            hole: false,
        }
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, at: Nanos, payload: T) {
        let place = self.store(payload);
        if self.sequence == u32::MAX {
            self.renumber();
        }
        let key = u128::from(at.0) << TIME_SHIFT
            | u128::from(self.sequence) << SEQUENCE_SHIFT
            | u128::from(place);
        self.sequence += 1;
        if self.wheel.is_for(key) {
            self.wheel.push(key);
        } else if self.hole {
            self.hole = false;
            if let Some(mut top) = self.heap.peek_mut() {
                *top = Reverse(key);
            }
        } else {
            self.heap.push(Reverse(key));
        }
    }

    /// Takes the first event, if it is before `end`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the parts of a key are cut on purpose")]
    pub fn pop_before(&mut self, end: Nanos) -> Option<(Nanos, T)> {
        self.close_hole();
        while self.heap.is_empty() {
            if self.wheel.horizon() >= end || !self.wheel.turn(&mut self.heap) {
                return None;
            }
        }
        let Reverse(key) = *self.heap.peek()?;
        let at = Nanos((key >> TIME_SHIFT) as u64);
        if at >= end {
            return None;
        }
        self.hole = true;
        let place = key as u32;
        self.free.push(place);
        Some((at, self.payloads[place as usize]))
    }

    /// Returns true if no event is pending.
    pub fn is_empty(&mut self) -> bool {
        self.close_hole();
        self.heap.is_empty() && self.wheel.is_empty()
    }

    #[inline]
    fn close_hole(&mut self) {
        if self.hole {
            self.hole = false;
            if let Some(top) = self.heap.peek_mut() {
                PeekMut::pop(top);
            }
        }
    }

    #[inline]
    fn store(&mut self, payload: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.payloads[place as usize] = payload;
            return place;
        }
        self.payloads.push(payload);
        u32::try_from(self.payloads.len() - 1).expect("fewer than 2^32 events are pending")
    }

    /// Gives pending events new sequence numbers from 0 in the same order. This is needed once in 4
    /// billion events, when the sequence would wrap.
    fn renumber(&mut self) {
        self.close_hole();
        let mut keys = std::mem::take(&mut self.heap).into_vec();
        self.wheel.take_all(&mut keys);
        keys.sort_unstable_by_key(|Reverse(key)| *key);
        self.sequence = 0;
        for Reverse(key) in &mut keys {
            let kept = *key & !(u128::from(u32::MAX) << SEQUENCE_SHIFT);
            *key = kept | u128::from(self.sequence) << SEQUENCE_SHIFT;
            self.sequence += 1;
        }
        let due = keys.partition_point(|Reverse(key)| !self.wheel.is_for(*key));
        let later = keys.split_off(due);
        later.into_iter().for_each(|Reverse(key)| self.wheel.push(key));
        self.heap = keys.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_keep_their_order_when_the_sequence_wraps() {
        let mut queue = Queue::new();
        queue.sequence = u32::MAX - 6;
        let times = [5, 7 << 20, 1 << 40];
        for value in 0..12 {
            queue.push(Nanos(times[value % 3]), value);
        }
        let order: Vec<usize> =
            std::iter::from_fn(|| queue.pop_before(Nanos::MAX)).map(|(_, value)| value).collect();
        assert_eq!(order, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
    }

    proptest! {
        /// Compares with a simple model: a list that is searched for the first smallest time.
        #[test]
        fn events_leave_by_time_and_then_by_insertion(
            steps in proptest::collection::vec((any::<bool>(), 0_u64..8, 0_u32..50), 1..300)
        ) {
            let mut queue = Queue::new();
            let mut model: Vec<(u64, usize)> = Vec::new();
            for (number, (is_pop, at, shift)) in steps.into_iter().enumerate() {
                if is_pop {
                    let first = model.iter().copied().min();
                    model.retain(|entry| Some(*entry) != first);
                    let taken = queue.pop_before(Nanos::MAX).map(|(at, number)| (at.0, number));
                    prop_assert_eq!(taken, first);
                } else {
                    // Nanoseconds to months: near the processor, on the wheel and behind it.
                    let at = at << shift;
                    queue.push(Nanos(at), number);
                    model.push((at, number));
                }
            }
        }
    }
}
