//! Logs where they lie: in chunks of the cache device, or in copies.

use super::Media;
use super::area::LogArea;
use crate::event::{IoError, Place, Sums};
use crate::format::{BLOCK, Head, Kind, LABEL_BYTES, NO_CHUNK, Record, held_at};
use crate::machine::log::Log;

/// Bytes that are read at once where a log is read in order.
const WINDOW: u64 = 1 << 20;

/// How a log lies where it is read. An address is one of the cache device, or a position of a copy.
#[derive(Debug, Clone, Copy)]
pub(super) enum Track<'a> {
    /// In chunks of the cache device.
    Chunks(&'a LogArea),
    /// By position, in a copy of so many bytes.
    Copy { place: Place, capacity: u64 },
}

/// Where a log is begun to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// In chunks: the first one.
    pub(super) chunk: u32,
    /// In chunks: bytes of that chunk before the first group.
    pub(super) at: u32,
    /// In a copy: the first position.
    pub(super) position: u64,
    /// Number of the first group.
    pub(super) seq: u64,
    /// Groups up to this one are known to have been durable.
    pub(super) durable: u64,
    /// Whether the log began there for certain. If not, any group behind its end says that it did not.
    pub(super) is_certain: bool,
}

/// A record, the address of its payload, and the sums of that.
type Found<'a> = (&'a Record, Option<u64>, Vec<u32>);

/// A group of it: whole, and behind the one before, or behind the missing ones of a damaged log.
pub(super) struct Group<'a> {
    pub(super) head: &'a Head,
    pub(super) records: Vec<Found<'a>>,
}

/// A log where it is read, with a piece of it in memory.
pub(super) struct Reader<'a> {
    media: &'a mut dyn Media,
    pub(super) track: Track<'a>,
    window: Vec<u8>,
    window_at: u64,
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

    /// How much may be read at once from an address on.
    fn reach(self, address: u64) -> u64 {
        match self {
            Self::Chunks(LogArea { geometry, .. }) => {
                let chunk = u64::from(geometry.chunk_bytes);
                WINDOW.min(chunk - (address - geometry.first_chunk) % chunk)
            }
            Self::Copy { capacity, .. } => WINDOW.min(capacity - LABEL_BYTES),
        }
    }

    /// Where the next group of a log is, if there is room for one.
    pub(super) fn next(self, log: &Log) -> Option<u64> {
        match self {
            Self::Chunks(LogArea { geometry, .. }) => {
                (log.left(geometry) >= 4096).then(|| log.next_at(geometry))
            }
            Self::Copy { .. } => Some(log.ends().position),
        }
    }

    /// Whether a group with this head may be there.
    pub(super) fn has_room(self, log: &Log, head: &Head) -> bool {
        match self {
            Self::Chunks(LogArea { geometry, .. }) => {
                BLOCK + u64::from(head.bytes) <= log.left(geometry).into()
            }
            Self::Copy { capacity, .. } => {
                head.position == log.ends().position && u64::from(head.bytes) + BLOCK < capacity
            }
        }
    }

    /// A link to nowhere is none. In a copy the next group follows in any case.
    pub(super) fn may_go_on(self, log: &Log, head: &Head) -> bool {
        let Self::Chunks(LogArea { geometry, .. }) = self else { return true };
        (geometry.page_chunks..geometry.chunks).contains(&head.next_chunk)
            && !log.has_chunk(head.next_chunk)
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(media: &'a mut dyn Media, track: Track<'a>) -> Self {
        Self { media, track, window: Vec::new(), window_at: 0 }
    }

    /// Fills `into` from an address on, and reads ahead: a log is read in order.
    pub(super) fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), IoError> {
        if self.held(address, into.len()).is_none() {
            let bytes = self.track.reach(address).max(into.len() as u64);
            self.window.resize(usize::try_from(bytes).unwrap_or(0), 0);
            self.window_at = address;
            if self.track.read(self.media, address, &mut self.window).is_err() {
                // One bad sector ahead costs only what lies in it.
                self.window.clear();
                return self.track.read(self.media, address, into);
            }
        }
        let held = self.held(address, into.len()).ok_or(IoError::Io)?;
        into.copy_from_slice(held);
        Ok(())
    }

    fn held(&self, address: u64, bytes: usize) -> Option<&[u8]> {
        let from = usize::try_from(address.checked_sub(self.window_at)?).ok()?;
        self.window.get(from..from.checked_add(bytes)?)
    }
}

/// Where a log on the cache device is begun to be read.
pub(super) fn in_chunk(chunk: u32, seq: u64) -> Start {
    Start { chunk, at: 0, position: 0, seq, durable: 0, is_certain: true }
}

/// Where a copy is.
pub(super) fn in_copy(position: u64, seq: u64) -> Start {
    Start { chunk: NO_CHUNK, at: 0, position, seq, durable: 0, is_certain: true }
}

pub(super) fn is_of(head: &Head, log: &Log) -> bool {
    log.is_of(head.owner, head.generation)
}

/// The records with what belongs to them; `None` if a payload is not what its sum says.
pub(super) fn payload<'a>(
    reader: &mut Reader<'_>,
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
        reader.read(at, &mut bytes)?;
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
