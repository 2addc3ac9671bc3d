use super::log::LogId;
use super::memory::Opened;

/// I/O in progress, by purpose.
#[derive(Debug, Clone)]
pub(super) enum Io {
    /// Part of a request's read.
    ReadPart {
        read: u32,
        part: ReadPiece,
    },
    /// Write of blocks into a page's slot, from the buffer of a request or a run.
    Fill {
        slot: u32,
        bits: u16,
        holder: Holder,
    },
    /// Write of a group to a log.
    Group {
        log: LogId,
        seq: u64,
    },
    /// Flush of the cache device.
    CacheFlush,
    /// Write or zeroing in mode through.
    Through {
        write: u32,
    },
    /// Flush of a backing store in mode through.
    ThroughFlush {
        disk: u16,
        written: u64,
        waiter: Waiter,
    },
    /// Read of a run's piece from the log.
    RunRead {
        disk: u16,
        run: u32,
        chunk: u32,
    },
    /// Write of a run to the backing store.
    RunWrite {
        disk: u16,
        run: u32,
    },
    /// Flush after all runs of a batch.
    BatchFlush {
        disk: u16,
    },
    /// Check that a sidecar still names this set as owner; the write and the flush of the sidecar
    /// follow.
    SidecarConfirm {
        disk: u16,
    },
    SidecarWrite {
        disk: u16,
    },
    SidecarFlush {
        disk: u16,
    },
    /// I/O for a copy, on the connection to the peer with this number.
    Peer {
        disk: u16,
        peer: u8,
        link: u32,
        what: PeerIo,
    },
    /// Store of a block in the memory tier.
    Keep {
        opened: Opened,
        block: u64,
    },
    /// Write of table blocks.
    Table,
    /// Write of a superblock.
    Superblock,
}

/// I/O for a peer's copy, by purpose.
#[derive(Debug, Clone)]
pub(super) enum PeerIo {
    Group {
        seq: u64,
        writes: Vec<u32>,
    },
    Flush {
        to: u64,
    },
    /// Read of the log on the cache device.
    Read {
        buf: crate::Buf,
        chunk: u32,
        position: u64,
        bytes: u32,
    },
    Copy {
        buf: crate::Buf,
        to: u64,
    },
    Mark,
    Seal,
    Kept,
}

/// Owner of the buffer that an I/O uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    Read(u32),
    Write(u32),
    Run { disk: u16, run: u32 },
}

/// Waiter for a flush of a backing store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiter {
    Flush(state_machine::RequestId),
    Write(u32),
    /// Pages with blocks whose bytes on the backing store may still be lost.
    Pages,
}

/// Part of a read, from one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadPiece {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    pub(super) source: PartSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartSource {
    Backing,
    Slot { slot: u32 },
    Log { chunk: u32 },
}

impl Io {
    /// Returns the disk of the I/O, unless a request or a slot determines it.
    pub(super) fn disk(&self) -> Option<u16> {
        match self {
            Self::Group { log: LogId::Disk(disk), .. }
            | Self::ThroughFlush { disk, .. }
            | Self::RunRead { disk, .. }
            | Self::RunWrite { disk, .. }
            | Self::Fill { holder: Holder::Run { disk, .. }, .. }
            | Self::BatchFlush { disk }
            | Self::SidecarConfirm { disk }
            | Self::SidecarWrite { disk }
            | Self::SidecarFlush { disk }
            | Self::Peer { disk, .. } => Some(*disk),
            _ => None,
        }
    }
}
