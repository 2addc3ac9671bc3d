//! Copies of a disk's log on its peers: what goes there, who counts, who is lost.
//!
//! A peer is *copying* while it is sent what the log has already, *holding* once the sidecar names it, and
//! *leaving* from its loss until the sidecar names it no more. Whoever is holding or leaving has to have a
//! group before it is answered, so that nothing is answered by a set of copies that the sidecar does not know.

use super::io::Io;
use super::peer::{KeptStep, Peer, PeerIo, State};
use super::{Disk, Fx, Mode, Tier};
use crate::event::{Effect, Note, PeerEvent, Piece, Place};
use crate::format::{BLOCK, Holder, LABEL_BYTES, SidecarState, held_at};
use crate::ownership;

impl Disk {
    /// Groups up to this one may be answered.
    pub(super) fn accepted_everywhere(&self) -> u64 {
        let own = self.log.as_ref().map_or(0, |log| log.ends().accepted);
        ownership::everywhere(own, self.peers.iter().filter(|p| p.counts()).map(|p| p.accepted))
    }

    /// Groups up to this one are durable in all copies.
    pub(super) fn durable_everywhere(&self) -> u64 {
        let own = self.log.as_ref().map_or(0, |log| log.ends().flushed);
        ownership::everywhere(own, self.peers.iter().filter(|p| p.counts()).map(|p| p.durable))
    }

    /// Peers whose copy is complete, as the sidecar is to name them.
    pub(super) fn holders(&self) -> Vec<Holder> {
        let complete = |peer: &&Peer| matches!(peer.state, State::Named | State::Holding);
        self.peers.iter().filter(complete).map(|peer| peer.holder.clone()).collect()
    }

    pub(super) fn holding(&self) -> usize {
        self.peers.iter().filter(|peer| peer.state == State::Holding).count()
    }

    /// Whether somebody waits for groups to be durable that were accepted and are not.
    pub(super) fn waits_for(&self, durable: u64, accepted: u64, is_closing: bool) -> bool {
        let is_new = |seq: u64| seq > durable && seq <= accepted;
        self.queue.waits_for(is_new)
            || self.destager.awaited_seq().is_some_and(is_new)
            || (is_closing && accepted > durable)
    }
}

impl Tier {
    fn peer(&mut self, index: u16, peer: u8) -> &mut Peer {
        &mut self.disk(index).peers[usize::from(peer)]
    }

    /// Something is known of a peer.
    pub(super) fn peer_event(&mut self, index: u16, peer: u8, event: PeerEvent, fx: &mut Fx) {
        if self.disks[usize::from(index)].is_none() {
            return;
        }
        self.lose_peer(index, peer);
        match event {
            PeerEvent::Up { capacity } => {
                let logs = u64::from(self.geometry.chunks - self.geometry.page_chunks);
                let needed = LABEL_BYTES + 2 * (logs + 1) * u64::from(self.geometry.chunk_bytes);
                let found = self.peer(index, peer);
                found.is_up = capacity >= needed && capacity.is_multiple_of(BLOCK);
                found.capacity = capacity;
            }
            PeerEvent::Lost => {}
            PeerEvent::Fenced => self.fence(index, fx),
        }
        self.stir();
    }

    /// Nothing of what is under way to a peer counts any more.
    fn lose_peer(&mut self, index: u16, peer: u8) {
        let found = self.peer(index, peer);
        let before = found.state;
        found.state = if found.counts() { State::Leaving } else { State::None };
        (found.is_up, found.is_flushing, found.is_reading) = (false, false, false);
        found.link += 1;
        found.under_way = 0;
        found.groups.clear();
        found.kept.step = KeptStep::Idle;
        if !matches!(before, State::None | State::Holding | State::Leaving) {
            self.disk(index).is_settling = false;
        }
    }

    fn cut(&mut self, index: u16, peer: u8, fx: &mut Fx) {
        self.lose_peer(index, peer);
        fx.push(Effect::Cut { disk: index, peer });
    }

    /// No peer is asked for anything any more.
    pub(super) fn cut_off(&mut self, index: u16, fx: &mut Fx) {
        for peer in 0..u8::try_from(self.disk(index).peers.len()).unwrap_or(0) {
            if self.peer(index, peer).is_up {
                self.cut(index, peer, fx);
            }
        }
    }

    /// Time passed: whoever made no progress is lost. Whoever had nothing to do is asked for a flush, so that one
    /// who is gone, and may come back without what he only accepted, does not stay named for long.
    pub(super) fn tick_copies(&mut self, index: u16, fx: &mut Fx) {
        let now = self.now;
        let Some(Some(disk)) = self.disks.get(usize::from(index)) else { return };
        let late: Vec<u8> = (0_u8..)
            .zip(&disk.peers)
            .filter(|(_, peer)| peer.due().is_some_and(|due| now >= due))
            .map(|(peer, _)| peer)
            .collect();
        for peer in late {
            if self.peer(index, peer).under_way > 0 {
                self.cut(index, peer, fx);
            } else {
                self.start_flush(index, peer, fx);
            }
        }
    }

    /// Starts an I/O that a peer ends.
    pub(super) fn start_peer(&mut self, index: u16, peer: u8, what: PeerIo) -> crate::IoId {
        let now = self.now;
        let found = self.peer(index, peer);
        if found.under_way == 0 {
            found.since = now;
        }
        found.under_way += 1;
        let link = found.link;
        self.ios.start(Io::Peer { disk: index, peer, link, what })
    }

    /// A group goes to the cache device, and to every peer that holds a copy.
    pub(super) fn push_group(
        &mut self,
        index: u16,
        (seq, position): (u64, u64),
        effect: Effect,
        writes: &[u32],
        fx: &mut Fx,
    ) {
        let Effect::Write { from, .. } = &effect else { panic!("a group is written") };
        for peer in 0..u8::try_from(self.disk(index).peers.len()).unwrap_or(0) {
            let found = self.peer(index, peer);
            if found.state != State::Holding {
                continue;
            }
            let bytes: u64 = from.iter().map(Piece::bytes).sum();
            if position + bytes > found.kept.before + found.capacity - LABEL_BYTES {
                // What was given up before is still being cut off there.
                self.cut(index, peer, fx);
                continue;
            }
            let parts = in_ring(position, from, found.capacity);
            let left = u32::try_from(parts.len()).unwrap_or(u32::MAX);
            found.groups.push_back((seq, left, position));
            for (at, from) in parts {
                for write in writes {
                    self.writes.get(*write).holds += 1;
                }
                let what = PeerIo::Group { seq, writes: writes.to_vec() };
                let io = self.start_peer(index, peer, what);
                fx.push(Effect::write(io, Place::Copy(index, peer), at, from));
            }
        }
        fx.push(effect);
        self.time_changed();
    }

    /// An I/O for a peer ended, perhaps one of a way that is given up.
    pub(super) fn peer_done(
        &mut self,
        (index, peer, link): (u16, u8, u32),
        what: PeerIo,
        is_ok: bool,
        fx: &mut Fx,
    ) {
        match &what {
            PeerIo::Group { writes, .. } => {
                for write in writes {
                    self.let_go(*write, fx);
                }
            }
            PeerIo::Read { chunk, .. } => self.unpin_chunk(*chunk),
            PeerIo::Copy { buf, .. } => fx.push(Effect::Release(*buf)),
            _ => {}
        }
        let now = self.now;
        let found = self.peer(index, peer);
        let is_current = found.link == link;
        if let PeerIo::Read { buf, .. } = what
            && !(is_current && is_ok)
        {
            fx.push(Effect::Release(buf));
        }
        if !is_current {
            return;
        }
        (found.under_way, found.since) = (found.under_way - 1, now);
        if !is_ok {
            return self.cut(index, peer, fx);
        }
        match what {
            PeerIo::Group { seq, .. } => self.group_held(index, peer, seq, fx),
            PeerIo::Flush { to } => {
                (found.is_flushing, found.durable) = (false, found.durable.max(to));
                self.disk_durable(index, fx);
            }
            PeerIo::Read { .. } | PeerIo::Copy { .. } | PeerIo::Mark | PeerIo::Seal => {
                self.joined_a_step(index, peer, what, fx);
            }
            PeerIo::Kept => self.kept_a_step(index, peer, fx),
        }
    }

    fn group_held(&mut self, index: u16, peer: u8, seq: u64, fx: &mut Fx) {
        let found = self.peer(index, peer);
        for group in found.groups.iter_mut().filter(|group| group.0 == seq) {
            group.1 -= 1;
        }
        while let Some((seq, 0, _)) = found.groups.front().copied() {
            found.accepted = seq;
            found.groups.pop_front();
        }
        self.groups_accepted(index, fx);
    }

    /// Copies come, go, and are made durable.
    pub(super) fn pump_copies(&mut self, index: u16, fx: &mut Fx) {
        if self.disk(index).peers.is_empty() || self.disk(index).is_fenced {
            return;
        }
        self.name_holders(index, fx);
        self.pump_join(index, fx);
        for peer in 0..u8::try_from(self.disk(index).peers.len()).unwrap_or(0) {
            if self.peer(index, peer).state == State::Holding {
                self.flush_copy(index, peer, fx);
                self.pump_kept(index, peer, fx);
            }
        }
        self.follow_copies(index, fx);
    }

    /// The sidecar is to name whoever has a complete copy, and nobody else.
    fn name_holders(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        if disk.sidecar.is_writing() {
            return;
        }
        if disk.sidecar.word().holders != disk.holders() {
            if disk.retry_at.is_none() {
                let state = disk.sidecar.word().state;
                self.write_sidecar(index, state, fx);
            }
            return;
        }
        let mut has_changed = false;
        for peer in 0..u8::try_from(disk.peers.len()).unwrap_or(0) {
            let now = self.now;
            let found = self.peer(index, peer);
            found.since = now;
            let (next, note) = match found.state {
                State::Named => (State::Holding, Note::Holding(index, peer)),
                State::Leaving => (State::None, Note::PeerLost(index, peer)),
                _ => continue,
            };
            found.state = next;
            has_changed = true;
            fx.push(Effect::Note(note));
        }
        if has_changed {
            let disk = self.disk(index);
            disk.is_settling &= disk.peers.iter().any(|peer| {
                matches!(peer.state, State::Copying(_) | State::Marking(_) | State::Sealing)
            });
            self.groups_accepted(index, fx);
            self.disk_durable(index, fx);
            self.time_changed();
        }
    }

    /// One flush of a copy at a time, if somebody waits for one that would help him.
    fn flush_copy(&mut self, index: u16, peer: u8, fx: &mut Fx) {
        let is_closing = self.is_closing;
        let disk = self.disk(index);
        let found = &disk.peers[usize::from(peer)];
        let to = found.accepted;
        if found.is_flushing || !disk.waits_for(found.durable, to, is_closing) {
            return;
        }
        self.start_flush(index, peer, fx);
    }

    fn start_flush(&mut self, index: u16, peer: u8, fx: &mut Fx) {
        let found = self.peer(index, peer);
        let to = found.accepted;
        found.is_flushing = true;
        let io = self.start_peer(index, peer, PeerIo::Flush { to });
        fx.push(Effect::Flush { io, place: Place::Copy(index, peer) });
        self.time_changed();
    }

    /// A disk that is to have copies is in mode back as long as it has them: with fewer it drains, and its
    /// writes are answered by the backing store until there are enough again.
    fn follow_copies(&mut self, index: u16, fx: &mut Fx) {
        let is_still = self.is_closing || self.is_failed;
        let disk = self.disk(index);
        if disk.copies == 0 || disk.wish != Mode::Back || is_still {
            return;
        }
        let is_enough = disk.holding() >= usize::from(disk.copies);
        let is_marked =
            disk.sidecar.word().state == SidecarState::Dirty || disk.sidecar.is_writing();
        let next = match (disk.mode, disk.change) {
            (Mode::Back, None) if !is_enough => Some(Mode::Through),
            (Mode::Through, None) if is_enough => Some(Mode::Back),
            (Mode::Back, Some(Mode::Through)) if is_enough && !disk.sidecar.is_writing() => None,
            (Mode::Through, Some(Mode::Back)) if !is_enough && !is_marked => None,
            _ => return,
        };
        disk.change = next;
        if next.is_none() {
            for request in std::mem::take(&mut disk.held) {
                self.accept(request, fx);
            }
        }
    }
}

/// The parts of what is written at a position of a log, where they lie in a copy's ring.
pub(super) fn in_ring(position: u64, from: &[Piece], capacity: u64) -> Vec<(u64, Vec<Piece>)> {
    let ring = capacity - LABEL_BYTES;
    let mut before = ring - position % ring;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for piece in from {
        let bytes = piece.bytes();
        if before >= bytes {
            first.push(piece.clone());
        } else if before == 0 {
            second.push(piece.clone());
        } else {
            let (head, tail) = split(piece, u32::try_from(before).unwrap_or(u32::MAX));
            first.push(head);
            second.push(tail);
        }
        before = before.saturating_sub(bytes);
    }
    let mut parts = vec![(held_at(position, capacity), first)];
    if !second.is_empty() {
        parts.push((LABEL_BYTES, second));
    }
    parts
}

fn split(piece: &Piece, first: u32) -> (Piece, Piece) {
    match piece {
        Piece::Bytes(bytes) => {
            let (head, tail) = bytes.split_at(first as usize);
            (Piece::Bytes(head.into()), Piece::Bytes(tail.into()))
        }
        Piece::Zero(bytes) => (Piece::Zero(first), Piece::Zero(bytes - first)),
        Piece::Buf { buf, at, bytes } => (
            Piece::Buf { buf: *buf, at: *at, bytes: first },
            Piece::Buf { buf: *buf, at: at + first, bytes: bytes - first },
        ),
    }
}
