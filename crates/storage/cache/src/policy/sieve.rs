use super::contract::{Evicted, Outcome, Policy, check_capacity, hit, miss};
use crate::list::{List, NIL};
use crate::page::{PageId, Slot};
use crate::slab::Slab;

/// SIEVE: like CLOCK, but a spared page keeps its position and the hand moves on from old to young,
/// so that unused new pages are evicted early (Zhang, Yang, Yue, Vigfusson and Rashmi, NSDI 2024,
/// algorithm 1).
///
/// It is meant for web objects. Scans are common in block traces and leave the cache full of dead
/// pages. That is a property of the policy, not of this code.
#[derive(Debug, Clone)]
pub struct Sieve {
    slab: Slab,
    list: List,
    /// Node at which the hand is; [`NIL`] means the oldest page.
    hand: u32,
}

impl Sieve {
    /// Creates a cache of `capacity` pages, 1 to 2^28.
    pub fn new(capacity: usize) -> Self {
        check_capacity(capacity);
        Self { slab: Slab::new(capacity), list: List::new(), hand: NIL }
    }

    fn evict(&mut self) -> Evicted {
        let mut slot = if self.hand == NIL { self.list.back() } else { self.hand };
        while self.slab.mark(slot) != 0 {
            self.slab.set_mark(slot, 0);
            slot = self.slab.nodes[slot as usize].prev;
            if slot == NIL {
                slot = self.list.back();
            }
        }
        self.hand = slot;
        let page = PageId(self.slab.page(slot));
        self.take_out(slot);
        Evicted { page, slot: Slot(slot) }
    }

    fn take_out(&mut self, slot: u32) {
        if self.hand == slot {
            self.hand = self.slab.nodes[slot as usize].prev;
        }
        self.list.unlink(&mut self.slab.nodes, slot);
        self.slab.remove(slot);
    }
}

impl Policy for Sieve {
    fn slab(&self) -> &Slab {
        &self.slab
    }

    fn len(&self) -> usize {
        self.list.len()
    }

    #[inline]
    fn reference(&mut self, page: PageId) -> Outcome {
        if let Some(slot) = self.slab.find(page.0) {
            self.slab.set_mark(slot, 1);
            return hit(slot);
        }
        let evicted = (self.list.len() == self.slab.slots()).then(|| self.evict());
        let slot = self.slab.insert(page.0, 0);
        self.list.push_front(&mut self.slab.nodes, slot);
        miss(slot, evicted)
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        let slot = self.slab.find(page.0)?;
        self.take_out(slot);
        Some(Slot(slot))
    }
}
