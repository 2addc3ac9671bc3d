//! State machine: [`Tier`] passes each event to the parts below, and their decisions to the driver.
//! Each part keeps its state private; the head of its file states its invariant.
//!
//! | part | state |
//! |---|---|
//! | `log`, `log_queue`, `chunks` | accepted and durable groups of a log, its waiters, its chunks |
//! | `overlay` | the newest version of each dirty block |
//! | `destager`, `batch`, `sidecar` | the epochs to destage next, and the sidecar's state before |
//! | `pages` | the cached blocks, and which of them a durable map may name |
//! | `copies` | the peers that hold a copy of a log |
//! | `superblock` | the disks of the set |
//! | `flusher` | the requests for flushes of the cache device |
//! | `stirred` | the disks that an event may have affected |

mod batch;
mod checkpoint;
mod chunks;
mod commit;
mod copies;
mod counters;
mod destage;
mod destager;
mod disk;
mod division;
pub(crate) mod epoch;
mod fill;
mod flusher;
mod group;
mod io;
mod keep;
pub(crate) mod log;
mod log_queue;
mod memory;
mod orders;
pub(crate) mod overlay;
pub(crate) mod pages;
pub(crate) mod pool;
mod read;
mod retire;
mod roster;
mod sidecar;
mod stirred;
mod superblock;
mod through;
mod uncached;
mod write;

use std::collections::VecDeque;

use cache::PolicyKind;
use state_machine::{IoId, Slab};
use units::Nanos;

use crate::event::{Effect, Event, IoError, Mode, Note, Op, Request};
use crate::format::Superblock;
use crate::geometry::Geometry;
use crate::moment::Moment;

use checkpoint::Checkpoint;
use chunks::Chunks;
pub(crate) use disk::{Disk, ServingDemands};
pub(crate) use epoch::{Epoch, Logged};
use flusher::Flusher;
use io::{Holder, Io};
use log::LogId;
pub(crate) use memory::Memory;
use pages::PageIndex;
pub(crate) use pool::Pool;
use read::ReadRequest;
use stirred::{DiskTurn, Stirred};
use write::WriteRequest;

pub use counters::Counters;
pub use disk::DiskStatus;
pub use memory::{BLOCK_CELLS, CELL_BYTES, MemoryStatus};
pub use roster::Prepared;
pub(crate) use superblock::Roster;

/// Maximum size of a request, in bytes; a driver splits longer requests.
pub const REQUEST_BYTES_MAX: u32 = 1 << 20;

/// Maximum time until an epoch is closed, or a map or a durable position is written.
pub(crate) const PAUSE: Nanos = Nanos(1_000_000_000);

type Fx = Vec<Effect>;

/// Set of cached disks on one cache device.
#[derive(Debug, Clone)]
pub struct Tier {
    pub(crate) geometry: Geometry,
    roster: Roster,
    pub(crate) pages: PageIndex,
    memory: Memory,
    pub(crate) pool: Pool,
    pub(crate) disks: Vec<Option<Disk>>,
    chunks: Chunks,
    /// Counters of the pool, and of disks that are no longer attached.
    counters: Counters,
    /// True once the cache device has failed a write of a log or of metadata.
    pub(crate) is_failed: bool,
    pub(crate) is_closing: bool,
    is_closed: bool,
    ios: Slab<Io>,
    reads: Slab<ReadRequest>,
    writes: Slab<WriteRequest>,
    flusher: Flusher,
    checkpoint: Checkpoint,
    /// Number of the opening ([`crate::Session::opening`]).
    opening: u64,
    /// Number of tables that this opening has written, not counting a table written at its start.
    tables: u64,
    /// Number of bytes that are being written into pages.
    filling: u64,
    /// Time at which the next surplus pages are evicted.
    divides_at: Option<Nanos>,
    /// True if some work can possibly continue.
    is_stirred: bool,
    stirred: Stirred,
    /// True if a disk waits until nothing in progress concerns it.
    has_settling: bool,
    now: Nanos,
    /// Time of the timer that is set.
    wake_at: Option<Nanos>,
    /// True if some work may be due before that time.
    is_due_changed: bool,
    /// Number of writes accepted so far.
    pub(crate) order: u64,
    next_buf: u32,
}

impl Tier {
    pub(crate) fn new(
        geometry: Geometry,
        roster: Roster,
        opening: u64,
        (pages, memory): (PageIndex, Memory),
        pool: Pool,
        free_chunks: VecDeque<u32>,
    ) -> Self {
        Self {
            chunks: Chunks::new(geometry.chunks, free_chunks),
            geometry,
            roster,
            pages,
            memory,
            pool,
            disks: Vec::new(),
            counters: Counters::default(),
            is_failed: false,
            is_closing: false,
            is_closed: false,
            ios: Slab::default(),
            reads: Slab::default(),
            writes: Slab::default(),
            flusher: Flusher::default(),
            checkpoint: Checkpoint::default(),
            opening,
            tables: 0,
            filling: 0,
            divides_at: None,
            is_stirred: true,
            stirred: Stirred::default(),
            has_settling: false,
            now: Nanos(0),
            wake_at: None,
            is_due_changed: false,
            order: 0,
            next_buf: 1 << 31,
        }
    }

    /// Handles one event. `now` must never decrease. Appends the effects to `fx`.
    ///
    /// # Panics
    /// If an I/O completes that was not started, or a request is for a disk that is not attached,
    /// is too long, or does not consist of whole sectors within the disk. The front end must check
    /// requests.
    pub fn handle(&mut self, now: Nanos, event: Event, fx: &mut Vec<Effect>) {
        self.now = now;
        self.mark_concerned(&event);
        match event {
            Event::Request(request) => self.request(request, fx),
            Event::Done(io, result) => self.done(io, result, fx),
            Event::Timer => {
                self.wake_at = None;
                self.tick(fx);
            }
            Event::Order(order) => self.order(order, fx),
            Event::Kept(io, kept) => self.kept(io, kept, fx),
            Event::Peer(disk, peer, event) => self.peer_event(disk, peer, event, fx),
            Event::Turn => self.turn(fx),
        }
        // The last read or fill of a disk that is being released triggers nothing else, and there
        // may be no later event.
        self.is_stirred |= self.has_settling;
        self.set_timer(fx);
    }

    /// Marks the disks that an event may affect.
    fn mark_concerned(&mut self, event: &Event) {
        let disk = match event {
            Event::Request(request) => Some(request.disk),
            Event::Done(io, Ok(_)) => match &self.ios[io.0] {
                // No disk depends on the pool's log or on tables before they are flushed.
                Io::Group { log: LogId::Pool, .. } | Io::Table => return,
                Io::ReadPart { read, .. } | Io::Fill { holder: Holder::Read(read), .. } => {
                    Some(self.reads[*read].disk)
                }
                Io::Through { write } | Io::Fill { holder: Holder::Write(write), .. } => {
                    Some(self.writes[*write].request.disk)
                }
                io => io.disk(),
            },
            // A turn does nothing with blocks in memory, and a turn concerns no disk by itself.
            Event::Kept(..) | Event::Turn => return,
            Event::Done(..) | Event::Timer | Event::Order(_) | Event::Peer(..) => None,
        };
        match disk {
            Some(disk) => self.stirred.mark(disk),
            None => self.stirred.mark_all(),
        }
    }

    /// Returns the counters since the set was opened.
    pub fn counters(&self) -> Counters {
        let sum = self.disks.iter().flatten().fold(self.counters, |sum, d| sum.and(d.counters));
        Counters { evicted: self.pages.evicted(), ..sum }
    }

    /// Returns the counters to which events of a disk are added.
    fn count(&mut self, disk: u16) -> &mut Counters {
        match self.disks.get_mut(usize::from(disk)) {
            Some(Some(disk)) => &mut disk.counters,
            _ => &mut self.counters,
        }
    }

    /// Returns the present superblock of the set, including disks that are being attached or
    /// detached.
    pub fn superblock(&self) -> Superblock {
        let mut superblock = self.roster.superblock().clone();
        for (entry, disk) in superblock.disks.iter_mut().zip(&self.disks) {
            *entry = disk.as_ref().map(|disk| disk.entry.clone()).or(entry.take());
        }
        superblock
    }

    /// Returns the counters of a disk that are stored with the marks of its backing store. While
    /// the marks are equal, the disk's pages are valid. A cache with lower counters is an older
    /// copy.
    pub fn moment(&self, disk: u16) -> Option<Moment> {
        let disk = self.disks.get(usize::from(disk))?.as_ref()?;
        let log = disk.log.ends().durable;
        Some(Moment { opening: disk.entry.opening, pool: self.pool.log.ends().durable, log })
    }

    /// Returns the layout of the cache device.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Returns the maximum size of a request that fits into a group of any log, in bytes, for every
    /// alignment.
    pub fn request_bytes_max(&self) -> u32 {
        REQUEST_BYTES_MAX.min(self.geometry.chunk_bytes / 2)
    }

    /// Returns the number of resident pages.
    pub fn resident(&self) -> usize {
        self.pages.resident()
    }

    /// Returns the size of the pages that can be served now, in bytes.
    pub fn held_bytes(&self) -> u64 {
        self.pages.held_bytes()
    }

    /// Returns the status of a disk; `None` if it is not attached.
    pub fn status(&self, disk: u16) -> Option<DiskStatus> {
        let found = self.disks.get(usize::from(disk))?.as_ref()?;
        let mut status = found.status((self.pages.pages_of(disk), self.pages.share_of(disk)));
        status.policy = self.pages.policies(disk).1;
        status.memory = self.memory.status(Some(disk));
        status.counters.evicted = self.pages.evicted_of(disk);
        Some(status)
    }

    /// Returns the policy of all disks without a policy of their own.
    pub fn policy(&self) -> PolicyKind {
        self.pages.policies(0).0
    }

    /// Returns the share of all pages, in percent, that disks other than `but` have as divisions.
    pub fn parted_percent(&self, but: u16) -> u32 {
        self.pages.parted_percent(but)
    }

    /// Returns the use of the memory tier.
    pub fn memory(&self) -> MemoryStatus {
        self.memory.status(None)
    }

    /// Returns the number of log bytes that each peer of a disk lacks, as far as this host knows.
    pub fn copy_lags(&self, disk: u16) -> Vec<u64> {
        let Some(Some(disk)) = self.disks.get(usize::from(disk)) else { return Vec::new() };
        disk.copies.lags(&disk.log)
    }

    fn request(&mut self, request: Request, fx: &mut Fx) {
        let most = self.request_bytes_max();
        let disk = self.disk(request.disk);
        let end = request.offset.checked_add(request.bytes.into());
        assert!(
            end.is_some_and(|end| end <= disk.entry.bytes)
                && request.offset.is_multiple_of(512)
                && request.bytes.is_multiple_of(512)
                && request.bytes <= most
                && (request.bytes > 0) == (request.op != Op::Flush),
            "a request of {} B at offset {} is outside disk {} with {} B",
            request.bytes,
            request.offset,
            request.disk,
            disk.entry.bytes
        );
        match request.op {
            _ if disk.is_fenced => self.refuse(&request, fx),
            Op::Read => self.read(request, fx),
            _ if self.is_failed && !self.is_uncached(request.disk) => self.refuse(&request, fx),
            Op::Write | Op::Zero { .. } | Op::Flush => self.write(request, fx),
        }
    }

    /// Answers a request with an error at once.
    fn refuse(&self, request: &Request, fx: &mut Fx) {
        fx.push(Effect::Reply(request.id, Err(IoError::Io)));
        fx.extend(request.buf.map(Effect::Release));
    }

    /// Begins an I/O.
    fn start_io(&mut self, io: Io) -> IoId {
        IoId(self.ios.insert(io))
    }

    fn done(&mut self, io: IoId, result: Result<Vec<u32>, IoError>, fx: &mut Fx) {
        let ended = self.ios.remove(io.0);
        let is_ok = result.is_ok();
        if matches!(result, Err(IoError::Fenced))
            && let Some(index) = self.written_disk(&ended)
        {
            // The backing store refuses writes of this host from now on.
            self.fence(index, fx);
        }
        match ended {
            Io::ReadPart { read, part } => return self.read_done(read, part, result, fx),
            Io::Fill { slot, bits, holder } => {
                return self.fill_done(slot, bits, holder, is_ok, fx);
            }
            Io::Group { log, seq } => self.group_done(log, seq, is_ok, fx),
            Io::CacheFlush => self.flush_done(is_ok, fx),
            Io::Through { write } => self.through_done(write, is_ok, fx),
            Io::ThroughFlush { disk, written, waiter } => {
                self.through_flushed(disk, written, waiter, is_ok, fx);
            }
            Io::RunRead { disk, run, chunk } => self.run_read(disk, run, chunk, is_ok, fx),
            Io::RunWrite { disk, run } => self.run_written(disk, run, is_ok, fx),
            Io::BatchFlush { disk } => self.batch_flushed(disk, is_ok, fx),
            Io::SidecarConfirm { disk } => self.sidecar_confirmed(disk, result.map(|_| ()), fx),
            Io::Peer { disk, peer, link, what } => {
                self.peer_done((disk, peer, link), what, is_ok, fx);
            }
            Io::SidecarWrite { disk } => self.sidecar_written(disk, is_ok, fx),
            Io::SidecarFlush { disk } => {
                self.sidecar_flushed(disk, result.map(|_| ()), fx);
            }
            Io::Table => self.table_written(is_ok, fx),
            Io::Superblock => self.superblock_written(is_ok, fx),
            Io::Keep { .. } => panic!("stored blocks are reported by an event of their own"),
        }
        self.stir();
    }

    /// Returns the disk whose backing store the completed I/O wrote or flushed.
    fn written_disk(&mut self, io: &Io) -> Option<u16> {
        match io {
            Io::Through { write } => Some(self.writes[*write].request.disk),
            Io::ThroughFlush { disk, .. } | Io::RunWrite { disk, .. } | Io::BatchFlush { disk } => {
                Some(*disk)
            }
            _ => None,
        }
    }

    /// Requests another pass over the work at the end of this turn.
    fn stir(&mut self) {
        self.is_stirred = true;
    }

    /// Continues all work that can continue.
    fn turn(&mut self, fx: &mut Fx) {
        while std::mem::take(&mut self.is_stirred) {
            self.pump(fx);
            self.time_changed();
        }
    }

    /// Requests a check of the timer at the end of this event.
    fn time_changed(&mut self) {
        self.is_due_changed = true;
    }

    fn pump_disk(&mut self, disk: u16, fx: &mut Fx) {
        if self.disk(disk).stage.is_working() {
            self.pump_uncached(disk, fx);
            self.pump_orders(disk, fx);
            self.pump_copies(disk, fx);
            self.pump_log(disk, fx);
            self.pump_destage(disk, fx);
        }
        self.pump_stage(disk, fx);
    }

    fn turn_of(&mut self, disk: usize, fx: &mut Fx) -> DiskTurn {
        if self.disks[disk].is_none() {
            return DiskTurn::default();
        }
        let before = fx.len();
        self.pump_disk(u16::try_from(disk).unwrap_or(u16::MAX), fx);
        let Some(disk) = &self.disks[disk] else { return DiskTurn::default() };
        let log = disk.log.ends();
        let is_moving = disk.stage != disk::Stage::Serving;
        DiskTurn {
            // Peers have timers of their own, so a disk with peers always gets its next turn.
            goes_on: self.is_stirred || fx.len() > before || is_moving || disk.copies.has_peers(),
            is_moving,
            has_new: log.accepted > log.flushed,
            is_waited_for: disk.waits_for(log.flushed, log.accepted, false),
        }
    }

    fn pump(&mut self, fx: &mut Fx) {
        if self.is_closing {
            self.stirred.mark_all();
        }
        for disk in 0..self.disks.len() {
            if self.stirred.has(disk, self.chunks.free(), self.now) {
                let found = self.turn_of(disk, fx);
                self.stirred.looked_at(disk, self.chunks.free(), found);
            }
        }
        let settles = |disk: &Disk| disk.stage == disk::Stage::Settling;
        self.has_settling =
            self.stirred.is_any_moving() && self.disks.iter().flatten().any(settles);
        self.pump_division();
        self.pump_pool(fx);
        self.pump_checkpoint(fx);
        self.pump_close(fx);
        self.pump_flush(fx);
    }

    /// Does the work whose time has come.
    fn tick(&mut self, fx: &mut Fx) {
        for disk in 0..self.disks.len() {
            let disk = u16::try_from(disk).unwrap_or(u16::MAX);
            self.tick_disk(disk, fx);
        }
        self.pool.is_due |= self.pool.since.is_some_and(|since| self.now >= since + PAUSE);
        self.stir();
    }

    /// Sets a timer for the earliest due time, if that time may have changed.
    fn set_timer(&mut self, fx: &mut Fx) {
        if !std::mem::take(&mut self.is_due_changed) {
            return;
        }
        let disks = &self.disks;
        let due_of = |disk: usize| disks[disk].as_ref().and_then(Disk::due);
        let disks = self.stirred.due(disks.len(), due_of);
        // A pool group that is due waits for its flush and not for time: its timer would fire at
        // once, again and again.
        let pool = self.pool.since.filter(|_| !self.pool.is_due).map(|since| since + PAUSE);
        let next = disks.into_iter().chain(pool).chain(self.divides_at).min();
        if let Some(next) = next
            && self.wake_at.is_none_or(|at| next < at)
        {
            let at = next.max(self.now);
            self.wake_at = Some(at);
            fx.push(Effect::Wake(at));
        }
    }

    fn disk(&mut self, disk: u16) -> &mut Disk {
        let found = self.disks.get_mut(usize::from(disk)).and_then(Option::as_mut);
        found.expect("the disk is attached")
    }

    fn take(&mut self, bytes: u32, fx: &mut Fx) -> crate::Buf {
        let buf = crate::Buf(self.next_buf);
        self.next_buf = self.next_buf.checked_add(1).unwrap_or(1 << 31);
        fx.push(Effect::Take(buf, bytes));
        buf
    }

    /// Records that the cache device failed a write of a log or of metadata. No write to it is
    /// acknowledged any more.
    fn fail(&mut self, fx: &mut Fx) {
        if !self.is_failed {
            self.is_failed = true;
            fx.push(Effect::Note(Note::CacheFailed));
            self.go_on_uncached();
        }
        self.fail_waiters(fx);
    }

    /// Returns true if [`Event::Turn`] would have an effect now.
    pub fn wants_turn(&self) -> bool {
        self.is_stirred
    }

    /// Returns true if no request and no I/O is in progress.
    pub fn is_idle(&self) -> bool {
        self.ios.len() == 0 && self.reads.len() == 0 && self.writes.len() == 0
    }
}
