/// Value for "no slot", which ends a list.
pub(crate) const NIL: u32 = u32::MAX;

/// Page with its neighbours in the list that holds it. A node has 16 bytes, so four share a cache
/// line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) page: u64,
    /// Neighbour towards the front (younger).
    pub(crate) prev: u32,
    /// Neighbour towards the back (older).
    pub(crate) next: u32,
}

/// Doubly linked list through an array of nodes that several lists may share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    front: u32,
    back: u32,
    len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self::new()
    }
}

impl List {
    pub(crate) const fn new() -> Self {
        Self { front: NIL, back: NIL, len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the oldest slot, or [`NIL`] if the list is empty.
    pub(crate) const fn back(&self) -> u32 {
        self.back
    }

    #[inline]
    pub(crate) fn push_front(&mut self, nodes: &mut [Node], slot: u32) {
        let node = &mut nodes[slot as usize];
        node.prev = NIL;
        node.next = self.front;
        if self.front == NIL {
            self.back = slot;
        } else {
            nodes[self.front as usize].prev = slot;
        }
        self.front = slot;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn unlink(&mut self, nodes: &mut [Node], slot: u32) {
        let Node { prev, next, .. } = nodes[slot as usize];
        if prev == NIL {
            self.front = next;
        } else {
            nodes[prev as usize].next = next;
        }
        if next == NIL {
            self.back = prev;
        } else {
            nodes[next as usize].prev = prev;
        }
        self.len -= 1;
    }

    #[inline]
    pub(crate) fn move_to_front(&mut self, nodes: &mut [Node], slot: u32) {
        if self.front != slot {
            self.unlink(nodes, slot);
            self.push_front(nodes, slot);
        }
    }

    /// Removes and returns the oldest slot; the list must not be empty.
    #[inline]
    pub(crate) fn pop_back(&mut self, nodes: &mut [Node]) -> u32 {
        let slot = self.back;
        debug_assert!(slot != NIL, "an empty list has no oldest member");
        self.unlink(nodes, slot);
        slot
    }
}
