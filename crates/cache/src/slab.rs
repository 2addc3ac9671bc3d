use crate::index::Index;
use crate::list::{NIL, Node};

/// Pages in slots, found by page, with a byte per slot for the policy's own use.
#[derive(Debug, Clone)]
pub(crate) struct Slab {
    pub(crate) nodes: Vec<Node>,
    pub(crate) marks: Vec<u8>,
    index: Index,
    /// First unused slot; the others hang off its `next`.
    free: u32,
    len: usize,
}

impl Slab {
    /// For at most `slots` pages (2^31), ghosts included.
    pub(crate) fn new(slots: usize) -> Self {
        let count = u32::try_from(slots).ok().filter(|count| *count <= 1 << 31);
        let count = count.unwrap_or_else(|| panic!("{slots} slots are more than 2^31"));
        let nodes = (0..count)
            .map(|slot| {
                let next = if slot + 1 == count { NIL } else { slot + 1 };
                Node { page: 0, prev: NIL, next }
            })
            .collect();
        let free = if count == 0 { NIL } else { 0 };
        Self { nodes, marks: vec![0; slots], index: Index::new(slots), free, len: 0 }
    }

    pub(crate) fn slots(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn find(&self, page: u64) -> Option<u32> {
        self.index.find(page, &self.nodes)
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
        let slot = self.free;
        debug_assert!(slot != NIL, "all {} slots are taken", self.nodes.len());
        let node = &mut self.nodes[slot as usize];
        self.free = node.next;
        node.page = page;
        self.marks[slot as usize] = mark;
        self.index.insert(page, slot);
        self.len += 1;
        slot
    }

    /// Makes room for twice as many pages if no slot is left; slots keep their numbers.
    #[inline]
    pub(crate) fn grow_if_full(&mut self) {
        if self.free == NIL {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.nodes.len();
        let mut larger = Self::new((2 * old).max(1024));
        larger.nodes[..old].copy_from_slice(&self.nodes);
        larger.marks[..old].copy_from_slice(&self.marks);
        for (slot, node) in (0..).zip(&self.nodes) {
            larger.index.insert(node.page, slot);
        }
        larger.free = u32::try_from(old).expect("slots are counted in 32 bits");
        larger.len = self.len;
        *self = larger;
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
