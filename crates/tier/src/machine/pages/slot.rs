use cache::PageId;

use crate::format::PAGE_BLOCKS;

/// A page of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PageKey {
    pub(crate) disk: u16,
    pub(crate) page: u64,
}

impl PageKey {
    pub(super) fn id(self) -> PageId {
        PageId(u64::from(self.disk) << 48 | self.page)
    }

    pub(super) fn of(id: PageId) -> Self {
        Self { disk: u16::try_from(id.0 >> 48).unwrap_or(u16::MAX), page: id.0 & ((1 << 48) - 1) }
    }
}

/// What a slot of the cache device holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlotState {
    /// Which page it holds or held, as `holds` says, by the policy's number.
    pub(super) page: u64,
    pub(super) holds: Holds,
    /// Whether somebody fills it.
    pub(crate) is_open: bool,
    /// When the page was used last, by the count of all references.
    pub(crate) used: u32,
    /// Which blocks are there and true, below whatever lies over them.
    pub(crate) valid: u16,
    /// Blocks that a map calls valid which may be durable.
    pub(crate) mapped: u16,
    /// Blocks on their way from the backing store that nobody wrote meanwhile.
    pub(crate) filling: u16,
    /// How much of what mode through wrote must be durable before a map may tell of its blocks.
    pub(crate) backed: u64,
    /// I/Os that use the slot.
    pub(crate) pins: u16,
    /// The pool's group with the newest map of it.
    pub(crate) map_seq: u64,
    /// Whether a map is waiting for the next group.
    pub(crate) is_queued: bool,
    pub(crate) sums: [u32; PAGE_BLOCKS],
}

// What `docs/adr/0020-tier.md` says of memory.
const _: () = assert!(size_of::<SlotState>() <= 104);

/// What a slot's page is to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Holds {
    /// Nothing: it is free, or will be when no I/O uses it.
    #[default]
    None,
    Page,
    /// The page left, and that is not durable yet.
    Leaving,
}

impl SlotState {
    /// Of whose page it is, with nothing of it.
    pub(super) fn of(key: PageKey, used: u32) -> Self {
        Self { page: key.id().0, holds: Holds::Page, used, ..Self::default() }
    }

    /// Whose page it holds.
    pub(crate) fn key(&self) -> Option<PageKey> {
        (self.holds == Holds::Page).then(|| PageKey::of(PageId(self.page)))
    }
}
