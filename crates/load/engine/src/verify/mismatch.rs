use std::fmt;

/// Fault of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The block holds no data of this verification, although a write to it was acknowledged.
    Lost,
    /// The block holds an older write than the last acknowledged one.
    Stale,
    /// A part of the block holds the last acknowledged write, and another part does not.
    Torn,
    /// The block holds data that belongs to another address or another disk.
    Misplaced,
    /// The block's checksum does not match its content.
    Corrupt,
    /// The block holds a later write than the last one submitted.
    Future,
}

impl Kind {
    /// Returns the name of the fault in one lower-case word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Stale => "stale",
            Self::Torn => "torn",
            Self::Misplaced => "misplaced",
            Self::Corrupt => "corrupt",
            Self::Future => "future",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Inclusive range of versions that a block may hold. Versions number the writes of a disk,
/// starting at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Version of the last write that was acknowledged when the read was submitted.
    pub oldest: u64,
    /// Version of the last write that was submitted when the read completed.
    pub newest: u64,
}

/// Header of a block's first wrong sector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHeader {
    /// Disk to which the sector was written; `None` if no disk of this verification has that
    /// identity.
    pub disk: Option<String>,
    /// Offset to which the sector was written, in bytes.
    pub offset: u64,
    /// Version of the sector's write.
    pub version: u64,
    /// Time at which that write was submitted: nanoseconds since 1970-01-01T00:00:00Z.
    pub written_unix_ns: u64,
}

/// Block whose content differs from the last write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Name of the disk that was read.
    pub disk: String,
    /// Offset of the first wrong sector on that disk, in bytes.
    pub offset: u64,
    /// Number of wrong bytes of that 4 KiB block, a multiple of 512.
    pub length: u64,
    /// Kind of fault.
    pub kind: Kind,
    /// Versions that are allowed for the first wrong sector.
    pub expected: Expected,
    /// Header of the first wrong sector; `None` if it has none. In a corrupt block any of these
    /// fields may be damaged.
    pub found: Option<FoundHeader>,
    /// Number of further wrong 4 KiB blocks in the same read.
    pub more_blocks: u32,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { disk, offset, length, kind, expected, found, more_blocks } = self;
        write!(f, "disk \"{disk}\" offset {offset}: {kind}, {length} B do not hold write ")?;
        if expected.oldest == expected.newest {
            write!(f, "{}", expected.oldest)?;
        } else {
            write!(f, "{} to {}", expected.oldest, expected.newest)?;
        }
        match found {
            None => f.write_str(" and no header")?,
            Some(FoundHeader { disk: from, offset: at, version, written_unix_ns }) => {
                write!(f, " but write {version} of ")?;
                match from {
                    Some(from) if from == disk => f.write_str("this disk")?,
                    Some(from) => write!(f, "disk \"{from}\"")?,
                    None => f.write_str("an unknown disk")?,
                }
                let (seconds, rest) =
                    (written_unix_ns / 1_000_000_000, written_unix_ns % 1_000_000_000);
                write!(f, " offset {at}, written at Unix time {seconds}.{rest:09} s")?;
            }
        }
        if *more_blocks > 0 {
            write!(f, " ({more_blocks} more blocks of this read are wrong)")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mismatch {}
