use super::block::{BLOCK, BLOCK_BYTES, Reader, Uuid, Writer};

/// Bytes before the groups of a held log: two copies of its label.
pub const LABEL_BYTES: u64 = 2 * BLOCK;

const MAGIC: &[u8; 8] = b"TMCOPY\0\0";
const FORMAT: u32 = 1;

/// Where a copy of a log begins that another host holds. Behind it the groups lie by their position, one
/// after the other, in a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Whose log.
    pub disk: Uuid,
    /// Of that disk.
    pub generation: u64,
    /// Rises with each label that is written; the two copies take turns.
    pub number: u64,
    /// Position of the first group that is kept.
    pub position: u64,
    /// Its number.
    pub seq: u64,
}

impl Label {
    /// Its block.
    pub fn encode(&self) -> Box<[u8; BLOCK_BYTES]> {
        let mut block = Writer::new();
        block.put(0, MAGIC).u32(8, FORMAT).put(16, &self.disk).u64(32, self.generation);
        block.u64(40, self.number).u64(48, self.position).u64(56, self.seq);
        block.seal().0
    }

    /// The copy that counts; `None` if neither is one of ours.
    pub fn newest(bytes: &[u8]) -> Option<Self> {
        let copies = bytes.chunks(BLOCK_BYTES).take(2).filter_map(Self::decode);
        copies.max_by_key(|copy| copy.number)
    }

    /// Whether both copies are labels: where one is not, it may have been the newer.
    pub fn are_both_good(bytes: &[u8]) -> bool {
        bytes.chunks(BLOCK_BYTES).take(2).all(|copy| Self::decode(copy).is_some())
    }

    /// Where the copy with this number lies.
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

/// Where a position of a log lies in a copy of `capacity` bytes.
pub const fn held_at(position: u64, capacity: u64) -> u64 {
    LABEL_BYTES + position % (capacity - LABEL_BYTES)
}
