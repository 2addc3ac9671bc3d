use super::contract::{Evicted, Outcome, Policy, check_capacity, hit, miss};
use crate::list::List;
use crate::page::{PageId, Slot};
use crate::slab::Slab;

/// Pages in one list. The oldest page is evicted first.
#[derive(Debug, Clone)]
struct Queue {
    slab: Slab,
    list: List,
}

impl Queue {
    fn new(capacity: usize) -> Self {
        check_capacity(capacity);
        Self { slab: Slab::new(capacity), list: List::new() }
    }

    #[inline]
    fn insert(&mut self, page: u64) -> Outcome {
        let evicted = (self.list.len() == self.slab.slots()).then(|| {
            let slot = self.list.pop_back(&mut self.slab.nodes);
            let page = self.slab.page(slot);
            self.slab.remove(slot);
            Evicted { page: PageId(page), slot: Slot(slot) }
        });
        let slot = self.slab.insert(page, 0);
        self.list.push_front(&mut self.slab.nodes, slot);
        miss(slot, evicted)
    }

    fn remove(&mut self, page: u64) -> Option<Slot> {
        let slot = self.slab.find(page)?;
        self.list.unlink(&mut self.slab.nodes, slot);
        self.slab.remove(slot);
        Some(Slot(slot))
    }
}

/// Least recently used: evicts the page whose last reference is the oldest (Mattson, Gecsei, Slutz
/// and Traiger, IBM Systems Journal 9(2), 1970, describe it as a stack algorithm).
#[derive(Debug, Clone)]
pub struct Lru(Queue);

impl Lru {
    /// Creates a cache of `capacity` pages, 1 to 2^28.
    pub fn new(capacity: usize) -> Self {
        Self(Queue::new(capacity))
    }
}

/// First in, first out: evicts the page that was admitted first, used or not (Belady, IBM Systems
/// Journal 5(2), 1966).
#[derive(Debug, Clone)]
pub struct Fifo(Queue);

impl Fifo {
    /// Creates a cache of `capacity` pages, 1 to 2^28.
    pub fn new(capacity: usize) -> Self {
        Self(Queue::new(capacity))
    }
}

impl Policy for Lru {
    fn slab(&self) -> &Slab {
        &self.0.slab
    }

    fn len(&self) -> usize {
        self.0.list.len()
    }

    fn touch(&mut self, page: PageId) -> Option<Slot> {
        let queue = &mut self.0;
        let slot = queue.slab.find(page.0)?;
        queue.list.move_to_front(&mut queue.slab.nodes, slot);
        Some(Slot(slot))
    }

    #[inline]
    fn reference(&mut self, page: PageId) -> Outcome {
        let queue = &mut self.0;
        if let Some(slot) = queue.slab.find(page.0) {
            queue.list.move_to_front(&mut queue.slab.nodes, slot);
            return hit(slot);
        }
        queue.insert(page.0)
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        self.0.remove(page.0)
    }
}

impl Policy for Fifo {
    fn slab(&self) -> &Slab {
        &self.0.slab
    }

    fn len(&self) -> usize {
        self.0.list.len()
    }

    #[inline]
    fn reference(&mut self, page: PageId) -> Outcome {
        match self.0.slab.find(page.0) {
            Some(slot) => hit(slot),
            None => self.0.insert(page.0),
        }
    }

    fn remove(&mut self, page: PageId) -> Option<Slot> {
        self.0.remove(page.0)
    }
}
