use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use block_server::{Action, Buffer, Effects, Io, IoId, Pool, RequestId};
use nbd::Code;
use tier::format::{Sidecar, Uuid};
use tier::ownership::is_owner;
use tier::{Event, IoError, IoTarget, Order, PeerEvent, Prepared, ReadIo, Tier};
use units::Nanos;

use crate::arena::Arena;
use crate::inbox::Inbox;
use crate::marks::{FIRST_IO, Marking};
use crate::media::{Files, writes_durably};
use crate::peers::{PeerMessage, Peers};
use crate::requests::Requests;
use crate::reserved::Reserved;
use crate::route::{Giving, Route, TellGiving};
use crate::times::{Times, Watch};

/// Maximum time for which closing a set waits for a backing store that refuses I/O. Our choice:
/// waiting writes are safe in a log, and the operator waits for the server to end.
const REFUSED_PATIENCE: Duration = Duration::from_secs(10);

/// I/O that the ring does for the state machine.
#[derive(Debug)]
pub(crate) enum Under {
    /// Read that fills the whole buffer of a request.
    Whole {
        io: ReadIo,
        done: u32,
    },
    /// Read into a separate buffer, from which the wanted part is copied.
    Part {
        io: ReadIo,
        done: u32,
    },
    Write {
        place: IoTarget,
        at: u64,
        done: u32,
        durable: bool,
    },
    /// Zeroing: tries `fallocate` first, and writes zeros if the file system refuses.
    Allocate {
        place: IoTarget,
        at: u64,
        bytes: u32,
        unmap: bool,
    },
    Flush {
        place: IoTarget,
    },
    /// Read of both copies of a sidecar, to check that this set still owns the disk.
    Confirm {
        place: IoTarget,
        generation: u64,
        done: u32,
    },
}

/// State machine of a set, with its files, memory, clock and peers.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) tier: Tier,
    pub(crate) files: Files,
    /// True if a durable write (`RWF_DSYNC`) to the cache device needs no flush afterwards.
    writes_durably: bool,
    pub(crate) requests: Requests,
    pub(crate) memory: Pool,
    /// Blocks of the memory tier.
    pub(crate) arena: Arena,
    /// I/O in progress, indexed by the state machine's number.
    pub(crate) under: Vec<Option<Under>>,
    pub(crate) inbox: Inbox,
    pub(crate) times: Times,
    watch: Watch,
    pub(crate) peers: Peers,
    /// Reserved backing devices, by disk index.
    pub(crate) reserved: BTreeMap<u16, Arc<Reserved>>,
    pub(crate) refused: BTreeSet<u16>,
    /// Disks whose last failure was in the sidecar, not in the backing store.
    pub(crate) sidecars_refused: BTreeSet<u16>,
    /// Number of checks of reservations that are not answered yet.
    checks: usize,
    is_closing: bool,
    /// Time at which closing gives up if a backing store still refuses I/O; `None` before closing.
    gives_up_at: Option<Instant>,
    /// Identity of the set.
    pub(crate) set: Uuid,
    started: Instant,
    wake: Option<Instant>,
    pub(crate) is_closed: bool,
    /// Times at which population of a disk is switched, each with the disk's index and the new
    /// state.
    pub(crate) turns: Vec<(Instant, u16, bool)>,
    /// Disks that this server offers to clients, including disks that other servers own.
    pub(crate) routes: Vec<Option<Route>>,
    /// Disks that move to another server as soon as they have no request in progress.
    pub(crate) quiet: Vec<(Giving, TellGiving)>,
    effects: Vec<tier::Effect>,
    pub(crate) marking: Marking,
}

impl Core {
    pub(crate) fn new(tier: Tier, files: Files, inbox: Inbox, peers: Peers, set: Uuid) -> Self {
        let now = Instant::now();
        Self {
            arena: Arena::new(tier.memory().bytes),
            tier,
            writes_durably: writes_durably(&files.cache),
            files,
            requests: Requests::default(),
            memory: Pool::new(),
            under: Vec::new(),
            inbox,
            times: Times::default(),
            watch: Watch::default(),
            peers,
            reserved: BTreeMap::new(),
            refused: BTreeSet::new(),
            sidecars_refused: BTreeSet::new(),
            checks: 0,
            is_closing: false,
            gives_up_at: None,
            set,
            started: now,
            // The state machine has work right away: it continues what recovery found.
            wake: Some(now),
            is_closed: false,
            turns: Vec::new(),
            routes: Vec::new(),
            quiet: Vec::new(),
            effects: Vec::new(),
            marking: Marking::default(),
        }
    }

    /// Handles a timer. The state machine runs only if its own timer is due.
    pub(crate) fn woken(&mut self, fx: &mut Effects) {
        self.turn(fx);
        self.mark_if_due(fx);
        if self.wake.is_some_and(|wake| wake <= Instant::now()) {
            self.wake = None;
            self.handle(Event::Timer, fx);
        }
    }

    /// Handles the start of the server, or a wake-up by another thread.
    pub(crate) fn told(&mut self, fx: &mut Effects) {
        self.mark_soon(fx);
        self.woken(fx);
        self.hear_peers(fx);
        self.attend(fx);
    }

    /// Handles the messages of the peers' threads.
    fn hear_peers(&mut self, fx: &mut Effects) {
        while let Ok(told) = self.peers.told.try_recv() {
            self.hear(told, fx);
        }
    }

    /// Begins to close the set. Waits here for outstanding checks of reservations, because other
    /// threads can no longer wake a server that stops.
    pub(crate) fn close(&mut self, fx: &mut Effects) {
        self.is_closing = true;
        self.gives_up_at = Some(Instant::now() + REFUSED_PATIENCE);
        while self.checks > 0 {
            let Ok(told) = self.peers.told.recv() else { break };
            self.hear(told, fx);
        }
        self.handle(Event::Order(Order::Close), fx);
    }

    /// Returns true if a closing set can be dropped: it is closed, or a backing store refuses I/O
    /// and the deadline has passed.
    pub(crate) fn is_over(&self) -> bool {
        let is_late = self.gives_up_at.is_some_and(|at| at <= Instant::now());
        self.is_closed || (is_late && self.is_refused())
    }

    fn is_refused(&self) -> bool {
        let disks = (0..).zip(&self.inbox.names).filter_map(|(index, _)| self.tier.status(index));
        disks.into_iter().any(|status| status.is_refused)
    }

    fn hear(&mut self, told: PeerMessage, fx: &mut Effects) {
        match told {
            // The message is from a thread of a disk that had this index before.
            PeerMessage::Up { line, .. }
            | PeerMessage::Lost { line, .. }
            | PeerMessage::Fenced { line, .. }
                if !self.peers.is_line(line) => {}
            PeerMessage::Up { disk, peer, way, capacity, .. } => {
                self.peers.known(disk, peer, way);
                self.handle(Event::Peer(disk, peer, PeerEvent::Up { capacity }), fx);
            }
            PeerMessage::Lost { disk, peer, .. } => {
                self.handle(Event::Peer(disk, peer, PeerEvent::Lost), fx);
            }
            PeerMessage::Fenced { disk, peer, .. } => {
                self.handle(Event::Peer(disk, peer, PeerEvent::Fenced), fx);
            }
            PeerMessage::Checked { io, disk, result } => {
                self.checks -= 1;
                self.checked(io, disk, result, fx);
            }
            PeerMessage::Done { io, is_ok, data } => {
                let result = if is_ok { Ok(Vec::new()) } else { Err(IoError::Io) };
                self.ended(io, result, data, fx);
            }
        }
    }

    pub(crate) fn handle(&mut self, event: Event, fx: &mut Effects) {
        if let Event::Done(io, result) = &event {
            self.watch.ended(*io, result.is_ok(), &self.times);
        }
        self.work(|tier, now, effects| tier.handle(now, event, effects), fx);
    }

    /// Attaches an opened disk.
    pub(crate) fn attach(&mut self, prepared: Prepared, fx: &mut Effects) {
        self.work(|tier, now, effects| tier.attach(now, prepared, effects), fx);
    }

    fn work(
        &mut self,
        work: impl FnOnce(&mut Tier, Nanos, &mut Vec<tier::Effect>),
        fx: &mut Effects,
    ) {
        let now = self.now();
        let mut effects = std::mem::take(&mut self.effects);
        work(&mut self.tier, now, &mut effects);
        for effect in effects.drain(..) {
            self.carry_out(effect, fx);
        }
        self.effects = effects;
        for (io, kept) in self.arena.told() {
            self.handle(Event::Kept(io, kept), fx);
        }
    }

    /// Returns the time of the state machine: the time since the set was opened.
    pub(crate) fn now(&self) -> Nanos {
        Nanos::from(self.started.elapsed())
    }

    pub(crate) fn wake_at(&mut self, at: Nanos, fx: &mut Effects) {
        let at = self.started + Duration::from_nanos(at.0);
        self.wake = Some(at);
        fx.wake(at.saturating_duration_since(Instant::now()), 0);
    }

    pub(crate) fn start(&mut self, io: IoId, under: Under, data: Buffer, fx: &mut Effects) {
        let at = io.0 as usize;
        if self.under.len() <= at {
            self.under.resize_with(at + 1, || None);
        }
        let (place, action) = match &under {
            Under::Whole { io, done } | Under::Part { io, done } => {
                (io.place, Action::Read { offset: io.at + u64::from(*done), skip: *done })
            }
            Under::Write { place, at, done, durable } => {
                let (offset, skip) = (at + u64::from(*done), *done);
                let durable = *durable && self.writes_durably;
                (*place, Action::Write { offset, skip, durable })
            }
            Under::Allocate { place, at, bytes, unmap } => {
                let how =
                    if *unmap { libc::FALLOC_FL_PUNCH_HOLE } else { libc::FALLOC_FL_ZERO_RANGE };
                let mode = how | libc::FALLOC_FL_KEEP_SIZE;
                (*place, Action::Allocate { mode, offset: *at, length: u64::from(*bytes) })
            }
            Under::Flush { place } => (*place, Action::Flush),
            Under::Confirm { place, done, .. } => {
                (*place, Action::Read { offset: u64::from(*done), skip: *done })
            }
        };
        let is_write = matches!(action, Action::Write { .. } | Action::Allocate { .. });
        if !matches!(action, Action::Flush) {
            self.watch.begun(io, place, is_write);
        }
        if is_write {
            self.mark_soon(fx);
        }
        let file = Arc::clone(self.files.of(place));
        self.under[at] = Some(under);
        fx.io(Io { id: io, file, action, data });
    }

    /// Completes a write after its last part. If the device needs a flush for durability, a durable
    /// write completes only after the flush.
    fn written(
        &mut self,
        id: IoId,
        place: IoTarget,
        durable: bool,
        data: Buffer,
        fx: &mut Effects,
    ) {
        if !durable || self.writes_durably {
            return self.ended(id, Ok(Vec::new()), data, fx);
        }
        self.memory.give(data);
        self.start(id, Under::Flush { place }, Buffer::none(), fx);
    }

    /// Handles the completion of a ring operation, which may have done all of the I/O, a part, or
    /// nothing.
    pub(crate) fn done(
        &mut self,
        id: IoId,
        result: Result<u32, i32>,
        data: Buffer,
        fx: &mut Effects,
    ) {
        if let Some(index) = id.0.checked_sub(FIRST_IO) {
            let is_ok = result.is_ok_and(|bytes| bytes as usize == data.len());
            self.memory.give(data);
            return self.marked(index as usize, is_ok);
        }
        let under = self.under[id.0 as usize].take().expect("a completed I/O was in flight");
        if matches!(result, Err(libc::EAGAIN | libc::EINTR)) {
            return self.start(id, under, data, fx);
        }
        match under {
            Under::Whole { io, done } => match moved(done, io.bytes, result) {
                Moved::All => self.whole_read(id, io, data, fx),
                Moved::Some(done) => self.start(id, Under::Whole { io, done }, data, fx),
                Moved::Failed => self.failed_read(id, Some(io), data, fx),
            },
            Under::Part { io, done } => match moved(done, io.bytes, result) {
                Moved::All => self.part_read(id, &io, data, fx),
                Moved::Some(done) => self.start(id, Under::Part { io, done }, data, fx),
                Moved::Failed => self.failed_read(id, None, data, fx),
            },
            Under::Write { place, at, done, durable } => {
                let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
                match moved(done, bytes, result) {
                    Moved::Some(done) => {
                        self.start(id, Under::Write { place, at, done, durable }, data, fx);
                    }
                    Moved::All => self.written(id, place, durable, data, fx),
                    Moved::Failed => self.refused(id, place, result, data, fx),
                }
            }
            Under::Allocate { place, at, bytes, .. } => match result {
                Ok(_) => self.ended(id, Ok(Vec::new()), data, fx),
                Err(libc::EOPNOTSUPP) => {
                    let mut zeros = self.memory.take(bytes as usize);
                    zeros.fill(0);
                    self.start(id, Under::Write { place, at, done: 0, durable: false }, zeros, fx);
                }
                Err(_) => self.refused(id, place, result, data, fx),
            },
            Under::Confirm { place, generation, done } => {
                let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
                match moved(done, bytes, result) {
                    Moved::Some(done) => {
                        self.start(id, Under::Confirm { place, generation, done }, data, fx);
                    }
                    Moved::All => {
                        let sidecar = Sidecar::newest(&data);
                        let is_ours = sidecar.is_some_and(|s| is_owner(&s, self.set, generation));
                        let result = if is_ours { Ok(Vec::new()) } else { Err(IoError::Fenced) };
                        self.ended(id, result, data, fx);
                    }
                    Moved::Failed => self.ended(id, Err(IoError::Io), data, fx),
                }
            }
            Under::Flush { place } => self.flushed(id, place, result, data, fx),
        }
    }

    /// Handles the completion of a flush. A flush of a reserved disk's sidecar is reported only
    /// after the device has confirmed the reservation.
    fn flushed(
        &mut self,
        id: IoId,
        place: IoTarget,
        result: Result<u32, i32>,
        data: Buffer,
        fx: &mut Effects,
    ) {
        match (result, place) {
            (Err(_), _) => self.refused(id, place, result, data, fx),
            (Ok(_), IoTarget::Sidecar(index)) if self.reserved.contains_key(&index) => {
                let reserved = Arc::clone(&self.reserved[&index]);
                if self.is_closing {
                    return self.checked(id, index, reserved.check(), fx);
                }
                self.checks += 1;
                self.peers.check(index, id, reserved);
            }
            (Ok(_), _) => self.ended(id, Ok(Vec::new()), data, fx),
        }
    }

    /// Handles the result of a check of a reservation.
    fn checked(&mut self, id: IoId, disk: u16, result: Result<(), IoError>, fx: &mut Effects) {
        if result == Err(IoError::Fenced) {
            self.refused.insert(disk);
        }
        self.ended(id, result.map(|()| Vec::new()), Buffer::none(), fx);
    }

    /// Handles a failed write or flush. `EBADE` from a backing device means that the device is
    /// reserved for another host.
    fn refused(
        &mut self,
        id: IoId,
        place: IoTarget,
        result: Result<u32, i32>,
        data: Buffer,
        fx: &mut Effects,
    ) {
        match place {
            IoTarget::Sidecar(index) => drop(self.sidecars_refused.insert(index)),
            IoTarget::Backing(index) => drop(self.sidecars_refused.remove(&index)),
            _ => {}
        }
        let error = match (result, place) {
            (Err(libc::EBADE), IoTarget::Backing(index)) => {
                self.refused.insert(index);
                IoError::Fenced
            }
            _ => IoError::Io,
        };
        self.ended(id, Err(error), data, fx);
    }

    /// Adds a disk's reserved backing device to the set.
    pub(crate) fn hold(&mut self, index: u16, reserved: Arc<Reserved>) {
        self.refused.remove(&index);
        self.reserved.insert(index, reserved);
    }

    pub(crate) fn ended(
        &mut self,
        id: IoId,
        result: Result<Vec<u32>, IoError>,
        data: Buffer,
        fx: &mut Effects,
    ) {
        self.memory.give(data);
        self.handle(Event::Done(id, result), fx);
    }

    fn whole_read(&mut self, id: IoId, io: ReadIo, data: Buffer, fx: &mut Effects) {
        let result = checked(&io, &data);
        self.requests.bufs.insert(io.buf.0, data);
        self.handle(Event::Done(id, result), fx);
    }

    fn part_read(&mut self, id: IoId, io: &ReadIo, data: Buffer, fx: &mut Effects) {
        let result = checked(io, &data);
        if result.is_ok() {
            let (skip, take, to) = (io.skip as usize, io.take as usize, io.to as usize);
            let into =
                self.requests.bufs.get_mut(&io.buf.0).expect("the destination buffer is set");
            into[to..to + take].copy_from_slice(&data[skip..skip + take]);
        }
        self.ended(id, result, data, fx);
    }

    fn failed_read(&mut self, id: IoId, whole: Option<ReadIo>, data: Buffer, fx: &mut Effects) {
        match whole {
            Some(io) => {
                self.requests.bufs.insert(io.buf.0, data);
            }
            None => self.memory.give(data),
        }
        self.handle(Event::Done(id, Err(IoError::Io)), fx);
    }

    /// Completes a part of a request, and the request with its last part.
    pub(crate) fn reply(&mut self, id: RequestId, result: Result<(), IoError>, fx: &mut Effects) {
        if let Some(open) = self.requests.answered(id, result.map_err(|_| Code::Io)) {
            let data = match open.buf {
                Some(buf) => self.requests.bufs.remove(&buf.0).unwrap_or_else(Buffer::none),
                None => Buffer::none(),
            };
            self.times.answered(&open);
            fx.answer(id, open.result, data);
            self.tell_quiet();
        }
    }
}

/// Result of one operation of a read or write.
enum Moved {
    All,
    Some(u32),
    Failed,
}

/// Interprets a completed operation. If zero bytes were moved, the file became shorter: this is an
/// error and does not read as zeros.
fn moved(before: u32, bytes: u32, result: Result<u32, i32>) -> Moved {
    match result {
        Ok(now) if before + now >= bytes => Moved::All,
        Ok(now) if now > 0 => Moved::Some(before + now),
        Ok(_) | Err(_) => Moved::Failed,
    }
}

/// Compares the read bytes with their checksums. Returns the checksums of whole blocks if the state
/// machine wants them.
fn checked(io: &ReadIo, data: &[u8]) -> Result<Vec<u32>, IoError> {
    for check in &io.checks {
        let range = check.at as usize..(check.at + check.bytes) as usize;
        if tier::format::block_sum(&data[range]) != check.sum {
            return Err(IoError::Checksum);
        }
    }
    if !io.wants_sums {
        return Ok(Vec::new());
    }
    let first = usize::try_from(io.at.next_multiple_of(4096) - io.at).unwrap_or(usize::MAX);
    let whole = data.get(first..).unwrap_or(&[]);
    Ok(whole.chunks_exact(4096).map(tier::format::block_sum).collect())
}
