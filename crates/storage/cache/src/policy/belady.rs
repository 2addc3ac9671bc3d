use std::collections::{BinaryHeap, HashMap};

use super::contract::{Evicted, Outcome, Policy, check_capacity, hit, miss};
use crate::page::{PageId, Slot};
use crate::slab::Slab;

/// Belady's MIN: evicts the page whose next reference is the furthest away (IBM Systems Journal
/// 5(2), 1966). No policy without foresight can have fewer misses, if every referenced page must be
/// admitted.
///
/// The policy is created with the future references. [`Policy::reference`] panics after the last of
/// them, or if the references come in another order.
#[derive(Debug, Clone)]
pub struct Belady {
    slab: Slab,
    references: Vec<PageId>,
    /// For each reference, the index of the next reference to the same page; `u64::MAX` for never.
    next_use: Vec<u64>,
    at: usize,
    /// Next use of the page in each slot.
    due: Vec<u64>,
    /// Heap of (next use, slot), latest first. Outdated entries are dropped when they reach the
    /// top.
    heap: BinaryHeap<(u64, u32)>,
}

impl Belady {
    /// Creates a cache of `capacity` pages, 1 to 2^28, for exactly these references.
    pub fn new(capacity: usize, references: Vec<PageId>) -> Self {
        check_capacity(capacity);
        let mut next_use = vec![u64::MAX; references.len()];
        let mut last: HashMap<PageId, usize> = HashMap::new();
        for (at, page) in references.iter().enumerate() {
            if let Some(before) = last.insert(*page, at) {
                next_use[before] = at as u64;
            }
        }
        Self {
            slab: Slab::new(capacity),
            references,
            next_use,
            at: 0,
            due: vec![u64::MAX; capacity],
            heap: BinaryHeap::new(),
        }
    }

    fn evict(&mut self) -> Evicted {
        loop {
            let (due, slot) = self.heap.pop().expect("every resident page has an entry");
            if self.slab.mark(slot) == 1 && self.due[slot as usize] == due {
                let page = PageId(self.slab.page(slot));
                self.take_out(slot);
                return Evicted { page, slot: Slot(slot) };
            }
        }
    }

    fn take_out(&mut self, slot: u32) {
        self.slab.set_mark(slot, 0);
        self.slab.remove(slot);
    }
}

impl Policy for Belady {
    fn slab(&self) -> &Slab {
        &self.slab
    }

    fn len(&self) -> usize {
        self.slab.len()
    }

    fn reference(&mut self, page: PageId) -> Outcome {
        assert_eq!(
            self.references.get(self.at),
            Some(&page),
            "reference {} differs from the given sequence",
            self.at
        );
        let due = self.next_use[self.at];
        self.at += 1;
        let found = self.slab.find(page.0);
        let evicted = (found.is_none() && self.slab.len() == self.capacity()).then(|| self.evict());
        let slot = found.unwrap_or_else(|| self.slab.insert(page.0, 1));
        self.due[slot as usize] = due;
        self.heap.push((due, slot));
        if found.is_some() { hit(slot) } else { miss(slot, evicted) }
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        let slot = self.find(page)?;
        self.take_out(slot.0);
        Some(slot)
    }
}
