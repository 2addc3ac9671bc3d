use super::contract::{Evicted, Outcome, Policy, check_capacity, hit, miss};
use crate::list::List;
use crate::page::{PageId, Slot};
use crate::slab::Slab;

const SMALL: u8 = 0;
const MAIN: u8 = 4;
const GHOST: u8 = 8;
/// Mask of the lower two bits of a mark, which count uses up to 3.
const USES: u8 = 3;
/// Minimum number of uses in the small queue for a move to the main queue (section 4.1: "more than
/// once").
const PROMOTE_USES: u8 = 2;

/// S3-FIFO: a small first-in-first-out queue that quickly drops pages that are used once, a main
/// queue with second chances, and a ghost queue (Yang, Zhang, Qiu, Yue and Rashmi, SOSP 2023,
/// algorithm 1).
///
/// The small queue has a tenth of the pages, at least 1. The ghost queue remembers as many page
/// numbers as the main queue may hold; the paper does not fix its size.
#[derive(Debug, Clone)]
pub struct S3Fifo {
    slab: Slab,
    capacity: usize,
    small_max: usize,
    ghosts_max: usize,
    small: List,
    main: List,
    ghosts: List,
}

impl S3Fifo {
    /// Creates a cache of `capacity` pages, 1 to 2^28.
    pub fn new(capacity: usize) -> Self {
        check_capacity(capacity);
        let small_max = (capacity / 10).max(1);
        let ghosts_max = (capacity - small_max).max(1);
        Self {
            slab: Slab::new(capacity + ghosts_max + 1),
            capacity,
            small_max,
            ghosts_max,
            small: List::new(),
            main: List::new(),
            ghosts: List::new(),
        }
    }

    fn evict(&mut self) -> Evicted {
        loop {
            let is_main = self.main.len() > self.capacity - self.small_max || self.small.is_empty();
            let evicted = if is_main { Some(self.evict_main()) } else { self.evict_small() };
            if let Some(evicted) = evicted {
                return evicted;
            }
        }
    }

    /// Removes the oldest page of the small queue. A page with enough uses moves to the main queue,
    /// and `None` is returned; any other page is evicted and becomes a ghost.
    fn evict_small(&mut self) -> Option<Evicted> {
        let slot = self.small.pop_back(&mut self.slab.nodes);
        if self.slab.mark(slot) & USES >= PROMOTE_USES {
            self.slab.set_mark(slot, MAIN);
            self.main.push_front(&mut self.slab.nodes, slot);
            return None;
        }
        self.slab.set_mark(slot, GHOST);
        self.ghosts.push_front(&mut self.slab.nodes, slot);
        let page = PageId(self.slab.page(slot));
        if self.ghosts.len() > self.ghosts_max {
            let oldest = self.ghosts.pop_back(&mut self.slab.nodes);
            self.slab.remove(oldest);
        }
        Some(Evicted { page, slot: Slot(slot) })
    }

    fn evict_main(&mut self) -> Evicted {
        loop {
            let slot = self.main.pop_back(&mut self.slab.nodes);
            let mark = self.slab.mark(slot);
            if mark & USES == 0 {
                let page = PageId(self.slab.page(slot));
                self.slab.remove(slot);
                return Evicted { page, slot: Slot(slot) };
            }
            self.slab.set_mark(slot, mark - 1);
            self.main.push_front(&mut self.slab.nodes, slot);
        }
    }

    fn insert(&mut self, page: u64, ghost: Option<u32>) -> Outcome {
        // The ghost leaves its queue first, so that making room cannot forget it.
        if let Some(slot) = ghost {
            self.ghosts.unlink(&mut self.slab.nodes, slot);
        }
        let evicted = (self.len() == self.capacity).then(|| self.evict());
        let slot = if let Some(slot) = ghost {
            self.slab.set_mark(slot, MAIN);
            self.main.push_front(&mut self.slab.nodes, slot);
            slot
        } else {
            let slot = self.slab.insert(page, SMALL);
            self.small.push_front(&mut self.slab.nodes, slot);
            slot
        };
        miss(slot, evicted)
    }
}

impl Policy for S3Fifo {
    fn slab(&self) -> &Slab {
        &self.slab
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.small.len() + self.main.len()
    }

    fn find(&self, page: PageId) -> Option<Slot> {
        self.slab.find(page.0).filter(|slot| self.slab.mark(*slot) != GHOST).map(Slot)
    }

    #[inline]
    fn reference(&mut self, page: PageId) -> Outcome {
        let Some(slot) = self.slab.find(page.0) else { return self.insert(page.0, None) };
        let mark = self.slab.mark(slot);
        if mark == GHOST {
            return self.insert(page.0, Some(slot));
        }
        if mark & USES < USES {
            self.slab.set_mark(slot, mark + 1);
        }
        hit(slot)
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        let slot = self.find(page)?;
        let list =
            if self.slab.mark(slot.0) & MAIN == 0 { &mut self.small } else { &mut self.main };
        list.unlink(&mut self.slab.nodes, slot.0);
        self.slab.remove(slot.0);
        Some(slot)
    }
}
