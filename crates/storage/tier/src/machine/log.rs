//! Log on the cache device: its chunks, the groups in them, and the last accepted and durable
//! groups.
//!
//! Invariant: a group counts as accepted or durable only when it and all groups before it are. So
//! groups that complete early wait for earlier groups, a flush covers the groups that were accepted
//! when it began, and no group is durable without a flush. No other code changes these positions.

use std::collections::VecDeque;

use state_machine::IoId;

use crate::event::{Effect, IoTarget, Piece};
use crate::format::{BLOCK, Flags, Head, Label, NO_CHUNK, Record, Uuid};
use crate::geometry::Geometry;

/// Identity of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LogId {
    Pool,
    Disk(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogChunk {
    pub(crate) chunk: u32,
    /// Number of the first group in the chunk.
    pub(crate) first: u64,
    /// Log position at which the chunk begins.
    pub(crate) start: u64,
}

/// Progress of a log. Each number of a group stands for this group and all groups before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogEnds {
    /// Number of the next group.
    pub(crate) seq: u64,
    /// Log position of the next group.
    pub(crate) position: u64,
    /// Last group accepted by the cache device.
    pub(crate) accepted: u64,
    /// Log position behind the last accepted group.
    pub(crate) accepted_to: u64,
    /// Last group that is durable on the cache device.
    pub(crate) flushed: u64,
    /// Last group that is durable on the cache device and in every copy.
    pub(crate) durable: u64,
    /// Last group that the newest head records as durable.
    pub(crate) told: u64,
    /// Last group whose writes are on the backing store.
    pub(crate) retired: u64,
    /// Last group that the newest head records as retired.
    pub(crate) told_retired: u64,
    /// Number of the newest durable sidecar copy of the log's disk, to be written in heads.
    pub(crate) sidecar: u64,
}

/// Log: its chunks and its progress.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    owner: Uuid,
    generation: u64,
    attach: u64,
    /// Chunks, oldest first, at least one. Groups are written to the last chunk.
    chunks: VecDeque<LogChunk>,
    /// First group from which all groups can be read; 0 if no earlier group is missing.
    whole_from: u64,
    /// Number of written bytes in the last chunk.
    at: u32,
    /// Checksum of the last head; 0 before the first.
    previous: u64,
    ends: LogEnds,
    in_flight: VecDeque<InFlight>,
}

/// Group whose write is in progress.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    seq: u64,
    is_written: bool,
    /// True if the group is durable once it is written.
    is_durable: bool,
    /// Log position behind the group.
    end: u64,
}

/// Properties of a group other than its records.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GroupFacts {
    pub(super) flags: Flags,
    pub(super) epoch: u64,
    pub(super) unix_ns: u64,
    /// True if the write itself makes the group durable.
    pub(super) is_durable: bool,
}

impl Log {
    /// Creates a log that begins with group `seq` in `chunk`.
    pub(crate) fn new(owner: Uuid, generation: u64, attach: u64, chunk: u32, seq: u64) -> Self {
        let last = seq - 1;
        let ends = LogEnds {
            seq,
            position: 0,
            accepted: last,
            accepted_to: 0,
            flushed: last,
            durable: last,
            told: last,
            retired: last,
            told_retired: last,
            sidecar: 0,
        };
        Self {
            owner,
            generation,
            attach,
            chunks: VecDeque::from([LogChunk { chunk, first: seq, start: 0 }]),
            whole_from: 0,
            at: 0,
            previous: 0,
            ends,
            in_flight: VecDeque::new(),
        }
    }

    /// Sets the position at which reading begins, `at` bytes after the start of its chunk.
    pub(crate) fn read_from(&mut self, position: u64, at: u32) {
        (self.ends.position, self.at) = (position, at);
        self.chunks[0].start = position;
    }

    /// Moves the read position behind a group that was read. `is_in_chunks` is false for a copy,
    /// where groups follow each other without chunks.
    pub(crate) fn read_on(&mut self, head: &Head, sum: u64, is_in_chunks: bool) {
        if self.previous == 0 {
            self.chunks[0].start = head.position.saturating_sub(self.at.into());
        }
        let ends = &mut self.ends;
        ends.seq = head.seq + 1;
        ends.position = head.position + BLOCK + u64::from(head.bytes);
        ends.retired = ends.retired.max(head.retired);
        ends.sidecar = ends.sidecar.max(head.sidecar);
        self.previous = sum;
        if is_in_chunks {
            self.at += 4096 + head.bytes;
        }
        if head.flags.has(Flags::LINK) {
            self.go_on_in(head.next_chunk);
        }
    }

    /// Ends reading: all groups that were read are durable, and heads have recorded groups up to
    /// `told` as durable.
    pub(crate) fn was_read(&mut self, told: u64) {
        let (last, ends) = (self.last(), &mut self.ends);
        (ends.accepted, ends.accepted_to) = (last, ends.position);
        (ends.flushed, ends.durable, ends.told) = (last, last, told);
    }

    /// Prepends the chunks of `before`. Some of their groups before group `from` cannot be read.
    pub(crate) fn lies_behind(&mut self, before: Self, from: u64) {
        let mut chunks = before.chunks;
        // Both parts share a chunk, whose first group has the number of the earlier part.
        if let Some(own) = chunks.back().filter(|last| last.chunk == self.chunks[0].chunk) {
            self.chunks[0].first = own.first;
            chunks.pop_back();
        }
        chunks.append(&mut self.chunks);
        (self.chunks, self.whole_from) = (chunks, from);
    }

    pub(crate) fn ends(&self) -> LogEnds {
        self.ends
    }

    pub(crate) fn chunks(&self) -> &VecDeque<LogChunk> {
        &self.chunks
    }

    /// Returns true if the chunk belongs to the log.
    pub(crate) fn has_chunk(&self, chunk: u32) -> bool {
        self.chunks.iter().any(|own| own.chunk == chunk)
    }

    pub(crate) fn first_chunk(&self) -> LogChunk {
        self.chunks[0]
    }

    /// Returns the chunk to which groups are written.
    pub(crate) fn chunk(&self) -> u32 {
        self.chunks.back().map_or(NO_CHUNK, |last| last.chunk)
    }

    /// Returns true if groups of this owner and generation belong to the log.
    pub(crate) fn is_of(&self, owner: Uuid, generation: u64) -> bool {
        (self.owner, self.generation) == (owner, generation)
    }

    /// Returns true if a group with `previous` as the checksum of the head before it continues the
    /// log. Before the first group was read, any group does.
    pub(crate) fn is_followed_by(&self, previous: u64) -> bool {
        self.previous == 0 || self.previous == previous
    }

    /// Returns the checksum of the last head; `None` before the first.
    pub(crate) fn last_sum(&self) -> Option<u64> {
        (self.previous != 0).then_some(self.previous)
    }

    /// Returns the first group from which all groups can be read; 0 if no earlier group is missing.
    pub(crate) fn whole_from(&self) -> u64 {
        self.whole_from
    }

    /// Returns a label for a copy that begins at this position with this group.
    pub(super) fn label(&self, number: u64, position: u64, seq: u64) -> Label {
        Label { disk: self.owner, generation: self.generation, number, position, seq }
    }

    /// Sets the attachment of a log that has no chunk, or that belongs to an earlier attachment.
    pub(super) fn set_attach(&mut self, attach: u64) {
        self.attach = attach;
    }

    pub(super) fn set_first_chunk(&mut self, chunk: u32) {
        self.chunks[0].chunk = chunk;
    }

    /// Sets the last group whose writes are on the backing store.
    pub(crate) fn set_retired(&mut self, seq: u64) {
        self.ends.retired = seq;
    }

    /// Sets the number of the newest durable sidecar copy.
    pub(super) fn set_sidecar(&mut self, number: u64) {
        self.ends.sidecar = number;
    }

    /// Records the completion of a flush of the cache device that began when groups up to this one
    /// were accepted.
    pub(super) fn flushed_to(&mut self, seq: u64) {
        assert!(seq <= self.ends.accepted, "a flush covers only accepted groups");
        self.ends.flushed = self.ends.flushed.max(seq);
    }

    /// Records that groups up to this one are durable on the cache device and in all copies.
    /// Returns false if that was known.
    pub(super) fn durable_to(&mut self, seq: u64) -> bool {
        assert!(seq <= self.ends.flushed, "durable groups were flushed");
        let is_new = seq > self.ends.durable;
        self.ends.durable = self.ends.durable.max(seq);
        is_new
    }

    /// Returns the number of groups whose write is in progress.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns the number of the last group that was begun.
    pub(crate) fn last(&self) -> u64 {
        self.ends.seq - 1
    }

    /// Returns the number of free bytes in the last chunk.
    pub(crate) fn left(&self, geometry: &Geometry) -> u32 {
        geometry.chunk_bytes - self.at
    }

    /// Returns the address of the next group.
    pub(crate) fn next_at(&self, geometry: &Geometry) -> u64 {
        geometry.chunk_at(self.chunk()) + u64::from(self.at)
    }

    /// Returns the number of payload blocks that a group may have in the rest of the chunk, in
    /// addition to its head and the link that ends the chunk. `None` if not even a head fits.
    pub(super) fn room(&self, geometry: &Geometry) -> Option<u64> {
        (u64::from(self.left(geometry)) / BLOCK).checked_sub(2)
    }

    /// Begins a group. The payload follows the head, in the order of the records.
    pub(super) fn write(
        &mut self,
        geometry: &Geometry,
        facts: GroupFacts,
        records: Vec<Record>,
        payload: Vec<Piece>,
        io: IoId,
    ) -> Effect {
        self.begin(geometry, facts, NO_CHUNK, records, payload, io)
    }

    /// Ends the chunk with a link to `chunk`, in which the next group is written.
    pub(super) fn link(
        &mut self,
        geometry: &Geometry,
        facts: GroupFacts,
        chunk: u32,
        io: IoId,
    ) -> Effect {
        let facts = GroupFacts { flags: facts.flags.with(Flags::LINK), ..facts };
        let effect = self.begin(geometry, facts, chunk, Vec::new(), Vec::new(), io);
        self.go_on_in(chunk);
        effect
    }

    fn go_on_in(&mut self, chunk: u32) {
        let LogEnds { seq, position, .. } = self.ends;
        self.chunks.push_back(LogChunk { chunk, first: seq, start: position });
        self.at = 0;
    }

    fn begin(
        &mut self,
        geometry: &Geometry,
        facts: GroupFacts,
        next_chunk: u32,
        records: Vec<Record>,
        payload: Vec<Piece>,
        io: IoId,
    ) -> Effect {
        let bytes =
            u32::try_from(payload.iter().map(Piece::bytes).sum::<u64>()).unwrap_or(u32::MAX);
        // Recovery finds a chunk by its first head. After a power cut, the durable position in a
        // chunk without a first head would not be found if the log is damaged before it. So it is
        // not told there.
        let ends = &mut self.ends;
        let first = self.chunks.back().map_or(0, |last| last.first);
        let is_found = first <= ends.durable || first == ends.seq;
        let durable = if is_found { ends.durable } else { 0 };
        ends.told = ends.told.max(durable);
        let head = Head {
            seq: ends.seq,
            previous: self.previous,
            durable,
            owner: self.owner,
            generation: self.generation,
            position: ends.position,
            bytes,
            flags: facts.flags,
            epoch: facts.epoch,
            retired: ends.retired,
            attach: self.attach,
            unix_ns: facts.unix_ns,
            next_chunk,
            sidecar: ends.sidecar,
            records,
        };
        let (block, sum) = head.encode();
        let mut from = vec![Piece::Bytes(block)];
        from.extend(payload);
        self.previous = sum;
        ends.told_retired = ends.retired;
        ends.position += BLOCK + u64::from(bytes);
        let (seq, is_durable, end) = (ends.seq, facts.is_durable, ends.position);
        ends.seq += 1;
        let at = self.next_at(geometry);
        self.at += 4096 + bytes;
        self.in_flight.push_back(InFlight { seq, is_written: false, is_durable, end });
        Effect::Write { io, place: IoTarget::Cache, at, from, durable: is_durable }
    }

    /// Drops and returns the chunks that have only groups before this one.
    pub(super) fn drop_before(&mut self, seq: u64) -> impl Iterator<Item = u32> + use<> {
        let leave = self.chunks.iter().skip(1).take_while(|next| next.first <= seq).count();
        self.chunks.drain(..leave).map(|chunk| chunk.chunk).collect::<Vec<_>>().into_iter()
    }

    /// Returns the address of a log position on the cache device, and the number of bytes that
    /// follow it in the same chunk.
    pub(super) fn place_of(&self, geometry: &Geometry, position: u64) -> Option<(u64, u64)> {
        let index = self.chunks.iter().rposition(|chunk| chunk.start <= position)?;
        let end = self.chunks.get(index + 1).map_or(self.ends.position, |next| next.start);
        let found = self.chunks[index];
        let at = geometry.chunk_at(found.chunk) + (position - found.start);
        (position < end).then_some((at, end - position))
    }

    /// Returns the address of the payload of a group that would begin now.
    pub(super) fn payload_at(&self, geometry: &Geometry) -> u64 {
        self.next_at(geometry) + BLOCK
    }

    /// Records that a group was written. Returns true if more groups count as accepted than before.
    pub(super) fn written(&mut self, seq: u64) -> bool {
        for group in &mut self.in_flight {
            group.is_written |= group.seq == seq;
        }
        let (before, ends) = (self.ends.accepted, &mut self.ends);
        while let Some(group) = self.in_flight.front().filter(|group| group.is_written).copied() {
            self.in_flight.pop_front();
            (ends.accepted, ends.accepted_to) = (group.seq, group.end);
            if group.is_durable && ends.flushed + 1 == group.seq {
                ends.flushed = group.seq;
            }
        }
        ends.accepted > before
    }

    /// Returns true if a durable write would make all groups before it durable, too, so that no
    /// flush is needed.
    pub(super) fn is_durable_so_far(&self) -> bool {
        self.ends.flushed == self.ends.accepted
            && self.in_flight.iter().all(|group| group.is_durable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Plan;

    fn log() -> (Log, Geometry) {
        let plan = Plan {
            device_bytes: 6 << 20,
            page_bytes: 16 << 10,
            chunk_bytes: 64 << 10,
            log_percent: 30,
        };
        (Log::new([1; 16], 1, 1, 40, 5), Geometry::new(plan).expect("it fits"))
    }

    fn write(log: &mut Log, geometry: &Geometry, is_durable: bool) -> u64 {
        let facts = GroupFacts { is_durable, ..GroupFacts::default() };
        log.write(geometry, facts, Vec::new(), Vec::new(), IoId(0));
        log.last()
    }

    #[test]
    fn group_is_accepted_when_all_before_it_are() {
        let (mut log, geometry) = log();
        let [first, second, third] = [(); 3].map(|()| write(&mut log, &geometry, false));
        assert!(!log.written(second) && !log.written(third));
        assert_eq!(log.ends().accepted, 4, "the first is under way");
        assert!(log.written(first));
        let ends = log.ends();
        assert_eq!((ends.accepted, ends.accepted_to, log.in_flight()), (7, ends.position, 0));
        assert_eq!(ends.flushed, 4, "accepted is not durable");
    }

    #[test]
    fn durable_write_counts_only_behind_durable_groups() {
        let (mut log, geometry) = log();
        assert!(log.is_durable_so_far());
        let (durable, plain) =
            (write(&mut log, &geometry, true), write(&mut log, &geometry, false));
        assert!(!log.is_durable_so_far());
        let behind = write(&mut log, &geometry, true);
        for seq in [durable, plain, behind] {
            log.written(seq);
        }
        assert_eq!(log.ends().flushed, durable, "a group before the last is not durable");
        log.flushed_to(behind);
        assert!(log.durable_to(plain) && !log.durable_to(plain));
        assert_eq!((log.ends().flushed, log.ends().durable), (behind, plain));
    }

    #[test]
    #[should_panic(expected = "a flush covers only accepted groups")]
    fn flush_of_what_was_not_accepted_is_refused() {
        let (mut log, geometry) = log();
        let seq = write(&mut log, &geometry, false);
        log.flushed_to(seq);
    }

    #[test]
    fn chunks_leave_before_a_start_and_positions_stay() {
        let (mut log, geometry) = log();
        write(&mut log, &geometry, false);
        log.link(&geometry, GroupFacts::default(), 41, IoId(0));
        let (start, next) = (log.ends().position, log.ends().seq);
        write(&mut log, &geometry, false);
        assert_eq!(log.place_of(&geometry, 0), Some((geometry.chunk_at(40), start)));
        assert_eq!(log.drop_before(next - 1).next(), None, "it has a group that stays");
        assert_eq!(log.drop_before(next).collect::<Vec<_>>(), [40]);
        assert_eq!(log.first_chunk(), LogChunk { chunk: 41, first: next, start });
        assert_eq!(log.place_of(&geometry, 0), None);
        assert_eq!(log.place_of(&geometry, start), Some((geometry.chunk_at(41), BLOCK)));
    }
}
