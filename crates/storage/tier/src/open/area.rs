use crate::event::IoTarget;
use crate::format::{BLOCK_BYTES, Head, Uuid};
use crate::geometry::Geometry;
use crate::machine::log::Log;
use crate::open::Media;

/// Log chunks of a set, with the first block of each. They are read once for all logs.
#[derive(Debug, Clone)]
pub(super) struct LogArea {
    pub(super) geometry: Geometry,
    /// First block of each log chunk, starting with the first log chunk.
    firsts: Vec<FirstBlock>,
}

/// First block of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstBlock {
    /// Head of a group.
    Head { owner: Uuid, generation: u64, seq: u64 },
    /// Zeros: the chunk was never written.
    Empty,
    /// Torn, damaged or unreadable block, or zeros that are followed by other bytes.
    Unknown,
}

impl LogArea {
    /// Reads the first block of every log chunk. An unreadable block is unknown and no error,
    /// because the chunk may belong to no log.
    pub(super) fn read(media: &mut dyn Media, geometry: Geometry) -> Self {
        let chunks = geometry.page_chunks..geometry.chunks;
        let firsts = chunks.map(|chunk| first_block(media, &geometry, chunk)).collect();
        Self { geometry, firsts }
    }

    /// Returns the chunks that may hold groups behind the end of a log: they begin with such a
    /// group, or with an unknown block.
    pub(super) fn chunks_behind(&self, log: &Log) -> Vec<u32> {
        let is_behind = |first: &FirstBlock| match *first {
            FirstBlock::Head { owner, generation, seq } => {
                log.is_of(owner, generation) && seq > log.ends().seq
            }
            FirstBlock::Unknown => true,
            FirstBlock::Empty => false,
        };
        let all = (self.geometry.page_chunks..).zip(&self.firsts);
        let behind = all.filter(|(_, first)| is_behind(first)).map(|(chunk, _)| chunk);
        behind.filter(|chunk| !log.has_chunk(*chunk)).collect()
    }

    /// Returns the chunks that begin with a group of this owner and generation, and the number of
    /// that group, lowest first.
    pub(super) fn chunks_of(&self, owner: Uuid, generation: u64) -> Vec<(u32, u64)> {
        let all = (self.geometry.page_chunks..).zip(&self.firsts);
        let own = all.filter_map(|(chunk, first)| match *first {
            FirstBlock::Head { owner: o, generation: g, seq } => {
                ((o, g) == (owner, generation)).then_some((chunk, seq))
            }
            _ => None,
        });
        let mut own: Vec<_> = own.collect();
        own.sort_unstable_by_key(|(_, seq)| *seq);
        own
    }
}

fn first_block(media: &mut dyn Media, geometry: &Geometry, chunk: u32) -> FirstBlock {
    // The second block tells a chunk whose head was overwritten with zeros from a chunk that was
    // never used.
    let mut blocks = [0; 2 * BLOCK_BYTES];
    if media.read(IoTarget::Cache, geometry.chunk_at(chunk), &mut blocks).is_err() {
        return FirstBlock::Unknown;
    }
    match Head::decode(&blocks) {
        Some((Head { owner, generation, seq, .. }, _)) => {
            FirstBlock::Head { owner, generation, seq }
        }
        None if blocks == [0; 2 * BLOCK_BYTES] => FirstBlock::Empty,
        None => FirstBlock::Unknown,
    }
}
