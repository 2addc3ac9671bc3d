use cache::PageId;

use crate::format::PAGE_BLOCKS;

/// No slot: the end of a row.
pub(super) const NIL: u32 = u32::MAX;

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

/// What a slot of the cache device holds. There are as many as slots, so each byte counts.
#[derive(Debug, Clone)]
pub(super) struct SlotState {
    /// Which page it holds or held, as `holds` says, by the policy's number: its lower half and its upper.
    pub(super) page: [u32; 2],
    /// When the page was used last, by the count of all references.
    pub(super) used: u32,
    /// The pool's group with the newest map of it, by the lower half of its number: as many are never under way.
    pub(super) map_seq: u32,
    /// Its neighbours in the row of its disk's pages, or of free slots.
    pub(super) before: u32,
    pub(super) after: u32,
    /// Which blocks are there and true, below whatever lies over them.
    pub(super) valid: u16,
    /// Blocks that a map calls valid which may be durable.
    pub(super) mapped: u16,
    /// Blocks on their way from the backing store that nobody wrote meanwhile.
    pub(super) filling: u16,
    /// I/Os that use the slot.
    pub(super) pins: u16,
    pub(super) sums: [u32; PAGE_BLOCKS],
    pub(super) holds: Holds,
    /// Whether somebody fills it.
    pub(super) is_open: bool,
    /// Whether a map is waiting for the next group.
    pub(super) is_queued: bool,
}

// What `docs/developers/adr/0020-tier.md` says of memory.
const _: () = assert!(size_of::<SlotState>() <= 100);

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
    /// A slot that holds nothing.
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

    /// With nothing of a page that it holds, or has to forget.
    pub(super) fn of(key: PageKey, holds: Holds, used: u32) -> Self {
        Self { page: halves(key.id().0), holds, used, ..Self::FREE }
    }

    /// Whose page it holds.
    pub(super) fn key(&self) -> Option<PageKey> {
        let [low, high] = self.page;
        let id = PageId(u64::from(high) << 32 | u64::from(low));
        (self.holds == Holds::Page).then(|| PageKey::of(id))
    }

    /// A group of this number has a map of it.
    pub(super) fn map_in(&mut self, seq: u64) {
        [self.map_seq, _] = halves(seq);
    }

    /// Whether none has one that is newer.
    pub(super) fn is_newest_map(&self, seq: u64) -> bool {
        self.map_seq == halves(seq)[0]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the halves are what is asked for")]
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}
