//! Page index: which page has which slot of the cache device, and which blocks of it are true.
//!
//! Invariant: no block is served that may be older than the backing store or the log. So a block is served only when
//! its slot was filled with what the backing store has and nothing newer was accepted meanwhile; a durable map calls
//! a block valid only when a power cut cannot take it from the backing store any more; and a slot holds another page
//! only when it is durable that the one before left it.

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
use part::Part;
use row::Row;
use slot::{Holds, NIL};

pub(crate) use blocks::CachedBlock;
pub(crate) use slot::PageKey;
use slot::SlotState;

/// What one disk may have of the slots, and has.
#[derive(Debug, Clone)]
struct Owned {
    /// Of all pages, percent at most.
    share: u8,
    /// Which pages come in, if that is another rule than the set's.
    promotion: Option<Promotion>,
    /// Which policy is to decide on its pages, if it is to have a part to itself, and that part.
    policy: Option<PolicyKind>,
    part: Option<Part>,
    pages: usize,
    /// Pages that left since the set was opened.
    evicted: u64,
    /// Slots of its pages, in the order in which these came in.
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
        self.part.as_ref().map(Part::shape)
    }
}

/// Slots, and which page has which.
#[derive(Debug, Clone)]
pub(crate) struct PageIndex {
    /// The policy of all disks that have none of their own, and their part, as it is while another is to be.
    kind: PolicyKind,
    common: Part,
    promotion: Promotion,
    /// Pages that there may be in all parts.
    capacity: usize,
    /// Slots whose pages leave before parts are made, that which was not used for longest last.
    surplus: Vec<u32>,
    /// By disk.
    owned: Vec<Owned>,
    slots: Vec<SlotState>,
    /// The slot that is taken next, the others behind it, and how many they are.
    free: u32,
    free_count: usize,
    /// How much of what mode through wrote must be durable before a map may tell of a slot's blocks, where not all is.
    unbacked: FxHashMap<u32, u64>,
    /// Pages that left, while it is not durable that they did.
    leaving: FxHashMap<PageKey, u32>,
    page_bytes: u64,
    references: u32,
    /// Pages that left of disks that are gone.
    evicted_before: u64,
}

impl PageIndex {
    pub(crate) fn new(geometry: &Geometry, policy: PolicyKind, admission: Admission) -> Self {
        let slots = geometry.slots();
        // A page that comes in needs a slot while the one that leaves is still being forgotten.
        let spare = (slots / 32).max(1);
        let capacity = (slots.saturating_sub(spare)).max(1) as usize;
        let mut pages = Self {
            kind: policy,
            common: Part::new(policy, capacity),
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

    /// Puts a page where it was when the set was last open, as far as it may still be believed.
    /// Pages come in the order of their use; [`PageIndex::restored`] follows the last. Says whether there was
    /// room for it.
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

    /// A page that a durable map still names, and that is not to be served: its slot is taken until
    /// that is forgotten.
    pub(crate) fn forget(&mut self, slot: u32, entry: &SlotEntry) -> PageKey {
        let key = PageKey { disk: entry.disk, page: entry.page };
        let left = SlotState::of(key, Holds::Leaving, 0);
        self.slots[slot as usize] = SlotState { mapped: entry.valid, ..left };
        self.leaving.insert(key, slot);
        key
    }

    /// Slots that hold nothing are free, the first of them first.
    pub(crate) fn restored(&mut self) {
        (self.free, self.free_count) = (NIL, 0);
        for slot in (0..u32::try_from(self.slots.len()).unwrap_or(NIL)).rev() {
            self.reuse(slot);
        }
    }

    pub(crate) fn resident(&self) -> usize {
        self.owned.iter().map(|own| own.pages).sum()
    }

    /// The part that a disk's pages are in.
    fn part(&self, disk: u16) -> &Part {
        let own = self.owned.get(usize::from(disk));
        own.and_then(|own| own.part.as_ref()).unwrap_or(&self.common)
    }

    fn part_mut(&mut self, disk: u16) -> &mut Part {
        let own = self.owned.get_mut(usize::from(disk));
        own.and_then(|own| own.part.as_mut()).unwrap_or(&mut self.common)
    }

    pub(crate) fn page_of(&self, disk: u16, block: u64) -> (PageKey, u16) {
        let per = self.page_bytes / 4096;
        let bit = u16::try_from(block % per).unwrap_or(0);
        (PageKey { disk, page: block / per }, bit)
    }

    /// Where a page is. No reference.
    pub(crate) fn find(&self, key: PageKey) -> Option<u32> {
        self.part(key.disk).find(key)
    }

    fn slot(&mut self, slot: u32) -> &mut SlotState {
        &mut self.slots[slot as usize]
    }

    /// A reference; the page comes in if it may and `is_open`. Says where it is, and which slot
    /// and page have to be forgotten for it.
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
            // That has become less: the disk gives more up than it gets.
            return (None, own);
        }
        let taken = self.take_free();
        let evicted = self.part_mut(key.disk).enter(key, taken);
        let lost = evicted.and_then(|(slot, key)| self.leave(slot, key));
        self.slots[taken as usize] = SlotState::of(key, Holds::Page, self.references);
        self.entered(taken, key.disk);
        // One of the disk's own left, or one by the policy, and never both: there was room then.
        (Some(taken), own.or(lost))
    }

    /// Whether a page that is not in may come in, now that it was asked for.
    fn admits(&mut self, key: PageKey) -> bool {
        let resident = self.part(key.disk).len();
        let room = self.room_of(key.disk);
        let own = self.owned.get_mut(usize::from(key.disk));
        let promotion = own.and_then(|own| own.promotion.as_mut()).unwrap_or(&mut self.promotion);
        room > 0 && promotion.admits(key.id().0, resident)
    }

    /// The most pages that a disk may have.
    fn room_of(&self, disk: u16) -> usize {
        (self.capacity * usize::from(self.share_of(disk))).div_ceil(100)
    }

    /// Of all pages, percent that a disk may have.
    pub(crate) fn share_of(&self, disk: u16) -> u8 {
        self.owned.get(usize::from(disk)).map_or(100, |own| own.share)
    }

    /// Whether a disk has all that it may. One that may have all of its part competes under the policy alone.
    fn has_its_share(&self, disk: u16) -> bool {
        let room = self.room_of(disk);
        room < self.part(disk).capacity() && self.pages_of(disk) >= room
    }

    /// Lets the page leave that a disk has had longest, if it has all that it may have: a disk that
    /// asks for much pollutes itself (as `cache::tier` has it).
    fn make_room(&mut self, disk: u16) -> Option<(u32, PageKey)> {
        if !self.has_its_share(disk) {
            return None;
        }
        self.give_up_first(disk)?
    }

    /// The policy of all disks that have none of their own, and that of a disk if it has.
    pub(crate) fn policies(&self, disk: u16) -> (PolicyKind, Option<PolicyKind>) {
        (self.kind, self.owned.get(usize::from(disk)).and_then(|own| own.policy))
    }

    /// Pages of a disk.
    pub(crate) fn pages_of(&self, disk: u16) -> usize {
        self.owned.get(usize::from(disk)).map_or(0, |own| own.pages)
    }

    /// Pages of a disk that left since the set was opened.
    pub(crate) fn evicted_of(&self, disk: u16) -> u64 {
        self.owned.get(usize::from(disk)).map_or(0, |own| own.evicted)
    }

    /// And those of all.
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

    /// A page of a disk came in.
    fn entered(&mut self, slot: u32, disk: u16) {
        self.own(disk).pages += 1;
        self.owned[usize::from(disk)].entered.push_back(&mut self.slots, slot);
    }

    /// The page of a disk leaves that it has had longest, if it has one; and what is to be forgotten for that.
    fn give_up_first(&mut self, disk: u16) -> Option<Option<(u32, PageKey)>> {
        let slot = self.own(disk).entered.first;
        let key = self.slots.get(slot as usize)?.key()?;
        self.part_mut(disk).remove(key);
        Some(self.leave(slot, key))
    }

    /// Up to `most` pages of a disk leave: what is to be forgotten for them. `None` when it has none.
    pub(crate) fn give_up(&mut self, disk: u16, most: usize) -> Option<Vec<(u32, PageKey)>> {
        let mut lost = vec![self.give_up_first(disk)?];
        lost.extend((1..most).map_while(|_| self.give_up_first(disk)));
        Some(lost.into_iter().flatten().collect())
    }

    /// The disk is gone: the next one of that index begins with nothing.
    pub(crate) fn disown(&mut self, disk: u16) {
        let gone = std::mem::take(self.own(disk));
        assert!(gone.pages == 0, "pages leave before their disk does");
        self.evicted_before += gone.evicted;
        self.divide();
    }

    /// A disk may have so much of all pages from now on; what it has beyond leaves as it asks for more, or soon where
    /// it has them to itself.
    pub(crate) fn set_share(&mut self, disk: u16, percent: u8) {
        self.own(disk).share = percent.min(100);
        self.divide();
    }

    /// Pages of a disk come in by this rule from now on.
    pub(crate) fn set_admission(&mut self, disk: u16, admission: Admission) {
        let capacity = self.part(disk).capacity();
        self.own(disk).promotion = Some(Promotion::new(admission, capacity));
    }

    /// A page leaves; if a map may still name it, that has to be forgotten first.
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

    /// Whether it is not yet durable that this page left.
    pub(crate) fn is_leaving(&self, key: PageKey) -> bool {
        self.leaving.contains_key(&key)
    }

    /// It is durable that this page left the slot.
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

    /// Frees a slot that nothing holds: no page, no I/O, no map.
    fn reuse(&mut self, slot: u32) {
        let state = &self.slots[slot as usize];
        if state.holds == Holds::None && state.pins == 0 {
            self.slots[slot as usize].after = std::mem::replace(&mut self.free, slot);
            self.free_count += 1;
        }
    }

    /// A slot that is free; there is one.
    fn take_free(&mut self) -> u32 {
        let slot = self.free;
        self.free = self.slots[slot as usize].after;
        self.free_count -= 1;
        slot
    }

    /// Whether a map may tell of a slot's blocks when so much of what mode through wrote is durable.
    pub(crate) fn is_backed(&self, slot: u32, flushed: u64) -> bool {
        self.unbacked.get(&slot).is_none_or(|written| *written <= flushed)
    }

    /// The same of one that has to be told of: it is not asked again when it may.
    pub(crate) fn becomes_backed(&mut self, slot: u32, flushed: u64) -> bool {
        let is_backed = self.is_backed(slot, flushed);
        if is_backed {
            self.unbacked.remove(&slot);
        }
        is_backed
    }
}
