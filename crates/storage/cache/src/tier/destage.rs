use state_machine::Operation;

use super::copies::Copied;
use super::step::{Data, Entry, HostId, Step, StepDevice, VmId, Wait};
use super::work::{Piece, Tier};
use crate::page::{PageId, Slot};
use crate::policy::Outcome;

/// Range of a dirty page that the backing store lacks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owed {
    pub(super) page: PageId,
    /// VM whose access admitted the page.
    pub(super) vm: VmId,
    /// Start of the range within the page, in bytes.
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Tier {
    /// Returns true if clean-up of a host's share should run. It starts above the high mark of
    /// dirty pages and runs down to the low mark.
    pub fn wants_cleaning(&mut self, host: HostId) -> bool {
        let (high, low) = (self.config.dirty_high_percent, self.config.dirty_low_percent);
        let Some(cache) = self.cache_mut(host) else { return false };
        let limit = if cache.is_cleaning { low } else { high };
        cache.is_cleaning = cache.dirty() > cache.pages_of(limit);
        cache.is_cleaning
    }

    /// Destages up to `pages` dirty pages of a host, in the order in which they became dirty, and
    /// returns their number. The pages stay resident and clean, and their copies are freed. The
    /// caller checks the watermarks ([`Tier::wants_cleaning`]), so it may also clean when the
    /// backing store is idle, or everything at the end.
    ///
    /// A page that is rewritten before it is destaged keeps its place in the order.
    pub fn clean(&mut self, host: HostId, pages: usize, steps: &mut Vec<Step>) -> usize {
        for done in 0..pages {
            let oldest = self.cache(host).and_then(|cache| cache.oldest_dirty());
            let Some(slot) = oldest else { return done };
            self.destage(host, slot, Wait::Background, steps);
        }
        pages
    }

    /// Decides whether a missing page may be admitted with this piece.
    pub(super) fn admits(&mut self, piece: Piece, is_write: bool) -> bool {
        let vm = &mut self.vms[usize::from(piece.vm.0)];
        if piece.is_scan {
            vm.counters.sequential_bytes += u64::from(piece.length);
            return false;
        }
        let percent = vm.settings.share_max_percent;
        let is_open = vm.settings.lets_in(is_write) && piece.entry != Entry::Closed;
        let cache = self.shares[usize::from(piece.host.0)].cache.as_mut();
        let is_in = is_open
            && cache.is_some_and(|cache| {
                let resident = cache.policy.len();
                cache.room_of(percent) > 0
                    && (piece.entry == Entry::Unfiltered
                        || cache.promotion.admits(piece.page.0, resident))
            });
        if !is_in {
            vm.counters.refused_bytes += u64::from(piece.length);
        }
        is_in
    }

    /// Admits a page into the share of the piece's host. The host must have a share.
    pub(super) fn bring_in(&mut self, piece: Piece, wait: Wait, steps: &mut Vec<Step>) -> Slot {
        let Piece { vm, host, page, .. } = piece;
        let percent = self.vms[usize::from(vm.0)].settings.share_max_percent;
        let cache = self.own(host);
        let room = cache.room_of(percent);
        // A VM that may have everything competes under the policy alone.
        if room < cache.policy.capacity()
            && cache.owned_by(vm) >= room
            && let Some(oldest) = cache.oldest_of(vm)
            && let Some(slot) = cache.policy.remove(oldest)
        {
            self.evict(host, slot, wait, steps);
        }
        let outcome = self.own(host).policy.reference(page);
        if let Outcome::Miss { evicted: Some(evicted), .. } = outcome {
            self.evict(host, evicted.slot, wait, steps);
        }
        self.own(host).enter(outcome.slot(), page, vm);
        outcome.slot()
    }

    /// Evicts a page that the policy has removed. A dirty page is destaged before its place is
    /// reused.
    fn evict(&mut self, host: HostId, slot: Slot, wait: Wait, steps: &mut Vec<Step>) {
        let bytes = self.page_bytes();
        let is_dirty = self.own(host).is_dirty(slot);
        if is_dirty {
            self.destage(host, slot, wait, steps);
        }
        let cache = self.own(host);
        let owner = cache.owner(slot);
        cache.leave(slot);
        let counters = &mut self.vms[owner].counters;
        counters.evicted_bytes += bytes;
        counters.evicted_dirty_bytes += if is_dirty { bytes } else { 0 };
    }

    /// Destages a dirty page: the range that the backing store lacks is written there.
    pub(super) fn destage(&mut self, host: HostId, slot: Slot, wait: Wait, steps: &mut Vec<Step>) {
        let owed = self.owed(host, slot);
        let place = self.place(host, slot);
        self.discard(host, slot);
        self.move_to_store(owed, place, wait, steps);
    }

    /// Returns the dirty range of a page: the copied range, or the whole page if it has no copies.
    pub(super) fn owed(&self, host: HostId, slot: Slot) -> Owed {
        let cache = self.cache(host).expect("a dirty page is in a share");
        let (from, to) = match self.copied(host, slot) {
            Some(Copied { from, to, .. }) => (*from, *to),
            None => (0, self.config.page_bytes),
        };
        let vm = VmId(u16::try_from(cache.owner(slot)).expect("the owner is the id of a VM"));
        Owed { page: cache.page(slot), vm, from, to }
    }

    /// Returns the copies of a dirty page on peers.
    pub(super) fn copied(&self, host: HostId, slot: Slot) -> Option<&Copied> {
        self.cache(host)?.copies(slot).map(|number| self.copies.get(number))
    }

    /// Marks a page as clean, and frees the places of its copies.
    pub(super) fn discard(&mut self, host: HostId, slot: Slot) {
        if let Some(number) = self.own(host).clean(slot) {
            self.give_up(number);
        }
    }

    /// Frees the places of a page's copies on peers.
    pub(super) fn give_up(&mut self, number: u32) {
        for (host, place) in self.copies.forget(number).places() {
            let share = &mut self.shares[usize::from(host.0)];
            if share.is_up {
                share.log.give(place);
            }
        }
    }

    /// Moves the bytes that the backing store lacks from a place in a host's share to the backing
    /// store.
    pub(super) fn move_to_store(
        &mut self,
        owed: Owed,
        (host, place): (HostId, u32),
        wait: Wait,
        steps: &mut Vec<Step>,
    ) {
        let page_bytes = self.page_bytes();
        let address = owed.page.0 * page_bytes + u64::from(owed.from);
        let length = owed.to - owed.from;
        let step = Step {
            place: StepDevice::Share(host),
            by: host,
            operation: Operation::Read,
            offset: u64::from(place) * page_bytes + u64::from(owed.from),
            address,
            length,
            data: Data::Moved,
            wait,
        };
        steps.push(step);
        let (place, operation) = (StepDevice::Backing, Operation::Write);
        steps.push(Step { place, operation, offset: address, ..step });
        self.count(owed.vm).destaged_bytes += u64::from(length);
    }
}
