//! Page index: the pages in the slots of the cache device, and their valid blocks.
//!
//! Invariant: no block is served that may be older than the backing store or the log. So a block is
//! served only if its slot was filled with data of the backing store, and no newer write was
//! accepted meanwhile. A durable map marks a block as valid only when a power cut cannot remove the
//! block's data from the backing store any more. A slot is used for another page only when the
//! eviction of the former page is durable.

mod blocks;
mod division;
mod part;
mod row;
mod slot;
#[cfg(test)]
mod tests;

use cache::PolicyKind;
use cache::tier::{Admission, Promotion};
use rustc_hash::FxHashMap;

use crate::format::SlotEntry;
use crate::geometry::Geometry;
use part::PolicyPart;
use row::Row;
use slot::{Holds, NIL};

pub(crate) use blocks::CachedBlock;
pub(crate) use slot::PageKey;
use slot::SlotState;

/// Share and pages of one disk.
#[derive(Debug, Clone)]
struct Owned {
    /// Maximum share of all pages, in percent.
    share: u8,
    /// Admission rule of the disk, if it differs from the set's rule.
    promotion: Option<Promotion>,
    /// Requested policy of the disk, if it is to have its own division.
    policy: Option<PolicyKind>,
    /// Present division of the disk, if it has its own.
    part: Option<PolicyPart>,
    pages: usize,
    /// Number of pages evicted since the set was opened.
    evicted: u64,
    /// Slots of the disk's pages, in the order of their admission.
    entered: Row,
}

impl Default for Owned {
    fn default() -> Self {
        Self {
            share: 100,
            promotion: None,
            policy: None,
            part: None,
            pages: 0,
            evicted: 0,
            entered: Row::default(),
        }
    }
}

impl Owned {
    fn shape(&self) -> Option<(PolicyKind, usize)> {
        self.part.as_ref().map(PolicyPart::shape)
    }
}

/// Slots of the cache device, with the page of each.
#[derive(Debug, Clone)]
pub(crate) struct PageIndex {
    /// Requested policy of the common division, which all disks without their own policy share.
    kind: PolicyKind,
    /// Present common division. It stays until the requested one is built.
    common: PolicyPart,
    promotion: Promotion,
    /// Maximum number of pages in all divisions together.
    capacity: usize,
    /// Slots whose pages must be evicted before new divisions are built, the least recently used
    /// last.
    surplus: Vec<u32>,
    /// State by disk.
    owned: Vec<Owned>,
    slots: Vec<SlotState>,
    /// First free slot; the other free slots are linked to it.
    free: u32,
    /// Number of free slots.
    free_count: usize,
    /// Slots whose blocks no map may name yet. The value is the number of mode-through writes that
    /// must be durable before.
    unbacked: FxHashMap<u32, u64>,
    /// Evicted pages whose eviction is not durable yet, with their slots.
    leaving: FxHashMap<PageKey, u32>,
    page_bytes: u64,
    references: u32,
    /// Number of evicted pages of disks that are no longer attached.
    evicted_before: u64,
}

impl PageIndex {
    pub(crate) fn new(geometry: &Geometry, policy: PolicyKind, admission: Admission) -> Self {
        let slots = geometry.slots();
        // An admitted page needs a slot while the eviction of another one is still being made
        // durable.
        let spare = (slots / 32).max(1);
        let capacity = (slots.saturating_sub(spare)).max(1) as usize;
        let mut pages = Self {
            kind: policy,
            common: PolicyPart::new(policy, capacity),
            capacity,
            surplus: Vec::new(),
            promotion: Promotion::new(admission, capacity),
            owned: Vec::new(),
            slots: vec![SlotState::FREE; slots as usize],
            free: NIL,
            free_count: 0,
            unbacked: FxHashMap::default(),
            leaving: FxHashMap::default(),
            page_bytes: u64::from(geometry.page_bytes),
            references: 0,
            evicted_before: 0,
        };
        pages.restored();
        pages
    }

    /// Restores a page of an earlier opening of the set. `believed` has the blocks that are still
    /// valid. Pages must be restored in the order of their use; [`PageIndex::restored`] must follow
    /// the last one. Returns false if there was no room.
    pub(crate) fn restore(&mut self, slot: u32, entry: &SlotEntry, believed: u16) -> bool {
        let key = PageKey { disk: entry.disk, page: entry.page };
        if self.common.find(key).is_some() || self.common.len() == self.common.capacity() {
            return false;
        }
        self.common.enter(key, slot);
        self.references += 1;
        self.slots[slot as usize] = SlotState {
            valid: entry.valid & believed,
            mapped: entry.valid,
            sums: *entry.sums,
            ..SlotState::of(key, Holds::Page, self.references)
        };
        self.entered(slot, key.disk);
        true
    }

    /// Marks a page as leaving, because a durable map still names it but it must not be served. Its
    /// slot stays in use until that map is superseded.
    pub(crate) fn forget(&mut self, slot: u32, entry: &SlotEntry) -> PageKey {
        let key = PageKey { disk: entry.disk, page: entry.page };
        let left = SlotState::of(key, Holds::Leaving, 0);
        self.slots[slot as usize] = SlotState { mapped: entry.valid, ..left };
        self.leaving.insert(key, slot);
        key
    }

    /// Frees all slots that hold no page. The slot with the lowest number is used first.
    pub(crate) fn restored(&mut self) {
        (self.free, self.free_count) = (NIL, 0);
        for slot in (0..u32::try_from(self.slots.len()).unwrap_or(NIL)).rev() {
            self.reuse(slot);
        }
    }

    pub(crate) fn resident(&self) -> usize {
        self.owned.iter().map(|own| own.pages).sum()
    }

    /// Returns the division to which a disk's pages belong.
    fn part(&self, disk: u16) -> &PolicyPart {
        let own = self.owned.get(usize::from(disk));
        own.and_then(|own| own.part.as_ref()).unwrap_or(&self.common)
    }

    fn part_mut(&mut self, disk: u16) -> &mut PolicyPart {
        let own = self.owned.get_mut(usize::from(disk));
        own.and_then(|own| own.part.as_mut()).unwrap_or(&mut self.common)
    }

    pub(crate) fn page_of(&self, disk: u16, block: u64) -> (PageKey, u16) {
        let per = self.page_bytes / 4096;
        let bit = u16::try_from(block % per).unwrap_or(0);
        (PageKey { disk, page: block / per }, bit)
    }

    /// Returns the slot of a page, without counting a reference.
    pub(crate) fn find(&self, key: PageKey) -> Option<u32> {
        self.part(key.disk).find(key)
    }

    fn slot(&mut self, slot: u32) -> &mut SlotState {
        &mut self.slots[slot as usize]
    }

    /// Counts a reference to a page, and admits the page if `is_open` and the admission rule
    /// allows. Returns the page's slot, and the slot and page that must be unmapped.
    pub(crate) fn reference(
        &mut self,
        key: PageKey,
        is_open: bool,
    ) -> (Option<u32>, Option<(u32, PageKey)>) {
        self.references = self.references.wrapping_add(1);
        if let Some(slot) = self.part_mut(key.disk).touch(key) {
            self.slots[slot as usize].used = self.references;
            return (Some(slot), None);
        }
        if !is_open || self.is_dividing() || self.free == NIL || !self.admits(key) {
            return (None, None);
        }
        let own = self.make_room(key.disk);
        if self.has_its_share(key.disk) {
            // The share became smaller: the disk loses a page and gains none.
            return (None, own);
        }
        let taken = self.take_free();
        let evicted = self.part_mut(key.disk).enter(key, taken);
        let lost = evicted.and_then(|(slot, key)| self.leave(slot, key));
        self.slots[taken as usize] = SlotState::of(key, Holds::Page, self.references);
        self.entered(taken, key.disk);
        // The disk's own oldest page left, or the policy's victim, but never both: after the first
        // there was room.
        (Some(taken), own.or(lost))
    }

    /// Counts a reference to a page that is not resident. Returns true if the page may be admitted.
    fn admits(&mut self, key: PageKey) -> bool {
        let resident = self.part(key.disk).len();
        let room = self.room_of(key.disk);
        let own = self.owned.get_mut(usize::from(key.disk));
        let promotion = own.and_then(|own| own.promotion.as_mut()).unwrap_or(&mut self.promotion);
        room > 0 && promotion.admits(key.id().0, resident)
    }

    /// Returns the maximum number of pages of a disk.
    fn room_of(&self, disk: u16) -> usize {
        (self.capacity * usize::from(self.share_of(disk))).div_ceil(100)
    }

    /// Returns the share of all pages that a disk may have, in percent.
    pub(crate) fn share_of(&self, disk: u16) -> u8 {
        self.owned.get(usize::from(disk)).map_or(100, |own| own.share)
    }

    /// Returns true if a disk has used up its share. If the share is the whole division, only the
    /// policy limits the disk.
    fn has_its_share(&self, disk: u16) -> bool {
        let room = self.room_of(disk);
        room < self.part(disk).capacity() && self.pages_of(disk) >= room
    }

    /// Evicts the disk's oldest page if it has used up its share, so that a disk with many requests
    /// evicts only its own pages (as in `cache::tier`).
    fn make_room(&mut self, disk: u16) -> Option<(u32, PageKey)> {
        if !self.has_its_share(disk) {
            return None;
        }
        self.give_up_first(disk)?
    }

    /// Returns the policy of all disks without their own policy, and the disk's own policy if it
    /// has one.
    pub(crate) fn policies(&self, disk: u16) -> (PolicyKind, Option<PolicyKind>) {
        (self.kind, self.owned.get(usize::from(disk)).and_then(|own| own.policy))
    }

    /// Returns the number of pages of a disk.
    pub(crate) fn pages_of(&self, disk: u16) -> usize {
        self.owned.get(usize::from(disk)).map_or(0, |own| own.pages)
    }

    /// Returns the number of pages of a disk that were evicted since the set was opened.
    pub(crate) fn evicted_of(&self, disk: u16) -> u64 {
        self.owned.get(usize::from(disk)).map_or(0, |own| own.evicted)
    }

    /// Returns the number of pages of all disks that were evicted since the set was opened.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted_before + self.owned.iter().map(|own| own.evicted).sum::<u64>()
    }

    fn own(&mut self, disk: u16) -> &mut Owned {
        let at = usize::from(disk);
        if self.owned.len() <= at {
            self.owned.resize_with(at + 1, Owned::default);
        }
        &mut self.owned[at]
    }

    /// Records the admission of a disk's page.
    fn entered(&mut self, slot: u32, disk: u16) {
        self.own(disk).pages += 1;
        self.owned[usize::from(disk)].entered.push_back(&mut self.slots, slot);
    }

    /// Evicts the disk's oldest page, if it has one. The inner value is the slot and page to unmap,
    /// if a map may name the page.
    fn give_up_first(&mut self, disk: u16) -> Option<Option<(u32, PageKey)>> {
        let slot = self.own(disk).entered.first;
        let key = self.slots.get(slot as usize)?.key()?;
        self.part_mut(disk).remove(key);
        Some(self.leave(slot, key))
    }

    /// Evicts up to `most` pages of a disk. Returns the slots and pages to unmap; `None` if the
    /// disk has no pages.
    pub(crate) fn give_up(&mut self, disk: u16, most: usize) -> Option<Vec<(u32, PageKey)>> {
        let mut lost = vec![self.give_up_first(disk)?];
        lost.extend((1..most).map_while(|_| self.give_up_first(disk)));
        Some(lost.into_iter().flatten().collect())
    }

    /// Removes the state of a disk that is no longer attached, so that the next disk with its index
    /// starts anew.
    pub(crate) fn disown(&mut self, disk: u16) {
        let gone = std::mem::take(self.own(disk));
        assert!(gone.pages == 0, "pages leave before their disk does");
        self.evicted_before += gone.evicted;
        self.divide();
    }

    /// Sets the share of a disk. Pages above the share are evicted when the disk admits new ones,
    /// or soon if the disk has its own division.
    pub(crate) fn set_share(&mut self, disk: u16, percent: u8) {
        self.own(disk).share = percent.min(100);
        self.divide();
    }

    /// Sets the admission rule of a disk.
    pub(crate) fn set_admission(&mut self, disk: u16, admission: Admission) {
        let capacity = self.part(disk).capacity();
        self.own(disk).promotion = Some(Promotion::new(admission, capacity));
    }

    /// Evicts a page. Returns slot and page if a map may still name the page, so that it must be
    /// unmapped.
    fn leave(&mut self, slot: u32, key: PageKey) -> Option<(u32, PageKey)> {
        let own = &mut self.owned[usize::from(key.disk)];
        (own.pages, own.evicted) = (own.pages - 1, own.evicted + 1);
        own.entered.unlink(&mut self.slots, slot);
        self.unbacked.remove(&slot);
        let state = &mut self.slots[slot as usize];
        state.holds = Holds::None;
        (state.valid, state.filling) = (0, 0);
        if state.mapped != 0 {
            state.holds = Holds::Leaving;
            self.leaving.insert(key, slot);
            return Some((slot, key));
        }
        self.reuse(slot);
        None
    }

    /// Returns true if the eviction of this page is not durable yet.
    pub(crate) fn is_leaving(&self, key: PageKey) -> bool {
        self.leaving.contains_key(&key)
    }

    /// Records that the eviction of this page from the slot is durable.
    pub(crate) fn left(&mut self, key: PageKey, slot: u32) {
        if self.leaving.get(&key) == Some(&slot) {
            self.leaving.remove(&key);
        }
        let state = &mut self.slots[slot as usize];
        state.mapped = 0;
        if state.holds == Holds::Leaving {
            state.holds = Holds::None;
        }
        self.reuse(slot);
    }

    pub(crate) fn pin(&mut self, slot: u32) {
        self.slots[slot as usize].pins += 1;
    }

    pub(crate) fn unpin(&mut self, slot: u32) {
        self.slots[slot as usize].pins -= 1;
        self.reuse(slot);
    }

    /// Frees a slot if it holds no page and no I/O uses it.
    fn reuse(&mut self, slot: u32) {
        let state = &self.slots[slot as usize];
        if state.holds == Holds::None && state.pins == 0 {
            self.slots[slot as usize].after = std::mem::replace(&mut self.free, slot);
            self.free_count += 1;
        }
    }

    /// Removes and returns a free slot; there must be one.
    fn take_free(&mut self) -> u32 {
        let slot = self.free;
        self.free = self.slots[slot as usize].after;
        self.free_count -= 1;
        slot
    }

    /// Returns true if a map may name a slot's blocks, given that `flushed` mode-through writes are
    /// durable.
    pub(crate) fn is_backed(&self, slot: u32, flushed: u64) -> bool {
        self.unbacked.get(&slot).is_none_or(|written| *written <= flushed)
    }

    /// Returns the result of [`Self::is_backed`], and removes the entry of the slot once the result
    /// is true.
    pub(crate) fn becomes_backed(&mut self, slot: u32, flushed: u64) -> bool {
        let is_backed = self.is_backed(slot, flushed);
        if is_backed {
            self.unbacked.remove(&slot);
        }
        is_backed
    }
}
