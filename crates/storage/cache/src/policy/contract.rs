use crate::page::{PageId, Slot};
use crate::slab::Slab;

/// A page that had to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// Page that was evicted.
    pub page: PageId,
    /// The slot it had; the page that came in may have it now.
    pub slot: Slot,
}

/// Result of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The page was resident.
    Hit {
        /// Slot of the page.
        slot: Slot,
    },
    /// The page was not resident and is now.
    Miss {
        /// Slot that the page got.
        slot: Slot,
        /// Page that was evicted for it, if any.
        evicted: Option<Evicted>,
    },
}

impl Outcome {
    /// Returns true if the page was resident.
    #[inline]
    pub const fn is_hit(self) -> bool {
        matches!(self, Self::Hit { .. })
    }

    /// Slot of the page after the reference.
    #[inline]
    pub const fn slot(self) -> Slot {
        match self {
            Self::Hit { slot } | Self::Miss { slot, .. } => slot,
        }
    }
}

/// A replacement policy over pages of one size.
pub trait Policy: BoxedClone + std::fmt::Debug + Send + Sync {
    /// Slab with the policy's state of pages.
    fn slab(&self) -> &Slab;

    /// The most pages that may be resident, at least 1.
    fn capacity(&self) -> usize {
        self.slab().slots()
    }

    /// Pages that are resident.
    fn len(&self) -> usize;

    /// Returns true if no page is resident.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of slots: the capacity, and the ghosts that the policy remembers.
    fn slots(&self) -> usize {
        self.slab().slots()
    }

    /// Finds the slot of a resident page. Does not count as a reference.
    fn find(&self, page: PageId) -> Option<Slot> {
        self.slab().find(page.0).map(Slot)
    }

    /// Reads from memory what references to these pages will read, without waiting for one
    /// before the next, and appends where each page probably is: a few dozen references made
    /// together wait less than one by one. Changes nothing; slots may be wrong, or beyond all.
    fn look_ahead(&self, pages: &[PageId], slots: &mut Vec<Slot>) {
        self.slab().look_ahead(pages, slots);
    }

    /// Counts a reference and returns the slot if the page is resident; else does nothing.
    fn touch(&mut self, page: PageId) -> Option<Slot> {
        self.find(page)?;
        Some(self.reference(page).slot())
    }

    /// Counts a reference; a page that is not resident comes in.
    fn reference(&mut self, page: PageId) -> Outcome;

    /// Makes a resident page leave (it was invalidated) and says where it was.
    fn remove(&mut self, page: PageId) -> Option<Slot>;
}

/// A copy that goes on from the same state.
pub trait BoxedClone {
    /// Clones the policy behind the trait.
    fn boxed_clone(&self) -> Box<dyn Policy>;
}

impl<P: Policy + Clone + 'static> BoxedClone for P {
    fn boxed_clone(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Policy> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

pub(super) fn hit(slot: u32) -> Outcome {
    Outcome::Hit { slot: Slot(slot) }
}

pub(super) fn miss(slot: u32, evicted: Option<Evicted>) -> Outcome {
    Outcome::Miss { slot: Slot(slot), evicted }
}

pub(super) fn check_capacity(capacity: usize) {
    assert!(
        (1..=1 << 28).contains(&capacity),
        "a cache of {capacity} pages is outside 1..=2^28 pages"
    );
}
