use crate::list::Node;

const EMPTY: u64 = u64::MAX;

/// Hash table from page to slot: open addressing with linear probing. It is at most half full and
/// doubles when it would be fuller, so it takes 16 to 32 bytes per page.
///
/// An entry holds the upper 32 bits of the page's hash and the slot. So probing rarely touches the
/// node of another page. Deletion (backward shift, Knuth volume 3, 6.4, algorithm R) finds every
/// entry's home without touching nodes.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    entries: Vec<u64>,
    mask: usize,
    shift: u32,
    /// Number of pages that can be added before the table must grow.
    room: usize,
}

impl Index {
    /// Creates an empty index.
    pub(crate) fn new() -> Self {
        Self::of_length(8)
    }

    fn of_length(length: usize) -> Self {
        let bits = length.trailing_zeros();
        assert!(bits <= 32, "an index holds 2^31 pages at most");
        let entries = vec![EMPTY; length];
        Self { entries, mask: length - 1, shift: 32 - bits, room: length / 2 }
    }

    #[cold]
    fn grow(&mut self) {
        let mut longer = Self::of_length(2 * self.entries.len());
        for entry in self.entries.iter().copied().filter(|entry| *entry != EMPTY) {
            longer.put(entry);
        }
        *self = longer;
    }

    #[inline]
    pub(crate) fn find(&self, page: u64, nodes: &[Node]) -> Option<u32> {
        let tag = tag(page);
        let mut at = self.home(tag);
        loop {
            let entry = self.entries[at & self.mask];
            if entry == EMPTY {
                return None;
            }
            if high(entry) == tag {
                let slot = low(entry);
                if nodes[slot as usize].page == page {
                    return Some(slot);
                }
            }
            at += 1;
        }
    }

    /// Returns the slot in the entry at which a search for the page begins, or a value above all
    /// slots if that entry is empty. No branch waits for the memory read.
    #[inline]
    pub(crate) fn guess(&self, page: u64) -> u32 {
        low(self.entries[self.home(tag(page)) & self.mask])
    }

    /// Adds a page that is not in the index.
    #[inline]
    pub(crate) fn insert(&mut self, page: u64, slot: u32) {
        if self.room == 0 {
            self.grow();
        }
        self.put((u64::from(tag(page)) << 32) | u64::from(slot));
    }

    #[inline]
    fn put(&mut self, entry: u64) {
        let mut at = self.home(high(entry)) & self.mask;
        while self.entries[at] != EMPTY {
            at = (at + 1) & self.mask;
        }
        self.entries[at] = entry;
        self.room -= 1;
    }

    /// Removes a page that is in the index at `slot`.
    #[inline]
    pub(crate) fn remove(&mut self, page: u64, slot: u32) {
        let wanted = (u64::from(tag(page)) << 32) | u64::from(slot);
        let mut hole = self.home(high(wanted)) & self.mask;
        while self.entries[hole] != wanted {
            debug_assert!(self.entries[hole] != EMPTY, "page {page} is not in the index");
            hole = (hole + 1) & self.mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask;
            let entry = self.entries[at];
            if entry == EMPTY {
                break;
            }
            let home = self.home(high(entry));
            let from_home = at.wrapping_sub(home) & self.mask;
            if from_home >= (at.wrapping_sub(hole) & self.mask) {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = EMPTY;
        self.room += 1;
    }

    #[inline]
    fn home(&self, tag: u32) -> usize {
        (tag >> self.shift) as usize
    }
}

/// Returns the upper half of a folded 64 x 64 multiplication, which spreads neighbouring and
/// strided pages evenly.
#[inline]
fn tag(page: u64) -> u32 {
    high(hash(page))
}

/// Returns a 64-bit hash of a page number (folded multiplication by 2^64 / golden ratio, then once
/// more by an odd constant of SplitMix64).
#[inline]
pub(crate) fn hash(page: u64) -> u64 {
    let mixed = page.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

#[inline]
fn high(value: u64) -> u32 {
    (value >> 32) as u32
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "only the lower half is wanted")]
fn low(value: u64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::list::NIL;

    proptest! {
        #[test]
        fn pages_are_found_until_they_are_removed(
            steps in prop::collection::vec((0_u32..64, any::<bool>()), 0..400),
            stride in prop::sample::select(vec![1_u64, 4096, 1 << 32, 0x9e37_79b9]),
        ) {
            let mut nodes = vec![Node { page: 0, prev: NIL, next: NIL }; 64];
            let mut index = Index::new();
            let mut model = HashMap::new();
            for (slot, is_insert) in steps {
                let page = u64::from(slot).wrapping_mul(stride);
                let known = model.contains_key(&page);
                prop_assert_eq!(index.find(page, &nodes), model.get(&page).copied());
                if is_insert && !known {
                    nodes[slot as usize].page = page;
                    index.insert(page, slot);
                    model.insert(page, slot);
                } else if !is_insert && known {
                    index.remove(page, slot);
                    model.remove(&page);
                }
            }
            for slot in 0..64_u32 {
                let page = u64::from(slot).wrapping_mul(stride);
                prop_assert_eq!(index.find(page, &nodes), model.get(&page).copied());
            }
        }
    }
}
