use super::block::{BLOCK_BYTES, Reader, Uuid, Writer};
use super::table::PAGE_BLOCKS;

/// Maximum number of record places in a group.
pub const GROUP_RECORDS: usize = 120;
/// Chunk number that stands for no chunk.
pub const NO_CHUNK: u32 = u32::MAX;

const MAGIC: u32 = u32::from_le_bytes(*b"TMGR");
const FORMAT: u16 = 1;
const RECORDS_AT: usize = 128;
const RECORD_BYTES: usize = 32;

/// Flags of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u32);

impl Flags {
    /// The group ends its epoch.
    pub const EPOCH_END: Self = Self(1);
    /// The group has no records; it only carries the durable position.
    pub const SEAL: Self = Self(2);
    /// The group is the last of its chunk. The next group is at the start of the chunk that this
    /// group names.
    pub const LINK: Self = Self(4);

    /// Returns true if all flags of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds the flags of `other`.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Write; its bytes follow the head.
    Write = 1,
    /// Zeroing of bytes.
    Zero = 3,
    /// Zeroing of bytes that the backing store may deallocate.
    Trim = 4,
    /// Map: a page is in a slot.
    Map = 9,
    /// Unmap: a slot no longer holds the page.
    Unmap = 10,
    /// Start of a disk's log: the chunk and the group at which it begins.
    LogStart = 11,
}

impl Kind {
    fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Write,
            3 => Self::Zero,
            4 => Self::Trim,
            9 => Self::Map,
            10 => Self::Unmap,
            11 => Self::LogStart,
            _ => return None,
        })
    }
}

/// Record of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Kind of the record.
    pub kind: Kind,
    /// Index of the disk.
    pub disk: u16,
    /// Write, zero: length in bytes. Map: valid blocks of the page, one bit each. Log start: number
    /// of the chunk.
    pub bytes: u32,
    /// Write, zero: offset on the disk. Map, unmap: number of the page. Log start: number of the
    /// first group.
    pub offset: u64,
    /// Write: checksum of the payload. Map: last group of the disk's log whose writes the page
    /// includes.
    pub sum: u64,
    /// Map, unmap: the slot.
    pub place: u32,
    /// Map, log start: the disk's attachment ([`super::DiskEntry::tag`]).
    pub tag: u32,
    /// Map: checksums of the page's blocks.
    pub sums: Option<Box<[u32; PAGE_BLOCKS]>>,
}

impl Record {
    /// Returns the number of places that the record takes in a group.
    pub const fn places(&self) -> usize {
        if self.sums.is_some() { 3 } else { 1 }
    }

    /// Returns the number of payload blocks behind the head: the number of disk blocks that the
    /// bytes touch.
    pub fn payload_blocks(&self) -> u64 {
        match self.kind {
            Kind::Write => blocks_touched(self.offset, self.bytes),
            _ => 0,
        }
    }
}

/// Returns the number of disk blocks that a range touches.
pub(crate) fn blocks_touched(offset: u64, bytes: u32) -> u64 {
    (offset + u64::from(bytes)).div_ceil(4096) - offset / 4096
}

/// Head of a group: its first block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Number of the group, which rises by one with each group of a log.
    pub seq: u64,
    /// Checksum of the head of the previous group.
    pub previous: u64,
    /// Last group that was durable when this head was written.
    pub durable: u64,
    /// Owner of the log: a disk, or the set itself for the pool.
    pub owner: Uuid,
    /// Generation of the disk that owns the log.
    pub generation: u64,
    /// Position of the group: bytes of the log before it.
    pub position: u64,
    /// Size of the payload behind the head, in bytes.
    pub bytes: u32,
    /// Flags of the group.
    pub flags: Flags,
    /// Epoch that the group belongs to.
    pub epoch: u64,
    /// Last group whose writes are durable on the backing store.
    pub retired: u64,
    /// Attachment of the disk that owns the log.
    pub attach: u64,
    /// Time of writing, in nanoseconds since 1970; only informative.
    pub unix_ns: u64,
    /// With [`Flags::LINK`]: chunk in which the log continues.
    pub next_chunk: u32,
    /// Number of the disk's newest sidecar copy that was durable before this group; 0 if unknown.
    pub sidecar: u64,
    /// Records of the group.
    pub records: Vec<Record>,
}

impl Head {
    /// Encodes the head. Returns its block and the block's checksum.
    ///
    /// # Panics
    /// If the records take more than [`GROUP_RECORDS`] places.
    pub fn encode(&self) -> (Box<[u8; BLOCK_BYTES]>, u64) {
        let places: usize = self.records.iter().map(Record::places).sum();
        assert!(places <= GROUP_RECORDS, "{places} records do not fit into a group");
        let mut block = Writer::new();
        block.u32(0, MAGIC).u16(4, FORMAT).u16(6, u16::try_from(places).unwrap_or(u16::MAX));
        block.u64(8, self.seq).u64(16, self.previous).u64(24, self.durable);
        block.put(32, &self.owner).u64(48, self.generation).u64(56, self.position);
        block.u32(64, self.bytes).u32(68, self.flags.0).u64(72, self.epoch);
        block.u64(80, self.retired).u64(88, self.attach).u64(96, self.unix_ns);
        block.u32(104, self.next_chunk).u64(112, self.sidecar);
        let mut at = RECORDS_AT;
        for record in &self.records {
            encode_record(&mut block, at, record);
            at += record.places() * RECORD_BYTES;
        }
        block.seal()
    }

    /// Decodes a head. Returns the head with the block's checksum; `None` if the block is not a
    /// valid head.
    pub fn decode(bytes: &[u8]) -> Option<(Self, u64)> {
        // Tested before the checksum, because most blocks searched for a head are none.
        if bytes.get(..4)? != MAGIC.to_le_bytes() {
            return None;
        }
        let block = Reader::open(bytes)?;
        let places = usize::from(block.u16(6));
        if block.u16(4) != FORMAT || places > GROUP_RECORDS {
            return None;
        }
        let mut records = Vec::new();
        let mut place = 0;
        while place < places {
            let record = decode_record(block, RECORDS_AT + place * RECORD_BYTES, places - place)?;
            place += record.places();
            records.push(record);
        }
        let head = Self {
            seq: block.u64(8),
            previous: block.u64(16),
            durable: block.u64(24),
            owner: block.array(32),
            generation: block.u64(48),
            position: block.u64(56),
            bytes: block.u32(64),
            flags: Flags(block.u32(68)),
            epoch: block.u64(72),
            retired: block.u64(80),
            attach: block.u64(88),
            unix_ns: block.u64(96),
            next_chunk: block.u32(104),
            sidecar: block.u64(112),
            records,
        };
        let payload: u64 = head.records.iter().map(Record::payload_blocks).sum();
        (payload * 4096 == u64::from(head.bytes)).then_some((head, block.sum))
    }
}

fn encode_record(block: &mut Writer, at: usize, record: &Record) {
    block.put(at, &[record.kind as u8]).u16(at + 2, record.disk).u32(at + 4, record.bytes);
    block.u64(at + 8, record.offset).u64(at + 16, record.sum).u32(at + 24, record.place);
    block.u32(at + 28, record.tag);
    for (index, sum) in record.sums.iter().flat_map(|sums| sums.iter().enumerate()) {
        block.u32(at + RECORD_BYTES + 4 * index, *sum);
    }
}

fn decode_record(block: Reader<'_>, at: usize, places: usize) -> Option<Record> {
    let [kind] = block.array(at);
    let kind = Kind::of(kind)?;
    let (bytes, offset) = (block.u32(at + 4), block.u64(at + 8));
    // No disk reaches beyond a signed 64-bit address.
    if offset > i64::MAX as u64 || (kind == Kind::Write && (bytes == 0 || bytes % 512 != 0)) {
        return None;
    }
    let sums = match kind {
        Kind::Map if places < 3 => return None,
        Kind::Map => {
            let mut sums = Box::new([0; PAGE_BLOCKS]);
            for (index, sum) in sums.iter_mut().enumerate() {
                *sum = block.u32(at + RECORD_BYTES + 4 * index);
            }
            Some(sums)
        }
        _ => None,
    };
    Some(Record {
        kind,
        disk: block.u16(at + 2),
        bytes,
        offset,
        sum: block.u64(at + 16),
        place: block.u32(at + 24),
        tag: block.u32(at + 28),
        sums,
    })
}
