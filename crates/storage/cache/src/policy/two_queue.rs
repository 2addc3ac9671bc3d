use super::contract::{Evicted, Outcome, Policy, check_capacity, hit, miss};
use crate::list::List;
use crate::page::{PageId, Slot};
use crate::slab::Slab;

const FRESH: u8 = 0;
const GHOST: u8 = 1;
const PROVEN: u8 = 2;

/// 2Q, full version: pages enter through a short queue. A page joins the LRU list of proven pages
/// only if it is referenced again after it left that queue (Johnson and Shasha, VLDB 1994, figure
/// 2).
///
/// Kin is a quarter of the pages, and Kout remembers half as many page numbers as the cache has
/// pages, as the paper proposes (section 4.2). Both are at least 1.
#[derive(Debug, Clone)]
pub struct TwoQueue {
    slab: Slab,
    capacity: usize,
    fresh_max: usize,
    ghosts_max: usize,
    /// A1in, first in, first out.
    fresh: List,
    /// A1out: page numbers only.
    ghosts: List,
    /// Am, least recently used.
    proven: List,
}

impl TwoQueue {
    /// Creates a cache of `capacity` pages, 1 to 2^28.
    pub fn new(capacity: usize) -> Self {
        check_capacity(capacity);
        let ghosts_max = (capacity / 2).max(1);
        Self {
            slab: Slab::new(capacity + ghosts_max + 1),
            capacity,
            fresh_max: (capacity / 4).max(1),
            ghosts_max,
            fresh: List::new(),
            ghosts: List::new(),
            proven: List::new(),
        }
    }

    /// Implements the paper's `reclaimfor`: makes room for one page if the cache is full.
    fn reclaim(&mut self) -> Option<Evicted> {
        if self.len() < self.capacity {
            return None;
        }
        if self.fresh.len() > self.fresh_max || self.proven.is_empty() {
            let slot = self.fresh.pop_back(&mut self.slab.nodes);
            self.slab.set_mark(slot, GHOST);
            self.ghosts.push_front(&mut self.slab.nodes, slot);
            let page = PageId(self.slab.page(slot));
            if self.ghosts.len() > self.ghosts_max {
                let oldest = self.ghosts.pop_back(&mut self.slab.nodes);
                self.slab.remove(oldest);
            }
            return Some(Evicted { page, slot: Slot(slot) });
        }
        let slot = self.proven.pop_back(&mut self.slab.nodes);
        let page = PageId(self.slab.page(slot));
        self.slab.remove(slot);
        Some(Evicted { page, slot: Slot(slot) })
    }
}

impl Policy for TwoQueue {
    fn slab(&self) -> &Slab {
        &self.slab
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.fresh.len() + self.proven.len()
    }

    fn find(&self, page: PageId) -> Option<Slot> {
        self.slab.find(page.0).filter(|slot| self.slab.mark(*slot) != GHOST).map(Slot)
    }

    fn reference(&mut self, page: PageId) -> Outcome {
        let Some(slot) = self.slab.find(page.0) else {
            let evicted = self.reclaim();
            let slot = self.slab.insert(page.0, FRESH);
            self.fresh.push_front(&mut self.slab.nodes, slot);
            return miss(slot, evicted);
        };
        match self.slab.mark(slot) {
            PROVEN => self.proven.move_to_front(&mut self.slab.nodes, slot),
            GHOST => {
                self.ghosts.unlink(&mut self.slab.nodes, slot);
                let evicted = self.reclaim();
                self.slab.set_mark(slot, PROVEN);
                self.proven.push_front(&mut self.slab.nodes, slot);
                return miss(slot, evicted);
            }
            _ => {}
        }
        hit(slot)
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        let slot = self.find(page)?;
        let list = if self.slab.mark(slot.0) == FRESH { &mut self.fresh } else { &mut self.proven };
        list.unlink(&mut self.slab.nodes, slot.0);
        self.slab.remove(slot.0);
        Some(slot)
    }
}
