use std::collections::VecDeque;

use units::Nanos;

use super::copies::Copies;
use super::destager::Destager;
use super::epoch::Epoch;
use super::log::Log;
use super::log_queue::LogQueue;
use super::overlay::Overlay;
use super::sidecar::SidecarWriter;
use super::uncached::Uncached;
use super::{Counters, Mode, PAUSE};
use crate::format::{DiskEntry, Holder, NO_CHUNK, Sidecar, SidecarState};

/// Stage of a disk between its attachment to the set and its removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The disk waits for a chunk for its log.
    Coming,
    /// The superblock of this number must be written; it lists the disk.
    Listing(u64),
    /// The sidecar must be written; it names this set as owner.
    Marking,
    /// Superblock and sidecar are durable. The driver must send [`crate::Order::Serve`].
    Ready,
    Serving,
    /// The log must be destaged, and then the sidecar must become *clean*.
    Leaving,
    /// The pages of the disk are evicted; the next pages at this time.
    Emptying(Nanos),
    /// The disk waits until no I/O, request or queued record concerns it.
    Settling,
    /// The superblock of this number must be written; it no longer lists the disk.
    Striking(u64),
}

impl Stage {
    /// Returns true if the disk can be written, destaged and copied.
    pub(super) fn is_working(self) -> bool {
        matches!(self, Self::Serving | Self::Leaving)
    }
}

/// Requested settings for serving a disk.
#[derive(Debug, Clone)]
pub(crate) struct ServingDemands {
    pub(crate) mode: Mode,
    pub(crate) copies: u8,
    pub(crate) peers: Vec<Holder>,
}

impl ServingDemands {
    /// Returns the mode that is used until enough peers are connected.
    pub(crate) fn first(&self) -> Mode {
        if self.copies > 0 { Mode::Through } else { self.mode }
    }
}

/// Cached disk.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) entry: DiskEntry,
    pub(super) stage: Stage,
    /// Chunks that the log no longer uses; they are free once a superblock with the new start is
    /// durable.
    pub(crate) spare: Vec<u32>,
    pub(crate) mode: Mode,
    pub(crate) populate: bool,
    pub(crate) sidecar: SidecarWriter,
    pub(crate) log: Log,
    pub(crate) overlay: Overlay,
    pub(crate) destager: Destager,
    pub(super) queue: LogQueue,
    /// Earliest time at which I/O that the backing store or the sidecar refused is retried.
    pub(super) retry_at: Option<Nanos>,
    /// Time since which there are durable groups that no head has recorded as durable.
    pub(super) seal_since: Option<Nanos>,
    /// Writes of mode through in progress.
    pub(super) through: Vec<u32>,
    /// Writes of mode through that wait for an overlapping write, oldest first.
    pub(super) waiting: VecDeque<u32>,
    /// Number of completed writes of mode through.
    pub(super) written: u64,
    /// Number of these writes that a flush of the backing store has made durable. They are counted
    /// in the order of completion.
    pub(super) flushed: u64,
    /// Number of flushes of the backing store in progress that no request asked for.
    pub(super) own_flushes: u32,
    /// Slots whose map waits for such a flush of the backing store.
    pub(super) unbacked: Vec<u32>,
    pub(super) unbacked_since: Option<Nanos>,
    pub(super) uncached: Uncached,
    /// Writes of mode through that waited for the cache device when it failed.
    pub(super) stalled: Vec<u32>,
    /// Requests that wait until the mode has changed.
    pub(super) held: VecDeque<crate::Request>,
    pub(super) change: Option<Mode>,
    pub(super) is_draining: bool,
    pub(super) copies: Copies,
    /// Mode to use while there are enough copies.
    pub(super) wish: Mode,
    /// True if another host owns the disk.
    pub(super) is_fenced: bool,
    /// Newest log start that was queued for the pool's log, as the number of its first group.
    pub(super) start_queued: u64,
    /// Time since which writes wait for room in the log.
    pub(super) full_since: Option<Nanos>,
    pub(super) counters: Counters,
}

/// Mode of a disk, and the amount of its data that is not on the backing store yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskStatus {
    /// Mode in which the disk's writes are answered.
    pub mode: Mode,
    /// Bytes that are not on the backing store yet, in whole blocks.
    pub dirty_bytes: u64,
    /// Number of epochs that are not on the backing store yet.
    pub epochs: usize,
    /// Number of chunks that the disk's log uses.
    pub log_chunks: usize,
    /// Last group of the disk's log that is durable.
    pub durable: u64,
    /// Last group whose writes are on the backing store.
    pub retired: u64,
    /// State recorded in the disk's sidecar.
    pub sidecar: SidecarState,
    /// Number of the disk's resident pages.
    pub pages: usize,
    /// Use of the memory tier by the disk.
    pub memory: super::MemoryStatus,
    /// Maximum share of all pages and of the memory tier, in percent.
    pub share_percent: u8,
    /// Policy of the disk, if it has its own and therefore a division of the pages.
    pub policy: Option<cache::PolicyKind>,
    /// True if new pages are admitted.
    pub populates: bool,
    /// True if the log has bytes that cannot be read.
    pub is_damaged: bool,
    /// True if the backing store refused I/O, which will be retried.
    pub is_refused: bool,
    /// Generation: the number of owners so far. Copies of the disk's log have this generation.
    pub generation: u64,
    /// Number of copies of the log that mode back needs.
    pub copies: u8,
    /// Number of peers that hold a copy.
    pub holding: usize,
    /// True if another host owns the disk now.
    pub is_fenced: bool,
    /// Time of the oldest write that is only in the log; zero if the write was made before the set
    /// was opened.
    pub oldest: Option<Nanos>,
    /// Time since which writes wait for room in the log; `None` if none waits.
    pub full_since: Option<Nanos>,
    /// Counters since the set was opened.
    pub counters: Counters,
}

impl Disk {
    /// Creates a disk with the epochs of its log. Once these are destaged, writes are answered in
    /// mode back only if there are enough copies.
    pub(crate) fn new(
        entry: DiskEntry,
        mode: Mode,
        sidecar: Sidecar,
        (log, epochs): (Log, VecDeque<Epoch>),
        wish: ServingDemands,
    ) -> Self {
        let first = wish.first();
        Self {
            entry,
            stage: Stage::Serving,
            spare: Vec::new(),
            mode,
            populate: true,
            sidecar: SidecarWriter::new(sidecar),
            log,
            overlay: Overlay::default(),
            destager: Destager::new(epochs),
            queue: LogQueue::default(),
            retry_at: None,
            seal_since: None,
            through: Vec::new(),
            waiting: VecDeque::new(),
            written: 0,
            flushed: 0,
            own_flushes: 0,
            unbacked: Vec::new(),
            unbacked_since: None,
            uncached: Uncached::No,
            stalled: Vec::new(),
            held: VecDeque::new(),
            change: (first != mode).then_some(first),
            is_draining: false,
            copies: Copies::new(wish.copies, wish.peers),
            wish: wish.mode,
            is_fenced: false,
            start_queued: 0,
            full_since: None,
            counters: Counters::default(),
        }
    }

    /// Returns true if the disk's log has no chunk yet.
    pub(crate) fn wants_chunk(&self) -> bool {
        self.entry.log_chunk == NO_CHUNK
    }

    /// Sets the first chunk of the disk's log.
    pub(crate) fn take_chunk(&mut self, chunk: u32) {
        self.entry.log_chunk = chunk;
        self.log.set_first_chunk(chunk);
    }

    /// Adds the recovered writes to the overlay, so that reads see them. Returns their number, at
    /// which the order of new writes begins.
    pub(crate) fn lay_recovered(&mut self) -> u64 {
        let mut order = 0;
        for write in self.destager.writes() {
            order += 1;
            write.order = order;
            self.overlay.write(write.layers());
        }
        order
    }

    pub(super) fn status(&self, (pages, share_percent): (usize, u8)) -> DiskStatus {
        DiskStatus {
            pages,
            memory: super::MemoryStatus::default(),
            share_percent,
            policy: None,
            populates: self.populate,
            mode: self.mode,
            dirty_bytes: self.overlay.bytes(),
            epochs: self.destager.epochs(),
            log_chunks: self.log.chunks().len(),
            durable: self.log.ends().durable,
            retired: self.true_to(),
            sidecar: self.sidecar.word().state,
            is_damaged: self.destager.is_damaged(),
            is_refused: self.retry_at.is_some(),
            generation: self.entry.generation,
            copies: self.copies.wanted(),
            holding: self.copies.holding(),
            is_fenced: self.is_fenced,
            oldest: self.destager.oldest(),
            full_since: self.full_since,
            counters: self.counters,
        }
    }

    /// Returns the earliest time at which work for the disk is due.
    pub(super) fn due(&self) -> Option<Nanos> {
        if !self.stage.is_working() {
            return if let Stage::Emptying(at) = self.stage { Some(at) } else { None };
        }
        let since = [self.unbacked_since, self.seal_since];
        let due = since.into_iter().flatten().map(|since| since + PAUSE);
        due.chain(self.destager.due()).chain(self.retry_at).chain(self.copies.due()).min()
    }

    /// Records that the newest sidecar copy is durable. From now on, superblocks and heads of the
    /// log contain the number of the copy before it. If the newest copy is damaged later, the other
    /// copy must not look like an older state.
    pub(crate) fn sidecar_is_durable(&mut self) {
        self.entry.sidecar = self.sidecar.word().seq - 1;
        self.log.set_sidecar(self.entry.sidecar);
    }

    /// Returns the number of the epoch to which a group belongs that begins now.
    pub(super) fn open_number(&self) -> u64 {
        self.destager.open_number(self.sidecar.word().applied)
    }

    /// Returns the last group whose writes may be answered.
    pub(super) fn accepted_everywhere(&self) -> u64 {
        self.copies.accepted(self.log.ends().accepted)
    }

    /// Returns the last group that is durable in the log and in all copies.
    pub(super) fn durable_everywhere(&self) -> u64 {
        self.copies.durable(self.log.ends().flushed)
    }

    /// Returns true if a request or a batch waits until accepted groups are durable.
    pub(super) fn waits_for(&self, durable: u64, accepted: u64, is_closing: bool) -> bool {
        let is_new = |seq: u64| seq > durable && seq <= accepted;
        self.queue.waits_for(is_new)
            || self.destager.awaited_seq().is_some_and(is_new)
            || (is_closing && accepted > durable)
    }

    /// Returns true if the sidecar must be written to name this set as owner for the first time.
    pub(super) fn is_marking(&self) -> bool {
        self.stage == Stage::Marking
    }

    /// Returns the last group whose writes the disk's pages include.
    pub(super) fn true_to(&self) -> u64 {
        self.log.ends().retired
    }
}
