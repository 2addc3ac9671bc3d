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

/// Stage of a disk on its way into the set or out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The disk waits for a chunk for its log.
    Coming,
    /// The superblock of this number must list the disk.
    Listing(u64),
    /// The sidecar must name this set as owner.
    Marking,
    /// Superblock and sidecar are durable; the driver must order [`crate::Order::Serve`].
    Ready,
    Serving,
    /// The log must be destaged, and then the sidecar must say *clean*.
    Leaving,
    /// The pages of the disk are evicted, the next ones at this time.
    Emptying(Nanos),
    /// Waits until nothing under way concerns the disk.
    Settling,
    /// The superblock of this number must not list the disk any more.
    Striking(u64),
}

impl Stage {
    /// Returns true if the disk is written, destaged and copied.
    pub(super) fn is_working(self) -> bool {
        matches!(self, Self::Serving | Self::Leaving)
    }
}

/// Wishes for serving a disk.
#[derive(Debug, Clone)]
pub(crate) struct ServingDemands {
    pub(crate) mode: Mode,
    pub(crate) copies: u8,
    pub(crate) peers: Vec<Holder>,
}

impl ServingDemands {
    /// Mode until its peers are connected.
    pub(crate) fn first(&self) -> Mode {
        if self.copies > 0 { Mode::Through } else { self.mode }
    }
}

/// Cached disk.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) entry: DiskEntry,
    pub(super) stage: Stage,
    /// Chunks that its log does not use any more, until the superblock says so.
    pub(crate) spare: Vec<u32>,
    pub(crate) mode: Mode,
    pub(crate) populate: bool,
    pub(crate) sidecar: SidecarWriter,
    pub(crate) log: Log,
    pub(crate) overlay: Overlay,
    pub(crate) destager: Destager,
    pub(super) queue: LogQueue,
    /// Earliest time of another attempt at the backing store or the sidecar.
    pub(super) retry_at: Option<Nanos>,
    /// Time at which groups became durable that no head calls durable yet.
    pub(super) seal_since: Option<Nanos>,
    /// Writes of mode through that are under way.
    pub(super) through: Vec<u32>,
    /// Writes of mode through that wait for an overlapping one, oldest first.
    pub(super) waiting: VecDeque<u32>,
    /// Number of writes of mode through that ended.
    pub(super) written: u64,
    /// Number of these writes that a flush of the backing store has made durable.
    pub(super) flushed: u64,
    /// Flushes of the backing store under way that no request asked for.
    pub(super) own_flushes: u32,
    /// Slots whose map waits for such a flush.
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
    /// Mode to use once there are enough copies.
    pub(super) wish: Mode,
    /// True if another host owns the disk.
    pub(super) is_fenced: bool,
    /// Newest log start that was queued for the pool's log.
    pub(super) start_queued: u64,
    /// Time since which writes wait for room in the log.
    pub(super) full_since: Option<Nanos>,
    pub(super) counters: Counters,
}

/// Status of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskStatus {
    /// Mode in which its writes are answered.
    pub mode: Mode,
    /// Bytes that are not on the backing store yet, in whole blocks.
    pub dirty_bytes: u64,
    /// Number of epochs that are not on the backing store yet.
    pub epochs: usize,
    /// Number of chunks that its log takes.
    pub log_chunks: usize,
    /// Last durable group of its log.
    pub durable: u64,
    /// Last group that is on the backing store.
    pub retired: u64,
    /// State in its sidecar.
    pub sidecar: SidecarState,
    /// Number of its pages.
    pub pages: usize,
    /// Blocks of the disk in the memory tier.
    pub memory: super::MemoryStatus,
    /// Largest share of all pages and of the memory tier, in percent.
    pub share_percent: u8,
    /// Policy of its own, if it has one, and with it a division of the pages.
    pub policy: Option<cache::PolicyKind>,
    /// True if new pages are admitted.
    pub populates: bool,
    /// True if its log has bytes that cannot be read.
    pub is_damaged: bool,
    /// True if its backing store refused, and waits for another attempt.
    pub is_refused: bool,
    /// Generation: the number of its owners so far. Copies of its log have this generation.
    pub generation: u64,
    /// Number of copies of its log wanted in mode back.
    pub copies: u8,
    /// Number of peers that hold a copy.
    pub holding: usize,
    /// True if another host owns the disk by now.
    pub is_fenced: bool,
    /// Time of the oldest write that only the log has; zero if it was before the set was opened.
    pub oldest: Option<Nanos>,
    /// Time since which writes wait for room in the log, if they do.
    pub full_since: Option<Nanos>,
    /// Counters since the set was opened.
    pub counters: Counters,
}

impl Disk {
    /// Creates a disk with the epochs of its log. After these are destaged, its writes are answered
    /// in mode back only if there are enough copies.
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

    /// Returns true if its log has no chunk yet.
    pub(crate) fn wants_chunk(&self) -> bool {
        self.entry.log_chunk == NO_CHUNK
    }

    /// Sets the first chunk of its log.
    pub(crate) fn take_chunk(&mut self, chunk: u32) {
        self.entry.log_chunk = chunk;
        self.log.set_first_chunk(chunk);
    }

    /// Lays the recovered writes over the disk, so that reads see them. Returns their number, from
    /// which new writes are counted.
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

    /// Earliest time at which something of the disk is due.
    pub(super) fn due(&self) -> Option<Nanos> {
        if !self.stage.is_working() {
            return if let Stage::Emptying(at) = self.stage { Some(at) } else { None };
        }
        let since = [self.unbacked_since, self.seal_since];
        let due = since.into_iter().flatten().map(|since| since + PAUSE);
        due.chain(self.destager.due()).chain(self.retry_at).chain(self.copies.due()).min()
    }

    /// Records that the newest sidecar copy is durable; superblocks and heads of the log tell it
    /// from now on. They tell the number before the newest, because the other copy must not look
    /// like an older state if the newest one is damaged later.
    pub(crate) fn sidecar_is_durable(&mut self) {
        self.entry.sidecar = self.sidecar.word().seq - 1;
        self.log.set_sidecar(self.entry.sidecar);
    }

    /// Number of the epoch that a group begun now belongs to.
    pub(super) fn open_number(&self) -> u64 {
        self.destager.open_number(self.sidecar.word().applied)
    }

    /// Last group that may be answered.
    pub(super) fn accepted_everywhere(&self) -> u64 {
        self.copies.accepted(self.log.ends().accepted)
    }

    /// Last group that is durable in the log and in all copies.
    pub(super) fn durable_everywhere(&self) -> u64 {
        self.copies.durable(self.log.ends().flushed)
    }

    /// Returns true if a request waits for accepted groups to become durable.
    pub(super) fn waits_for(&self, durable: u64, accepted: u64, is_closing: bool) -> bool {
        let is_new = |seq: u64| seq > durable && seq <= accepted;
        self.queue.waits_for(is_new)
            || self.destager.awaited_seq().is_some_and(is_new)
            || (is_closing && accepted > durable)
    }

    /// Returns true if its sidecar must name this set as owner for the first time.
    pub(super) fn is_marking(&self) -> bool {
        self.stage == Stage::Marking
    }

    /// Last group that its pages include.
    pub(super) fn true_to(&self) -> u64 {
        self.log.ends().retired
    }
}
