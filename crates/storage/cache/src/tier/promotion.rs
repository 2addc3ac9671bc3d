use super::config::Admission;
use crate::list::List;
use crate::slab::Slab;

/// Recent reference counts of pages that are not resident.
#[derive(Debug, Clone)]
pub struct Promotion {
    accesses: u8,
    /// Number of resident pages below which every page is admitted.
    fill_pages: usize,
    /// Pages with counts. A page's mark is its count.
    slab: Slab,
    order: List,
}

impl Promotion {
    /// Creates the counts for a cache of `pages` pages. They cover twice as many pages that are not
    /// resident.
    pub fn new(admission: Admission, pages: usize) -> Self {
        let (accesses, fill_percent) = match admission {
            Admission::Always => (1, 0),
            Admission::NthAccess { accesses, fill_percent } => (accesses, fill_percent),
        };
        let remembered = if accesses > 1 { 2 * pages } else { 0 };
        Self {
            accesses,
            fill_pages: pages * usize::from(fill_percent) / 100,
            slab: Slab::new(remembered),
            order: List::new(),
        }
    }

    /// Counts an access to a page that is not resident. Returns true if the page may be admitted
    /// now.
    pub fn admits(&mut self, page: u64, resident: usize) -> bool {
        if self.accesses <= 1 || resident < self.fill_pages {
            return true;
        }
        let Some(slot) = self.slab.find(page) else {
            if self.order.len() == self.slab.slots() {
                let oldest = self.order.pop_back(&mut self.slab.nodes);
                self.slab.remove(oldest);
            }
            let slot = self.slab.insert(page, 1);
            self.order.push_front(&mut self.slab.nodes, slot);
            return false;
        };
        let count = self.slab.mark(slot) + 1;
        if count < self.accesses {
            self.slab.set_mark(slot, count);
            return false;
        }
        self.order.unlink(&mut self.slab.nodes, slot);
        self.slab.remove(slot);
        true
    }
}
