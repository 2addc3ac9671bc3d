use state_machine::Operation;

use super::copies::{COPIES_MAX, Copied};
use super::step::{Data, HostId, Steps, Wait};
use super::vm::VmSettings;
use super::work::{Piece, Tier};
use crate::page::{PageId, Slot};

const WRITE: Operation = Operation::Write;

/// Hosts that take copies of a write.
type Peers = [Option<HostId>; COPIES_MAX];

impl Tier {
    /// Writes a piece. `hit` is the slot of its page in the own host's share, if resident there.
    /// Returns true if the write should have been written back, but had to be written through.
    pub(super) fn write(&mut self, piece: Piece, hit: Option<Slot>, steps: &mut Steps) -> bool {
        let VmSettings { write_mode, copies, .. } = self.vms[usize::from(piece.vm.0)].settings;
        let copies = usize::from(copies);
        let peers = if write_mode.keeps_writes() { self.peers(piece, hit, copies) } else { None };
        let Some(peers) = peers else {
            self.write_through(piece, hit, None, steps);
            return write_mode.keeps_writes();
        };
        if hit.is_some() {
            self.keep(piece, hit, peers, steps);
            return false;
        }
        let is_admitted = self.admits(piece, true);
        if is_admitted && self.is_whole(piece) {
            self.keep(piece, hit, peers, steps);
        } else {
            self.write_through(piece, hit, Some(is_admitted), steps);
        }
        false
    }

    fn is_whole(&self, piece: Piece) -> bool {
        piece.length == self.config.page_bytes
    }

    /// Returns the hosts that take copies of a piece: the hosts that already have copies of its
    /// page, or otherwise the next hosts with room in fault domains that hold neither the page nor
    /// another copy. `None` if there are too few hosts, or if the own host has no share.
    fn peers(&self, piece: Piece, hit: Option<Slot>, copies: usize) -> Option<Peers> {
        self.cache(piece.host)?;
        let mut peers = [None; COPIES_MAX];
        if let Some(slot) = hit.filter(|slot| self.is_dirty_with(piece.host, *slot, copies)) {
            let copied = self.copied(piece.host, slot);
            return Some(copied.map_or(peers, |copied| copied.at.map(|at| at.map(|at| at.0))));
        }
        let has_room = |host: &HostId| self.shares[usize::from(host.0)].log.has_any();
        let mut ready = self.others(piece.host).filter(has_room);
        for at in 0..copies {
            let is_apart = |host: &HostId| {
                let holders = [piece.host].into_iter().chain(peers.iter().flatten().copied());
                holders.into_iter().all(|holder| self.domain(holder) != self.domain(*host))
            };
            peers[at] = Some(ready.find(is_apart)?);
        }
        Some(peers)
    }

    /// Returns the fault domain of a host.
    fn domain(&self, host: HostId) -> u16 {
        self.config.domains.get(usize::from(host.0)).copied().unwrap_or(host.0)
    }

    /// Returns true if the page is dirty with exactly this number of copies on peers.
    fn is_dirty_with(&self, host: HostId, slot: Slot, copies: usize) -> bool {
        let is_dirty = self.cache(host).is_some_and(|cache| cache.is_dirty(slot));
        is_dirty && self.copied(host, slot).map_or(0, |own| own.places().count()) == copies
    }

    /// Writes a piece to the own host's share and to peers, but not to the backing store.
    fn keep(&mut self, piece: Piece, hit: Option<Slot>, peers: Peers, steps: &mut Steps) {
        let copies = peers.iter().flatten().count();
        let is_kept = hit.is_some_and(|slot| self.is_dirty_with(piece.host, slot, copies));
        if !is_kept {
            self.supersede(piece, hit, steps);
        }
        let slot = hit.unwrap_or_else(|| {
            self.count(piece.vm).placed_bytes += u64::from(piece.length);
            self.bring_in(piece, Wait::Request, steps.list)
        });
        self.invalidate_others(piece.host, piece.page);
        let at = self.place(piece.host, slot);
        steps.list.push(self.on_share(piece, at, WRITE, Data::Request));
        if !is_kept {
            let number = self.copy(piece, peers, steps);
            self.own(piece.host).soil(slot, number);
        } else if let Some(number) = self.own(piece.host).copies(slot) {
            self.add_to_copies(piece, number, at, steps);
        }
    }

    /// Replaces older dirty data of a page that has a different set of copies or is dirty on
    /// another host. If the piece does not cover the page, the older data is destaged first.
    fn supersede(&mut self, piece: Piece, hit: Option<Slot>, steps: &mut Steps) {
        let is_dirty = |slot: &Slot| self.cache(piece.host).is_some_and(|own| own.is_dirty(*slot));
        let own = hit.filter(is_dirty).map(|slot| (piece.host, slot));
        let elsewhere = |host| Some((host, self.cache(host)?.find_dirty(piece.page)?));
        let dirty = own.or_else(|| self.others(piece.host).find_map(elsewhere));
        let Some((host, slot)) = dirty else { return };
        if self.is_whole(piece) {
            self.discard(host, slot);
        } else {
            self.destage(host, slot, Wait::Request, steps.list);
        }
    }

    /// Copies a piece to peers. Returns the number of the new [`Copied`], or `None` if there are no
    /// peers.
    fn copy(&mut self, piece: Piece, peers: Peers, steps: &mut Steps) -> Option<u32> {
        peers[0]?;
        let mut at = [None; COPIES_MAX];
        for (copy, peer) in at.iter_mut().zip(peers.into_iter().flatten()) {
            let place = self.shares[usize::from(peer.0)].log.take().expect("a peer has room");
            *copy = Some((peer, place));
            steps.list.push(self.on_share(piece, (peer, place), WRITE, Data::Request));
            self.count(piece.vm).copied_bytes += u64::from(piece.length);
        }
        let (from, to) = self.span(piece);
        Some(self.copies.keep(Copied { from, to, at }))
    }

    /// Adds a piece to the peers' copies of a dirty page. Bytes between the piece and the range
    /// that was copied before are copied too, so that the copies stay one range.
    fn add_to_copies(&mut self, piece: Piece, number: u32, own: (HostId, u32), steps: &mut Steps) {
        let copied = *self.copies.get(number);
        let (from, to) = self.span(piece);
        let gap = if from > copied.to { (copied.to, from) } else { (to, copied.from.max(to)) };
        let between = Piece {
            offset: piece.page.0 * self.page_bytes() + u64::from(gap.0),
            length: gap.1 - gap.0,
            ..piece
        };
        if between.length > 0 {
            steps.list.push(self.on_share(between, own, Operation::Read, Data::Moved));
        }
        for copy in copied.places() {
            if between.length > 0 {
                steps.list.push(self.on_share(between, copy, WRITE, Data::Moved));
            }
            steps.list.push(self.on_share(piece, copy, WRITE, Data::Request));
            let bytes = u64::from(piece.length) + u64::from(between.length);
            self.count(piece.vm).copied_bytes += bytes;
        }
        self.copies.widen(number, (from, to));
    }

    /// Writes a piece to the backing store, and to its page if the page is resident or admitted.
    /// `is_admitted` is the result of an earlier decision; without one, admission is decided here.
    fn write_through(
        &mut self,
        piece: Piece,
        hit: Option<Slot>,
        is_admitted: Option<bool>,
        steps: &mut Steps,
    ) {
        self.vm(piece.vm).owes_flush = true;
        self.supersede(piece, hit, steps);
        self.invalidate_others(piece.host, piece.page);
        if let Some(slot) = hit {
            let at = self.place(piece.host, slot);
            steps.list.push(self.on_share(piece, at, WRITE, Data::Request));
            steps.list.push(piece.on_backing(WRITE, Data::Request));
            return;
        }
        steps.join(piece.on_backing(WRITE, Data::Request));
        if !is_admitted.unwrap_or_else(|| self.admits(piece, true)) {
            return;
        }
        let slot = self.bring_in(piece, Wait::Background, steps.list);
        let (whole, page_bytes) = (self.whole(piece), self.page_bytes());
        let data = if self.is_whole(piece) {
            self.count(piece.vm).placed_bytes += page_bytes;
            Data::Request
        } else {
            steps.list.push(whole.on_backing(Operation::Read, Data::Moved).later());
            self.count(piece.vm).filled_bytes += page_bytes;
            Data::Moved
        };
        let at = self.place(piece.host, slot);
        steps.list.push(self.on_share(whole, at, WRITE, data).later());
    }

    /// Removes the page from other hosts' shares, because it is no longer current there.
    fn invalidate_others(&mut self, host: HostId, page: PageId) {
        for other in self.others(host) {
            if let Some(cache) = self.cache_mut(other)
                && let Some(slot) = cache.policy.remove(page)
            {
                cache.leave(slot);
            }
        }
    }

    /// Returns the range of its page that a piece covers.
    fn span(&self, piece: Piece) -> (u32, u32) {
        let within = u32::try_from(piece.offset % self.page_bytes()).expect("within a page");
        (within, within + piece.length)
    }
}
