use super::curve::MissRatioCurve;
use super::timeline::Timeline;
use crate::page::PageId;
use crate::slab::Slab;

/// LRU stack distances: how many different pages were referred to since a page's last reference.
///
/// Olken's method (Lawrence Berkeley Laboratory LBL-12370, 1981): each page's last reference is a
/// mark on a line of time, and the distance is the number of marks since. The line is a bit row
/// with counts instead of a balanced tree, and is closed up when it is full. About 60 bytes a page.
#[derive(Debug, Clone)]
pub struct ReuseStack {
    /// A node's `prev` is its page's position on the line.
    pages: Slab,
    line: Timeline,
    /// By position: the slot whose mark it is.
    slots: Vec<u32>,
    next: usize,
}

impl Default for ReuseStack {
    fn default() -> Self {
        Self::new()
    }
}

impl ReuseStack {
    /// Empty; grows with the number of different pages, up to 2^30.
    pub fn new() -> Self {
        let line = Timeline::new(1);
        Self { pages: Slab::new(1 << 30), slots: vec![0; line.positions()], line, next: 0 }
    }

    /// Different pages that are remembered.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Counts a reference and returns the page's stack distance, the page included: an LRU cache of
    /// at least so many pages hits. `None` for a page not seen before.
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

    /// The page whose reference now would have this distance: 1 is the one referred to last;
    /// `None` for 0, and beyond the pages that are remembered.
    pub fn page_at(&self, distance: u64) -> Option<PageId> {
        let rank = usize::try_from(distance)
            .ok()
            .filter(|distance| *distance > 0)
            .and_then(|distance| self.pages.len().checked_sub(distance))?;
        Some(PageId(self.pages.page(self.slots[self.line.select(rank)])))
    }

    /// Returns true if the page is remembered.
    pub fn contains(&self, page: PageId) -> bool {
        self.pages.find(page.0).is_some()
    }

    /// Forgets a page; it counts for no distance any more.
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

    /// Moves all marks to the beginning of the line, keeping their order, and makes the line four
    /// times as long as it has marks if it is shorter.
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

/// The exact LRU miss-ratio curve, from every reference.
#[derive(Debug, Clone, Default)]
pub struct ExactStack {
    stack: ReuseStack,
    /// By distance: how many references had it.
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

    /// Different pages seen: the working set, and the size beyond which nothing improves.
    pub fn pages(&self) -> usize {
        self.stack.pages()
    }

    /// The curve so far.
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
