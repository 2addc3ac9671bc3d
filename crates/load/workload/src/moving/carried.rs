use std::collections::VecDeque;
use std::sync::Arc;

use spec::workload::{CHECK_BLOCKS, CHECK_SIZE};
use state_machine::{
    ActionOpen, Content, DiskId, Effects, Event, IoError, IoRequest, KindId, Machine, Operation,
    Pattern, Token,
};
use units::{Bytes, Nanos};

use super::blocks::Blocks;
use super::checking::Checking;
use super::snapshot::{KEPT, Snapshot};
use super::{MoveOrder, Moved, POLL, Task};

/// Kinds of I/O that an instance with a movable disk has after its own kinds, in this order.
pub const KINDS: [(&str, Operation); 7] = [
    ("move-read", Operation::Read),
    ("move-write", Operation::Write),
    ("mirrored-write", Operation::Write),
    ("move-flush", Operation::Flush),
    ("move-check", Operation::Read),
    ("snapshot-link", Operation::Write),
    ("snapshot-delete", Operation::Write),
];
const READ: u16 = 0;
const WRITE: u16 = 1;
const MIRROR: u16 = 2;
const FLUSH: u16 = 3;
const CHECK: u16 = 4;
pub(super) const SNAPSHOT_LINK: u16 = 5;
pub(super) const SNAPSHOT_DELETE: u16 = 6;

/// Bits that mark this state machine's own tokens. No token of the inner state machine has both
/// bits.
const OWN: u32 = 3 << 30;
const POLLING: Token = Token(u32::MAX);

/// Settings for the disk that can be moved or have snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carry {
    /// Name of the disk in the workload.
    pub disk: String,
    /// True if the disk can be moved.
    pub moves: bool,
    /// True if snapshots of the disk can be made.
    pub snapshots: bool,
    /// Length of one I/O of the copy in bytes: a power of two from 4 KiB to 1 MiB.
    pub block: u32,
    /// Number of blocks copied concurrently, at least 1.
    pub outstanding: u32,
}

/// State machine that wraps an inner one with a movable disk.
#[derive(Debug, Clone)]
pub struct Carried<M> {
    inner: Box<M>,
    order: Arc<MoveOrder>,
    pub(super) place: MoveDisks,
    block: u32,
    outstanding: u32,
    /// Seed of the random places that are compared.
    seed: u64,
    asked: Effects,
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// Outstanding I/Os of the inner state machine, mirrored parts included.
    pub(super) of_machine: u32,
    /// Outstanding I/Os of the copy.
    of_copy: u32,
    held: VecDeque<IoRequest>,
    going: Option<Going>,
    checking: Option<(Checking, Moved)>,
    pub(super) snapshot: Option<Snapshot>,
}

/// Disks that take part in a move.
#[derive(Debug, Clone)]
pub(crate) struct MoveDisks {
    /// Disk at the current place, and disk at the other place.
    pub here: DiskId,
    pub there: DiskId,
    /// Disks for snapshots, at the current place and at the other place.
    pub beside: DiskId,
    pub beside_there: DiskId,
    /// Id by which the inner state machine addresses the disk.
    pub known: DiskId,
    /// All disks of its virtual machine, whose requests are held together.
    pub of_vm: Vec<DiskId>,
    pub size: Bytes,
    /// Id of the first of [`KINDS`].
    pub kinds: u16,
}

/// Move in progress.
#[derive(Debug, Clone)]
struct Going {
    blocks: Blocks,
    began: Nanos,
    /// Time since which requests are held; `None` before that.
    switched: Option<Nanos>,
    is_flushing: bool,
    has_failed: bool,
}

/// Outstanding I/O.
#[derive(Debug, Clone, Copy)]
pub(super) enum Flight {
    /// I/O of the inner state machine.
    Machine(InnerRequest),
    /// Second part of a write of the inner state machine, which goes to the new place.
    Mirror {
        of: u32,
    },
    Read(u32),
    Write(u32),
    Flush,
    /// First read of a comparison, at the old place.
    Before(u64),
    /// Second read of a comparison, at the current place.
    After,
    Snapshot,
    Free,
}

/// Outstanding request of the inner state machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct InnerRequest {
    token: Token,
    /// First byte and length of a write to the movable disk; `None` for other requests.
    write: Option<(u64, u32)>,
    /// True if the block is at both places, and has been there since the request was submitted.
    is_mirrored: bool,
    /// Number of parts that have not completed.
    left: u8,
    result: Result<(), IoError>,
}

impl<M: Machine> Carried<M> {
    pub(crate) fn new(inner: M, place: MoveDisks, carry: &Carry, seed: u64) -> Self {
        Self {
            inner: Box::new(inner),
            order: Arc::default(),
            place,
            block: carry.block,
            outstanding: carry.outstanding.max(1),
            seed,
            asked: Effects::default(),
            flights: Vec::new(),
            free: Vec::new(),
            of_machine: 0,
            of_copy: 0,
            held: VecDeque::new(),
            going: None,
            checking: None,
            snapshot: None,
        }
    }

    /// Returns the order with which the disk is moved.
    pub const fn order(&self) -> &Arc<MoveOrder> {
        &self.order
    }

    /// Returns the inner state machine.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    pub(crate) fn inner_mut(&mut self) -> &mut M {
        &mut self.inner
    }

    /// Delivers an event to the inner state machine, and passes on its effects.
    fn deliver(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        let mut asked = std::mem::take(&mut self.asked);
        self.inner.handle(now, event, &mut asked);
        fx.calls.append(&mut asked.calls);
        fx.timers.append(&mut asked.timers);
        fx.cpu.append(&mut asked.cpu);
        fx.observations.append(&mut asked.observations);
        for request in asked.io.drain(..) {
            if !self.place.of_vm.contains(&request.disk) {
                fx.submit(request);
            } else if self.stands_still() {
                self.held.push_back(request);
            } else {
                self.submit(request, fx);
            }
        }
        self.asked = asked;
    }

    fn stands_still(&self) -> bool {
        self.going.as_ref().is_some_and(|going| going.switched.is_some())
            || self.snapshot.is_some_and(|own| own.stands_still())
    }

    /// Submits the requests that were held.
    pub(super) fn release(&mut self, fx: &mut Effects) {
        for request in std::mem::take(&mut self.held) {
            self.submit(request, fx);
        }
    }

    /// Submits a request of the inner state machine. A write to blocks that are at both places goes
    /// to both.
    fn submit(&mut self, request: IoRequest, fx: &mut Effects) {
        let is_ours = request.disk == self.place.known;
        let write = (is_ours && request.operation == Operation::Write)
            .then_some((request.offset, request.length));
        if let (Some(_), Some((checking, _))) = (write, &mut self.checking)
            && checking.writes(&request)
        {
            return;
        }
        let is_mirrored = write.is_some_and(|(offset, length)| self.is_there(offset, length));
        if let (Some((offset, length)), false) = (write, is_mirrored) {
            self.written_alone(offset, length);
        }
        let left = if is_mirrored { 2 } else { 1 };
        let asked = InnerRequest { token: request.token, write, is_mirrored, left, result: Ok(()) };
        let token = self.begin(Flight::Machine(asked));
        let disk = if is_ours { self.place.here } else { request.disk };
        fx.submit(IoRequest { token, disk, ..request });
        if is_mirrored {
            let token = self.begin(Flight::Mirror { of: token.0 & !OWN });
            let kind = KindId(self.place.kinds + MIRROR);
            fx.submit(IoRequest { token, kind, disk: self.place.there, ..request });
        }
    }

    fn is_there(&self, offset: u64, length: u32) -> bool {
        self.going.as_ref().is_some_and(|going| going.blocks.are_there(offset, length))
    }

    /// Records bytes that are written only at the old place. If a block then has to be copied
    /// again, the copy may overtake the second part of an outstanding write. The block of that
    /// write then counts as written only at the old place.
    fn written_alone(&mut self, offset: u64, length: u32) {
        let Some(going) = &mut self.going else { return };
        if !going.blocks.written(offset, length) {
            return;
        }
        for flight in &mut self.flights {
            if let Flight::Machine(asked) = flight {
                asked.is_mirrored = false;
            }
        }
    }

    pub(super) fn begin(&mut self, flight: Flight) -> Token {
        match flight {
            Flight::Machine(_) | Flight::Mirror { .. } => self.of_machine += 1,
            _ => self.of_copy += 1,
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flights.push(Flight::Free);
            u32::try_from(self.flights.len() - 1).expect("fewer than 2^32 are in flight")
        });
        self.flights[slot as usize] = flight;
        Token(OWN | slot)
    }

    fn settle(&mut self, slot: u32) -> Flight {
        self.free.push(slot);
        let flight = std::mem::replace(&mut self.flights[slot as usize], Flight::Free);
        match flight {
            Flight::Machine(_) | Flight::Mirror { .. } => self.of_machine -= 1,
            _ => self.of_copy -= 1,
        }
        flight
    }

    /// Handles the completion of a part of an inner request. The last part completes the request.
    /// If the second part fails, the move fails, but not the request.
    fn part(&mut self, slot: u32, result: Result<(), IoError>, now: Nanos, fx: &mut Effects) {
        let Flight::Machine(asked) = &mut self.flights[slot as usize] else { return };
        asked.left -= 1;
        asked.result = asked.result.and(result);
        if asked.left > 0 {
            return;
        }
        let asked = *asked;
        self.settle(slot);
        if let (Some((offset, length)), false) = (asked.write, asked.is_mirrored) {
            self.written_alone(offset, length);
        }
        self.deliver(now, Event::Done(asked.token, asked.result), fx);
    }

    fn answered(
        &mut self,
        now: Nanos,
        token: Token,
        result: Result<(), IoError>,
        fx: &mut Effects,
    ) {
        let slot = token.0 & !OWN;
        if let Flight::Machine(_) = self.flights[slot as usize] {
            self.part(slot, result, now, fx);
            return self.go_on(now, fx);
        }
        let failed = result.is_err();
        // The bytes of a read are kept under its token for the request that follows.
        match self.flights[slot as usize] {
            Flight::Read(block) if !failed && !self.has_failed() => {
                self.flights[slot as usize] = Flight::Write(block);
                return self.write(token, block, now, fx);
            }
            Flight::Before(at) if !failed => {
                self.flights[slot as usize] = Flight::After;
                return self.compare(token, Content::Kept, (self.place.here, at), now, fx);
            }
            _ => {}
        }
        match self.settle(slot) {
            Flight::Write(block) if !failed => {
                if let Some(going) = &mut self.going {
                    going.blocks.copied(block);
                }
            }
            Flight::Flush if !failed => return self.arrive(now, fx),
            Flight::Mirror { of } => {
                if failed {
                    self.fail();
                }
                self.part(of, Ok(()), now, fx);
            }
            Flight::Before(_) | Flight::After => return self.compared(!failed, now, fx),
            Flight::Snapshot => return self.snapshot_answered(!failed, now, fx),
            Flight::Read(_) | Flight::Write(_) | Flight::Flush => self.fail(),
            Flight::Machine(_) | Flight::Free => {}
        }
        self.go_on(now, fx);
    }

    fn has_failed(&self) -> bool {
        self.going.as_ref().is_some_and(|going| going.has_failed)
    }

    fn fail(&mut self) {
        if let Some(going) = &mut self.going {
            going.has_failed = true;
        }
    }

    /// Carries out the next step of a move.
    fn go_on(&mut self, now: Nanos, fx: &mut Effects) {
        self.quiesced(now, fx);
        let Some(going) = &mut self.going else { return };
        if going.has_failed {
            if self.of_copy == 0 {
                self.stay(now, fx);
            }
            return;
        }
        if going.is_flushing {
            return;
        }
        while self.of_copy < self.outstanding {
            let Some(going) = &mut self.going else { return };
            let Some(block) = going.blocks.next() else { break };
            self.read(block, now, fx);
        }
        let Some(going) = &mut self.going else { return };
        if !going.blocks.is_done() {
            return;
        }
        going.switched.get_or_insert(now);
        if self.of_machine == 0 {
            going.is_flushing = true;
            let token = self.begin(Flight::Flush);
            let at = (self.place.there, 0, 0);
            self.own(token, (FLUSH, Content::Made), at, now, fx);
        }
    }

    fn read(&mut self, block: u32, now: Nanos, fx: &mut Effects) {
        let Some(going) = &self.going else { return };
        let at = (self.place.here, going.blocks.offset(block), going.blocks.length());
        let token = self.begin(Flight::Read(block));
        self.own(token, (READ, Content::Keep), at, now, fx);
    }

    fn write(&mut self, token: Token, block: u32, now: Nanos, fx: &mut Effects) {
        let Some(going) = &self.going else { return };
        let at = (self.place.there, going.blocks.offset(block), going.blocks.length());
        self.own(token, (WRITE, Content::Kept), at, now, fx);
    }

    /// Reads a place for a comparison.
    fn compare(
        &mut self,
        token: Token,
        content: Content,
        (disk, offset): (DiskId, u64),
        now: Nanos,
        fx: &mut Effects,
    ) {
        let length = self.checking.as_ref().map_or(0, |(checking, _)| checking.length);
        self.own(token, (CHECK, content), (disk, offset, length), now, fx);
    }

    /// Submits an I/O of the copy.
    fn own(
        &self,
        token: Token,
        (kind, content): (u16, Content),
        (disk, offset, length): (DiskId, u64, u32),
        now: Nanos,
        fx: &mut Effects,
    ) {
        let operation = KINDS[usize::from(kind)].1;
        let kind = KindId(self.place.kinds + kind);
        let pattern = Pattern { content, ..Pattern::default() };
        let (due, durable) = (now, false);
        fx.submit(IoRequest {
            token,
            disk,
            operation,
            kind,
            offset,
            length,
            due,
            pattern,
            durable,
        });
    }

    /// Ends the copy: the new place is complete and durable. The instance continues there, and some
    /// places are compared with the old disk.
    fn arrive(&mut self, now: Nanos, fx: &mut Effects) {
        let Some(going) = self.going.take() else { return };
        let MoveDisks { here, there, beside, beside_there, size, .. } = &mut self.place;
        std::mem::swap(here, there);
        std::mem::swap(beside, beside_there);
        let switched = going.switched.unwrap_or(now);
        let moved = Moved { began: going.began, switched, ended: now, checked: now, failed: None };
        self.seed = state_machine::mix(self.seed ^ now.0);
        let length = CHECK_SIZE.get().min(self.block);
        let checking = Checking::new(size.get(), (CHECK_BLOCKS, length), self.seed);
        self.checking = Some((checking, moved));
        self.release(fx);
        self.check_next(now, fx);
    }

    fn check_next(&mut self, now: Nanos, fx: &mut Effects) {
        let Some((checking, _)) = &mut self.checking else { return };
        if let Some(at) = checking.next() {
            let token = self.begin(Flight::Before(at));
            return self.compare(token, Content::Keep, (self.place.there, at), now, fx);
        }
        if let Some((_, moved)) = self.checking.take() {
            self.order.tell(Moved { checked: now, ..moved });
        }
    }

    /// Handles the result of comparing a place. Submits the writes that were held meanwhile, and
    /// compares the next place.
    fn compared(&mut self, is_alike: bool, now: Nanos, fx: &mut Effects) {
        let Some((checking, moved)) = &mut self.checking else { return };
        let (held, moved) = (checking.done(), *moved);
        if !is_alike {
            self.checking = None;
            self.order.tell(Moved { checked: now, failed: Some(2), ..moved });
        }
        for request in held {
            self.submit(request, fx);
        }
        self.check_next(now, fx);
    }

    /// Ends a failed move. The instance continues at the old place.
    fn stay(&mut self, now: Nanos, fx: &mut Effects) {
        let Some(Going { began, switched, .. }) = self.going.take() else { return };
        let failed = Some(u8::from(switched.is_some()));
        let switched = switched.unwrap_or(now);
        self.order.tell(Moved { began, switched, ended: now, checked: now, failed });
        self.release(fx);
    }

    fn look(&mut self, now: Nanos, fx: &mut Effects) {
        fx.wake_at(now + POLL, POLLING);
        // Second parts of a failed move must not land after the blocks that the next move copies.
        let has_mirrors = self.flights.iter().any(|own| matches!(own, Flight::Mirror { .. }));
        let is_busy = self.going.is_some() || self.checking.is_some() || self.snapshot.is_some();
        if is_busy || has_mirrors {
            return;
        }
        match self.order.take() {
            None => {}
            Some(Task::Move) => self.move_away(now, fx),
            Some(Task::Snapshot { keep }) => {
                self.snapshot = Some(Snapshot::new(keep, now));
                self.go_on(now, fx);
            }
        }
    }

    fn move_away(&mut self, now: Nanos, fx: &mut Effects) {
        for flight in &mut self.flights {
            if let Flight::Machine(asked) = flight {
                asked.is_mirrored = false;
            }
        }
        let blocks = Blocks::new(self.place.size.get(), self.block);
        self.going = Some(Going {
            blocks,
            began: now,
            switched: None,
            is_flushing: false,
            has_failed: false,
        });
        self.go_on(now, fx);
    }
}

impl<M: Machine> Machine for Carried<M> {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Done(token, result) if token.0 & OWN == OWN => {
                self.answered(now, token, result, fx);
            }
            Event::Timer(POLLING) => self.look(now, fx),
            Event::Timer(KEPT) => self.delete_snapshot(now, fx),
            Event::Start => {
                fx.wake_at(now + POLL, POLLING);
                self.deliver(now, event, fx);
            }
            event => self.deliver(now, event, fx),
        }
    }

    fn waiting_for(&self, now: Nanos, each: &mut dyn FnMut(ActionOpen)) {
        self.inner.waiting_for(now, each);
    }
}
