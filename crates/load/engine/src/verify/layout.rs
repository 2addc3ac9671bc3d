//! Layout of a state file, its header, and its name (drawn in `docs/formats/verification.md`).

use units::Bytes;

use super::sector::SECTOR;

/// Size of a block in bytes: the unit of the main table, and of torn writes.
pub const BLOCK: usize = 4096;
/// Number of sectors per block.
pub const SECTORS: u64 = CELLS as u64;
/// Number of cells per block in the sector table.
pub const CELLS: usize = BLOCK / SECTOR;

/// Suffix of the name of every state file.
pub const SUFFIX: &str = ".verify";

const MAGIC: [u8; 8] = *b"TMverify";
/// Version of the format that this program reads and writes.
pub const FORMAT: u32 = 1;
/// Length of the header in bytes. The tables follow it.
pub const HEADER_BYTES: usize = 4096;
/// Length of the header in words of 8 B.
pub const HEADER_WORDS: usize = HEADER_BYTES / 8;
/// Index of the only header word that changes: the sequence.
pub const SEQUENCE_WORD: usize = 6;
const NAME_AT: usize = 64;
const NAME_BYTES_MAX: usize = HEADER_BYTES - NAME_AT;

/// Disk and verification to which a state file belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Name of the disk.
    pub disk: String,
    /// Size of the disk.
    pub size: Bytes,
    /// Seed of the verification.
    pub seed: u64,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "disk \"{}\" ({} B, seed {})", self.disk, self.size.get(), self.seed)
    }
}

/// Converts an index into a table.
pub fn word(index: u64) -> usize {
    usize::try_from(index).expect("a mapped table is addressable")
}

/// Returns the number of cells in the block table.
pub fn blocks_of(size: Bytes) -> usize {
    word(size.get().div_ceil(BLOCK as u64))
}

/// Returns the number of words of a whole state file.
pub fn words_of(blocks: usize) -> usize {
    HEADER_WORDS + blocks * (1 + CELLS)
}

/// Returns the name of a disk's state file. Bytes other than letters, digits and `-_.` become
/// `%XX`.
pub fn file_name(disk: &str) -> String {
    let mut name = String::with_capacity(disk.len() + SUFFIX.len());
    for byte in disk.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    name + SUFFIX
}

/// Returns the name of the disk to which a state file of this name belongs; `None` if no disk's
/// state file is called this.
pub fn disk_name(file_name: &str) -> Option<String> {
    let mut rest = file_name.strip_suffix(SUFFIX)?.bytes();
    let mut name = Vec::new();
    while let Some(byte) = rest.next() {
        name.push(if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(name).ok()
}

/// Reason why a header cannot be written or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The disk's name is too long. The value is its length in bytes.
    #[error("disk name of {0} B, at most {NAME_BYTES_MAX} B fit")]
    LongName(usize),
    /// The file is not a state file.
    #[error("it does not begin with \"TMverify\"")]
    Magic,
    /// The file has an unknown format version.
    #[error("its format is {0}")]
    Format(u32),
    /// The checksum does not match.
    #[error("its header is damaged")]
    Damaged,
}

/// Encodes the header of a new file.
pub fn draw(owner: &Owner) -> Result<[u8; HEADER_BYTES], HeaderError> {
    let name = owner.disk.as_bytes();
    if name.len() > NAME_BYTES_MAX {
        return Err(HeaderError::LongName(name.len()));
    }
    let mut header = [0; HEADER_BYTES];
    header[0..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    header[16..24].copy_from_slice(&owner.size.get().to_le_bytes());
    header[24..32].copy_from_slice(&owner.seed.to_le_bytes());
    let length = u32::try_from(name.len()).map_err(|_| HeaderError::LongName(name.len()))?;
    header[32..36].copy_from_slice(&length.to_le_bytes());
    header[NAME_AT..NAME_AT + name.len()].copy_from_slice(name);
    let sum = checksum(&header);
    header[12..16].copy_from_slice(&sum.to_le_bytes());
    Ok(header)
}

/// Parses a header, or returns its fault.
pub fn parse(header: &[u8; HEADER_BYTES]) -> Result<Owner, HeaderError> {
    let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    if header[..8] != MAGIC {
        return Err(HeaderError::Magic);
    }
    if u32_at(8) != FORMAT {
        return Err(HeaderError::Format(u32_at(8)));
    }
    if u32_at(12) != checksum(header) {
        return Err(HeaderError::Damaged);
    }
    let length = usize::try_from(u32_at(32)).unwrap_or(usize::MAX).min(NAME_BYTES_MAX);
    let name = String::from_utf8_lossy(&header[NAME_AT..NAME_AT + length]);
    Ok(Owner { disk: name.into_owned(), size: Bytes::new(u64_at(16)), seed: u64_at(24) })
}

/// Computes the CRC-32 of the constant bytes of a header. These exclude the sequence, the checksum
/// itself and the bytes before the checksum.
fn checksum(header: &[u8; HEADER_BYTES]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[16..SEQUENCE_WORD * 8]);
    hasher.update(&header[SEQUENCE_WORD * 8 + 8..]);
    hasher.finalize()
}
