use std::collections::VecDeque;

use cache::PolicyKind;
use cache::tier::{Access, Admission, Counters, Entry, VmId};
use hardware::StreamId;
use state_machine::Operation;
use tier::format::SIDECAR_BYTES;
use tier::{
    Buf, Effect, Event, GeometryError, IoError, IoId, IoTarget, Mode, Op, Order, Piece, Plan,
    Request, RequestId, Settings, Sums, Tier,
};
use units::Nanos;

use crate::plant::content::{Content, Fed};

/// Maximum number of disks of a set, given by the format of the tier.
const DISKS: usize = tier::format::DISKS;
const BLOCK: u64 = 4096;
/// Time that passes with each access while a tier is warmed: ten thousand accesses a second. This
/// is our choice; it decides how much the log collects between two timers, but not which pages are
/// resident.
const WARM_STEP: Nanos = Nanos::from_micros(100);

/// Parameters of a served tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// Size of the cache device, for all sets together.
    pub bytes: u64,
    pub page_bytes: u32,
    pub log_percent: u8,
    pub policy: PolicyKind,
    pub admission: Admission,
    pub mode: Mode,
    /// Maximum percentage of all pages for a virtual machine, divided among its disks.
    pub share_percent: u8,
}

/// Virtual disk that is served, in the plant's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedDisk {
    pub stream: StreamId,
    pub vm: VmId,
    pub base: u64,
    pub bytes: u64,
}

/// Content of a served tier, without timing: sets of disks, each with its state machine.
#[derive(Debug, Clone)]
pub struct Sets {
    recipe: Recipe,
    sets: Vec<Set>,
    /// Place of each disk, by stream.
    places: Vec<Option<DiskAt>>,
    /// First address and stream of each disk, by address.
    starts: Vec<(u64, StreamId)>,
    /// Time of the state machines when the plant's time begins.
    began: Nanos,
    /// True while pages are admitted on first access, because the tier is warmed.
    is_unfiltered: bool,
}

#[derive(Debug, Clone)]
struct Set {
    tier: Tier,
    /// First byte of the set on the cache device.
    base: u64,
    /// Disks by index.
    disks: Vec<ServedDisk>,
    /// Time of the next timer, in the set's own time.
    wake: Option<Nanos>,
    effects: Vec<Effect>,
    /// Number of bytes written to the cache device.
    written: u64,
    /// Counters and written bytes at the beginning of measured time.
    settled: (tier::Counters, u64),
}

/// Place of a disk: its set, and its index in the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskAt {
    pub set: usize,
    index: u16,
}

/// Work that a state machine requests.
#[derive(Debug, Clone)]
pub enum Step {
    Io(Io),
    /// Answer to a piece of a request; false for an error.
    Answer(u32, bool),
}

/// An I/O, in the addresses of the part that carries it out.
#[derive(Debug, Clone, Copy)]
pub struct Io {
    pub id: IoId,
    /// Disk of the backing store; `None` for the cache device.
    pub disk: Option<StreamId>,
    pub operation: Operation,
    pub offset: u64,
    pub length: u32,
    /// Number of blocks whose checksums are reported to the state machine.
    pub sums: usize,
    /// True if a flush must follow the write.
    pub is_durable: bool,
}

impl Sets {
    /// Makes empty sets for these disks.
    pub fn new(recipe: Recipe, disks: &[ServedDisk]) -> Result<Self, GeometryError> {
        let count = disks.len().div_ceil(DISKS).max(1);
        let per_set = disks.len().div_ceil(count).max(1);
        let bytes = recipe.bytes / count as u64;
        let plan = Plan {
            page_bytes: recipe.page_bytes,
            log_percent: recipe.log_percent,
            ..Plan::new(bytes)
        };
        let geometry = plan.fitted(per_set)?;
        let streams = disks.iter().map(|disk| disk.stream.0 as usize + 1).max().unwrap_or(0);
        let mut places = vec![None; streams];
        let mut sets = Vec::with_capacity(count);
        for (set, own) in disks.chunks(per_set).enumerate() {
            for (index, disk) in (0..).zip(own) {
                places[disk.stream.0 as usize] = Some(DiskAt { set, index });
            }
            let settings = Settings::blank(recipe.policy, recipe.admission);
            let modes: Vec<_> = own.iter().map(|disk| (disk.bytes, recipe.mode)).collect();
            let tier = Tier::blank(geometry, settings, &modes).map_err(|_| {
                GeometryError::Disks { disks: own.len(), most: geometry.disks_max() }
            })?;
            sets.push(Set::new(tier, set as u64 * bytes, own.to_vec(), &recipe));
        }
        let mut starts: Vec<_> = disks.iter().map(|disk| (disk.base, disk.stream)).collect();
        starts.sort_unstable_by_key(|(base, _)| *base);
        Ok(Self { recipe, sets, places, starts, began: Nanos::ZERO, is_unfiltered: false })
    }

    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// Returns true if recipe and disks are equal.
    pub fn is_like(&self, other: &Self) -> bool {
        self.recipe == other.recipe
            && self.places == other.places
            && self.sets.iter().zip(&other.sets).all(|(own, other)| own.disks == other.disks)
    }

    /// Finds the place of a virtual disk, if it is served here.
    pub fn find(&self, stream: StreamId) -> Option<DiskAt> {
        self.places.get(stream.0 as usize).copied().flatten()
    }

    /// Submits a request `(operation, offset, length)` of a disk. Returns the number of pieces,
    /// each of which gets an answer.
    pub fn request(
        &mut self,
        now: Nanos,
        at: DiskAt,
        span: (Operation, u64, u32),
        request: u32,
        steps: &mut Vec<Step>,
    ) -> u32 {
        let now = self.began.saturating_add(now);
        self.sets[at.set].request(now, at.index, span, request, steps)
    }

    /// Reports the end of an I/O: success with the number of checksums, or an error.
    pub fn done(
        &mut self,
        now: Nanos,
        set: usize,
        id: IoId,
        sums: Option<usize>,
        steps: &mut Vec<Step>,
    ) {
        let result = sums.map(|sums| vec![0; sums]).ok_or(IoError::Io);
        self.sets[set].handle(self.began.saturating_add(now), Event::Done(id, result), steps);
    }

    /// Handles an alarm, unless its set has moved the timer to a later time.
    pub fn tick(&mut self, now: Nanos, set: usize, steps: &mut Vec<Step>) {
        self.sets[set].tick(self.began.saturating_add(now), steps);
    }

    /// Gives a set its turn, after all events known so far were handled.
    pub fn turn(&mut self, now: Nanos, set: usize, steps: &mut Vec<Step>) {
        self.sets[set].turn(self.began.saturating_add(now), steps);
    }

    /// Returns the time of a set's next timer, in the plant's time.
    pub fn wake_at(&self, set: usize) -> Option<Nanos> {
        self.sets[set].wake.map(|at| at.saturating_sub(self.began))
    }

    fn admit(&mut self, admission: Admission) {
        if self.recipe.admission == Admission::Always {
            return;
        }
        for set in &mut self.sets {
            for disk in 0..set.disk_count() {
                set.order(self.began, Order::Admission { disk, admission });
            }
        }
    }

    fn by_address(&self, address: u64) -> Option<DiskAt> {
        let before = self.starts.partition_point(|(base, _)| *base <= address);
        let (base, stream) = *self.starts.get(before.checked_sub(1)?)?;
        let at = self.find(stream)?;
        let bytes = self.sets[at.set].disks[usize::from(at.index)].bytes;
        (address < base + bytes).then_some(at)
    }
}

impl Content for Sets {
    fn capacity_bytes(&self) -> u64 {
        self.recipe.bytes
    }

    fn resident_bytes(&self) -> u64 {
        self.sets.iter().map(|set| set.tier.held_bytes()).sum()
    }

    fn dirty_bytes(&self) -> u64 {
        let disks = |set: &'_ Set| {
            (0..set.disk_count()).filter_map(|disk| set.tier.status(disk)).collect::<Vec<_>>()
        };
        self.sets.iter().flat_map(disks).map(|status| status.dirty_bytes).sum()
    }

    /// Returns the counters since measured time began, in the terms of published tiers.
    fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.sets.iter().for_each(|set| sum.add(&set.counters(u64::from(self.recipe.page_bytes))));
        sum
    }

    /// Feeds an access on storage that takes no time.
    fn feed(&mut self, access: &Access, entry: Entry, fed: &mut Fed) {
        let Some(at) = self.by_address(access.offset) else { return fed.behind.push(*access) };
        if entry == Entry::Unfiltered && !self.is_unfiltered {
            self.is_unfiltered = true;
            self.admit(Admission::Always);
        }
        self.began = self.began.saturating_add(WARM_STEP);
        let (now, set) = (self.began, &mut self.sets[at.set]);
        let mut steps = Vec::new();
        set.tick(now, &mut steps);
        let span = (access.operation, access.offset, access.length);
        let mut left = set.request(now, at.index, span, 0, &mut steps);
        let mut now = now;
        loop {
            left -= set.at_once(now, &mut steps, &mut fed.behind);
            if left == 0 {
                break;
            }
            // The rest waits for the clock.
            now = now.max(set.wake.expect("waiting work has set a timer"));
            set.tick(now, &mut steps);
        }
        self.began = now;
    }

    /// Begins measured time with empty logs.
    fn settle(&mut self) {
        if std::mem::take(&mut self.is_unfiltered) {
            self.admit(self.recipe.admission);
        }
        for set in &mut self.sets {
            self.began = set.drain(self.began);
        }
        for set in &mut self.sets {
            set.settled = (set.tier.counters(), set.written);
        }
    }
}

impl Set {
    fn new(tier: Tier, base: u64, disks: Vec<ServedDisk>, recipe: &Recipe) -> Self {
        let mut set = Self {
            settled: (tier.counters(), 0),
            tier,
            base,
            disks,
            wake: None,
            effects: Vec::new(),
            written: 0,
        };
        if recipe.share_percent < 100 {
            for (index, disk) in (0..).zip(set.disks.clone()) {
                let own = set.disks.iter().filter(|other| other.vm == disk.vm).count();
                let own = u8::try_from(own).unwrap_or(u8::MAX);
                let percent = (recipe.share_percent / own).max(1);
                set.order(Nanos::ZERO, Order::Share { disk: index, percent });
            }
        }
        set
    }

    fn disk_count(&self) -> u16 {
        u16::try_from(self.disks.len()).unwrap_or(u16::MAX)
    }

    /// Handles an event and appends the work it causes to `steps`.
    fn handle(&mut self, now: Nanos, event: Event, steps: &mut Vec<Step>) {
        let mut effects = std::mem::take(&mut self.effects);
        self.tier.handle(now, event, &mut effects);
        for effect in effects.drain(..) {
            self.step(effect, steps);
        }
        self.effects = effects;
    }

    /// Gives an order that causes no work.
    fn order(&mut self, now: Nanos, order: Order) {
        self.handle(now, Event::Order(order), &mut Vec::new());
    }

    fn turn(&mut self, now: Nanos, steps: &mut Vec<Step>) {
        if self.tier.wants_turn() {
            self.handle(now, Event::Turn, steps);
        }
    }

    fn tick(&mut self, now: Nanos, steps: &mut Vec<Step>) {
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
            self.handle(now, Event::Timer, steps);
        }
    }

    fn step(&mut self, effect: Effect, steps: &mut Vec<Step>) {
        use Operation::{Flush, Read, Write};
        let io = match effect {
            Effect::Read(read) => {
                let sums = if read.wants_sums { read.bytes as usize / 4096 } else { 0 };
                Io { sums, ..self.io(read.io, read.place, Read, (read.at, read.bytes)) }
            }
            Effect::Write { io, place, at, from, durable } => {
                let bytes: u64 = from.iter().map(Piece::bytes).sum();
                let bytes = u32::try_from(bytes).expect("the length of a write fits 32 bits");
                let io = self.io(io, place, Write, (at, bytes));
                self.written += if io.disk.is_none() { u64::from(bytes) } else { 0 };
                Io { is_durable: durable, ..io }
            }
            Effect::Zero { io, place, at, bytes, .. } => self.io(io, place, Write, (at, bytes)),
            Effect::Flush { io, place } => self.io(io, place, Flush, (0, 0)),
            Effect::Confirm { io, disk, .. } => {
                let bytes = u32::try_from(SIDECAR_BYTES).unwrap_or(0);
                self.io(io, IoTarget::Sidecar(disk), Read, (0, bytes))
            }
            Effect::Reply(RequestId(request), result) => {
                return steps.push(Step::Answer(request, result.is_ok()));
            }
            Effect::Wake(at) => {
                self.wake = Some(at);
                return;
            }
            // Bytes, which do not exist here, and messages for an operator.
            _ => return,
        };
        steps.push(Step::Io(io));
    }

    fn io(&self, id: IoId, place: IoTarget, operation: Operation, (at, length): (u64, u32)) -> Io {
        let (disk, base) = match place {
            IoTarget::Cache => (None, self.base),
            // A sidecar lies beside the backing store, as near to it as its first bytes.
            IoTarget::Backing(disk) | IoTarget::Sidecar(disk) | IoTarget::Copy(disk, _) => {
                let disk = self.disks[usize::from(disk)];
                (Some(disk.stream), disk.base)
            }
        };
        let offset = base + at;
        Io { id, disk, operation, offset, length, sums: 0, is_durable: false }
    }

    fn request(
        &mut self,
        now: Nanos,
        index: u16,
        (operation, offset, length): (Operation, u64, u32),
        request: u32,
        steps: &mut Vec<Step>,
    ) -> u32 {
        let whole = Request {
            id: RequestId(request),
            disk: index,
            op: Op::Flush,
            offset: 0,
            bytes: 0,
            fua: false,
            buf: None,
            sums: Sums::default(),
        };
        if operation == Operation::Flush {
            self.handle(now, Event::Request(whole), steps);
            return 1;
        }
        let disk = self.disks[usize::from(index)];
        // Whole sectors, as front ends ask for them.
        let from = (offset - disk.base) / 512 * 512;
        let end = (offset - disk.base + u64::from(length)).next_multiple_of(512).min(disk.bytes);
        let most = u64::from(self.tier.request_bytes_max());
        let (mut at, mut pieces) = (from, 0);
        while at < end {
            // Pieces end at block boundaries, so that no block is in two pieces.
            let until = ((at + most) / BLOCK * BLOCK).min(end);
            let (op, sums) = match operation {
                Operation::Write => {
                    let blocks = at / BLOCK..until.div_ceil(BLOCK);
                    (Op::Write, Sums { whole: 0, blocks: blocks.map(|_| 0).collect() })
                }
                _ => (Op::Read, Sums::default()),
            };
            let bytes = u32::try_from(until - at).expect("at most the maximum size of a request");
            let buf = Some(Buf(request));
            let piece = Request { op, offset: at, bytes, buf, sums, ..whole.clone() };
            self.handle(now, Event::Request(piece), steps);
            (at, pieces) = (until, pieces + 1);
        }
        pieces
    }

    /// Carries out all work in no time until none is left. Returns the number of answered pieces.
    fn at_once(&mut self, now: Nanos, steps: &mut Vec<Step>, behind: &mut Vec<Access>) -> u32 {
        let (mut answered, mut ended) = (0, VecDeque::new());
        loop {
            for step in steps.drain(..) {
                match step {
                    Step::Answer(..) => answered += 1,
                    Step::Io(io) => {
                        behind.extend(self.access_behind(&io));
                        ended.push_back((io.id, io.sums));
                    }
                }
            }
            if let Some((id, sums)) = ended.pop_front() {
                self.handle(now, Event::Done(id, Ok(vec![0; sums])), steps);
            } else if self.tier.wants_turn() {
                self.turn(now, steps);
            } else {
                return answered;
            }
        }
    }

    /// Converts an I/O to an access to the storage behind the tier, if it goes there and moves
    /// bytes.
    fn access_behind(&self, io: &Io) -> Option<Access> {
        let disk = self.disks.iter().find(|disk| Some(disk.stream) == io.disk)?;
        let Io { operation, offset, length, .. } = *io;
        (length > 0).then_some(Access { vm: disk.vm, operation, offset, length })
    }

    /// Destages everything and returns the time at which that is done.
    fn drain(&mut self, began: Nanos) -> Nanos {
        let (mut now, mut steps, mut behind) = (began, Vec::new(), Vec::new());
        for disk in 0..self.disk_count() {
            self.handle(now, Event::Order(Order::Drain { disk }), &mut steps);
        }
        self.at_once(now, &mut steps, &mut behind);
        while let Some(at) = self.wake {
            now = now.max(at);
            self.tick(now, &mut steps);
            self.at_once(now, &mut steps, &mut behind);
        }
        now
    }

    fn counters(&self, page_bytes: u64) -> Counters {
        let (is, (was, written)) = (self.tier.counters(), &self.settled);
        let since = |of: fn(&tier::Counters) -> u64| of(&is) - of(was);
        let placed_bytes = since(|c| c.placed_bytes);
        Counters {
            reads: since(|c| c.hits + c.partial + c.misses),
            read_hits: since(|c| c.hits),
            read_bytes: since(|c| c.read_bytes),
            read_hit_bytes: since(|c| c.hit_bytes),
            writes: since(|c| c.writes),
            write_hits: since(|c| c.write_hits),
            writes_absorbed: since(|c| c.absorbed),
            write_bytes: since(|c| c.written_bytes),
            write_hit_bytes: since(|c| c.write_hit_bytes),
            filled_bytes: since(|c| c.filled_bytes) - placed_bytes,
            placed_bytes,
            evicted_bytes: since(|c| c.evicted) * page_bytes,
            destaged_bytes: since(|c| c.destaged_bytes),
            tier_written_bytes: self.written - written,
            ..Counters::default()
        }
    }
}
