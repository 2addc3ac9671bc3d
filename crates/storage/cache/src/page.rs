/// Number of a page: its address divided by the page size, or any other dense id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u64);

/// Slot of a resident page in a policy: below [`crate::Policy::slots`], and unchanged until the
/// page is evicted or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// Returns the slot as an index of an array with [`crate::Policy::slots`] elements.
    #[inline]
    pub const fn position(self) -> usize {
        self.0 as usize
    }
}
