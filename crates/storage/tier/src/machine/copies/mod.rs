//! Copies of a disk's log on its peers: sending groups, tracking progress, and losing peers.
//!
//! A peer is *copying* while it gets the existing log. It is *holding* once the sidecar names it.
//! It is *leaving* from its loss until the sidecar no longer names it. Peers that are holding or
//! leaving must have a group before the group's writes are answered. So no answer depends on a set
//! of copies that the sidecar does not name.
//!
//! Invariant: a write is acknowledged only if all copies have it that the sidecar names, or may
//! still name.

mod join;
mod peer;

use units::Nanos;

use super::io::{Io, PeerIo};
use super::log::Log;
use super::{Fx, Mode, Tier};
use crate::event::{Effect, IoTarget, Note, PeerEvent, Piece};
use crate::format::{BLOCK, Holder, LABEL_BYTES, SidecarState, held_at};
use crate::ownership;
use peer::{KeptStep, Peer, State};

/// Copies of a disk's log.
#[derive(Debug, Clone)]
pub(crate) struct Copies {
    /// Number of copies that mode back needs.
    wanted: u8,
    /// Peers that may hold a copy.
    peers: Vec<Peer>,
    /// True while new groups pause until a peer has the rest of the log.
    is_settling: bool,
}

impl Copies {
    pub(crate) fn new(wanted: u8, peers: Vec<Holder>) -> Self {
        Self { wanted, peers: peers.into_iter().map(Peer::new).collect(), is_settling: false }
    }

    pub(super) fn wanted(&self) -> u8 {
        self.wanted
    }

    pub(super) fn holding(&self) -> usize {
        self.peers.iter().filter(|peer| peer.state == State::Holding).count()
    }

    /// Returns true if the disk has peers that may hold copies.
    pub(super) fn has_peers(&self) -> bool {
        !self.peers.is_empty()
    }

    /// Returns true if there are at least as many copies as needed.
    pub(super) fn is_enough(&self) -> bool {
        self.holding() >= usize::from(self.wanted)
    }

    /// Returns true if no group may begin, because a peer is getting the rest of the log.
    pub(super) fn is_settling(&self) -> bool {
        self.is_settling
    }

    /// Returns the last group whose writes may be answered. `own` is the last group that this
    /// host's cache device has accepted.
    pub(super) fn accepted(&self, own: u64) -> u64 {
        ownership::everywhere(own, self.counted().map(|peer| peer.accepted))
    }

    /// Returns the last group that is durable in all copies. `own` is the last group that is
    /// durable on this host's cache device.
    pub(super) fn durable(&self, own: u64) -> u64 {
        ownership::everywhere(own, self.counted().map(|peer| peer.durable))
    }

    fn counted(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().filter(|peer| peer.counts())
    }

    /// Returns the peers with a complete copy, which the sidecar must name.
    pub(super) fn holders(&self) -> Vec<Holder> {
        let complete = |peer: &&Peer| matches!(peer.state, State::Named | State::Holding);
        self.peers.iter().filter(complete).map(|peer| peer.holder.clone()).collect()
    }

    /// Returns the number of log bytes that each peer lacks.
    pub(super) fn lags(&self, log: &Log) -> Vec<u64> {
        self.peers.iter().map(|peer| peer.lag(log)).collect()
    }

    /// Iterates over the times at which a peer must be checked for progress.
    pub(super) fn due(&self) -> impl Iterator<Item = Nanos> {
        self.peers.iter().filter_map(Peer::due)
    }

    fn numbers(&self) -> impl Iterator<Item = u8> + use<> {
        0..u8::try_from(self.peers.len()).unwrap_or(0)
    }

    fn peer(&mut self, peer: u8) -> &mut Peer {
        &mut self.peers[usize::from(peer)]
    }

    /// Handles the loss of a peer: results of its I/Os in progress are ignored from now on. If
    /// answers depend on the peer, they do so until the sidecar no longer names it.
    fn lose(&mut self, peer: u8) {
        let found = self.peer(peer);
        let before = found.state;
        found.state = if found.counts() { State::Leaving } else { State::None };
        (found.is_up, found.is_flushing, found.is_reading) = (false, false, false);
        found.link += 1;
        found.under_way = 0;
        found.groups.clear();
        found.kept.step = KeptStep::Idle;
        if !matches!(before, State::None | State::Holding | State::Leaving) {
            self.is_settling = false;
        }
    }

    /// Records that the sidecar names exactly the peers with complete copies. Returns the peers
    /// that now hold a copy (true) or hold none any more (false).
    fn named(&mut self, now: Nanos) -> Vec<(u8, bool)> {
        let mut changed = Vec::new();
        for (number, peer) in (0..).zip(&mut self.peers) {
            peer.since = now;
            peer.state = match peer.state {
                State::Named => State::Holding,
                State::Leaving => State::None,
                _ => continue,
            };
            changed.push((number, peer.state == State::Holding));
        }
        if !changed.is_empty() {
            self.is_settling &= self.peers.iter().any(|peer| {
                matches!(peer.state, State::Copying(_) | State::Marking(_) | State::Sealing)
            });
        }
        changed
    }

    /// Records the completion of one of a group's writes at a peer.
    fn hold(&mut self, peer: u8, seq: u64) {
        let found = self.peer(peer);
        for group in found.groups.iter_mut().filter(|group| group.0 == seq) {
            group.1 -= 1;
        }
        while let Some((seq, 0, _)) = found.groups.front().copied() {
            found.accepted = seq;
            found.groups.pop_front();
        }
    }
}

impl Tier {
    fn peer(&mut self, index: u16, peer: u8) -> &mut Peer {
        self.disk(index).copies.peer(peer)
    }

    /// Handles a change of a peer's connection.
    pub(super) fn peer_event(&mut self, index: u16, peer: u8, event: PeerEvent, fx: &mut Fx) {
        if self.disks[usize::from(index)].is_none() {
            return;
        }
        self.disk(index).copies.lose(peer);
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

    fn cut(&mut self, index: u16, peer: u8, fx: &mut Fx) {
        self.disk(index).copies.lose(peer);
        fx.push(Effect::Cut { disk: index, peer });
    }

    /// Drops the connections to all peers.
    pub(super) fn cut_off(&mut self, index: u16, fx: &mut Fx) {
        for peer in self.disk(index).copies.numbers() {
            if self.peer(index, peer).is_up {
                self.cut(index, peer, fx);
            }
        }
    }

    /// Handles the time. A peer without progress is lost. An idle peer gets a flush to check that
    /// it still exists. Otherwise a peer that is gone, and may return without its accepted but not
    /// durable groups, would stay named for long.
    pub(super) fn tick_copies(&mut self, index: u16, fx: &mut Fx) {
        let now = self.now;
        let Some(Some(disk)) = self.disks.get(usize::from(index)) else { return };
        let late: Vec<u8> = (0_u8..)
            .zip(&disk.copies.peers)
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

    /// Starts an I/O at a peer.
    pub(super) fn start_peer(&mut self, index: u16, peer: u8, what: PeerIo) -> crate::IoId {
        let now = self.now;
        let found = self.peer(index, peer);
        if found.under_way == 0 {
            found.since = now;
        }
        found.under_way += 1;
        let link = found.link;
        self.start_io(Io::Peer { disk: index, peer, link, what })
    }

    /// Writes a group to the cache device and to every peer that holds a copy.
    pub(super) fn push_group(
        &mut self,
        index: u16,
        (seq, position): (u64, u64),
        effect: Effect,
        writes: &[u32],
        fx: &mut Fx,
    ) {
        let Effect::Write { from, .. } = &effect else { panic!("the effect writes a group") };
        for peer in self.disk(index).copies.numbers() {
            let found = self.peer(index, peer);
            if found.state != State::Holding {
                continue;
            }
            let bytes: u64 = from.iter().map(Piece::bytes).sum();
            if position + bytes > found.kept.before + found.capacity - LABEL_BYTES {
                // The ring is full: earlier groups are still being trimmed there.
                self.cut(index, peer, fx);
                continue;
            }
            let parts = in_ring(position, from, found.capacity);
            let left = u32::try_from(parts.len()).unwrap_or(u32::MAX);
            found.groups.push_back((seq, left, position));
            for (at, from) in parts {
                for write in writes {
                    self.writes[*write].holds += 1;
                }
                let what = PeerIo::Group { seq, writes: writes.to_vec() };
                let io = self.start_peer(index, peer, what);
                fx.push(Effect::write(io, IoTarget::Copy(index, peer), at, from));
            }
        }
        fx.push(effect);
        self.time_changed();
    }

    /// Handles the completion of an I/O at a peer; the I/O may belong to a former connection.
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
            PeerIo::Read { chunk, .. } => self.chunks.unpin(*chunk),
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
        self.disk(index).copies.hold(peer, seq);
        self.groups_accepted(index, fx);
    }

    /// Advances joining, trimming and flushing of copies.
    pub(super) fn pump_copies(&mut self, index: u16, fx: &mut Fx) {
        if self.disk(index).copies.peers.is_empty() || self.disk(index).is_fenced {
            return;
        }
        self.name_holders(index, fx);
        self.pump_join(index, fx);
        for peer in self.disk(index).copies.numbers() {
            if self.peer(index, peer).state == State::Holding {
                self.flush_copy(index, peer, fx);
                self.pump_kept(index, peer, fx);
            }
        }
        self.follow_copies(index, fx);
    }

    /// Makes the sidecar name exactly the peers with complete copies.
    fn name_holders(&mut self, index: u16, fx: &mut Fx) {
        let now = self.now;
        let disk = self.disk(index);
        if disk.sidecar.is_writing() {
            return;
        }
        if disk.sidecar.word().holders != disk.copies.holders() {
            if disk.retry_at.is_none() {
                let state = disk.sidecar.word().state;
                self.write_sidecar(index, state, fx);
            }
            return;
        }
        let changed = disk.copies.named(now);
        for (peer, is_holding) in changed.iter().copied() {
            fx.push(Effect::Note(match is_holding {
                true => Note::Holding(index, peer),
                false => Note::PeerLost(index, peer),
            }));
        }
        if !changed.is_empty() {
            self.groups_accepted(index, fx);
            self.disk_durable(index, fx);
            self.time_changed();
        }
    }

    /// Begins a flush of a copy, if none is in progress, a request waits for one, and there is
    /// something new to flush.
    fn flush_copy(&mut self, index: u16, peer: u8, fx: &mut Fx) {
        let is_closing = self.is_closing;
        let disk = self.disk(index);
        let found = disk.copies.peer(peer);
        let (to, durable, is_flushing) = (found.accepted, found.durable, found.is_flushing);
        if is_flushing || !disk.waits_for(durable, to, is_closing) {
            return;
        }
        self.start_flush(index, peer, fx);
    }

    fn start_flush(&mut self, index: u16, peer: u8, fx: &mut Fx) {
        let found = self.peer(index, peer);
        let to = found.accepted;
        found.is_flushing = true;
        let io = self.start_peer(index, peer, PeerIo::Flush { to });
        fx.push(Effect::Flush { io, place: IoTarget::Copy(index, peer) });
        self.time_changed();
    }

    /// Switches the mode by the number of copies. A disk that needs copies is in mode back while it
    /// has enough. With fewer it drains its log and is in mode through, until there are enough
    /// copies again.
    fn follow_copies(&mut self, index: u16, fx: &mut Fx) {
        let is_still = self.is_closing || self.is_failed;
        let disk = self.disk(index);
        if disk.copies.wanted == 0 || disk.wish != Mode::Back || is_still {
            return;
        }
        let is_enough = disk.copies.is_enough();
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

/// Splits a group's pieces where a copy's ring wraps around.
fn in_ring(position: u64, from: &[Piece], capacity: u64) -> Vec<(u64, Vec<Piece>)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ADDRESS_BYTES;

    /// Returns two peers in these states, with the last groups that each has accepted and made
    /// durable.
    fn copies(states: [State; 2], accepted: [u64; 2], durable: [u64; 2]) -> Copies {
        let holder = |host| Holder { host: [host; 16], address: [0; ADDRESS_BYTES] };
        let mut copies = Copies::new(2, vec![holder(1), holder(2)]);
        for (at, peer) in copies.peers.iter_mut().enumerate() {
            (peer.state, peer.accepted, peer.durable) = (states[at], accepted[at], durable[at]);
        }
        copies
    }

    #[test]
    fn answers_wait_for_each_copy_that_counts() {
        let both = copies([State::Holding, State::Named], [7, 6], [5, 4]);
        assert_eq!((both.accepted(9), both.durable(9), both.accepted(3)), (6, 4, 3));
        let one = copies([State::Holding, State::Copying(0)], [7, 1], [5, 1]);
        assert_eq!((one.accepted(9), one.durable(9)), (7, 5), "the other has none yet");
        assert!(!one.is_enough());
    }

    #[test]
    fn lost_copy_counts_until_the_sidecar_names_it_no_more() {
        let mut copies = copies([State::Holding, State::Holding], [7, 5], [7, 5]);
        copies.lose(1);
        assert_eq!((copies.accepted(9), copies.holding()), (5, 1));
        assert_eq!(copies.holders().len(), 1, "the sidecar is to name the other alone");
        assert_eq!(copies.named(Nanos(1)), [(1, false)]);
        assert_eq!(copies.accepted(9), 7);
    }

    #[test]
    fn complete_copy_counts_before_it_is_named_and_holds_after() {
        let mut copies = copies([State::Named, State::None], [3, 0], [3, 0]);
        assert_eq!((copies.holding(), copies.accepted(9), copies.holders().len()), (0, 3, 1));
        assert_eq!(copies.named(Nanos(1)), [(0, true)]);
        assert_eq!((copies.holding(), copies.named(Nanos(2))), (1, vec![]));
    }

    #[test]
    fn copy_holds_a_group_when_all_of_it_and_all_before_it_came() {
        let mut copies = copies([State::Holding, State::None], [3, 0], [3, 0]);
        copies.peer(0).groups.extend([(4, 2, 0), (5, 1, 0)]);
        copies.hold(0, 5);
        copies.hold(0, 4);
        assert_eq!(copies.accepted(9), 3, "a part of the first is under way");
        copies.hold(0, 4);
        assert_eq!(copies.accepted(9), 5);
    }
}
