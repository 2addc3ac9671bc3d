use super::contract::{Evicted, Outcome, Policy, check_capacity, hit, miss};
use super::sketch::Sketch;
use crate::list::List;
use crate::page::{PageId, Slot};
use crate::slab::Slab;

const WINDOW: u8 = 0;
const PROBATION: u8 = 1;
const PROTECTED: u8 = 2;

/// W-TinyLFU: a small LRU window in front of a segmented LRU. A page that leaves the window enters
/// the main part only if it was referenced more often than the page it would replace (Einziger,
/// Friedman and Manes, ACM Transactions on Storage 13(4), 2017, section 4).
///
/// The window is one page in a hundred, at least 1; four fifths of the main part are protected. If
/// both counts are equal, the page in the main part stays. There is no doorkeeper filter, because
/// the sketch of 4-bit counters is large enough. Variants differ much on block traces (the tests
/// print by how much): a page that is soon needed again must first win this comparison.
#[derive(Debug, Clone)]
pub struct WTinyLfu {
    slab: Slab,
    window_max: usize,
    protected_max: usize,
    window: List,
    probation: List,
    protected: List,
    sketch: Sketch,
}

impl WTinyLfu {
    /// Creates a cache of `capacity` pages, 1 to 2^28.
    pub fn new(capacity: usize) -> Self {
        check_capacity(capacity);
        let window_max = (capacity / 100).max(1);
        Self {
            slab: Slab::new(capacity),
            window_max,
            protected_max: (capacity - window_max) * 4 / 5,
            window: List::new(),
            probation: List::new(),
            protected: List::new(),
            sketch: Sketch::new(capacity),
        }
    }

    fn touch(&mut self, slot: u32) {
        match self.slab.mark(slot) {
            WINDOW => self.window.move_to_front(&mut self.slab.nodes, slot),
            PROTECTED => self.protected.move_to_front(&mut self.slab.nodes, slot),
            _ => self.protect(slot),
        }
    }

    fn protect(&mut self, slot: u32) {
        self.probation.unlink(&mut self.slab.nodes, slot);
        self.protected.push_front(&mut self.slab.nodes, slot);
        self.slab.set_mark(slot, PROTECTED);
        if self.protected.len() > self.protected_max {
            let oldest = self.protected.pop_back(&mut self.slab.nodes);
            self.probation.push_front(&mut self.slab.nodes, oldest);
            self.slab.set_mark(oldest, PROBATION);
        }
    }

    /// Evicts one page of a full cache: either the window's oldest page or the main part's oldest
    /// page, whichever has the lower count. If both counts are equal, the window's page is evicted.
    fn contest(&mut self) -> Evicted {
        let is_window_full = self.window.len() >= self.window_max;
        let (from, mark) = if self.probation.is_empty() {
            (&mut self.protected, PROTECTED)
        } else {
            (&mut self.probation, PROBATION)
        };
        if from.is_empty() {
            let slot = self.window.pop_back(&mut self.slab.nodes);
            return self.forget(slot);
        }
        let victim = from.back();
        if is_window_full {
            let candidate = self.window.back();
            let of = |slot| self.sketch.estimate(self.slab.page(slot));
            if of(candidate) <= of(victim) {
                self.window.unlink(&mut self.slab.nodes, candidate);
                return self.forget(candidate);
            }
        }
        debug_assert_eq!(self.slab.mark(victim), mark);
        from.unlink(&mut self.slab.nodes, victim);
        let evicted = self.forget(victim);
        self.age_window();
        evicted
    }

    /// Moves the window's oldest page to the main part if the window is full.
    fn age_window(&mut self) {
        if self.window.len() >= self.window_max {
            let slot = self.window.pop_back(&mut self.slab.nodes);
            self.probation.push_front(&mut self.slab.nodes, slot);
            self.slab.set_mark(slot, PROBATION);
        }
    }

    fn forget(&mut self, slot: u32) -> Evicted {
        let page = PageId(self.slab.page(slot));
        self.slab.remove(slot);
        Evicted { page, slot: Slot(slot) }
    }
}

impl Policy for WTinyLfu {
    fn slab(&self) -> &Slab {
        &self.slab
    }

    fn len(&self) -> usize {
        self.slab.len()
    }

    fn reference(&mut self, page: PageId) -> Outcome {
        self.sketch.count(page.0);
        if let Some(slot) = self.slab.find(page.0) {
            self.touch(slot);
            return hit(slot);
        }
        let evicted = if self.len() == self.capacity() {
            Some(self.contest())
        } else {
            self.age_window();
            None
        };
        let slot = self.slab.insert(page.0, WINDOW);
        self.window.push_front(&mut self.slab.nodes, slot);
        miss(slot, evicted)
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        let slot = self.find(page)?;
        let list = match self.slab.mark(slot.0) {
            WINDOW => &mut self.window,
            PROBATION => &mut self.probation,
            _ => &mut self.protected,
        };
        list.unlink(&mut self.slab.nodes, slot.0);
        self.slab.remove(slot.0);
        Some(slot)
    }
}
