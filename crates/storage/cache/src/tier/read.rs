use state_machine::Operation;

use super::step::{Data, HostId, Step, Steps, Wait};
use super::work::{Piece, Tier};
use crate::page::Slot;

impl Tier {
    /// Reads a piece. `hit` is the slot of its page in the own host's share, if resident there.
    /// Returns true if another host's share answers.
    pub(super) fn read(&mut self, piece: Piece, hit: Option<Slot>, steps: &mut Steps) -> bool {
        if let Some(slot) = hit {
            let at = self.place(piece.host, slot);
            steps.list.push(self.on_share(piece, at, Operation::Read, Data::Request));
            return false;
        }
        let holder = self.holder(piece);
        let source = holder.map(|(host, slot)| self.place(host, slot));
        let step = self.read_from(piece, source, Data::Request);
        if let Some((host, _)) = holder {
            self.shares[usize::from(host.0)].touch(piece.page);
            steps.list.push(step);
        } else {
            steps.join(step);
        }
        if self.admits(piece, false) {
            self.fill(piece, source, steps);
        }
        holder.is_some()
    }

    /// Finds another host that has the page. Every resident copy is current, so any host will do. A
    /// host where the page is dirty is preferred, because it keeps the page until the page is
    /// destaged.
    fn holder(&self, piece: Piece) -> Option<(HostId, Slot)> {
        let mut first = None;
        for host in self.others(piece.host) {
            let Some(cache) = self.cache(host) else { continue };
            let Some(slot) = cache.policy.find(piece.page) else { continue };
            if cache.is_dirty(slot) {
                return Some((host, slot));
            }
            first = first.or(Some((host, slot)));
        }
        first
    }

    /// Returns the step that reads a piece from a share, or from the backing store.
    fn read_from(&self, piece: Piece, source: Option<(HostId, u32)>, data: Data) -> Step {
        match source {
            Some(at) => self.on_share(piece, at, Operation::Read, data),
            None => piece.on_backing(Operation::Read, data),
        }
    }

    /// Admits a page after a read that another source answers.
    fn fill(&mut self, piece: Piece, source: Option<(HostId, u32)>, steps: &mut Steps) {
        let slot = self.bring_in(piece, Wait::Background, steps.list);
        let whole = self.whole(piece);
        if whole.length != piece.length {
            steps.list.push(self.read_from(whole, source, Data::Moved).later());
        }
        let at = self.place(piece.host, slot);
        steps.list.push(self.on_share(whole, at, Operation::Write, Data::Moved).later());
        self.count(piece.vm).filled_bytes += self.page_bytes();
    }
}
