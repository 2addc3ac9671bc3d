use super::contract::{Evicted, Outcome, Policy, check_capacity, hit, miss};
use crate::list::List;
use crate::page::{PageId, Slot};
use crate::slab::Slab;

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

/// ARC: pages seen once and pages seen again share the cache. Hits on ghosts of either side shift
/// the share of that side (Megiddo and Modha, FAST 2003, figure 4).
///
/// The target is a real number, as in the paper, so the ratio of the ghost lists is not rounded.
#[derive(Debug, Clone)]
pub struct Arc {
    slab: Slab,
    capacity: usize,
    /// The paper's p: the share of T1 in pages, 0 to the capacity.
    target: f64,
    /// T1, T2 (resident), B1, B2 (ghosts). A slot's mark is the index of its list.
    lists: [List; 4],
}

impl Arc {
    /// Creates a cache of `capacity` pages, 1 to 2^28, which remembers as many evicted pages.
    pub fn new(capacity: usize) -> Self {
        check_capacity(capacity);
        Self { slab: Slab::new(2 * capacity), capacity, target: 0.0, lists: [List::new(); 4] }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a list's position, 0 to 3")]
    fn shift(&mut self, slot: u32, to: usize) {
        let from = usize::from(self.slab.mark(slot));
        if from == to {
            self.lists[to].move_to_front(&mut self.slab.nodes, slot);
            return;
        }
        self.lists[from].unlink(&mut self.slab.nodes, slot);
        self.lists[to].push_front(&mut self.slab.nodes, slot);
        self.slab.set_mark(slot, to as u8);
    }

    /// Implements the paper's REPLACE: evicts the oldest page of the side that exceeds its share,
    /// and keeps it as a ghost.
    #[expect(clippy::cast_precision_loss, reason = "capacities stay below 2^28")]
    fn replace(&mut self, is_in_b2: bool) -> Evicted {
        let t1 = self.lists[T1].len();
        let over = t1 as f64 - self.target;
        let is_t1 = t1 > 0 && (over > 0.0 || (is_in_b2 && over == 0.0));
        let (from, to) = if is_t1 || self.lists[T2].is_empty() { (T1, B1) } else { (T2, B2) };
        let slot = self.lists[from].back();
        self.shift(slot, to);
        Evicted { page: PageId(self.slab.page(slot)), slot: Slot(slot) }
    }

    fn drop_oldest(&mut self, list: usize) -> Evicted {
        let slot = self.lists[list].pop_back(&mut self.slab.nodes);
        let page = PageId(self.slab.page(slot));
        self.slab.remove(slot);
        Evicted { page, slot: Slot(slot) }
    }

    #[expect(clippy::cast_precision_loss, reason = "capacities stay below 2^28")]
    fn ghost_hit(&mut self, slot: u32, list: usize) -> Outcome {
        let (b1, b2) = (self.lists[B1].len() as f64, self.lists[B2].len() as f64);
        self.target = if list == B1 {
            (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64)
        } else {
            (self.target - (b1 / b2).max(1.0)).max(0.0)
        };
        let evicted = (self.len() == self.capacity).then(|| self.replace(list == B2));
        self.shift(slot, T2);
        miss(slot, evicted)
    }

    /// Implements the paper's case IV: adds a page that is in no list.
    fn insert(&mut self, page: u64) -> Outcome {
        let recent = self.lists[T1].len() + self.lists[B1].len();
        let mut evicted = None;
        if recent == self.capacity {
            if self.lists[B1].is_empty() {
                evicted = Some(self.drop_oldest(T1));
            } else {
                self.drop_oldest(B1);
            }
        } else if self.slab.len() == 2 * self.capacity {
            self.drop_oldest(B2);
        }
        if self.len() == self.capacity {
            evicted = Some(self.replace(false));
        }
        let slot = self.slab.insert(page, 0);
        self.lists[T1].push_front(&mut self.slab.nodes, slot);
        miss(slot, evicted)
    }
}

impl Policy for Arc {
    fn slab(&self) -> &Slab {
        &self.slab
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.lists[T1].len() + self.lists[T2].len()
    }

    fn find(&self, page: PageId) -> Option<Slot> {
        let slot = self.slab.find(page.0)?;
        (usize::from(self.slab.mark(slot)) <= T2).then_some(Slot(slot))
    }

    #[inline]
    fn reference(&mut self, page: PageId) -> Outcome {
        let Some(slot) = self.slab.find(page.0) else { return self.insert(page.0) };
        let list = usize::from(self.slab.mark(slot));
        if list <= T2 {
            self.shift(slot, T2);
            return hit(slot);
        }
        self.ghost_hit(slot, list)
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        let slot = self.find(page)?;
        self.lists[usize::from(self.slab.mark(slot.0))].unlink(&mut self.slab.nodes, slot.0);
        self.slab.remove(slot.0);
        Some(slot)
    }
}
