use super::block::{BLOCK, BLOCK_BYTES, Reader, Uuid, Writer};

/// Size of the area before the groups of a copied log, in bytes: two copies of the label.
pub const LABEL_BYTES: u64 = 2 * BLOCK;

const MAGIC: &[u8; 8] = b"TMCOPY\0\0";
const FORMAT: u32 = 1;

/// Label of the copy of a log on another host, with the start of the copy. Behind the label the
/// groups lie in a ring, ordered by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Identity of the log's disk.
    pub disk: Uuid,
    /// Generation of that disk.
    pub generation: u64,
    /// Number of the label, which rises with each label written. The two copies are written in
    /// turn.
    pub number: u64,
    /// Position of the first group that the copy keeps.
    pub position: u64,
    /// Number of the first group that the copy keeps.
    pub seq: u64,
}

impl Label {
    /// Encodes the label.
    pub fn encode(&self) -> Box<[u8; BLOCK_BYTES]> {
        let mut block = Writer::new();
        block.put(0, MAGIC).u32(8, FORMAT).put(16, &self.disk).u64(32, self.generation);
        block.u64(40, self.number).u64(48, self.position).u64(56, self.seq);
        block.seal().0
    }

    /// Returns the newer of the two valid copies; `None` if neither is valid.
    pub fn newest(bytes: &[u8]) -> Option<Self> {
        let copies = bytes.chunks(BLOCK_BYTES).take(2).filter_map(Self::decode);
        copies.max_by_key(|copy| copy.number)
    }

    /// Returns true if both copies are valid. An invalid copy may have been the newer one.
    pub fn are_both_good(bytes: &[u8]) -> bool {
        bytes.chunks(BLOCK_BYTES).take(2).all(|copy| Self::decode(copy).is_some())
    }

    /// Returns the offset at which the label with this number is written, in bytes.
    pub const fn place(&self) -> u64 {
        (self.number % 2) * BLOCK
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let block = Reader::open(bytes)?;
        if block.array(0) != *MAGIC || block.u32(8) != FORMAT {
            return None;
        }
        Some(Self {
            disk: block.array(16),
            generation: block.u64(32),
            number: block.u64(40),
            position: block.u64(48),
            seq: block.u64(56),
        })
    }
}

/// Returns the offset of a log position in a copy of `capacity` bytes.
pub const fn held_at(position: u64, capacity: u64) -> u64 {
    LABEL_BYTES + position % (capacity - LABEL_BYTES)
}
