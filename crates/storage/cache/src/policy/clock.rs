use super::contract::{Evicted, Outcome, Policy, check_capacity, hit, miss};
use crate::list::List;
use crate::page::{PageId, Slot};
use crate::slab::Slab;

/// CLOCK, also called second chance: first in, first out, but a page that was used since the hand
/// last passed it is kept for one more round (Corbató, "A paging experiment with the Multics
/// system", 1968).
///
/// The ring is a list whose back is the hand, with one bit per page. A page is admitted with the
/// bit clear, so it must be used again to be kept.
#[derive(Debug, Clone)]
pub struct Clock {
    slab: Slab,
    ring: List,
}

impl Clock {
    /// Creates a cache of `capacity` pages, 1 to 2^28.
    pub fn new(capacity: usize) -> Self {
        check_capacity(capacity);
        Self { slab: Slab::new(capacity), ring: List::new() }
    }

    fn evict(&mut self) -> Evicted {
        loop {
            let slot = self.ring.pop_back(&mut self.slab.nodes);
            if self.slab.mark(slot) == 0 {
                let page = PageId(self.slab.page(slot));
                self.slab.remove(slot);
                return Evicted { page, slot: Slot(slot) };
            }
            self.slab.set_mark(slot, 0);
            self.ring.push_front(&mut self.slab.nodes, slot);
        }
    }
}

impl Policy for Clock {
    fn slab(&self) -> &Slab {
        &self.slab
    }

    fn len(&self) -> usize {
        self.ring.len()
    }

    #[inline]
    fn reference(&mut self, page: PageId) -> Outcome {
        if let Some(slot) = self.slab.find(page.0) {
            self.slab.set_mark(slot, 1);
            return hit(slot);
        }
        let evicted = (self.ring.len() == self.slab.slots()).then(|| self.evict());
        let slot = self.slab.insert(page.0, 0);
        self.ring.push_front(&mut self.slab.nodes, slot);
        miss(slot, evicted)
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        let slot = self.slab.find(page.0)?;
        self.ring.unlink(&mut self.slab.nodes, slot);
        self.slab.remove(slot);
        Some(Slot(slot))
    }
}
