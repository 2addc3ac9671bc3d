//! Joining of a peer: it gets a complete copy of the log, and the copy's start follows the log's
//! start.

use super::Copies;
use super::peer::{CopyLabel, KeptStep, State};
use crate::event::{Effect, IoTarget, Mode, Piece, ReadIo};
use crate::format::{BLOCK, LABEL_BYTES, held_at};
use crate::machine::io::PeerIo;
use crate::machine::log::LogChunk;
use crate::machine::{Fx, Tier};

/// Number of bytes that are read and sent at once.
const STEP_BYTES: u64 = 256 << 10;
/// Remaining bytes at which new groups pause until the peer has the rest: a few milliseconds.
const REST_BYTES: u64 = 1 << 20;
/// Maximum size of a range that is trimmed in one request, in bytes.
const TRIM_BYTES: u64 = 1 << 30;

impl Tier {
    /// Sends the log to one peer at a time, while there are fewer copies than wanted.
    pub(super) fn pump_join(&mut self, index: u16, fx: &mut Fx) {
        let is_still = self.is_closing || self.is_failed;
        let disk = self.disk(index);
        for (number, peer) in (0..).zip(&disk.copies.peers) {
            match peer.state {
                State::Copying(next) => return self.copy_step(index, number, next, fx),
                State::Marking(_) | State::Sealing | State::Named => return,
                State::None | State::Holding | State::Leaving => {}
            }
        }
        let is_wanted = disk.wish == Mode::Back && !disk.copies.is_enough();
        if !is_wanted || is_still {
            return;
        }
        let (first, ends) = (disk.log.first_chunk(), disk.log.ends());
        let (position, seq) = match ends.retired < disk.log.last() {
            // A copy that lacks groups would be refused as damaged. So no copy is made until the
            // backing store has all of these groups.
            true if first.first < disk.log.whole_from() => return,
            true => (first.start, first.first),
            false => (ends.position, ends.seq),
        };
        let mut peers = (0..).zip(&mut disk.copies.peers);
        let ready = peers.find(|(_, peer)| peer.is_up && peer.state == State::None);
        let Some((number, peer)) = ready else { return };
        peer.kept =
            CopyLabel { number: 1, position, seq, before: position, ..CopyLabel::default() };
        peer.state = State::Copying(position);
        self.copy_step(index, number, position, fx);
    }

    /// Sends the next piece of the log to the peer. After the last piece, writes the marks of the
    /// copy's start and end.
    fn copy_step(&mut self, index: u16, peer: u8, next: u64, fx: &mut Fx) {
        let geometry = self.geometry;
        let disk = self.disk(index);
        let (log, Copies { peers, is_settling, .. }) = (&disk.log, &mut disk.copies);
        let found = &mut peers[usize::from(peer)];
        if found.is_reading {
            return;
        }
        // Groups that were retired meanwhile are not needed in the copy.
        let (mut next, first, ends) = (next, log.first_chunk(), log.ends());
        if next < first.start {
            next = first.start;
            (found.kept.position, found.kept.before, found.kept.seq) = (next, next, first.first);
            found.state = State::Copying(next);
        }
        *is_settling |= ends.position - next <= REST_BYTES;
        if next < ends.accepted_to {
            let Some((at, room)) = log.place_of(&geometry, next) else { return };
            let ring = found.capacity - LABEL_BYTES;
            let bytes = room.min(STEP_BYTES).min(ends.accepted_to - next).min(ring - next % ring);
            found.is_reading = true;
            return self.read_for_copy(
                index,
                peer,
                (at, next),
                u32::try_from(bytes).unwrap_or(0),
                fx,
            );
        }
        if *is_settling && log.in_flight() == 0 && next == ends.position {
            self.mark_copy(index, peer, fx);
        }
    }

    fn read_for_copy(
        &mut self,
        index: u16,
        peer: u8,
        (at, position): (u64, u64),
        bytes: u32,
        fx: &mut Fx,
    ) {
        let buf = self.take(bytes, fx);
        let chunk = self.geometry.chunk_of(at);
        self.chunks.pin(chunk);
        let what = PeerIo::Read { buf, chunk, position, bytes };
        let io = self.start_peer(index, peer, what);
        fx.push(Effect::Read(ReadIo {
            io,
            place: IoTarget::Cache,
            at,
            bytes,
            skip: 0,
            take: bytes,
            buf,
            to: 0,
            checks: Vec::new(),
            wants_sums: false,
        }));
        self.time_changed();
    }

    /// Zeroes the block behind the end of the copy, to cut off remains of earlier copies, and
    /// writes the label with the copy's start.
    fn mark_copy(&mut self, index: u16, peer: u8, fx: &mut Fx) {
        let disk = self.disk(index);
        let found = disk.copies.peer(peer);
        let (kept, capacity, position) = (found.kept, found.capacity, disk.log.ends().position);
        found.state = State::Marking(2);
        let label = |number| Piece::Bytes(disk.log.label(number, kept.position, kept.seq).encode());
        let block = u32::try_from(BLOCK).unwrap_or(u32::MAX);
        let start = (0, vec![label(kept.number - 1), label(kept.number)]);
        let end = (held_at(position, capacity), vec![Piece::Zero(block)]);
        for (at, from) in [end, start] {
            let io = self.start_peer(index, peer, PeerIo::Mark);
            fx.push(Effect::write(io, IoTarget::Copy(index, peer), at, from));
        }
        self.time_changed();
    }

    pub(super) fn joined_a_step(&mut self, index: u16, peer: u8, what: PeerIo, fx: &mut Fx) {
        let last = self.disk(index).log.last();
        let found = self.disk(index).copies.peer(peer);
        match (what, found.state) {
            (PeerIo::Read { buf, position, bytes, .. }, _) => {
                let from = vec![Piece::Buf { buf, at: 0, bytes }];
                let at = held_at(position, found.capacity);
                let what = PeerIo::Copy { buf, to: position + u64::from(bytes) };
                let io = self.start_peer(index, peer, what);
                fx.push(Effect::write(io, IoTarget::Copy(index, peer), at, from));
                self.time_changed();
            }
            (PeerIo::Copy { to, .. }, State::Copying(_)) => {
                (found.state, found.is_reading) = (State::Copying(to), false);
            }
            (PeerIo::Mark, State::Marking(left)) if left > 1 => {
                found.state = State::Marking(left - 1);
            }
            (PeerIo::Mark, _) => {
                found.state = State::Sealing;
                let io = self.start_peer(index, peer, PeerIo::Seal);
                fx.push(Effect::Flush { io, place: IoTarget::Copy(index, peer) });
                self.time_changed();
            }
            (PeerIo::Seal, _) => {
                (found.accepted, found.durable, found.state) = (last, last, State::Named);
            }
            _ => {}
        }
    }

    /// Moves the start of a copy forward to the start of the log.
    pub(super) fn pump_kept(&mut self, index: u16, peer: u8, fx: &mut Fx) {
        let disk = self.disk(index);
        let LogChunk { first: seq, start: position, .. } = disk.log.first_chunk();
        let kept = &mut disk.copies.peer(peer).kept;
        if kept.step != KeptStep::Idle || position <= kept.position {
            return;
        }
        *kept = CopyLabel {
            number: kept.number + 1,
            position,
            seq,
            before: kept.position,
            step: KeptStep::Label,
            left: 1,
        };
        let label = disk.log.label(kept.number, position, seq);
        let io = self.start_peer(index, peer, PeerIo::Kept);
        let from = vec![Piece::Bytes(label.encode())];
        fx.push(Effect::write(io, IoTarget::Copy(index, peer), label.place(), from));
        self.time_changed();
    }

    /// Executes the next step of moving a copy's start. The new label must be durable before
    /// anything before the start is trimmed.
    pub(super) fn kept_a_step(&mut self, index: u16, peer: u8, fx: &mut Fx) {
        let found = self.disk(index).copies.peer(peer);
        found.kept.left -= 1;
        if found.kept.left > 0 {
            return;
        }
        let (kept, capacity) = (found.kept, found.capacity);
        let place = IoTarget::Copy(index, peer);
        match kept.step {
            KeptStep::Label => {
                (found.kept.step, found.kept.left) = (KeptStep::Flush, 1);
                let io = self.start_peer(index, peer, PeerIo::Kept);
                fx.push(Effect::Flush { io, place });
            }
            KeptStep::Flush => {
                let parts = ranges(kept.before, kept.position, capacity);
                found.kept.step = KeptStep::Trim;
                found.kept.left = u32::try_from(parts.len()).unwrap_or(u32::MAX);
                for (at, bytes) in parts {
                    let io = self.start_peer(index, peer, PeerIo::Kept);
                    fx.push(Effect::Zero { io, place, at, bytes, unmap: true });
                }
            }
            KeptStep::Trim | KeptStep::Idle => {
                (found.kept.step, found.kept.before) = (KeptStep::Idle, kept.position);
            }
        }
        self.time_changed();
    }
}

/// Converts a range of positions into ranges of a copy's ring: address and bytes.
fn ranges(mut from: u64, to: u64, capacity: u64) -> Vec<(u64, u32)> {
    let ring = capacity - LABEL_BYTES;
    let mut found = Vec::new();
    while from < to {
        let bytes = (to - from).min(ring - from % ring).min(TRIM_BYTES);
        found.push((held_at(from, capacity), u32::try_from(bytes).unwrap_or(u32::MAX)));
        from += bytes;
    }
    found
}
