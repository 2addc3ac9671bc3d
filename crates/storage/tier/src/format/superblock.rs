use super::block::{BLOCK_BYTES, Reader, Uuid, Writer};
use super::identity::Identity;

/// Version of the format that this program writes.
pub const FORMAT: u32 = 1;
/// Addresses of the two superblocks. The valid one with the higher number is current.
pub const SUPERBLOCK_AT: [u64; 2] = [0, 1 << 20];
/// Size of a superblock in bytes: its own block and the block of its disks.
pub const SUPERBLOCK_BYTES: usize = 2 * BLOCK_BYTES;
/// Maximum number of disks in a set.
pub const DISKS: usize = 63;

const MAGIC: &[u8; 8] = b"TMTIER\0\0";
/// Feature bits that a program must know to use the set at all.
const INCOMPATIBLE: u64 = TAGS | NUMBERS;
/// Feature bit: maps, log starts and tables carry a tag of their attachment.
const TAGS: u64 = 1;
/// Feature bit: disks have the numbers that reveal older states, and the cache device has its
/// identity. A program without this feature would not keep these numbers, and an older state would
/// look newer.
const NUMBERS: u64 = 2;
const IDENTITY_AT: usize = 1024;
const NUMBERS_AT: usize = 2048;
const NUMBERS_BYTES: usize = 32;
const DISK_BYTES: usize = 64;

/// State of a set at the end of its last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetState {
    /// A program uses the set, or ended without closing it: the logs are needed to open it.
    Open,
    /// The set was closed in order: the tables are complete.
    Clean,
}

/// Modes in which a disk's writes are answered, as numbers on the device.
pub mod mode {
    /// Writes are answered when the backing store has them.
    pub const THROUGH: u32 = 0;
    /// Writes are answered when the log has them.
    pub const BACK: u32 = 1;
}

/// Entry of a disk in the set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiskEntry {
    /// Identity of the disk; all zero for a free entry.
    pub disk: Uuid,
    /// Generation: the number of owners so far.
    pub generation: u64,
    /// Attachment number, which rises with each attachment. Pages of an older attachment are never
    /// served.
    pub attach: u64,
    /// Size in bytes, a multiple of 512.
    pub bytes: u64,
    /// Number of the first group that its log keeps.
    pub log_seq: u64,
    /// Chunk with that group; [`super::NO_CHUNK`] if there is no log.
    pub log_chunk: u32,
    /// Mode of the disk, one of [`mode`].
    pub mode: u32,
    /// Unique number of the set's opening that served the disk last; 0 if unknown. The sidecar has
    /// the same number, unless one of the two is an older state.
    pub opening: u64,
    /// Number of the opening before that one. If a program stops between writing superblock and
    /// sidecar, the sidecar still has this number.
    pub before: u64,
    /// Number of the disk's newest sidecar copy that was durable before this superblock; 0 if
    /// unknown.
    pub sidecar: u64,
    /// Number of the newest superblock that was written while the disk was served; 0 if unknown.
    pub superblock: u64,
}

impl DiskEntry {
    /// Returns the tag: the attachment in the form that records of the disk's pages and log carry;
    /// never 0.
    pub fn tag(&self) -> u32 {
        u32::try_from(self.attach % u64::from(u32::MAX)).unwrap_or(0) + 1
    }
}

/// Superblock: description of a set on its cache device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Identity of the set.
    pub set: Uuid,
    /// Identity of the host that created the set.
    pub host: Uuid,
    /// Number of this superblock, which rises with each superblock written.
    pub seq: u64,
    /// Size of the device at creation, in bytes.
    pub device_bytes: u64,
    /// Size of a page in bytes, a power of two from 4 to 64 KiB.
    pub page_bytes: u32,
    /// Size of a chunk in bytes, a multiple of the page size and of 4 KiB.
    pub chunk_bytes: u32,
    /// Address of the first chunk.
    pub first_chunk: u64,
    /// Number of chunks.
    pub chunks: u32,
    /// Number of chunks that hold pages, counted from the first chunk; the others hold logs.
    pub page_chunks: u32,
    /// State of the set at the end of its last use.
    pub state: SetState,
    /// Number of openings of the set.
    pub opens: u64,
    /// Address of the valid table.
    pub table_at: u64,
    /// Number that the blocks of that table carry.
    pub table_seq: u64,
    /// Chunk in which the pool's log continues after that table.
    pub pool_chunk: u32,
    /// Number of the pool log's first group in that chunk.
    pub pool_seq: u64,
    /// Last group of the pool's log that was durable when the superblock was written.
    pub pool_durable: u64,
    /// True if the tags of attachments are used: records of a disk's pages and log are valid only
    /// with the right tag. False for a set that was last used by a program without tags.
    pub has_tags: bool,
    /// True if disks have the numbers that reveal older states. False for a set that was last used
    /// by an earlier program version.
    pub has_numbers: bool,
    /// Identity of the cache device on which the set lies.
    pub place: Identity,
    /// Disks by index; free entries are `None`.
    pub disks: Vec<Option<DiskEntry>>,
}

/// Reason why a superblock cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuperblockError {
    /// There is no superblock.
    #[error("there is no superblock of a tier")]
    None,
    /// The magic number is right, but the checksum is wrong.
    #[error("the superblock is damaged")]
    Damaged,
    /// A later program version wrote the superblock, and recorded that this version cannot read it.
    #[error(
        "the set has format {format} and needs a reader of format {reader} or later, but this \
        program reads {FORMAT}"
    )]
    Later {
        /// Format of the set.
        format: u32,
        /// Lowest format that a reader must know.
        reader: u32,
    },
    /// The set uses features that this program does not know.
    #[error("the set uses features {bits:#x}, which this program does not support")]
    Incompatible {
        /// Unknown feature bits.
        bits: u64,
    },
    /// A field has an impossible value.
    #[error("the superblock has an invalid value: {field} {value}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Value as read, which is impossible.
        value: u64,
    },
}

impl Superblock {
    /// Encodes the superblock.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.disks.len() <= DISKS, "a set has at most {DISKS} disks");
        let mut directory = Writer::new();
        for (at, disk) in self.disks.iter().enumerate() {
            if let Some(disk) = disk {
                encode_disk(&mut directory, at * DISK_BYTES, disk);
            }
        }
        let (directory, directory_sum) = directory.seal();
        let mut block = Writer::new();
        block.put(0, MAGIC).u32(8, FORMAT).u32(12, FORMAT).put(16, &self.set).put(32, &self.host);
        block.u64(48, self.seq).u64(56, self.device_bytes);
        block.u32(64, self.page_bytes).u32(68, self.chunk_bytes);
        block.u64(72, self.first_chunk).u32(80, self.chunks);
        block.u32(84, if self.state == SetState::Clean { 2 } else { 1 }).u64(88, self.opens);
        block.u64(96, self.table_at).u64(104, self.table_seq);
        let (tags, numbers) =
            (if self.has_tags { TAGS } else { 0 }, if self.has_numbers { NUMBERS } else { 0 });
        block.u64(120, tags | numbers);
        self.place.encode(&mut block, IDENTITY_AT);
        for (at, disk) in self.disks.iter().enumerate() {
            if let Some(disk) = disk {
                let at = NUMBERS_AT + at * NUMBERS_BYTES;
                block.u64(at, disk.opening).u64(at + 8, disk.before);
                block.u64(at + 16, disk.sidecar).u64(at + 24, disk.superblock);
            }
        }
        block.u32(136, self.pool_chunk).u32(140, self.page_chunks);
        block.u64(144, self.pool_seq).u64(152, directory_sum).u64(160, self.pool_durable);
        let (block, _) = block.seal();
        [&block[..], &directory[..]].concat()
    }

    /// Decodes a superblock.
    ///
    /// # Errors
    /// [`SuperblockError`]: absent, damaged, of a later program version, or with impossible fields.
    pub fn decode(bytes: &[u8]) -> Result<Self, SuperblockError> {
        if bytes.get(..8) != Some(MAGIC) {
            return Err(SuperblockError::None);
        }
        let block = Reader::open(bytes).ok_or(SuperblockError::Damaged)?;
        let (format, reader) = (block.u32(8), block.u32(12));
        if reader > FORMAT {
            return Err(SuperblockError::Later { format, reader });
        }
        let bits = block.u64(120) & !INCOMPATIBLE;
        if bits != 0 {
            return Err(SuperblockError::Incompatible { bits });
        }
        let directory = bytes.get(BLOCK_BYTES..).and_then(Reader::open);
        let directory = directory.filter(|d| d.sum == block.u64(152));
        let directory = directory.ok_or(SuperblockError::Damaged)?;
        let state = match block.u32(84) {
            1 => SetState::Open,
            2 => SetState::Clean,
            other => return Err(SuperblockError::Field { field: "state", value: other.into() }),
        };
        let found = Self {
            set: block.array(16),
            host: block.array(32),
            seq: block.u64(48),
            device_bytes: block.u64(56),
            page_bytes: block.u32(64),
            chunk_bytes: block.u32(68),
            first_chunk: block.u64(72),
            chunks: block.u32(80),
            page_chunks: block.u32(140),
            state,
            opens: block.u64(88),
            table_at: block.u64(96),
            table_seq: block.u64(104),
            pool_chunk: block.u32(136),
            pool_seq: block.u64(144),
            pool_durable: block.u64(160),
            has_tags: block.u64(120) & TAGS != 0,
            has_numbers: block.u64(120) & NUMBERS != 0,
            place: Identity::decode(block, IDENTITY_AT),
            disks: (0..DISKS).map(|at| decode_disk(block, directory, at)).collect(),
        };
        found.check()?;
        Ok(found)
    }

    /// Returns the newest of the two copies that can be used, and its index.
    ///
    /// # Errors
    /// The errors of [`Superblock::decode`], for the more informative copy: the error of a later
    /// program version has priority over damaged or absent.
    pub fn newest(copies: [&[u8]; 2]) -> Result<(Self, usize), SuperblockError> {
        let [a, b] = copies.map(Self::decode);
        match (a, b) {
            (Ok(a), Ok(b)) if b.seq > a.seq => Ok((b, 1)),
            (
                Err(later @ (SuperblockError::Later { .. } | SuperblockError::Incompatible { .. })),
                _,
            )
            | (
                _,
                Err(later @ (SuperblockError::Later { .. } | SuperblockError::Incompatible { .. })),
            ) => Err(later),
            (Ok(a), _) => Ok((a, 0)),
            (_, Ok(b)) => Ok((b, 1)),
            (Err(SuperblockError::None), Err(other)) | (Err(other), Err(_)) => Err(other),
        }
    }

    /// Checks the fields, so that a damaged field is never used as a divisor or an allocation size.
    fn check(&self) -> Result<(), SuperblockError> {
        let field = |field, value| Err(SuperblockError::Field { field, value });
        let (page, chunk) = (self.page_bytes, self.chunk_bytes);
        if !page.is_power_of_two() || !(4096..=65536).contains(&page) {
            return field("page bytes", page.into());
        }
        if chunk < 4 * 4096 || chunk % page != 0 || chunk > 1 << 30 {
            return field("chunk bytes", chunk.into());
        }
        if self.page_chunks >= self.chunks {
            return field("page chunks", self.page_chunks.into());
        }
        let end = u64::from(self.chunks).checked_mul(chunk.into());
        let end = end.and_then(|bytes| bytes.checked_add(self.first_chunk));
        if end.is_none_or(|end| end > self.device_bytes) {
            return field("chunks", self.chunks.into());
        }
        if u64::from(self.page_chunks) * u64::from(chunk / page) > 1 << 28 {
            return field("pages", u64::from(self.page_chunks) * u64::from(chunk / page));
        }
        if self.pool_chunk >= self.chunks || self.pool_chunk < self.page_chunks {
            return field("pool chunk", self.pool_chunk.into());
        }
        Ok(())
    }
}

fn encode_disk(block: &mut Writer, at: usize, disk: &DiskEntry) {
    block.put(at, &disk.disk).u64(at + 16, disk.generation).u64(at + 24, disk.attach);
    block.u64(at + 32, disk.bytes).u64(at + 40, disk.log_seq);
    block.u32(at + 48, disk.log_chunk).u32(at + 52, disk.mode);
}

fn decode_disk(head: Reader<'_>, block: Reader<'_>, index: usize) -> Option<DiskEntry> {
    let (at, numbers) = (index * DISK_BYTES, NUMBERS_AT + index * NUMBERS_BYTES);
    let disk: Uuid = block.array(at);
    (disk != [0; 16]).then(|| DiskEntry {
        disk,
        generation: block.u64(at + 16),
        attach: block.u64(at + 24),
        bytes: block.u64(at + 32),
        log_seq: block.u64(at + 40),
        log_chunk: block.u32(at + 48),
        mode: block.u32(at + 52),
        opening: head.u64(numbers),
        before: head.u64(numbers + 8),
        sidecar: head.u64(numbers + 16),
        superblock: head.u64(numbers + 24),
    })
}
