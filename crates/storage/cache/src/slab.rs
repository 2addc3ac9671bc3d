use std::hint::black_box;

use crate::index::Index;
use crate::list::{NIL, Node};
use crate::page::{PageId, Slot};

/// Pages in slots, found by page, with a byte per slot for the policy's own use.
///
/// Memory grows with the pages: at most 49 bytes for each slot that was ever used, of which 16 to
/// 32 are for the index.
#[derive(Debug, Clone)]
pub struct Slab {
    pub(crate) nodes: Vec<Node>,
    pub(crate) marks: Vec<u8>,
    index: Index,
    /// First free slot. The field `next` of its node links to the next free slot.
    free: u32,
    len: usize,
    slots: usize,
}

impl Slab {
    /// Creates a slab for at most `slots` pages (2^31), ghosts included.
    pub(crate) fn new(slots: usize) -> Self {
        assert!(slots <= 1 << 31, "{slots} slots are more than 2^31");
        let (nodes, marks, index) = (Vec::new(), Vec::new(), Index::new());
        Self { nodes, marks, index, free: NIL, len: 0, slots }
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn find(&self, page: u64) -> Option<u32> {
        self.index.find(page, &self.nodes)
    }

    /// Implements [`crate::Policy::look_ahead`]: first the index for all pages, then the nodes,
    /// then their neighbours.
    pub(crate) fn look_ahead(&self, pages: &[PageId], slots: &mut Vec<Slot>) {
        let from = slots.len();
        slots.extend(pages.iter().map(|page| Slot(self.index.guess(page.0))));
        let node = |slot: u32| self.nodes.get(slot as usize);
        let nodes = || slots[from..].iter().filter_map(|slot| node(slot.0));
        black_box(nodes().fold(0, |sum, node| sum ^ node.page));
        let neighbours = nodes().flat_map(|own| [node(own.prev), node(own.next)]);
        black_box(neighbours.flatten().fold(0, |sum, node| sum ^ node.page));
    }

    #[inline]
    pub(crate) fn page(&self, slot: u32) -> u64 {
        self.nodes[slot as usize].page
    }

    #[inline]
    pub(crate) fn mark(&self, slot: u32) -> u8 {
        self.marks[slot as usize]
    }

    #[inline]
    pub(crate) fn set_mark(&mut self, slot: u32, mark: u8) {
        self.marks[slot as usize] = mark;
    }

    /// Assigns a slot to a page that has none. A slot must be free.
    #[inline]
    pub(crate) fn insert(&mut self, page: u64, mark: u8) -> u32 {
        let slot = if self.free == NIL { self.new_slot() } else { self.free };
        let node = &mut self.nodes[slot as usize];
        self.free = node.next;
        node.page = page;
        self.marks[slot as usize] = mark;
        self.index.insert(page, slot);
        self.len += 1;
        slot
    }

    /// Returns a slot that was never used.
    fn new_slot(&mut self) -> u32 {
        let slot = self.nodes.len();
        debug_assert!(slot < self.slots, "all {slot} slots are taken");
        make_room(&mut self.nodes, self.slots);
        make_room(&mut self.marks, self.slots);
        self.nodes.push(Node { page: 0, prev: NIL, next: NIL });
        self.marks.push(0);
        u32::try_from(slot).expect("slots are counted in 32 bits")
    }

    /// Removes a page that is in no list, and frees its slot.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) {
        let page = self.page(slot);
        self.index.remove(page, slot);
        self.nodes[slot as usize].next = self.free;
        self.free = slot;
        self.len -= 1;
    }
}

/// Grows a full list by half of its size, up to `most` elements.
#[inline]
pub(crate) fn make_room<T>(list: &mut Vec<T>, most: usize) {
    let length = list.len();
    if length == list.capacity() {
        list.reserve_exact((length / 2).max(64).min(most.saturating_sub(length)).max(1));
    }
}
