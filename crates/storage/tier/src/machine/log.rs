use std::collections::VecDeque;

use crate::event::{Effect, IoId, Piece, Place};
use crate::format::{BLOCK, Flags, Head, NO_CHUNK, Record, Uuid};
use crate::geometry::Geometry;

/// Which log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LogId {
    Pool,
    Disk(u16),
}

/// Where a log is being written, and how far.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) owner: Uuid,
    pub(crate) generation: u64,
    pub(crate) attach: u64,
    /// Its chunks, oldest first, each with the number of its first group; the last one is written.
    pub(crate) chunks: VecDeque<(u32, u64)>,
    /// Where each of them begins, as a position.
    pub(crate) starts: VecDeque<u64>,
    /// Number of the first group from which on all can be read; 0 if none before it is missing.
    pub(crate) whole_from: u64,
    /// How much of the last chunk is written.
    pub(crate) at: u32,
    /// Number of the next group.
    pub(crate) seq: u64,
    /// Sum of the last head.
    pub(crate) previous: u64,
    pub(crate) position: u64,
    /// Groups up to this one are accepted by the cache device, with all before.
    pub(crate) accepted: u64,
    /// And where the last of them ends, as a position.
    pub(crate) accepted_to: u64,
    /// Groups up to this one are durable on the cache device.
    pub(crate) flushed: u64,
    /// And in every copy: the lesser of the two counts for whoever asks.
    pub(crate) durable: u64,
    /// What the last head said of that.
    pub(crate) told: u64,
    /// Groups up to this one are on the backing store.
    pub(crate) retired: u64,
    /// Number of the newest durable sidecar copy of its disk, for heads.
    pub(crate) sidecar: u64,
    /// What the last head said of that.
    pub(super) told_retired: u64,
    in_flight: VecDeque<InFlight>,
}

/// A group that is being written.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    seq: u64,
    is_written: bool,
    /// Whether it is durable then.
    is_durable: bool,
    /// Position behind it.
    end: u64,
}

/// What a group is besides its records.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GroupFacts {
    pub(super) flags: Flags,
    pub(super) epoch: u64,
    pub(super) unix_ns: u64,
    /// Whether the write makes it durable.
    pub(super) is_durable: bool,
}

impl Log {
    /// One that begins with group `seq` in `chunk`.
    pub(crate) fn new(owner: Uuid, generation: u64, attach: u64, chunk: u32, seq: u64) -> Self {
        Self {
            owner,
            generation,
            attach,
            chunks: VecDeque::from([(chunk, seq)]),
            starts: VecDeque::from([0]),
            whole_from: 0,
            at: 0,
            seq,
            previous: 0,
            position: 0,
            accepted: seq - 1,
            accepted_to: 0,
            flushed: seq - 1,
            durable: seq - 1,
            told: seq - 1,
            retired: seq - 1,
            sidecar: 0,
            told_retired: seq - 1,
            in_flight: VecDeque::new(),
        }
    }

    /// The chunk that is written.
    pub(crate) fn chunk(&self) -> u32 {
        self.chunks.back().map_or(NO_CHUNK, |(chunk, _)| *chunk)
    }

    /// Groups that are being written.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Number of the last group that was begun.
    pub(crate) fn last(&self) -> u64 {
        self.seq - 1
    }

    /// Blocks of payload that a group may have in what is left of the chunk, besides its head and the
    /// link that ends the chunk. `None` if not even a head fits.
    pub(super) fn room(&self, geometry: &Geometry) -> Option<u64> {
        let left = u64::from(geometry.chunk_bytes - self.at) / BLOCK;
        left.checked_sub(2)
    }

    /// Begins a group. Its payload lies behind the head, in the order of its records.
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

    /// Ends the chunk with a link to `chunk`, where the next group goes.
    pub(super) fn link(
        &mut self,
        geometry: &Geometry,
        facts: GroupFacts,
        chunk: u32,
        io: IoId,
    ) -> Effect {
        let facts = GroupFacts { flags: facts.flags.with(Flags::LINK), ..facts };
        let effect = self.begin(geometry, facts, chunk, Vec::new(), Vec::new(), io);
        self.chunks.push_back((chunk, self.seq));
        self.starts.push_back(self.position);
        self.at = 0;
        effect
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
        // Recovery finds a chunk by its first head. What only a chunk says that has none yet, after a power cut, would
        // not be found if the log is damaged before it.
        let first = self.chunks.back().map_or(0, |(_, first)| *first);
        let is_found = first <= self.durable || first == self.seq;
        let durable = if is_found { self.durable } else { 0 };
        self.told = self.told.max(durable);
        let head = Head {
            seq: self.seq,
            previous: self.previous,
            durable,
            owner: self.owner,
            generation: self.generation,
            position: self.position,
            bytes,
            flags: facts.flags,
            epoch: facts.epoch,
            retired: self.retired,
            attach: self.attach,
            unix_ns: facts.unix_ns,
            next_chunk,
            sidecar: self.sidecar,
            records,
        };
        let (block, sum) = head.encode();
        let mut from = vec![Piece::Bytes(block)];
        from.extend(payload);
        let at = geometry.chunk_at(self.chunk()) + u64::from(self.at);
        self.previous = sum;
        self.told_retired = self.retired;
        self.position += BLOCK + u64::from(bytes);
        self.at += 4096 + bytes;
        let (is_durable, end) = (facts.is_durable, self.position);
        self.in_flight.push_back(InFlight { seq: self.seq, is_written: false, is_durable, end });
        self.seq += 1;
        Effect::Write { io, place: Place::Cache, at, from, durable: is_durable }
    }

    /// The first chunk leaves.
    pub(super) fn drop_chunk(&mut self) -> Option<u32> {
        self.starts.pop_front();
        self.chunks.pop_front().map(|(chunk, _)| chunk)
    }

    /// Where on the cache device a position lies, and how many bytes there follow from it.
    pub(super) fn place_of(&self, geometry: &Geometry, position: u64) -> Option<(u64, u64)> {
        let index = self.starts.iter().rposition(|start| *start <= position)?;
        let end = self.starts.get(index + 1).copied().unwrap_or(self.position);
        let at = geometry.chunk_at(self.chunks[index].0) + (position - self.starts[index]);
        (position < end).then_some((at, end - position))
    }

    /// Where the payload of the group that would be begun now lies.
    pub(super) fn payload_at(&self, geometry: &Geometry) -> u64 {
        geometry.chunk_at(self.chunk()) + u64::from(self.at) + BLOCK
    }

    /// A group was written. Says whether more groups count as accepted now.
    pub(super) fn written(&mut self, seq: u64) -> bool {
        for group in &mut self.in_flight {
            group.is_written |= group.seq == seq;
        }
        let before = self.accepted;
        while let Some(group) = self.in_flight.front().filter(|group| group.is_written).copied() {
            (self.accepted, self.accepted_to) = (group.seq, group.end);
            if group.is_durable && self.flushed + 1 == group.seq {
                self.flushed = group.seq;
            }
            self.in_flight.pop_front();
        }
        self.accepted > before
    }

    /// Whether a group that is written durably is durable with all before it, without a flush.
    pub(super) fn is_durable_so_far(&self) -> bool {
        self.flushed == self.accepted && self.in_flight.iter().all(|group| group.is_durable)
    }
}
