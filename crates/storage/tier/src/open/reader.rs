//! Reading of logs in chunks of the cache device, or in copies.

use super::Media;
use super::area::LogArea;
use crate::event::{IoError, IoTarget, Sums};
use crate::format::{BLOCK, Head, Kind, LABEL_BYTES, NO_CHUNK, Record, held_at};
use crate::machine::log::Log;

/// Number of bytes that are read at once when a log is read in order.
const WINDOW: u64 = 1 << 20;

/// Layout of a log that is read. An address is an address of the cache device, or a log position in
/// a copy.
#[derive(Debug, Clone, Copy)]
pub(super) enum Track<'a> {
    /// Log in chunks of the cache device.
    Chunks(&'a LogArea),
    /// Log in a copy of this capacity in bytes, addressed by position.
    Copy { place: IoTarget, capacity: u64 },
}

/// Start for reading a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    /// First chunk, for a log in chunks.
    pub(super) chunk: u32,
    /// Number of bytes before the first group in that chunk, for a log in chunks.
    pub(super) at: u32,
    /// First position, for a copy.
    pub(super) position: u64,
    /// Number of the first group.
    pub(super) seq: u64,
    /// Last group that is known to have been durable.
    pub(super) durable: u64,
    /// True if the log certainly began there. Otherwise any group behind its end is evidence that
    /// it began later.
    pub(super) is_certain: bool,
}

/// Record, address of its payload (`None` for zeros), and checksums of the payload's blocks.
type Found<'a> = (&'a Record, Option<u64>, Vec<u32>);

/// Whole group that follows the group before it, or the missing groups of a damaged log.
pub(super) struct Group<'a> {
    pub(super) head: &'a Head,
    pub(super) records: Vec<Found<'a>>,
}

/// Reader of a log, with a window of the log in memory.
pub(super) struct Reader<'a> {
    media: &'a mut dyn Media,
    pub(super) track: Track<'a>,
    window: Vec<u8>,
    window_at: u64,
}

impl Track<'_> {
    /// Fills `into` with bytes starting at an address. In a copy the address wraps around.
    pub(super) fn read(
        self,
        media: &mut dyn Media,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), IoError> {
        let Self::Copy { place, capacity } = self else {
            return media.read(IoTarget::Cache, address, into);
        };
        let ring = capacity - LABEL_BYTES;
        let first = usize::try_from(ring - address % ring).unwrap_or(usize::MAX).min(into.len());
        let (head, tail) = into.split_at_mut(first);
        media.read(place, held_at(address, capacity), head)?;
        if tail.is_empty() { Ok(()) } else { media.read(place, LABEL_BYTES, tail) }
    }

    /// Returns the number of bytes that may be read at once, starting at an address.
    fn reach(self, address: u64) -> u64 {
        match self {
            Self::Chunks(LogArea { geometry, .. }) => {
                let chunk = u64::from(geometry.chunk_bytes);
                WINDOW.min(chunk - (address - geometry.first_chunk) % chunk)
            }
            Self::Copy { capacity, .. } => WINDOW.min(capacity - LABEL_BYTES),
        }
    }

    /// Returns the address of the next group of a log, if there is room for one.
    pub(super) fn next(self, log: &Log) -> Option<u64> {
        match self {
            Self::Chunks(LogArea { geometry, .. }) => {
                (log.left(geometry) >= 4096).then(|| log.next_at(geometry))
            }
            Self::Copy { .. } => Some(log.ends().position),
        }
    }

    /// Returns true if there is room for a group with this head.
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

    /// Returns true if the log may continue in the chunk that a head names. Always true in a copy,
    /// where the next group follows directly.
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

    /// Fills `into` with bytes starting at an address, and reads ahead, because a log is read in
    /// order.
    pub(super) fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), IoError> {
        if self.held(address, into.len()).is_none() {
            let bytes = self.track.reach(address).max(into.len() as u64);
            self.window.resize(usize::try_from(bytes).unwrap_or(0), 0);
            self.window_at = address;
            if self.track.read(self.media, address, &mut self.window).is_err() {
                // A bad sector ahead must not fail the bytes before it.
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

/// Returns the start for reading a log on the cache device.
pub(super) fn in_chunk(chunk: u32, seq: u64) -> Start {
    Start { chunk, at: 0, position: 0, seq, durable: 0, is_certain: true }
}

/// Returns the start for reading a copy.
pub(super) fn in_copy(position: u64, seq: u64) -> Start {
    Start { chunk: NO_CHUNK, at: 0, position, seq, durable: 0, is_certain: true }
}

pub(super) fn is_of(head: &Head, log: &Log) -> bool {
    log.is_of(head.owner, head.generation)
}

/// Returns the records with the addresses and checksums of their payloads; `None` if a payload does
/// not match its checksum.
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
