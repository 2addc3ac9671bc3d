use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Nanos;

/// Bits of a tick index that one level of the wheel covers.
const LEVEL_BITS: u32 = 6;
const SLOTS: usize = 1 << LEVEL_BITS;
/// Binary logarithm of a tick in nanoseconds: 2^13 ns = 8.2 us. A small heap orders the exact times
/// within one tick.
const TICK_BITS: u32 = 13;
/// Number of levels. Nine levels of six bits over ticks of 2^13 ns cover every 64-bit time.
const LEVELS: usize = 9;
/// Distance within which [`Wheel::next_due`] finds an exact time, in ticks.
const LOOKAHEAD: u64 = SLOTS as u64 / 2;
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Node<T> {
    at: u64,
    sequence: u64,
    next: u32,
    payload: T,
}

/// Hierarchical timer wheel (Varghese and Lauck 1987, scheme 6) with exact order: timers fire in
/// order of time, and at equal times in order of insertion.
///
/// Setting a timer is O(1) for any number of pending timers. Firing costs at most one move per
/// level, plus a heap of the entries of one tick. Nodes are kept and reused, so a steady number of
/// timers allocates nothing.
#[derive(Debug)]
pub struct Wheel<T> {
    nodes: Vec<Node<T>>,
    free: u32,
    heads: [[u32; SLOTS]; LEVELS],
    occupied: [u64; LEVELS],
    /// Last tick whose entries were moved to `near`.
    tick: u64,
    /// Entries at or before `tick`: (time, insertion, node).
    near: BinaryHeap<Reverse<(u64, u64, u32)>>,
    sequence: u64,
}

impl<T: Copy> Default for Wheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> Wheel<T> {
    /// Creates an empty wheel at time zero.
    pub fn new() -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
            heads: [[NONE; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            tick: 0,
            near: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Sets a timer. A timer for a past time fires at the next [`Wheel::pop`].
    pub fn insert(&mut self, at: Nanos, payload: T) {
        self.sequence += 1;
        let node = Node { at: at.0, sequence: self.sequence, next: NONE, payload };
        let index = if self.free == NONE {
            self.nodes.push(node);
            u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 timers")
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        self.place(index);
    }

    /// Takes the earliest timer that is due at `now`, with its due time.
    pub fn pop(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        while self.near.is_empty() {
            if !self.advance(now.0 >> TICK_BITS) {
                return None;
            }
        }
        let Reverse((at, _, index)) = *self.near.peek()?;
        if at > now.0 {
            return None;
        }
        self.near.pop();
        let node = &mut self.nodes[index as usize];
        node.next = self.free;
        self.free = index;
        Some((Nanos(at), node.payload))
    }

    /// Returns the time of the next call: never later than the earliest timer, and exact if that
    /// timer is within about a quarter of a millisecond of `now`. `None` if nothing is pending.
    pub fn next_due(&mut self, now: Nanos) -> Option<Nanos> {
        let horizon = (now.0 >> TICK_BITS) + LOOKAHEAD;
        while self.near.is_empty() {
            let (start, _, _) = self.first_slot()?;
            if start > horizon || !self.advance(horizon) {
                return Some(Nanos(start << TICK_BITS));
            }
        }
        self.near.peek().map(|Reverse((at, _, _))| Nanos(*at))
    }

    /// Removes all timers for which `is_meant` is true. Returns them with their due times, in the
    /// order in which they would have fired.
    pub fn take_out(&mut self, is_meant: impl Fn(&T) -> bool) -> Vec<(Nanos, T)> {
        let mut live: Vec<u32> = self.near.drain().map(|Reverse((_, _, index))| index).collect();
        for head in self.heads.iter_mut().flatten() {
            let mut index = std::mem::replace(head, NONE);
            while index != NONE {
                live.push(index);
                index = self.nodes[index as usize].next;
            }
        }
        self.occupied = [0; LEVELS];
        live.sort_unstable_by_key(|index| {
            let node = &self.nodes[*index as usize];
            (node.at, node.sequence)
        });
        let mut taken = Vec::new();
        for index in live {
            let node = self.nodes[index as usize];
            if is_meant(&node.payload) {
                taken.push((Nanos(node.at), node.payload));
                self.nodes[index as usize].next = self.free;
                self.free = index;
            } else {
                self.nodes[index as usize].next = NONE;
                self.place(index);
            }
        }
        taken
    }

    /// Puts a node into the slot for its distance from the current tick.
    fn place(&mut self, index: u32) {
        let node = self.nodes[index as usize];
        let tick = node.at >> TICK_BITS;
        if tick <= self.tick {
            self.near.push(Reverse((node.at, node.sequence, index)));
            return;
        }
        // The highest bit in which the two ticks differ decides the level.
        let level = (63 - (tick ^ self.tick).leading_zeros()) / LEVEL_BITS;
        let slot = (tick >> (level * LEVEL_BITS)) as usize & (SLOTS - 1);
        let level = level as usize;
        self.nodes[index as usize].next = self.heads[level][slot];
        self.heads[level][slot] = index;
        self.occupied[level] |= 1 << slot;
    }

    /// Returns the first tick, level and position of the earliest occupied slot. Lower levels
    /// always hold earlier ticks than higher ones.
    fn first_slot(&self) -> Option<(u64, usize, usize)> {
        let level = self.occupied.iter().position(|bits| *bits != 0)?;
        let slot = self.occupied[level].trailing_zeros() as usize;
        let shift = u32::try_from(level).expect("nine levels") * LEVEL_BITS;
        let above = self.tick >> shift >> LEVEL_BITS << LEVEL_BITS;
        Some(((above | slot as u64) << shift, level, slot))
    }

    /// Moves the earliest slot one level down (or to `near`) if it starts at `until` or earlier.
    fn advance(&mut self, until: u64) -> bool {
        let Some((start, level, slot)) = self.first_slot() else { return false };
        if start > until {
            return false;
        }
        self.tick = start;
        self.occupied[level] &= !(1 << slot);
        let mut index = std::mem::replace(&mut self.heads[level][slot], NONE);
        while index != NONE {
            let next = self.nodes[index as usize].next;
            self.place(index);
            index = next;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn equal_times_fire_in_the_order_they_were_set() {
        let mut wheel = Wheel::new();
        for name in 0..100_u32 {
            wheel.insert(Nanos::from_secs(3), name);
        }
        wheel.insert(Nanos(1), 100);
        assert_eq!(wheel.pop(Nanos::ZERO), None, "nothing is due early");
        assert_eq!(wheel.pop(Nanos::from_secs(3)), Some((Nanos(1), 100)));
        let order: Vec<u32> =
            std::iter::from_fn(|| wheel.pop(Nanos::from_secs(3))).map(|(_, name)| name).collect();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn nodes_are_reused_when_timers_come_and_go() {
        let mut wheel = Wheel::new();
        for round in 0..10_000_u64 {
            wheel.insert(Nanos(round * 1_000_000), ());
            assert!(wheel.pop(Nanos(round * 1_000_000)).is_some());
        }
        assert_eq!(wheel.nodes.len(), 1);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Insert { ahead: u64 },
        Advance { by: u64 },
        TakeOut { every: usize },
    }

    fn span() -> impl Strategy<Value = u64> {
        prop_oneof![
            0..3_u64,
            0..20_000_u64,
            0..5_000_000_u64,
            0..3_000_000_000_u64,
            0..1_000_000_000_000_000_u64,
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => span().prop_map(|ahead| Step::Insert { ahead }),
            1 => span().prop_map(|by| Step::Advance { by }),
            1 => (1..4_usize).prop_map(|every| Step::TakeOut { every }),
        ]
    }

    proptest! {
        #[test]
        fn the_wheel_fires_what_a_sorted_map_would_in_the_same_order(
            steps in proptest::collection::vec(step(), 1..200)
        ) {
            let mut wheel = Wheel::new();
            let mut model: BTreeMap<(u64, usize), ()> = BTreeMap::new();
            let mut now = 0_u64;
            for (name, step) in steps.iter().enumerate() {
                match step {
                    Step::Insert { ahead } => {
                        wheel.insert(Nanos(now + ahead), name);
                        model.insert((now + ahead, name), ());
                    }
                    Step::TakeOut { every } => {
                        let is_meant = |name: &usize| name.is_multiple_of(*every);
                        let taken = wheel.take_out(is_meant);
                        let taken = taken.iter().map(|(at, name)| (at.0, *name));
                        let meant = model.extract_if(.., |(_, name), ()| is_meant(name));
                        prop_assert!(taken.eq(meant.map(|(key, ())| key)));
                    }
                    Step::Advance { by } => {
                        now += by;
                        while let Some((at, fired)) = wheel.pop(Nanos(now)) {
                            let ((time, name), ()) =
                                model.pop_first().expect("the wheel holds no more than the model");
                            prop_assert_eq!((at.0, fired), (time, name));
                        }
                    }
                }
                let earliest = model.first_key_value().map(|((at, _), ())| *at);
                let popped = matches!(step, Step::Advance { by: _ });
                prop_assert!(!popped || earliest.is_none_or(|at| at > now));
                let due = wheel.next_due(Nanos(now));
                prop_assert_eq!(due.is_none(), earliest.is_none());
                if let (Some(due), Some(at)) = (due, earliest) {
                    prop_assert!(due.0 <= at, "woken at {} for a timer at {}", due.0, at);
                    let near = at < now + (LOOKAHEAD - 1) * (1 << TICK_BITS);
                    prop_assert!(!near || due.0 == at, "near timers are exact");
                }
            }
        }
    }
}
