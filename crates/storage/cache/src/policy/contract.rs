use crate::page::{PageId, Slot};
use crate::slab::Slab;

/// Page that was evicted, with its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evicted {
    /// Page that was evicted.
    pub page: PageId,
    /// Slot that the page had. The admitted page may have the slot now.
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
    /// The page was not resident, and was admitted.
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

    /// Returns the slot of the page after the reference.
    #[inline]
    pub const fn slot(self) -> Slot {
        match self {
            Self::Hit { slot } | Self::Miss { slot, .. } => slot,
        }
    }
}

/// Replacement policy over pages of one size.
pub trait Policy: BoxedClone + std::fmt::Debug + Send + Sync {
    /// Returns the slab with the policy's state of pages.
    fn slab(&self) -> &Slab;

    /// Returns the maximum number of resident pages, at least 1.
    fn capacity(&self) -> usize {
        self.slab().slots()
    }

    /// Returns the number of resident pages.
    fn len(&self) -> usize;

    /// Returns true if no page is resident.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of slots: the capacity, plus the ghosts that the policy remembers.
    fn slots(&self) -> usize {
        self.slab().slots()
    }

    /// Finds the slot of a resident page. Does not count as a reference.
    fn find(&self, page: PageId) -> Option<Slot> {
        self.slab().find(page.0).map(Slot)
    }

    /// Prefetches the memory that references to these pages will read, so that the reads overlap
    /// instead of waiting for each other. A few dozen references together wait less than the same
    /// references one by one. Appends the probable slot of each page; slots may be wrong, or above
    /// all valid slots. Changes nothing else.
    fn look_ahead(&self, pages: &[PageId], slots: &mut Vec<Slot>) {
        self.slab().look_ahead(pages, slots);
    }

    /// Counts a reference and returns the slot if the page is resident. Otherwise does nothing.
    fn touch(&mut self, page: PageId) -> Option<Slot> {
        self.find(page)?;
        Some(self.reference(page).slot())
    }

    /// Counts a reference. A page that is not resident is admitted.
    fn reference(&mut self, page: PageId) -> Outcome;

    /// Removes a resident page (for example because it was invalidated). Returns its slot, or
    /// `None` if it was not resident.
    fn remove(&mut self, page: PageId) -> Option<Slot>;
}

/// Clone of a boxed policy, which continues from the same state.
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
