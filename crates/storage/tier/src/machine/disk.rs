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

/// How far a disk is on its way into the set or out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its log waits for a chunk.
    Coming,
    /// The superblock of this number is to name it.
    Listing(u64),
    /// Its sidecar is to say that it is ours.
    Marking,
    /// All of them say so; whoever drives the machine is to begin.
    Ready,
    Serving,
    /// All that it has goes to its backing store, and its sidecar is to say so.
    Leaving,
    /// Its pages leave, some of them at this time.
    Emptying(Nanos),
    /// Nothing that is under way may concern it.
    Settling,
    /// The superblock of this number is to name it no more.
    Striking(u64),
}

impl Stage {
    /// Whether it is written, destaged and copied as disks are.
    pub(super) fn is_working(self) -> bool {
        matches!(self, Self::Serving | Self::Leaving)
    }
}

/// How a disk is to be served.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) mode: Mode,
    pub(crate) copies: u8,
    pub(crate) peers: Vec<Holder>,
}

impl Wish {
    /// How its writes are answered until its peers are there.
    pub(crate) fn first(&self) -> Mode {
        if self.copies > 0 { Mode::Through } else { self.mode }
    }
}

/// A cached disk.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) entry: DiskEntry,
    pub(super) stage: Stage,
    /// Chunks that its log has no more, until the superblock says so.
    pub(crate) spare: Vec<u32>,
    pub(crate) mode: Mode,
    pub(crate) populate: bool,
    pub(crate) sidecar: SidecarWriter,
    pub(crate) log: Log,
    pub(crate) overlay: Overlay,
    pub(crate) destager: Destager,
    pub(super) queue: LogQueue,
    /// Not to be tried before then.
    pub(super) retry_at: Option<Nanos>,
    /// When groups became durable of which no head tells yet.
    pub(super) seal_since: Option<Nanos>,
    /// Writes of mode through that go on, and those that wait for them, oldest first.
    pub(super) through: Vec<u32>,
    pub(super) waiting: VecDeque<u32>,
    /// Counts writes of mode through that ended, and how many of them a flush of the backing store
    /// has made durable.
    pub(super) written: u64,
    pub(super) flushed: u64,
    /// Flushes of the backing store that no request asked for.
    pub(super) own_flushes: u32,
    /// Slots whose map waits for such a flush.
    pub(super) unbacked: Vec<u32>,
    pub(super) unbacked_since: Option<Nanos>,
    pub(super) uncached: Uncached,
    /// Writes of mode through that waited for the cache device when it failed.
    pub(super) stalled: Vec<u32>,
    /// What waits until the mode has changed.
    pub(super) held: VecDeque<crate::Request>,
    pub(super) change: Option<Mode>,
    pub(super) is_draining: bool,
    pub(super) copies: Copies,
    /// How its writes are to be answered if there are as many copies.
    pub(super) wish: Mode,
    /// Somebody else owns it.
    pub(super) is_fenced: bool,
    /// A log start that is on its way to the pool's log.
    pub(super) start_queued: u64,
    /// Writes wait for room in the log since then.
    pub(super) full_since: Option<Nanos>,
    pub(super) counters: Counters,
}

/// How a disk is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskStatus {
    /// How its writes are answered.
    pub mode: Mode,
    /// Bytes that are not on the backing store yet, in whole blocks.
    pub dirty_bytes: u64,
    /// Epochs that are not.
    pub epochs: usize,
    /// Chunks that its log takes.
    pub log_chunks: usize,
    /// Last group that is durable.
    pub durable: u64,
    /// Last group that is on the backing store.
    pub retired: u64,
    /// What its sidecar says.
    pub sidecar: SidecarState,
    /// Pages that it has.
    pub pages: usize,
    /// What of it is in memory.
    pub memory: super::MemoryStatus,
    /// Of all pages, and of memory, percent that it may have.
    pub share_percent: u8,
    /// What decides on its pages, which it has to itself then, if that is a policy of its own.
    pub policy: Option<cache::PolicyKind>,
    /// Whether new pages come in.
    pub populates: bool,
    /// Whether its log has something that cannot be read.
    pub is_damaged: bool,
    /// Whether its backing store refused, and is to be tried again.
    pub is_refused: bool,
    /// Counts its owners; the copies of its log are of this one.
    pub generation: u64,
    /// Copies of its log that there should be in mode back, and how many there are.
    pub copies: u8,
    /// Peers that have one.
    pub holding: usize,
    /// Whether somebody else owns it by now.
    pub is_fenced: bool,
    /// When the oldest write came that only the log has; zero if it was before the set was opened.
    pub oldest: Option<Nanos>,
    /// Since when writes wait for room in the log, if they do.
    pub full_since: Option<Nanos>,
    /// What happened to it since the set was opened.
    pub counters: Counters,
}

impl Disk {
    /// A disk with what was found in its log. In mode back its writes are answered, when all that is out, only if there
    /// are as many copies as there should be.
    pub(crate) fn new(
        entry: DiskEntry,
        mode: Mode,
        sidecar: Sidecar,
        (log, epochs): (Log, VecDeque<Epoch>),
        wish: Wish,
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

    /// Whether its log has no place yet.
    pub(crate) fn wants_chunk(&self) -> bool {
        self.entry.log_chunk == NO_CHUNK
    }

    /// Its log begins there.
    pub(crate) fn take_chunk(&mut self, chunk: u32) {
        self.entry.log_chunk = chunk;
        self.log.set_first_chunk(chunk);
    }

    /// Reads see what waits in its log. Says how many writes that is: new ones count from there.
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

    /// When something of it is due.
    pub(super) fn due(&self) -> Option<Nanos> {
        if !self.stage.is_working() {
            return if let Stage::Emptying(at) = self.stage { Some(at) } else { None };
        }
        let since = [self.unbacked_since, self.seal_since];
        let due = since.into_iter().flatten().map(|since| since + PAUSE);
        due.chain(self.destager.due()).chain(self.retry_at).chain(self.copies.due()).min()
    }

    /// Its newest sidecar copy is durable: superblocks and heads of its log say so from now on. They say the
    /// number before: where the newest copy is damaged later, the other one is no older state.
    pub(crate) fn sidecar_is_durable(&mut self) {
        self.entry.sidecar = self.sidecar.word().seq - 1;
        self.log.set_sidecar(self.entry.sidecar);
    }

    /// The number of the epoch that a group of now has.
    pub(super) fn open_number(&self) -> u64 {
        self.destager.open_number(self.sidecar.word().applied)
    }

    /// Groups up to this one may be answered.
    pub(super) fn accepted_everywhere(&self) -> u64 {
        self.copies.accepted(self.log.ends().accepted)
    }

    /// Groups up to this one are durable in all copies.
    pub(super) fn durable_everywhere(&self) -> u64 {
        self.copies.durable(self.log.ends().flushed)
    }

    /// Whether somebody waits for groups to be durable that were accepted and are not.
    pub(super) fn waits_for(&self, durable: u64, accepted: u64, is_closing: bool) -> bool {
        let is_new = |seq: u64| seq > durable && seq <= accepted;
        self.queue.waits_for(is_new)
            || self.destager.awaited_seq().is_some_and(is_new)
            || (is_closing && accepted > durable)
    }

    /// Whether its sidecar is to say for the first time that it is ours.
    pub(super) fn is_marking(&self) -> bool {
        self.stage == Stage::Marking
    }

    /// The group up to which its pages are true.
    pub(super) fn true_to(&self) -> u64 {
        self.log.ends().retired
    }
}
