use super::curve::MissRatioCurve;
use super::timeline::Timeline;
use crate::page::PageId;
use crate::slab::Slab;

/// LRU stack distances: the number of different pages that were referenced since a page's last
/// reference.
///
/// Olken's method (Lawrence Berkeley Laboratory LBL-12370, 1981): each page's last reference is a
/// mark on a time line, and the distance is the number of later marks. The time line is a bit row
/// with counts instead of a balanced tree. It is compacted when it is full. The memory is about 60
/// bytes per page.
#[derive(Debug, Clone)]
pub struct ReuseStack {
    /// Pages seen. The `prev` of a page's node is the page's position on the time line.
    pages: Slab,
    line: Timeline,
    /// Slot of the page whose mark is at each position of the time line.
    slots: Vec<u32>,
    next: usize,
}

impl Default for ReuseStack {
    fn default() -> Self {
        Self::new()
    }
}

impl ReuseStack {
    /// Creates an empty stack, which grows with the number of different pages, up to 2^30.
    pub fn new() -> Self {
        let line = Timeline::new(1);
        Self { pages: Slab::new(1 << 30), slots: vec![0; line.positions()], line, next: 0 }
    }

    /// Returns the number of different pages on the stack.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Counts a reference. Returns the page's stack distance, the page included: an LRU cache of at
    /// least this many pages hits. `None` for a page not seen before.
    #[inline]
    pub fn reference(&mut self, page: PageId) -> Option<u64> {
        if self.next == self.line.positions() {
            self.close_up();
        }
        let Some(slot) = self.pages.find(page.0) else {
            let slot = self.pages.insert(page.0, 0);
            self.put(slot);
            return None;
        };
        let last = self.pages.nodes[slot as usize].prev as usize;
        let distance = self.pages.len() - self.line.rank(last);
        self.line.clear(last);
        self.put(slot);
        Some(distance as u64)
    }

    /// Returns the page at this stack distance; 1 is the page that was referenced last. `None` for
    /// 0, and above the number of pages on the stack.
    pub fn page_at(&self, distance: u64) -> Option<PageId> {
        let rank = usize::try_from(distance)
            .ok()
            .filter(|distance| *distance > 0)
            .and_then(|distance| self.pages.len().checked_sub(distance))?;
        Some(PageId(self.pages.page(self.slots[self.line.select(rank)])))
    }

    /// Returns true if the page is on the stack.
    pub fn contains(&self, page: PageId) -> bool {
        self.pages.find(page.0).is_some()
    }

    /// Removes a page from the stack. It no longer adds to the distances of other pages.
    pub fn forget(&mut self, page: PageId) {
        if let Some(slot) = self.pages.find(page.0) {
            self.line.clear(self.pages.nodes[slot as usize].prev as usize);
            self.pages.remove(slot);
        }
    }

    #[inline]
    fn put(&mut self, slot: u32) {
        self.line.set(self.next);
        self.slots[self.next] = slot;
        self.pages.nodes[slot as usize].prev = position(self.next);
        self.next += 1;
    }

    /// Compacts the time line: moves all marks to its beginning, in the same order. Makes the line
    /// at least four times as long as the number of marks.
    fn close_up(&mut self) {
        let live: Vec<u32> = self.line.ones().map(|at| self.slots[at]).collect();
        self.line = Timeline::new(self.line.positions().max(4 * live.len()));
        self.slots.resize(self.line.positions(), 0);
        self.next = 0;
        for slot in live {
            self.put(slot);
        }
    }
}

fn position(at: usize) -> u32 {
    u32::try_from(at).expect("a line of at most 2^32 positions holds 2^30 pages")
}

/// Exact LRU miss-ratio curve, from every reference.
#[derive(Debug, Clone, Default)]
pub struct ExactStack {
    stack: ReuseStack,
    /// Number of references at each distance.
    hits: Vec<u64>,
    references: u64,
}

impl ExactStack {
    /// Creates a stack without references.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a reference.
    #[inline]
    pub fn reference(&mut self, page: PageId) {
        self.references += 1;
        if let Some(distance) = self.stack.reference(page) {
            let at = usize::try_from(distance).expect("no more pages than memory has");
            if at >= self.hits.len() {
                self.hits.resize((at + 1).next_power_of_two(), 0);
            }
            self.hits[at] += 1;
        }
    }

    /// Returns the number of different pages seen: the working set, and the cache size above which
    /// nothing improves.
    pub fn pages(&self) -> usize {
        self.stack.pages()
    }

    /// Returns the curve of the references so far.
    #[expect(clippy::cast_precision_loss, reason = "ratios of counts far below 2^53")]
    pub fn curve(&self) -> MissRatioCurve {
        let hits = (0_u64..).zip(&self.hits).filter(|(_, count)| **count > 0);
        let hits = hits.map(|(distance, count)| (distance, *count as f64));
        MissRatioCurve::from_hits(hits, self.references as f64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn reuse_stack_agrees_with_a_list_of_recent_pages(
            references in prop::collection::vec(0_u64..200, 0..2000), forgotten in 0_u64..200,
        ) {
            let mut stack = ReuseStack::new();
            let mut recent: Vec<u64> = Vec::new();
            for page in references {
                stack.reference(PageId(page));
                recent.retain(|other| *other != page);
                recent.insert(0, page);
            }
            stack.forget(PageId(forgotten));
            recent.retain(|other| *other != forgotten);
            prop_assert_eq!(stack.page_at(0), None);
            prop_assert!((0..200).all(|page| stack.contains(PageId(page)) == recent.contains(&page)));
            for (page, distance) in recent.iter().zip(1..) {
                prop_assert_eq!(stack.page_at(distance), Some(PageId(*page)));
            }
            prop_assert_eq!(stack.page_at(recent.len() as u64 + 1), None);
        }
    }
}
