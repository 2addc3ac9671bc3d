use std::hint::black_box;

use super::vm::Vm;
use crate::list::{List, NIL, Node};
use crate::places::Places;
use crate::policy::{PageId, Slot};
use crate::slab::make_room;

/// What is known of each resident page: owner, place in the tier, and whether it is dirty.
/// At most half as much again as 40 bytes for each slot that was ever taken, beside the
/// policy's own.
#[derive(Debug, Clone)]
pub(super) struct Store {
    /// By slot.
    frames: Vec<Frame>,
    /// Neighbours among the owner's pages, in the order in which they came in.
    owned: Vec<Node>,
    /// Neighbours among dirty pages, in the order in which they became dirty.
    dirtied: Vec<Node>,
    dirty: List,
    /// Places in the tier that hold nothing.
    free: Places,
    slots: usize,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    place: u32,
    owner: u16,
    is_dirty: bool,
}

impl Store {
    /// For slots below `slots`.
    pub(super) fn new(slots: usize, pages: usize) -> Self {
        let pages = u32::try_from(pages).unwrap_or_else(|_| panic!("{pages} pages are too many"));
        Self {
            frames: Vec::new(),
            owned: Vec::new(),
            dirtied: Vec::new(),
            dirty: List::new(),
            free: Places::new(0, pages),
            slots,
        }
    }

    /// Reads what is known of pages in slots that may not exist.
    pub(super) fn look_ahead(&self, slots: &[Slot]) {
        let frames = slots.iter().filter_map(|slot| self.frames.get(slot.position()));
        black_box(frames.fold(0, |sum, frame| sum ^ frame.place));
    }

    pub(super) fn dirty(&self) -> usize {
        self.dirty.len()
    }

    pub(super) fn oldest_dirty(&self) -> Option<Slot> {
        (self.dirty.back() != NIL).then_some(Slot(self.dirty.back()))
    }

    /// The oldest page of an owner.
    pub(super) fn oldest_of(&self, vm: &Vm) -> Option<PageId> {
        let slot = vm.pages.back();
        (slot != NIL).then(|| self.page(Slot(slot)))
    }

    pub(super) fn page(&self, slot: Slot) -> PageId {
        PageId(self.owned[slot.position()].page)
    }

    pub(super) fn place(&self, slot: Slot) -> u64 {
        u64::from(self.frames[slot.position()].place)
    }

    pub(super) fn owner(&self, slot: Slot) -> usize {
        usize::from(self.frames[slot.position()].owner)
    }

    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.frames[slot.position()].is_dirty
    }

    pub(super) fn enter(&mut self, slot: Slot, page: PageId, owner: u16, vm: &mut Vm) {
        let place = self.free.take().expect("a place is free when a page comes in");
        if slot.position() >= self.frames.len() {
            self.grow(slot);
        }
        self.frames[slot.position()] = Frame { place, owner, is_dirty: false };
        self.owned[slot.position()].page = page.0;
        vm.pages.push_front(&mut self.owned, slot.0);
    }

    /// Makes room for a slot that is taken for the first time.
    fn grow(&mut self, slot: Slot) {
        let length = slot.position() + 1;
        let node = Node { page: 0, prev: NIL, next: NIL };
        make_room(&mut self.frames, self.slots);
        make_room(&mut self.owned, self.slots);
        make_room(&mut self.dirtied, self.slots);
        self.frames.resize(length, Frame { place: 0, owner: 0, is_dirty: false });
        self.owned.resize(length, node);
        self.dirtied.resize(length, node);
    }

    pub(super) fn leave(&mut self, slot: Slot, vm: &mut Vm) {
        self.clean(slot);
        vm.pages.unlink(&mut self.owned, slot.0);
        self.free.give(self.frames[slot.position()].place);
    }

    pub(super) fn soil(&mut self, slot: Slot) {
        let frame = &mut self.frames[slot.position()];
        if !frame.is_dirty {
            frame.is_dirty = true;
            self.dirty.push_front(&mut self.dirtied, slot.0);
        }
    }

    pub(super) fn clean(&mut self, slot: Slot) {
        let frame = &mut self.frames[slot.position()];
        if frame.is_dirty {
            frame.is_dirty = false;
            self.dirty.unlink(&mut self.dirtied, slot.0);
        }
    }
}
