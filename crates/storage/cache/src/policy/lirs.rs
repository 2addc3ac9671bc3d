use super::contract::{Evicted, Outcome, Policy, check_capacity, hit, miss};
use crate::list::{List, NIL, Node};
use crate::page::{PageId, Slot};
use crate::slab::{Slab, make_room};

/// Bits of a slot's mark.
const IN_STACK: u8 = 1;
const HOT: u8 = 2;
const RESIDENT: u8 = 4;

/// LIRS: pages are ranked by the distance between their last two references rather than by the last
/// reference alone (Jiang and Zhang, SIGMETRICS 2002, section 3).
///
/// "Hot" pages are the paper's LIR blocks, "cold" pages its HIR blocks. One page in a hundred, at
/// least one, is cold and resident (section 3.3). The paper lets the stack grow without limit. Here
/// it remembers at most as many evicted pages as the capacity, and drops the page that was evicted
/// first. The effect depends on the trace: on the tests' traces the miss ratio moves by up to 0.03
/// either way between one and ten times the capacity.
#[derive(Debug, Clone)]
pub struct Lirs {
    slab: Slab,
    capacity: usize,
    hot_max: usize,
    hot: usize,
    ghosts_max: usize,
    /// The paper's S, sorted by recency. Its oldest member is always hot.
    stack: List,
    /// The paper's Q: resident cold pages, first in, first out.
    queue: List,
    /// Evicted pages that are still in the stack, in the order of eviction.
    ghosts: List,
    /// Neighbours in `queue` or `ghosts`. Neighbours in the stack are in the slab.
    side: Vec<Node>,
}

impl Lirs {
    /// Creates a cache of `capacity` pages, 1 to 2^28.
    pub fn new(capacity: usize) -> Self {
        check_capacity(capacity);
        let ghosts_max = capacity;
        let slots = capacity + ghosts_max + 1;
        Self {
            slab: Slab::new(slots),
            capacity,
            hot_max: capacity - (capacity / 100).max(1),
            hot: 0,
            ghosts_max,
            stack: List::new(),
            queue: List::new(),
            ghosts: List::new(),
            side: Vec::new(),
        }
    }

    fn set(&mut self, slot: u32, bits: u8) {
        let mark = self.slab.mark(slot);
        self.slab.set_mark(slot, mark | bits);
    }

    fn clear(&mut self, slot: u32, bits: u8) {
        let mark = self.slab.mark(slot);
        self.slab.set_mark(slot, mark & !bits);
    }

    fn is(&self, slot: u32, bit: u8) -> bool {
        self.slab.mark(slot) & bit != 0
    }

    fn push_stack(&mut self, slot: u32) {
        if self.is(slot, IN_STACK) {
            self.stack.move_to_front(&mut self.slab.nodes, slot);
        } else {
            self.stack.push_front(&mut self.slab.nodes, slot);
            self.set(slot, IN_STACK);
        }
    }

    /// Removes cold pages from the old end of the stack until a hot page is the oldest.
    fn prune(&mut self) {
        loop {
            let slot = self.stack.back();
            if slot == NIL || self.is(slot, HOT) {
                return;
            }
            self.leave_stack(slot);
        }
    }

    /// Removes a cold page from the stack. If the page is not resident either, it is dropped.
    fn leave_stack(&mut self, slot: u32) {
        self.stack.unlink(&mut self.slab.nodes, slot);
        self.clear(slot, IN_STACK);
        if !self.is(slot, RESIDENT) {
            self.ghosts.unlink(&mut self.side, slot);
            self.slab.remove(slot);
        }
    }

    /// Makes a cold page in the stack hot. If there are too many hot pages, the oldest hot page
    /// becomes cold.
    fn promote(&mut self, slot: u32) {
        self.set(slot, HOT);
        self.hot += 1;
        self.push_stack(slot);
        if self.hot > self.hot_max {
            let oldest = self.stack.back();
            self.clear(oldest, HOT);
            self.hot -= 1;
            self.queue.push_front(&mut self.side, oldest);
        }
        self.prune();
    }

    fn evict(&mut self) -> Evicted {
        if self.queue.is_empty() {
            // Only after removals: every resident page is hot, so the oldest of them cools.
            let oldest = self.stack.back();
            self.clear(oldest, HOT);
            self.hot -= 1;
            self.queue.push_front(&mut self.side, oldest);
            self.prune();
        }
        let slot = self.queue.pop_back(&mut self.side);
        let page = PageId(self.slab.page(slot));
        self.clear(slot, RESIDENT);
        if self.is(slot, IN_STACK) {
            self.ghosts.push_front(&mut self.side, slot);
            if self.ghosts.len() > self.ghosts_max {
                self.leave_stack(self.ghosts.back());
            }
        } else {
            self.slab.remove(slot);
        }
        Evicted { page, slot: Slot(slot) }
    }

    fn hit_cold(&mut self, slot: u32) {
        self.queue.unlink(&mut self.side, slot);
        if self.is(slot, IN_STACK) {
            self.promote(slot);
        } else {
            self.push_cold(slot);
        }
    }

    fn push_cold(&mut self, slot: u32) {
        self.push_stack(slot);
        self.queue.push_front(&mut self.side, slot);
        if self.hot == 0 {
            self.prune();
        }
    }

    fn insert(&mut self, page: u64) -> Outcome {
        let evicted = (self.len() == self.capacity).then(|| self.evict());
        // Making room may have pruned or forgotten the page's own ghost, hence the second look.
        let ghost = self.slab.find(page);
        let slot = ghost.unwrap_or_else(|| self.slab.insert(page, 0));
        if self.side.len() < self.slab.nodes.len() {
            make_room(&mut self.side, self.slab.slots());
            self.side.resize(self.slab.nodes.len(), Node { page: 0, prev: NIL, next: NIL });
        }
        self.set(slot, RESIDENT);
        if ghost.is_some() {
            self.ghosts.unlink(&mut self.side, slot);
            self.promote(slot);
        } else if self.hot < self.hot_max {
            self.promote(slot);
        } else {
            self.push_cold(slot);
        }
        miss(slot, evicted)
    }
}

impl Policy for Lirs {
    fn slab(&self) -> &Slab {
        &self.slab
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.hot + self.queue.len()
    }

    fn find(&self, page: PageId) -> Option<Slot> {
        self.slab.find(page.0).filter(|slot| self.is(*slot, RESIDENT)).map(Slot)
    }

    fn reference(&mut self, page: PageId) -> Outcome {
        let Some(Slot(slot)) = self.find(page) else { return self.insert(page.0) };
        if self.is(slot, HOT) {
            self.stack.move_to_front(&mut self.slab.nodes, slot);
            self.prune();
        } else {
            self.hit_cold(slot);
        }
        hit(slot)
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        let slot = self.find(page)?;
        if self.is(slot.0, HOT) {
            self.hot -= 1;
        } else {
            self.queue.unlink(&mut self.side, slot.0);
        }
        if self.is(slot.0, IN_STACK) {
            self.stack.unlink(&mut self.slab.nodes, slot.0);
        }
        self.slab.remove(slot.0);
        self.prune();
        Some(slot)
    }
}
