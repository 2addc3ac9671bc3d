use std::hint::black_box;

use super::config::Config;
use super::promotion::Promotion;
use super::step::VmId;
use crate::list::{List, NIL, Node};
use crate::page::{PageId, Slot};
use crate::places::Places;
use crate::policy::Policy;
use crate::slab::make_room;

/// Share of one host in a tier: pages for the host's VMs, and room for copies of other hosts'
/// writes.
#[derive(Debug, Clone)]
pub(super) struct Share {
    /// Cache of the host; `None` if the host has no share, or has failed.
    pub(super) cache: Option<Cache>,
    /// Places for copies. Their numbers follow those of the cache's places.
    pub(super) log: Places,
    /// True if the host runs, false after it failed.
    pub(super) is_up: bool,
}

impl Share {
    pub(super) fn new(config: &Config, host: usize) -> Self {
        let (pages, log) = config.pages(host);
        let is_up = true;
        if pages == 0 {
            return Self { is_up, ..Self::failed() };
        }
        let count = |pages: usize| u32::try_from(pages).expect("a share has 2^28 pages at most");
        let log = Places::new(count(pages), count(pages + log));
        Self { cache: Some(Cache::new(config, pages)), log, is_up }
    }

    pub(super) const fn failed() -> Self {
        Self { cache: None, log: Places::new(0, 0), is_up: false }
    }

    /// Finds the slot of a resident page. Does not count as a reference.
    pub(super) fn find(&self, page: PageId) -> Option<Slot> {
        self.cache.as_ref()?.policy.find(page)
    }

    /// Counts a reference and returns the slot if the page is resident.
    #[inline]
    pub(super) fn touch(&mut self, page: PageId) -> Option<Slot> {
        self.cache.as_mut()?.policy.touch(page)
    }
}

/// Pages of a share, with the owner, place and dirty state of each.
///
/// Memory, beside the policy's own: at most one and a half times 40 bytes for each slot that was
/// ever used.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    pub(super) policy: Box<dyn Policy>,
    pub(super) promotion: Promotion,
    /// True from the start of a clean-up until the low mark is reached.
    pub(super) is_cleaning: bool,
    /// State of the page in each slot.
    frames: Vec<Frame>,
    /// Neighbours among the pages of the same VM, in the order in which they were admitted.
    owned: Vec<Node>,
    /// List of each VM's pages, indexed by VM.
    owners: Vec<List>,
    /// Neighbours among dirty pages, in the order in which they became dirty. The field `page` of
    /// these nodes holds the number of the page's [`super::copies::Copied`], if it has copies.
    dirtied: Vec<Node>,
    dirty: List,
    /// Free places of the cache.
    free: Places,
    slots: usize,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    place: u32,
    owner: u16,
    is_dirty: bool,
    /// True if the page became dirty with copies on peers. It stands here, so that a write to a page
    /// without copies does not load the page's node of `dirtied`.
    has_copies: bool,
}

impl Frame {
    const fn clean(place: u32, owner: u16) -> Self {
        Self { place, owner, is_dirty: false, has_copies: false }
    }
}

impl Cache {
    fn new(config: &Config, pages: usize) -> Self {
        let policy = config.policy.build(pages);
        let count = u32::try_from(pages).unwrap_or_else(|_| panic!("{pages} pages are too many"));
        Self {
            promotion: Promotion::new(config.admission, pages),
            is_cleaning: false,
            frames: Vec::new(),
            owned: Vec::new(),
            owners: Vec::new(),
            dirtied: Vec::new(),
            dirty: List::new(),
            free: Places::new(0, count),
            slots: policy.slots(),
            policy,
        }
    }

    /// Prefetches the memory that accesses to these pages will read. Appends the probable slots of
    /// the pages.
    pub(super) fn look_ahead(&self, pages: &[PageId], slots: &mut Vec<Slot>) {
        self.policy.look_ahead(pages, slots);
        let frames = slots.iter().filter_map(|slot| self.frames.get(slot.position()));
        black_box(frames.fold(0, |sum, frame| sum ^ frame.place));
    }

    /// Returns this percentage of the cache's pages, rounded down.
    pub(super) fn pages_of(&self, percent: u8) -> usize {
        self.policy.capacity() * usize::from(percent) / 100
    }

    /// Returns the maximum number of pages for a VM that may use `percent` of the cache.
    pub(super) fn room_of(&self, percent: u8) -> usize {
        (self.policy.capacity() * usize::from(percent.min(100))).div_ceil(100)
    }

    pub(super) fn page(&self, slot: Slot) -> PageId {
        PageId(self.owned[slot.position()].page)
    }

    pub(super) fn place(&self, slot: Slot) -> u32 {
        self.frames[slot.position()].place
    }

    /// Returns the index of the VM whose access admitted the page.
    pub(super) fn owner(&self, slot: Slot) -> usize {
        usize::from(self.frames[slot.position()].owner)
    }

    /// Returns the number of pages that belong to a VM.
    pub(super) fn owned_by(&self, vm: VmId) -> usize {
        self.owners.get(usize::from(vm.0)).map_or(0, List::len)
    }

    /// Returns the page of a VM that was admitted first.
    pub(super) fn oldest_of(&self, vm: VmId) -> Option<PageId> {
        let slot = self.owners.get(usize::from(vm.0))?.back();
        (slot != NIL).then(|| self.page(Slot(slot)))
    }

    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.frames[slot.position()].is_dirty
    }

    /// Finds the slot of a page that is dirty in this share.
    pub(super) fn find_dirty(&self, page: PageId) -> Option<Slot> {
        if self.dirty.is_empty() {
            return None;
        }
        self.policy.find(page).filter(|slot| self.is_dirty(*slot))
    }

    /// Returns the number of a page's [`super::copies::Copied`], if the page is dirty and has
    /// copies.
    pub(super) fn copies(&self, slot: Slot) -> Option<u32> {
        let has_copies = self.frames[slot.position()].has_copies;
        has_copies.then(|| u32::try_from(self.dirtied[slot.position()].page).expect("a number"))
    }

    pub(super) fn dirty(&self) -> usize {
        self.dirty.len()
    }

    pub(super) fn oldest_dirty(&self) -> Option<Slot> {
        (self.dirty.back() != NIL).then_some(Slot(self.dirty.back()))
    }

    /// Iterates over the dirty pages, in the order in which they became dirty.
    pub(super) fn dirty_slots(&self) -> impl Iterator<Item = Slot> {
        std::iter::successors(self.oldest_dirty(), |slot| {
            let younger = self.dirtied[slot.position()].prev;
            (younger != NIL).then_some(Slot(younger))
        })
    }

    /// Records a page that the policy has admitted, as clean.
    pub(super) fn enter(&mut self, slot: Slot, page: PageId, owner: VmId) {
        let place = self.free.take().expect("a slot is free when a page is admitted");
        if slot.position() >= self.frames.len() {
            self.grow(slot);
        }
        let of = usize::from(owner.0);
        if of >= self.owners.len() {
            self.owners.resize_with(of + 1, List::new);
        }
        self.frames[slot.position()] = Frame::clean(place, owner.0);
        self.owned[slot.position()].page = page.0;
        self.owners[of].push_front(&mut self.owned, slot.0);
    }

    /// Grows the arrays for a slot that is used for the first time.
    fn grow(&mut self, slot: Slot) {
        let length = slot.position() + 1;
        let node = Node { page: 0, prev: NIL, next: NIL };
        make_room(&mut self.frames, self.slots);
        make_room(&mut self.owned, self.slots);
        make_room(&mut self.dirtied, self.slots);
        self.frames.resize(length, Frame::clean(0, 0));
        self.owned.resize(length, node);
        self.dirtied.resize(length, node);
    }

    /// Frees the place of a clean page that the policy has removed.
    pub(super) fn leave(&mut self, slot: Slot) {
        let Frame { place, owner, is_dirty, .. } = self.frames[slot.position()];
        debug_assert!(!is_dirty, "a dirty page is destaged before it is evicted");
        self.owners[usize::from(owner)].unlink(&mut self.owned, slot.0);
        self.free.give(place);
    }

    /// Marks a clean page as dirty.
    pub(super) fn soil(&mut self, slot: Slot, copies: Option<u32>) {
        let frame = &mut self.frames[slot.position()];
        (frame.is_dirty, frame.has_copies) = (true, copies.is_some());
        self.dirtied[slot.position()].page = copies.map_or(0, u64::from);
        self.dirty.push_front(&mut self.dirtied, slot.0);
    }

    /// Marks a dirty page as clean. Returns the number of its copies, which the caller frees.
    pub(super) fn clean(&mut self, slot: Slot) -> Option<u32> {
        let copies = self.copies(slot);
        let frame = &mut self.frames[slot.position()];
        (frame.is_dirty, frame.has_copies) = (false, false);
        self.dirty.unlink(&mut self.dirtied, slot.0);
        copies
    }
}
