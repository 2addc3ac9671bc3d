use std::hint::black_box;

use crate::index::Index;
use crate::list::{NIL, Node};
use crate::page::{PageId, Slot};

/// Pages in slots, found by page, with a byte per slot for the policy's own use.
///
/// Memory comes with the pages: at most 49 bytes for each slot that was ever taken, and 16 to
/// 32 of them for the index.
#[derive(Debug, Clone)]
pub struct Slab {
    pub(crate) nodes: Vec<Node>,
    pub(crate) marks: Vec<u8>,
    index: Index,
    /// First slot that was given up; the others hang off its `next`.
    free: u32,
    len: usize,
    slots: usize,
}

impl Slab {
    /// For at most `slots` pages (2^31), ghosts included.
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

    /// Gives a page that has none a slot; there must be one left.
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

    /// A slot that was never taken.
    fn new_slot(&mut self) -> u32 {
        let slot = self.nodes.len();
        debug_assert!(slot < self.slots, "all {slot} slots are taken");
        make_room(&mut self.nodes, self.slots);
        make_room(&mut self.marks, self.slots);
        self.nodes.push(Node { page: 0, prev: NIL, next: NIL });
        self.marks.push(0);
        u32::try_from(slot).expect("slots are counted in 32 bits")
    }

    /// Takes a page's slot, which is in no list any more.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) {
        let page = self.page(slot);
        self.index.remove(page, slot);
        self.nodes[slot as usize].next = self.free;
        self.free = slot;
        self.len -= 1;
    }
}

/// Makes a full list half as long again, `most` elements at most.
#[inline]
pub(crate) fn make_room<T>(list: &mut Vec<T>, most: usize) {
    let length = list.len();
    if length == list.capacity() {
        list.reserve_exact((length / 2).max(64).min(most.saturating_sub(length)).max(1));
    }
}
