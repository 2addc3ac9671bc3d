use std::collections::VecDeque;

use super::Media;
use crate::event::{IoError, Place, Sums};
use crate::format::{
    BLOCK, BLOCK_BYTES, Flags, Head, Kind, LABEL_BYTES, NO_CHUNK, Record, Uuid, held_at,
};
use crate::geometry::Geometry;
use crate::machine::log::Log;

/// How far behind the end of a copy it is looked for groups that should not be there alone: two chunks, as
/// they are made if nobody says otherwise.
const LOOK_BEHIND: u64 = 32 << 20;

/// Whose log is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose {
    pub(super) owner: Uuid,
    pub(super) generation: u64,
    pub(super) attach: u64,
}

/// How a log lies where it is read. An address is one of the cache device, or a position of a copy.
#[derive(Debug, Clone, Copy)]
pub(super) enum Track<'a> {
    /// In chunks of the cache device.
    Chunks(&'a Geometry),
    /// By position, in a copy of so many bytes.
    Copy { place: Place, capacity: u64 },
}

/// Where a log is begun to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    /// In chunks: the first one.
    pub(super) chunk: u32,
    /// In a copy: the first position.
    pub(super) position: u64,
    /// Number of the first group.
    pub(super) seq: u64,
}

/// What a log turned out to be.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    /// Where it is to be gone on with.
    pub(super) log: Log,
    /// The highest number that any head called durable.
    pub(super) durable: u64,
    /// A number that is durable by a later head and is not there: the log is damaged.
    pub(super) damaged: Option<u64>,
}

/// A record, the address of its payload, and the sums of that.
type Found<'a> = (&'a Record, Option<u64>, Vec<u32>);

/// A group of it.
pub(super) struct Group<'a> {
    pub(super) head: &'a Head,
    pub(super) records: Vec<Found<'a>>,
}

impl Track<'_> {
    /// Fills `into` from an address on; a copy goes on at its beginning.
    pub(super) fn read(
        self,
        media: &mut dyn Media,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), IoError> {
        let Self::Copy { place, capacity } = self else {
            return media.read(Place::Cache, address, into);
        };
        let ring = capacity - LABEL_BYTES;
        let first = usize::try_from(ring - address % ring).unwrap_or(usize::MAX).min(into.len());
        let (head, tail) = into.split_at_mut(first);
        media.read(place, held_at(address, capacity), head)?;
        if tail.is_empty() { Ok(()) } else { media.read(place, LABEL_BYTES, tail) }
    }

    /// Where the next group of a log is, if there is room for one.
    fn next(self, log: &Log) -> Option<u64> {
        match self {
            Self::Chunks(geometry) => (log.at + 4096 <= geometry.chunk_bytes)
                .then(|| geometry.chunk_at(log.chunk()) + u64::from(log.at)),
            Self::Copy { .. } => Some(log.position),
        }
    }

    /// Whether a group with this head may be there.
    fn has_room(self, log: &Log, head: &Head) -> bool {
        match self {
            Self::Chunks(geometry) => log
                .at
                .checked_add(4096)
                .and_then(|at| at.checked_add(head.bytes))
                .is_some_and(|end| end <= geometry.chunk_bytes),
            Self::Copy { capacity, .. } => {
                head.position == log.position && u64::from(head.bytes) + BLOCK < capacity
            }
        }
    }

    /// A link to nowhere is none. In a copy the next group follows in any case.
    fn may_go_on(self, log: &Log, head: &Head) -> bool {
        let Self::Chunks(geometry) = self else { return true };
        (geometry.page_chunks..geometry.chunks).contains(&head.next_chunk)
            && !log.chunks.iter().any(|(chunk, _)| *chunk == head.next_chunk)
    }
}

/// Reads a log from its start as far as every group follows from the one before it and has what its sums
/// say.
pub(super) fn walk(
    media: &mut dyn Media,
    track: Track<'_>,
    whose: Whose,
    start: Start,
    mut each: impl FnMut(Group<'_>),
) -> Result<Walk, IoError> {
    let mut log = Log::new(whose.owner, whose.generation, whose.attach, start.chunk, start.seq);
    (log.position, log.starts) = (start.position, VecDeque::from([start.position]));
    let (mut durable, mut is_first) = (start.seq.saturating_sub(1), true);
    while let Some((head, sum, at)) = next_head(media, track, &log, is_first)? {
        let Some(records) = payload(media, track, &head, at + BLOCK)? else { break };
        let is_link = head.flags.has(Flags::LINK);
        if is_link && !track.may_go_on(&log, &head) {
            break;
        }
        each(Group { head: &head, records });
        if is_first {
            log.starts = VecDeque::from([head.position]);
        }
        is_first = false;
        durable = durable.max(head.durable);
        log.seq = head.seq + 1;
        log.previous = sum;
        log.position = head.position + BLOCK + u64::from(head.bytes);
        log.retired = log.retired.max(head.retired);
        log.sidecar = log.sidecar.max(head.sidecar);
        if let Track::Chunks(_) = track {
            log.at += 4096 + head.bytes;
        }
        if is_link {
            log.chunks.push_back((head.next_chunk, log.seq));
            log.starts.push_back(log.position);
            log.at = 0;
        }
    }
    let damaged = damage(media, track, &log)?;
    (log.accepted, log.accepted_to) = (log.last(), log.position);
    (log.flushed, log.durable, log.told) = (log.last(), log.last(), durable);
    Ok(Walk { log, durable, damaged })
}

/// Where a log on the cache device is begun to be read.
pub(super) fn in_chunk(chunk: u32, seq: u64) -> Start {
    Start { chunk, position: 0, seq }
}

/// Where a copy is.
pub(super) fn in_copy(position: u64, seq: u64) -> Start {
    Start { chunk: NO_CHUNK, position, seq }
}

/// The head that follows, its sum and its address, if it does follow.
fn next_head(
    media: &mut dyn Media,
    track: Track<'_>,
    log: &Log,
    is_first: bool,
) -> Result<Option<(Head, u64, u64)>, IoError> {
    let Some(at) = track.next(log) else { return Ok(None) };
    let mut block = [0; BLOCK_BYTES];
    track.read(media, at, &mut block)?;
    let found = Head::decode(&block).filter(|(head, _)| {
        head.seq == log.seq
            && is_of(head, log)
            && (is_first || head.previous == log.previous)
            && track.has_room(log, head)
    });
    Ok(found.map(|(head, sum)| (head, sum, at)))
}

fn is_of(head: &Head, log: &Log) -> bool {
    (head.owner, head.generation) == (log.owner, log.generation)
}

/// The records with what belongs to them; `None` if a payload is not what its sum says.
fn payload<'a>(
    media: &mut dyn Media,
    track: Track<'_>,
    head: &'a Head,
    mut at: u64,
) -> Result<Option<Vec<Found<'a>>>, IoError> {
    let mut found = Vec::new();
    for record in &head.records {
        if record.kind != Kind::Write {
            found.push((record, None, Vec::new()));
            continue;
        }
        let blocks = record.payload_blocks();
        let mut bytes = vec![0; usize::try_from(blocks * BLOCK).unwrap_or(0)];
        track.read(media, at, &mut bytes)?;
        let from = usize::try_from(record.offset % BLOCK).unwrap_or(0);
        let sums = Sums::of(record.offset, &bytes[from..from + record.bytes as usize]);
        if sums.whole != record.sum {
            return Ok(None);
        }
        found.push((record, Some(at), sums.blocks));
        at += blocks * BLOCK;
    }
    Ok(Some(found))
}

/// A later head, where the log ended, that calls durable what is not there.
fn damage(media: &mut dyn Media, track: Track<'_>, log: &Log) -> Result<Option<u64>, IoError> {
    let (first, end) = match track {
        Track::Chunks(geometry) => {
            let start = geometry.chunk_at(log.chunk());
            (start + u64::from(log.at), start + u64::from(geometry.chunk_bytes))
        }
        Track::Copy { capacity, .. } => {
            (log.position, log.position + LOOK_BEHIND.min(capacity - LABEL_BYTES))
        }
    };
    let mut block = [0; BLOCK_BYTES];
    for at in (first..end).step_by(BLOCK_BYTES) {
        track.read(media, at, &mut block)?;
        let is_there = |head: &Head| match track {
            Track::Chunks(_) => true,
            // What was there once has another position.
            Track::Copy { .. } => head.position == at,
        };
        let found = Head::decode(&block).map(|(head, _)| head).filter(is_there);
        if found
            .is_some_and(|head| is_of(&head, log) && head.seq > log.seq && head.durable >= log.seq)
        {
            return Ok(Some(log.seq));
        }
    }
    Ok(None)
}
