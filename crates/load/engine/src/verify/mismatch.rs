use std::fmt;

/// What is wrong with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The block holds nothing that this verification wrote, though a write to it was
    /// acknowledged.
    Lost,
    /// The block holds an earlier write than the last acknowledged one.
    Stale,
    /// Part of the block holds the last acknowledged write, part of it does not.
    Torn,
    /// The block holds data that belongs to another address or another disk.
    Misplaced,
    /// The block's checksum does not fit its content.
    Corrupt,
    /// The block holds a later write than the last one submitted.
    Future,
}

impl Kind {
    /// One lower-case word.
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

/// The versions a block may hold, both included. Versions number the writes of a disk from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The last acknowledged write when the read was submitted.
    pub oldest: u64,
    /// The last submitted write when the read was done.
    pub newest: u64,
}

/// What the first wrong sector of a block says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The disk it was written to; `None` if no disk of this verification has that name.
    pub disk: Option<String>,
    /// The byte offset it was written to.
    pub offset: u64,
    /// The write it belongs to.
    pub version: u64,
    /// When that write was submitted: nanoseconds since 1970-01-01T00:00:00Z.
    pub written_unix_ns: u64,
}

/// A block that does not hold what was written to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Name of the disk that was read.
    pub disk: String,
    /// Byte offset of the first wrong sector on that disk.
    pub offset: u64,
    /// Wrong bytes of that 4 KiB block, a multiple of 512.
    pub length: u64,
    /// What is wrong.
    pub kind: Kind,
    /// What the first wrong sector should hold.
    pub expected: Expected,
    /// What it holds; `None` when nothing there can be read as a header. Where the block is
    /// corrupt, any of these may be the damaged field.
    pub found: Option<Found>,
    /// Further wrong 4 KiB blocks in the same read.
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
            Some(Found { disk: from, offset: at, version, written_unix_ns }) => {
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
