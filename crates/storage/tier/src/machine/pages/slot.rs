use cache::PageId;

use crate::format::PAGE_BLOCKS;

/// Slot number that stands for no slot: the end of a list.
pub(super) const NIL: u32 = u32::MAX;

/// Page of a disk.
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

/// State of a slot of the cache device. It exists once per slot, so each byte counts.
#[derive(Debug, Clone)]
pub(super) struct SlotState {
    /// Page that the slot holds or held, depending on `holds`: lower and upper half of the policy's
    /// number of the page.
    pub(super) page: [u32; 2],
    /// Reference number of the last use of the page.
    pub(super) used: u32,
    /// Lower half of the number of the pool's group with the newest map of the slot. The lower half
    /// is enough, because never so many groups are in flight.
    pub(super) map_seq: u32,
    /// Neighbours in the list of the disk's pages, or of free slots.
    pub(super) before: u32,
    pub(super) after: u32,
    /// Valid blocks, below any layer of the overlay, one bit each.
    pub(super) valid: u16,
    /// Blocks that a possibly durable map marks as valid.
    pub(super) mapped: u16,
    /// Blocks that are being filled and were not written meanwhile.
    pub(super) filling: u16,
    /// Number of I/Os that use the slot.
    pub(super) pins: u16,
    pub(super) sums: [u32; PAGE_BLOCKS],
    pub(super) holds: Holds,
    /// True if a request or a batch has opened the slot for filling.
    pub(super) is_open: bool,
    /// True if a map of the slot waits for the next group.
    pub(super) is_queued: bool,
}

// The limit on memory in `docs/developers/adr/0020-tier.md`.
const _: () = assert!(size_of::<SlotState>() <= 100);

/// Relation of a slot to its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Holds {
    /// No page: the slot is free, or will be free when no I/O uses it.
    #[default]
    None,
    Page,
    /// The page was evicted, but the eviction is not durable yet.
    Leaving,
}

impl SlotState {
    /// State of a free slot.
    pub(super) const FREE: Self = Self {
        page: [0; 2],
        used: 0,
        map_seq: 0,
        before: NIL,
        after: NIL,
        valid: 0,
        mapped: 0,
        filling: 0,
        pins: 0,
        sums: [0; PAGE_BLOCKS],
        holds: Holds::None,
        is_open: false,
        is_queued: false,
    };

    /// Returns the state of a slot with this page and no valid blocks.
    pub(super) fn of(key: PageKey, holds: Holds, used: u32) -> Self {
        Self { page: halves(key.id().0), holds, used, ..Self::FREE }
    }

    /// Returns the page that the slot holds.
    pub(super) fn key(&self) -> Option<PageKey> {
        let [low, high] = self.page;
        let id = PageId(u64::from(high) << 32 | u64::from(low));
        (self.holds == Holds::Page).then(|| PageKey::of(id))
    }

    /// Records the group of the newest map.
    pub(super) fn map_in(&mut self, seq: u64) {
        [self.map_seq, _] = halves(seq);
    }

    /// Returns true if this group has the newest map.
    pub(super) fn is_newest_map(&self, seq: u64) -> bool {
        self.map_seq == halves(seq)[0]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only one half is wanted")]
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}
