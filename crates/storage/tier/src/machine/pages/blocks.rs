//! Blocks of pages: the blocks that are served, the blocks being filled, and the blocks that a
//! durable map may mark as valid.

use std::collections::BTreeMap;

use super::{PageIndex, PageKey};
use crate::format::PAGE_BLOCKS;

/// Block that is served from its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CachedBlock {
    pub(crate) slot: u32,
    /// Index of the block in its page.
    pub(crate) bit: u16,
    pub(crate) sum: u32,
}

impl PageIndex {
    /// Returns the slot of the block's page and the block's index in it, if the page is resident.
    fn place(&self, disk: u16, block: u64) -> Option<(u32, u16)> {
        let (key, bit) = self.page_of(disk, block);
        self.find(key).map(|slot| (slot, bit))
    }

    /// Returns the block's location, if the block may be served.
    pub(crate) fn served(&self, disk: u16, block: u64) -> Option<CachedBlock> {
        let (slot, bit) = self.place(disk, block)?;
        let state = &self.slots[slot as usize];
        let sum = state.sums[usize::from(bit)];
        (state.valid & (1 << bit) != 0).then_some(CachedBlock { slot, bit, sum })
    }

    /// Returns the size of all blocks that may be served, in bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.slots.iter().map(|slot| u64::from(slot.valid.count_ones()) * 4096).sum()
    }

    /// Returns the page that a slot holds.
    pub(crate) fn key(&self, slot: u32) -> Option<PageKey> {
        self.slots[slot as usize].key()
    }

    /// Opens the page of a block for filling, if the page is resident and no other request or batch
    /// has opened it. `open` has the slots that the caller has opened.
    pub(crate) fn open_fill(&mut self, disk: u16, block: u64, open: &mut Vec<u32>) {
        let Some((slot, bit)) = self.place(disk, block) else { return };
        let is_ours = open.last() == Some(&slot) || open.contains(&slot);
        let state = self.slot(slot);
        if !is_ours && state.is_open {
            return;
        }
        (state.is_open, state.filling) = (true, state.filling | 1 << bit);
        if !is_ours {
            open.push(slot);
            self.pin(slot);
        }
    }

    /// Closes slots that were opened for filling.
    pub(crate) fn close_fills(&mut self, slots: &[u32]) {
        for slot in slots {
            let state = self.slot(*slot);
            (state.is_open, state.filling) = (false, 0);
            self.unpin(*slot);
        }
    }

    /// Returns the slot and the index at which a block with this checksum may be written, if the
    /// caller has opened the slot and no newer write came. `unbacked` is the number of mode-through
    /// writes that must be durable before a map may name the block.
    pub(crate) fn fill(
        &mut self,
        (disk, block): (u16, u64),
        sum: u32,
        open: &[u32],
        unbacked: Option<u64>,
    ) -> Option<(u32, u16)> {
        let (slot, bit) = self.place(disk, block).filter(|(slot, _)| open.contains(slot))?;
        let state = self.slot(slot);
        if state.filling & (1 << bit) == 0 {
            return None;
        }
        state.sums[usize::from(bit)] = sum;
        if let Some(written) = unbacked {
            self.unbacked.insert(slot, written);
        }
        Some((slot, bit))
    }

    /// Ends the filling of some blocks of a slot. Returns the blocks that hold the newest data and
    /// may be served.
    pub(crate) fn end_fill(&mut self, slot: u32, bits: u16, flushed: u64) -> u16 {
        let is_lasting = self.key(slot).is_none() || self.is_backed(slot, flushed);
        let state = self.slot(slot);
        // A durable map must not name a block that the backing store may still lose. If a map that
        // may be durable names the block's former bytes, a recovery would take the new bytes for
        // them, so the block stays invalid.
        let told = if is_lasting { 0 } else { state.mapped };
        let good = bits & state.filling & !told;
        state.filling &= !bits;
        good
    }

    /// Serves these blocks of a slot from now on. Returns the disk of the page, if there is
    /// anything to map.
    pub(crate) fn serve(&mut self, slot: u32, bits: u16) -> Option<u16> {
        let state = self.slot(slot);
        state.valid |= bits;
        state.key().filter(|_| bits != 0).map(|key| key.disk)
    }

    /// Cancels the filling of a block, because a newer write came.
    pub(crate) fn overtake_fill(&mut self, disk: u16, block: u64) {
        if let Some((slot, bit)) = self.place(disk, block) {
            self.slot(slot).filling &= !(1 << bit);
        }
    }

    /// Stops serving a block, because the backing store is about to get new data. Returns its slot,
    /// if a durable map may still mark the block as valid.
    pub(crate) fn invalidate(&mut self, disk: u16, block: u64) -> Option<u32> {
        let (slot, bit) = self.place(disk, block)?;
        let state = self.slot(slot);
        state.valid &= !(1 << bit);
        (state.mapped & (1 << bit) != 0).then_some(slot)
    }

    /// Stops serving a block that is being rewritten in one of these slots.
    pub(crate) fn hide(&mut self, disk: u16, block: u64, open: &[u32]) {
        if let Some((slot, bit)) = self.place(disk, block).filter(|(slot, _)| open.contains(slot)) {
            self.slot(slot).valid &= !(1 << bit);
        }
    }

    /// Settles a block of the log that is durable on the backing store. The block is served if the
    /// slot was filled with the same data (`filled`, by slot), and not served otherwise. Returns
    /// the slot to be mapped.
    pub(crate) fn settle(
        &mut self,
        disk: u16,
        block: u64,
        filled: &BTreeMap<u32, u16>,
    ) -> Option<u32> {
        let (slot, bit) = self.place(disk, block)?;
        let is_good = filled.get(&slot).is_some_and(|bits| bits & (1 << bit) != 0);
        let state = self.slot(slot);
        state.valid = state.valid & !(1 << bit) | u16::from(is_good) << bit;
        Some(slot)
    }

    /// Stops serving a block with a wrong checksum. Returns false if the slot no longer serves the
    /// block: then the block was written while it was read, which is not an error.
    pub(crate) fn distrust(&mut self, slot: u32, disk: u16, block: u64) -> bool {
        let (key, bit) = self.page_of(disk, block);
        let state = self.slot(slot);
        let is_wrong = state.key() == Some(key) && state.valid & (1 << bit) != 0;
        if is_wrong {
            state.valid &= !(1 << bit);
        }
        is_wrong
    }

    /// Requests a map of the slot in the next group. Returns false if a map was requested already.
    pub(crate) fn want_map(&mut self, slot: u32) -> bool {
        !std::mem::replace(&mut self.slot(slot).is_queued, true)
    }

    /// Clears the request for a map of the slot.
    pub(crate) fn map_taken(&mut self, slot: u32) {
        self.slot(slot).is_queued = false;
    }

    /// Returns the blocks that a map may mark as valid, given that `flushed` mode-through writes
    /// are durable. Blocks that the backing store may still lose in a power cut are left out.
    /// `None` if no map is needed.
    pub(crate) fn mappable(&self, slot: u32, flushed: u64) -> Option<u16> {
        let state = &self.slots[slot as usize];
        let told = if self.is_backed(slot, flushed) { u16::MAX } else { state.mapped };
        let bits = state.valid & told;
        (bits != 0 || state.mapped != 0).then_some(bits)
    }

    /// Records that a map or a table that marks these blocks as valid may become durable.
    pub(crate) fn map_begun(&mut self, slot: u32, bits: u16) {
        self.slot(slot).mapped |= bits;
    }

    /// Records that the map is in this group of the pool's log.
    pub(crate) fn map_written(&mut self, slot: u32, bits: u16, seq: u64) {
        self.map_taken(slot);
        self.map_begun(slot, bits);
        self.slot(slot).map_in(seq);
    }

    /// Records that a map is durable. If it is the newest map of its slot, older maps no longer
    /// matter.
    pub(crate) fn map_durable(&mut self, slot: u32, seq: u64, bits: u16) {
        let state = self.slot(slot);
        if state.is_newest_map(seq) && state.key().is_some() {
            state.mapped = bits;
        }
    }

    pub(crate) fn sums(&self, slot: u32) -> Box<[u32; PAGE_BLOCKS]> {
        Box::new(self.slots[slot as usize].sums)
    }

    /// Returns the reference number of the last use of the slot's page.
    pub(crate) fn used(&self, slot: u32) -> u32 {
        self.slots[slot as usize].used
    }

    /// Returns true if less than a quarter of the spare slots is free, so that slots of evicted
    /// pages are needed soon.
    pub(crate) fn is_short(&self) -> bool {
        self.free_count * 4 <= self.slots.len() / 32
    }
}
