use machine::Operation;

use super::step::{ClusterStep, Data, HostId};
use super::work::{Cluster, Piece, Steps, later};
use crate::tier::Wait;

impl Cluster {
    pub(super) fn read(&mut self, piece: Piece, steps: &mut Steps) {
        let bytes = u64::from(piece.length);
        if let Some(place) = self.find(piece.host, piece.page) {
            self.share(piece.host).touch(piece.page);
            steps.list.push(self.read_from(piece, Some((piece.host, place)), Data::Request));
            self.count(piece.vm).read_local_bytes += bytes;
            return;
        }
        let source = self.holder(piece);
        let step = self.read_from(piece, source, Data::Request);
        if let Some((host, _)) = source {
            self.share(host).touch(piece.page);
            steps.list.push(step);
            self.count(piece.vm).read_remote_bytes += bytes;
        } else {
            steps.join(step);
            self.count(piece.vm).read_backing_bytes += bytes;
        }
        if self.admits(piece, Operation::Read) {
            self.fill(piece, source, steps);
        }
    }

    /// Another host that has the page. Every resident copy is the newest, so any will do; the
    /// owner of a dirty one is asked first, since it is sure to have it.
    fn holder(&self, piece: Piece) -> Option<(HostId, u32)> {
        let owner = self.dirty.get(piece.page).map(|dirty| dirty.owner);
        let mut hosts = owner.into_iter().chain(self.others(piece.host));
        hosts.find_map(|host| self.find(host, piece.page).map(|place| (host, place)))
    }

    /// A read of a piece from a share, or from the store.
    fn read_from(&self, piece: Piece, source: Option<(HostId, u32)>, data: Data) -> ClusterStep {
        match source {
            Some(at) => piece.on_share(at, self.page_bytes(), Operation::Read, data),
            None => piece.on_backing(Operation::Read, data),
        }
    }

    /// Brings a page in behind a read that something else answers.
    fn fill(&mut self, piece: Piece, source: Option<(HostId, u32)>, steps: &mut Steps) {
        let place = self.bring_in(piece, Wait::Background, steps);
        let whole = piece.whole(self.config.page_bytes);
        if whole.length != piece.length {
            steps.list.push(later(self.read_from(whole, source, Data::Moved)));
        }
        let at = (piece.host, place);
        let write = whole.on_share(at, self.page_bytes(), Operation::Write, Data::Moved);
        steps.list.push(later(write));
        self.count(piece.vm).filled_bytes += self.page_bytes();
    }
}
