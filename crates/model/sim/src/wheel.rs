use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Nanos;

/// Number of bits of a key below its time.
pub const TIME_SHIFT: u32 = 64;

/// Keys of events that are not due soon, unsorted, by the slot of time in which they are due: a
/// timing wheel (Varghese and Lauck, SOSP 1987, scheme 4) with a list for keys beyond its turn.
#[derive(Debug)]
pub struct Wheel {
    /// Slots of one turn, by the slot's number modulo the number of slots; made with the first key.
    slots: Vec<Vec<Reverse<u128>>>,
    /// Number of keys in slots.
    count: usize,
    /// Keys after the last slot.
    beyond: Vec<Reverse<u128>>,
    /// Number of the first slot that was not handed out.
    first: u64,
    /// Emptied slots, kept to reuse their memory.
    spare: Vec<Vec<Reverse<u128>>>,
}

/// A slot is 2^20 ns: about a millisecond, in which a large simulation has several hundred events.
const SLOT_SHIFT: u32 = 20;
/// Number of slots in a turn, which takes four seconds: most users do not think longer.
const SLOTS: u64 = 1 << 12;

impl Wheel {
    /// Makes an empty wheel, whose first slot is already over at the start of time.
    pub const fn new() -> Self {
        Self { slots: Vec::new(), count: 0, beyond: Vec::new(), first: 1, spare: Vec::new() }
    }

    /// Returns a lower bound of the times of all keys on the wheel; the end of time if there can be
    /// none.
    #[inline]
    pub const fn horizon(&self) -> Nanos {
        Nanos(self.first.saturating_mul(1 << SLOT_SHIFT))
    }

    /// Returns true if a key belongs on the wheel, because its slot was not handed out.
    #[inline]
    pub const fn is_for(&self, key: u128) -> bool {
        slot(key) >= self.first
    }

    /// Returns true if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.beyond.is_empty()
    }

    /// Adds a key for which [`Self::is_for`] is true.
    #[inline]
    pub fn push(&mut self, key: u128) {
        let number = slot(key);
        if number - self.first >= SLOTS {
            return self.beyond.push(Reverse(key));
        }
        if self.slots.is_empty() {
            self.slots.resize_with(place(SLOTS - 1) + 1, Vec::new);
        }
        let slot = &mut self.slots[place(number)];
        if slot.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *slot = spare;
        }
        slot.push(Reverse(key));
        self.count += 1;
    }

    /// Moves the next slot that holds keys into an empty heap, and the horizon after this slot.
    /// Returns false if there was none.
    pub fn turn(&mut self, heap: &mut BinaryHeap<Reverse<u128>>) -> bool {
        if self.count == 0 {
            let Some(next) = self.beyond.iter().map(|Reverse(key)| slot(*key)).min() else {
                return false;
            };
            self.first = next;
            self.take_in();
        }
        loop {
            let slot = std::mem::take(&mut self.slots[place(self.first)]);
            self.first += 1;
            if self.first.is_multiple_of(SLOTS / 2) {
                self.take_in();
            }
            if !slot.is_empty() {
                self.count -= slot.len();
                let mut emptied = std::mem::replace(heap, slot.into()).into_vec();
                emptied.clear();
                self.spare.push(emptied);
                return true;
            }
        }
    }

    /// Moves keys that no longer lie beyond the turn into slots.
    fn take_in(&mut self) {
        let beyond = std::mem::take(&mut self.beyond);
        beyond.into_iter().for_each(|Reverse(key)| self.push(key));
    }

    /// Takes all keys out.
    pub fn take_all(&mut self, keys: &mut Vec<Reverse<u128>>) {
        self.slots.iter_mut().for_each(|slot| keys.append(slot));
        keys.append(&mut self.beyond);
        self.count = 0;
    }
}

/// Returns the number of the slot in which a key is due.
#[inline]
const fn slot(key: u128) -> u64 {
    (key >> (TIME_SHIFT + SLOT_SHIFT)) as u64
}

#[inline]
const fn place(number: u64) -> usize {
    (number % SLOTS) as usize
}
