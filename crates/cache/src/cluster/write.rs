use machine::Operation;

use super::config::ClusterWrites;
use super::dirty::Dirty;
use super::step::{Data, HostId};
use super::work::{Cluster, Piece, Steps, later};
use crate::policy::PageId;
use crate::tier::Wait;

const WRITE: Operation = Operation::Write;

impl Cluster {
    /// Writes a piece; whether it should have been written back and could not.
    pub(super) fn write(&mut self, piece: Piece, steps: &mut Steps) -> bool {
        let ClusterWrites::Back { replicas } = self.settings(piece).writes else {
            self.write_through(piece, steps);
            return false;
        };
        let Some(peers) = self.peers(piece, usize::from(replicas)) else {
            self.write_through(piece, steps);
            return true;
        };
        let is_resident = self.find(piece.host, piece.page).is_some();
        let is_placed = self.is_whole(piece) && self.admits(piece, WRITE);
        if is_resident || is_placed {
            self.write_back(piece, &peers, steps);
        } else {
            self.write_through(piece, steps);
        }
        false
    }

    fn is_whole(&self, piece: Piece) -> bool {
        piece.length == self.config.page_bytes
    }

    /// Hosts that take copies of a piece: those that have copies of its page already, or else
    /// the next ones with room. Nothing if there are too few, or the own host has no share.
    fn peers(&self, piece: Piece, replicas: usize) -> Option<Vec<HostId>> {
        if !self.shares[usize::from(piece.host.0)].is_usable() {
            return None;
        }
        if let Some(dirty) = self.dirty.get(piece.page)
            && dirty.owner == piece.host
            && dirty.copies().count() == replicas
        {
            return Some(dirty.copies().map(|(host, _)| host).collect());
        }
        let has_room = |host: &HostId| self.shares[usize::from(host.0)].has_log();
        let peers: Vec<HostId> = self.others(piece.host).filter(has_room).take(replicas).collect();
        (peers.len() == replicas).then_some(peers)
    }

    fn write_back(&mut self, piece: Piece, peers: &[HostId], steps: &mut Steps) {
        let kept = self
            .dirty
            .get(piece.page)
            .copied()
            .filter(|dirty| dirty.owner == piece.host && dirty.copies().count() == peers.len());
        if kept.is_none() {
            self.supersede(piece, steps);
        }
        let place = match self.find(piece.host, piece.page) {
            Some(place) => {
                self.share(piece.host).touch(piece.page);
                place
            }
            None => {
                self.count(piece.vm).placed_bytes += u64::from(piece.length);
                self.bring_in(piece, Wait::Request, steps)
            }
        };
        self.invalidate_others(piece.host, piece.page);
        let page_bytes = self.page_bytes();
        let own = (piece.host, place);
        steps.list.push(piece.on_share(own, page_bytes, WRITE, Data::Request));
        if let Some(dirty) = kept {
            self.add_to_copies(piece, &dirty, own, steps);
        } else {
            self.copy(piece, peers, steps);
        }
    }

    /// What another host or another number of copies has of a page's dirty bytes is no longer
    /// needed, or must reach the store first when the piece does not cover the page.
    fn supersede(&mut self, piece: Piece, steps: &mut Steps) {
        if self.is_whole(piece) {
            self.discard(piece.page);
        } else {
            self.settle(piece.page, Wait::Request, steps);
        }
    }

    /// Makes a page dirty that is clean, with copies on these peers.
    fn copy(&mut self, piece: Piece, peers: &[HostId], steps: &mut Steps) {
        let mut dirty = Dirty::new(piece.host, piece.vm, self.span(piece));
        for (copy, peer) in dirty.copies.iter_mut().zip(peers) {
            let place = self.share(*peer).take_log().expect("a peer has room");
            *copy = Some((*peer, place));
            let at = (*peer, place);
            steps.list.push(piece.on_share(at, self.page_bytes(), WRITE, Data::Request));
            self.count(piece.vm).replica_bytes += u64::from(piece.length);
        }
        self.dirty.insert(piece.page, dirty);
    }

    /// Adds a piece to a dirty page and its copies. Bytes between it and what was dirty before
    /// are copied too, so that one span stays one.
    fn add_to_copies(
        &mut self,
        piece: Piece,
        dirty: &Dirty,
        own: (HostId, u32),
        steps: &mut Steps,
    ) {
        let page_bytes = self.page_bytes();
        let (from, to) = self.span(piece);
        let gap = if from > dirty.to { (dirty.to, from) } else { (to, dirty.from.max(to)) };
        let between = Piece {
            offset: piece.page.0 * page_bytes + u64::from(gap.0),
            length: gap.1 - gap.0,
            ..piece
        };
        if between.length > 0 && dirty.copies().next().is_some() {
            let read = between.on_share(own, page_bytes, Operation::Read, Data::Moved);
            steps.list.push(read);
        }
        for copy in dirty.copies() {
            if between.length > 0 {
                steps.list.push(between.on_share(copy, page_bytes, WRITE, Data::Moved));
            }
            steps.list.push(piece.on_share(copy, page_bytes, WRITE, Data::Request));
            let bytes = u64::from(piece.length) + u64::from(between.length);
            self.count(piece.vm).replica_bytes += bytes;
        }
        self.dirty.widen(piece.page, (from, to));
    }

    fn write_through(&mut self, piece: Piece, steps: &mut Steps) {
        self.owe_flush(piece.vm);
        if self.dirty.get(piece.page).is_some() {
            self.supersede(piece, steps);
        }
        self.invalidate_others(piece.host, piece.page);
        let page_bytes = self.page_bytes();
        if let Some(place) = self.find(piece.host, piece.page) {
            self.share(piece.host).touch(piece.page);
            let at = (piece.host, place);
            steps.list.push(piece.on_share(at, page_bytes, WRITE, Data::Request));
            steps.list.push(piece.on_backing(WRITE, Data::Request));
            return;
        }
        steps.join(piece.on_backing(WRITE, Data::Request));
        if !self.admits(piece, WRITE) {
            return;
        }
        let place = self.bring_in(piece, Wait::Background, steps);
        let whole = piece.whole(self.config.page_bytes);
        let (data, sum) = if self.is_whole(piece) {
            (Data::Request, &mut self.count(piece.vm).placed_bytes)
        } else {
            steps.list.push(later(whole.on_backing(Operation::Read, Data::Moved)));
            (Data::Moved, &mut self.count(piece.vm).filled_bytes)
        };
        *sum += page_bytes;
        let at = (piece.host, place);
        steps.list.push(later(whole.on_share(at, page_bytes, WRITE, data)));
    }

    /// Other hosts' copies of a page are no longer the newest.
    fn invalidate_others(&mut self, host: HostId, page: PageId) {
        for other in self.others(host) {
            self.share(other).drop_page(page);
        }
    }

    /// The bytes of its page that a piece covers.
    fn span(&self, piece: Piece) -> (u32, u32) {
        let within = u32::try_from(piece.offset % self.page_bytes()).expect("within a page");
        (within, within + piece.length)
    }
}
