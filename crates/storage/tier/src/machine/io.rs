use super::log::LogId;
use super::memory::Opened;
use crate::event::IoId;

/// Which I/O it is that ended.
#[derive(Debug, Clone)]
pub(super) enum Io {
    /// Part of a request's read.
    ReadPart {
        read: u32,
        part: Part,
    },
    /// Blocks of a page going into its slot out of a request's memory, or a run's.
    Fill {
        slot: u32,
        bits: u16,
        holder: Holder,
    },
    /// A group of a log.
    Group {
        log: LogId,
        seq: u64,
    },
    /// The cache device's.
    CacheFlush,
    /// A write of mode through, or zeros.
    Through {
        write: u32,
    },
    /// What a flush of mode through, or a durable write, waits for.
    ThroughFlush {
        disk: u16,
        written: u64,
        waiter: Waiter,
    },
    /// A piece of a run, out of the log.
    RunRead {
        disk: u16,
        run: u32,
        chunk: u32,
    },
    /// A run, into the backing store.
    RunWrite {
        disk: u16,
        run: u32,
    },
    /// After all runs of a batch.
    BatchFlush {
        disk: u16,
    },
    /// Whether a sidecar is still ours, its block, its flush.
    SidecarConfirm {
        disk: u16,
    },
    SidecarWrite {
        disk: u16,
    },
    SidecarFlush {
        disk: u16,
    },
    /// Something of a copy, on the so-manieth way to its peer.
    Peer {
        disk: u16,
        peer: u8,
        link: u32,
        what: PeerIo,
    },
    /// A block that is being put into memory.
    Keep {
        opened: Opened,
        block: u64,
    },
    /// Blocks of a table.
    Table,
    /// A superblock.
    Superblock,
}

/// An I/O for a copy.
#[derive(Debug, Clone)]
pub(super) enum PeerIo {
    Group {
        seq: u64,
        writes: Vec<u32>,
    },
    Flush {
        to: u64,
    },
    /// Of the log, on the cache device.
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

/// Whose memory an I/O uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    Read(u32),
    Write(u32),
    Run { disk: u16, run: u32 },
}

/// Who waits for a flush of a backing store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiter {
    Flush(crate::ReqId),
    Write(u32),
    /// Pages that hold what it may still lose.
    Pages,
}

/// What a read's part is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
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

/// Things by small numbers that are used again.
#[derive(Debug, Clone)]
pub(super) struct Slab<T> {
    things: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { things: Vec::new(), free: Vec::new() }
    }
}

impl Io {
    /// Which disk it is of, if not by a request or a slot.
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

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, thing: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.things[at as usize] = Some(thing);
            return at;
        }
        self.things.push(Some(thing));
        u32::try_from(self.things.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn remove(&mut self, at: u32) -> T {
        let thing = self.things[at as usize].take();
        self.free.push(at);
        thing.expect("what is removed is there")
    }

    pub(super) fn get(&mut self, at: u32) -> &mut T {
        self.things[at as usize].as_mut().expect("what is asked for is there")
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.things.len() - self.free.len()
    }
}

impl Slab<Io> {
    pub(super) fn start(&mut self, io: Io) -> IoId {
        IoId(self.insert(io))
    }
}
