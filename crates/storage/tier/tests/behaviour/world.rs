//! A state machine of the tier, its disks by the model of `faults`, a client, and the data that the
//! client may expect.

use std::collections::BTreeMap;

use faults::Disk;
use state_machine::{Purpose, Stream};
use tilemark_tier::format::{Identity, SIDECAR_BYTES, Sidecar, Uuid};
use tilemark_tier::ownership::is_owner;
use tilemark_tier::{
    Attachment, Buf, CELL_BYTES, Effect, Event, Geometry, IoError, IoId, IoTarget, Media, Mode,
    Moment, Note, Op, Opened, Order, Piece, Plan, Prepared, ReadIo, Request, RequestId, Session,
    Settings, Since, Skipped, Sums, Tier,
};
use units::Nanos;

use super::keeper::Keeper;
use super::oracle::{Oracle, SECTOR, stamped};
use super::peers::HolderHost;

pub const SET: Uuid = [7; 16];
pub const DISK: Uuid = [3; 16];
pub const OTHER: Uuid = [4; 16];

/// Turns between two comparisons of a turn with one that looks at all disks. A comparison copies
/// the whole state machine.
const COMPARED_EVERY: u64 = 32;

/// The three devices, which outlive the program, and those of a second disk.
#[derive(Debug, Clone)]
pub struct Devices {
    pub cache: Disk,
    pub backing: Disk,
    pub sidecar: Disk,
    pub other: (Disk, Disk),
    /// Openings so far; the last one has this number.
    pub openings: u64,
    /// Numbers of both disks when the last program stopped.
    pub moments: [Option<Moment>; 2],
    /// Knowledge of changes of the first backing store, given to whoever opens next. `None` says
    /// that nobody wrote to it since the last program stopped, which is the most that pages may be
    /// believed by.
    pub since: Option<Since>,
    /// Memory for blocks of the state machine that opens the devices, in bytes.
    pub memory_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub disk_bytes: u64,
    pub mode: Mode,
    /// Requests of the client that are under way at once.
    pub depth: usize,
    /// Copies of the log that there have to be, on as many peers.
    pub copies: u8,
}

impl Devices {
    pub fn new(shape: Shape) -> Self {
        Self::new_set(shape, SET)
    }

    pub fn new_set(shape: Shape, set: Uuid) -> Self {
        Self::new_of(shape, set, 4 << 20)
    }

    /// New devices with so many bytes of cache device.
    fn new_of(shape: Shape, set: Uuid, device_bytes: u64) -> Self {
        let cache = Disk::new(usize::try_from(device_bytes).expect("small"));
        let size = usize::try_from(shape.disk_bytes).expect("small");
        let new = || (Disk::new(size), Disk::new(8192));
        let ((backing, sidecar), other) = (new(), new());
        let (openings, moments, since, memory_bytes) = (0, [None; 2], None, 0);
        let mut devices =
            Self { cache, backing, sidecar, other, openings, moments, since, memory_bytes };
        let plan =
            Plan { device_bytes, page_bytes: 16 << 10, chunk_bytes: 64 << 10, log_percent: 55 };
        let geometry = Geometry::new(plan).expect("it fits");
        tilemark_tier::init(
            &mut Direct::new(&mut devices),
            geometry,
            plan.device_bytes,
            set,
            [1; 16],
        )
        .expect("no fault");
        devices
    }

    pub fn of(&mut self, place: IoTarget) -> &mut Disk {
        match place {
            IoTarget::Cache => &mut self.cache,
            IoTarget::Backing(0) => &mut self.backing,
            IoTarget::Sidecar(0) => &mut self.sidecar,
            IoTarget::Backing(_) => &mut self.other.0,
            IoTarget::Sidecar(_) => &mut self.other.1,
            IoTarget::Copy(..) => panic!("a copy is not on this machine"),
        }
    }

    /// Reads the sidecar of the first disk.
    pub fn said(&mut self) -> Result<Sidecar, faults::StorageError> {
        self.said_of(0)
    }

    /// Reads the sidecar of a disk.
    pub fn said_of(&mut self, disk: u16) -> Result<Sidecar, faults::StorageError> {
        let mut bytes = [0; SIDECAR_BYTES];
        self.of(IoTarget::Sidecar(disk)).read(0, &mut bytes)?;
        Ok(Sidecar::newest(&bytes).expect("one copy is good"))
    }

    fn disks(&mut self) -> [&mut Disk; 5] {
        let (backing, sidecar) = &mut self.other;
        [&mut self.cache, &mut self.backing, &mut self.sidecar, backing, sidecar]
    }

    fn owner(&mut self) -> Uuid {
        self.said().expect("no fault").owner
    }

    pub fn kill(&mut self, chance: &mut Stream) {
        self.disks().into_iter().for_each(|disk| disk.kill(chance));
    }

    pub fn power_cut(&mut self, chance: &mut Stream) {
        self.disks().into_iter().for_each(|disk| disk.power_cut(chance));
    }

    pub fn open(&mut self, mode: Mode) -> Result<Opened, tilemark_tier::OpenError> {
        open(&mut Direct::new(self), mode)
    }

    /// Opens the first disk for a set that is served.
    pub fn prepare(
        &mut self,
        mode: Mode,
    ) -> Result<(Prepared, Option<Skipped>), tilemark_tier::OpenError> {
        let (asked, session) = (self.attachment(mode), self.settings().session);
        let media = &mut Direct::new(self);
        let superblock = Tier::inspect(media)?;
        Tier::prepare(media, &superblock, session, &asked)
    }

    /// Opens with both disks.
    pub fn open_both(&mut self, mode: Mode) -> Result<Opened, tilemark_tier::OpenError> {
        let asked = [self.attachment(mode), self.other_attachment(mode)];
        let settings = self.settings();
        Tier::open(&mut Direct::new(self), settings, &asked)
    }

    fn other_attachment(&self, mode: Mode) -> Attachment {
        let bytes = self.other.0.bytes();
        let since = self.moments[1].map_or(Since::Unknown, Since::Unchanged);
        Attachment { index: 1, disk: OTHER, bytes, since, ..self.attachment(mode) }
    }

    /// The second disk alone, in another set.
    pub fn open_other(&mut self, mode: Mode) -> Result<Opened, tilemark_tier::OpenError> {
        let asked = self.other_attachment(mode);
        let settings = self.settings();
        Tier::open(&mut Direct::new(self), settings, &[asked])
    }

    /// Opens, to have its copies on the peers of the shape.
    pub fn open_as(&mut self, shape: Shape) -> Result<Opened, tilemark_tier::OpenError> {
        let asked = Attachment {
            copies: shape.copies,
            peers: (0..shape.copies).map(super::peers::holder).collect(),
            ..self.attachment(shape.mode)
        };
        let settings = self.settings();
        Tier::open(&mut Direct::new(self), settings, &[asked])
    }

    /// Opens, and the backing store looks another than it did.
    pub fn open_changed(&mut self, mode: Mode) -> Result<Opened, tilemark_tier::OpenError> {
        let since = Since::Changed(self.moments[0].unwrap_or_default());
        let changed = Attachment { since, ..self.attachment(mode) };
        let settings = self.settings();
        Tier::open(&mut Direct::new(self), settings, &[changed])
    }

    fn settings(&mut self) -> Settings {
        self.openings += 1;
        let session = Session { boot: [9; 16], opening: self.openings };
        Settings { memory_bytes: self.memory_bytes, session, ..settings() }
    }

    /// The first disk, to be opened next.
    fn attachment(&self, mode: Mode) -> Attachment {
        let unchanged = self.moments[0].map_or(Since::Unknown, Since::Unchanged);
        let since = self.since.unwrap_or(unchanged);
        Attachment { since, ..attachment(self.backing.bytes(), mode) }
    }
}

pub fn give_up(devices: &mut Devices) -> Result<Option<Uuid>, IoError> {
    tilemark_tier::give_up(&mut Direct::new(devices), 0)
}

pub fn attachment(bytes: u64, mode: Mode) -> Attachment {
    let named = |name: &str| Identity { name: name.to_owned(), is_lasting: true };
    Attachment {
        index: 0,
        disk: DISK,
        bytes,
        mode,
        key: 0,
        backing: named("backing"),
        is_backing_vouched: false,
        sidecar: named("sidecar"),
        is_sidecar_vouched: false,
        since: Since::Unknown,
        copies: 0,
        peers: Vec::new(),
    }
}

pub fn settings() -> Settings {
    Settings {
        policy: cache::PolicyKind::Lru,
        admission: cache::tier::Admission::Always,
        memory_bytes: 0,
        session: Session { boot: [9; 16], opening: 1 },
        place: Identity { name: "cache".to_owned(), is_lasting: true },
        is_place_vouched: false,
    }
}

fn open(media: &mut Direct<'_>, mode: Mode) -> Result<Opened, tilemark_tier::OpenError> {
    let asked = media.devices.attachment(mode);
    let settings = media.devices.settings();
    Tier::open(media, settings, &[asked])
}

/// I/O that is waited for; it stops for good after so many changes.
pub struct Direct<'a> {
    pub devices: &'a mut Devices,
    left: Option<usize>,
    chance: Stream,
}

impl<'a> Direct<'a> {
    pub fn new(devices: &'a mut Devices) -> Self {
        Self { devices, left: None, chance: Stream::derive(0, &[], Purpose::Device) }
    }

    /// Opens, and is cut off after `changes` writes and flushes.
    pub fn open_cut_off(devices: &'a mut Devices, mode: Mode, changes: usize) -> bool {
        let mut media = Self { left: Some(changes), ..Self::new(devices) };
        open(&mut media, mode).is_ok()
    }

    fn change(&mut self) -> Result<(), IoError> {
        match &mut self.left {
            Some(0) => Err(IoError::Io),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Media for Direct<'_> {
    fn read(&mut self, place: IoTarget, at: u64, into: &mut [u8]) -> Result<(), IoError> {
        self.devices.of(place).read(at, into).map_err(|_| IoError::Io)
    }

    fn write(&mut self, place: IoTarget, at: u64, data: &[u8]) -> Result<(), IoError> {
        self.change()?;
        let disk = self.devices.of(place);
        disk.start_write(u64::MAX, at, data).map_err(|_| IoError::Io)?;
        disk.finish_write(u64::MAX, false, &mut self.chance).map_err(|_| IoError::Io)
    }

    fn flush(&mut self, place: IoTarget) -> Result<(), IoError> {
        self.change()?;
        let disk = self.devices.of(place);
        disk.start_flush(u64::MAX);
        disk.finish_flush(u64::MAX).map_err(|_| IoError::Io)
    }
}

#[derive(Debug, Clone)]
enum Under {
    Read(ReadIo),
    /// A write, and whether it is durable when it ends.
    Write(IoTarget, bool),
    Flush(IoTarget),
    Confirm(u16, u64),
}

/// A running program and its client.
pub struct World {
    pub devices: Devices,
    pub tier: Tier,
    pub oracle: Oracle,
    pub notes: Vec<Note>,
    pub chance: Stream,
    shape: Shape,
    bufs: BTreeMap<u32, Vec<u8>>,
    under: BTreeMap<u32, Under>,
    now: Nanos,
    wake: Option<Nanos>,
    next: u64,
    /// Requests that are under way: read, its range.
    asked: BTreeMap<u64, Request>,
    /// Errors that requests were answered with.
    pub errors: usize,
    /// Data that reads returned, by request, for tests that check them.
    pub answers: BTreeMap<u64, Vec<u8>>,
    /// Flushes and durable writes that were answered.
    pub flushes: usize,
    /// Hosts that hold copies, and the network to them.
    pub ways: super::peers::Ways,
    set: Uuid,
    /// Reservations of the backing store, where this host is number 0.
    pub reservations: faults::Reservations,
    /// Number of writes that the backing store refused.
    pub refused: usize,
    /// Blocks that the state machine keeps in memory.
    pub kept: Keeper,
    /// No time passes while a peer has something to answer.
    pub is_patient: bool,
    /// Contents that the second disk may have, and whether it is asked for anything.
    pub other: Oracle,
    pub is_other_asked: bool,
    /// Number of turns that the state machine had.
    turns: u64,
}

/// Three of four have memory for blocks, from one block to all of the disk.
pub fn memory_of(seed: u64) -> u64 {
    let mut chance = Stream::derive(seed, &[5], Purpose::Device);
    if chance.below(4) == 0 { 0 } else { 4096 << chance.below(8) }
}

impl World {
    pub fn new(seed: u64, shape: Shape) -> Self {
        Self::on(seed, shape, Devices::new(shape))
    }

    /// A world with so many bytes of memory for blocks.
    pub fn with_memory(seed: u64, shape: Shape, bytes: u64) -> Self {
        Self::on(seed, shape, Devices { memory_bytes: bytes, ..Devices::new(shape) })
    }

    /// A world with so many bytes of cache device.
    pub fn new_with_cache(seed: u64, shape: Shape, bytes: u64) -> Self {
        Self::on(seed, shape, Devices::new_of(shape, SET, bytes))
    }

    fn on(seed: u64, shape: Shape, mut devices: Devices) -> Self {
        let opened = devices.open_as(shape).expect("a new set opens");
        let oracle = Oracle::new(shape.disk_bytes / SECTOR, shape.mode);
        Self::of(seed, shape, devices, opened.tier, oracle)
    }

    pub fn of(seed: u64, shape: Shape, mut devices: Devices, tier: Tier, oracle: Oracle) -> Self {
        let set = devices.owner();
        let other = Oracle::new(shape.disk_bytes / SECTOR, shape.mode);
        let mut world = Self {
            devices,
            tier,
            oracle,
            notes: Vec::new(),
            chance: Stream::derive(seed, &[], Purpose::Device),
            shape,
            bufs: BTreeMap::new(),
            under: BTreeMap::new(),
            now: Nanos(0),
            wake: None,
            next: 1,
            asked: BTreeMap::new(),
            errors: 0,
            answers: BTreeMap::new(),
            flushes: 0,
            ways: super::peers::Ways::new(vec![HolderHost::new(); shape.copies.into()]),
            set,
            reservations: faults::Reservations::default(),
            refused: 0,
            kept: Keeper::new(seed),
            is_patient: true,
            other,
            is_other_asked: false,
            turns: 0,
        };
        world.event(Event::Timer);
        world
    }

    /// Lets one thing happen: the client asks, an I/O ends, or time passes.
    pub fn step(&mut self) {
        let choice = self.chance.below(10);
        if choice < 4 && self.asked.len() < self.shape.depth {
            let mut request = self.random_request();
            if self.is_other_asked {
                request.disk = u16::try_from(self.chance.below(2)).expect("few");
            }
            // Some come together.
            match self.chance.below(2) {
                0 => self.gather(request),
                _ => self.ask(request),
            }
        } else if self.is_busy() && choice < 9 {
            self.end_one();
        } else if let Some(wake) = self.wake
            && !(self.is_patient && self.ways.is_waiting())
        {
            self.now = self.now.max(wake);
            self.wake = None;
            self.event(Event::Timer);
        }
    }

    /// I/Os end and time passes until nothing is under way, or `is_over`.
    pub fn settle(&mut self, is_over: impl Fn(&Self) -> bool) {
        self.event(Event::Turn);
        for _ in 0..200_000 {
            if is_over(self) {
                return;
            }
            if self.is_busy() {
                self.end_one();
            } else if let Some(wake) = self.wake.take() {
                self.now = self.now.max(wake);
                self.event(Event::Timer);
            } else {
                return;
            }
        }
        panic!("the machine never rests: {:?}, {:?} under way", self.tier.status(0), self.under);
    }

    pub fn order(&mut self, order: Order) {
        self.event(Event::Order(order));
    }

    fn random_request(&mut self) -> Request {
        let sectors = self.shape.disk_bytes / SECTOR;
        let kind = self.chance.below(20);
        if kind == 0 {
            return self.request(Op::Flush, 0, 0, false);
        }
        // Half of the addresses fall on an eighth of the disk, most requests on whole blocks.
        let span = if self.chance.below(2) == 0 { sectors / 8 } else { sectors };
        let (mut first, mut count) = (self.chance.below(span), 1 + self.chance.below(64));
        if self.chance.below(4) > 0 {
            (first, count) = (first / 8 * 8, (count / 8).max(1) * 8);
        }
        let count = count.min(sectors - first);
        let is_fua = self.chance.below(12) == 0;
        match kind {
            1 | 2 => {
                self.request(Op::Zero { unmap: kind == 1 }, first * SECTOR, count * SECTOR, is_fua)
            }
            3..=11 => self.request(Op::Write, first * SECTOR, count * SECTOR, is_fua),
            _ => self.request(Op::Read, first * SECTOR, count * SECTOR, false),
        }
    }

    pub fn request(&mut self, op: Op, offset: u64, bytes: u64, fua: bool) -> Request {
        let id = self.next;
        self.next += 1;
        let bytes = u32::try_from(bytes).expect("short");
        let mut request = Request {
            id: RequestId(u32::try_from(id).expect("few")),
            disk: 0,
            op,
            offset,
            bytes,
            fua,
            buf: None,
            sums: Sums::default(),
        };
        if matches!(op, Op::Read | Op::Write) {
            let buf = u32::try_from(id).expect("few");
            let data =
                if op == Op::Write { stamped(id, bytes) } else { vec![0xee; bytes as usize] };
            if op == Op::Write {
                request.sums = Sums::of(offset, &data);
            }
            self.bufs.insert(buf, data);
            request.buf = Some(Buf(buf));
        }
        request
    }

    pub fn ask(&mut self, request: Request) {
        self.gather(request);
        self.event(Event::Turn);
    }

    /// Asks; more is to come before the state machine has its turn.
    pub fn gather(&mut self, request: Request) {
        self.oracle_of(request.disk).asked(&request);
        self.asked.insert(u64::from(request.id.0), request.clone());
        self.handle(Event::Request(request));
    }

    /// Gives the state machine its turn.
    pub fn ask_nothing(&mut self) {
        self.handle(Event::Turn);
    }

    /// The I/O that was begun last ends before all others.
    pub fn end_newest(&mut self) {
        let id = *self.under.keys().next_back().expect("something is under way");
        let under = self.under.remove(&id).expect("it is there");
        let result = self.end(id, under);
        self.event(Event::Done(IoId(id), result));
    }

    /// Ends every I/O under way that reads, and nothing else.
    pub fn end_reads(&mut self) {
        let is_read = |(id, under): (&u32, &Under)| matches!(under, Under::Read(_)).then_some(*id);
        let reads: Vec<u32> = self.under.iter().filter_map(is_read).collect();
        for id in reads {
            let under = self.under.remove(&id).expect("it is there");
            let result = self.end(id, under);
            self.event(Event::Done(IoId(id), result));
        }
    }

    fn oracle_of(&mut self, disk: u16) -> &mut Oracle {
        if disk == 0 { &mut self.oracle } else { &mut self.other }
    }

    /// The second disk comes, and is there by [`Note::Attached`].
    pub fn attach_other(&mut self) -> Result<(), tilemark_tier::OpenError> {
        let superblock = self.tier.superblock();
        let asked = self.devices.other_attachment(self.shape.mode);
        let session = self.devices.settings().session;
        let (prepared, _) =
            Tier::prepare(&mut Direct::new(&mut self.devices), &superblock, session, &asked)?;
        let mut effects = Vec::new();
        self.tier.attach(self.now, prepared, &mut effects);
        effects.into_iter().for_each(|effect| self.effect(effect));
        self.handle(Event::Turn);
        Ok(())
    }

    /// Takes a note, and says whether it was there.
    pub fn take_note(&mut self, note: Note) -> bool {
        let at = self.notes.iter().position(|known| *known == note);
        at.map(|at| self.notes.remove(at)).is_some()
    }

    /// Number of requests of a disk that wait for their answer.
    pub fn waiting_of(&self, disk: u16) -> usize {
        self.asked.values().filter(|request| request.disk == disk).count()
    }

    /// Number of requests that wait for their answer.
    pub fn waiting(&self) -> usize {
        self.asked.len()
    }

    /// True if an I/O can end, or something arrive.
    pub fn is_busy(&self) -> bool {
        !self.under.is_empty() || !self.ways.chances().is_empty()
    }

    fn end_one(&mut self) {
        let chances = self.ways.chances();
        let index = self.chance.below((self.under.len() + chances.len()) as u64);
        if let Some(place) = usize::try_from(index).expect("few").checked_sub(self.under.len()) {
            let generation = self.tier.status(0).map_or(0, |status| status.generation);
            for event in self.ways.happen(chances[place], generation, &mut self.chance) {
                self.event(event);
            }
            return;
        }
        let id =
            *self.under.keys().nth(usize::try_from(index).expect("few")).expect("there is one");
        let under = self.under.remove(&id).expect("it is there");
        let result = self.end(id, under);
        self.event(Event::Done(IoId(id), result));
    }

    fn end(&mut self, id: u32, under: Under) -> Result<Vec<u32>, IoError> {
        match under {
            Under::Confirm(disk, generation) => {
                let sidecar = self.devices.said_of(disk).map_err(|_| IoError::Io)?;
                let is_ours = is_owner(&sidecar, self.set, generation);
                if is_ours { Ok(Vec::new()) } else { Err(IoError::Fenced) }
            }
            Under::Read(io) => self.end_read(&io),
            Under::Write(place @ IoTarget::Backing(0), _) if !self.reservations.may_write(0) => {
                self.devices.of(place).refuse_write(id.into());
                self.refused += 1;
                Err(IoError::Fenced)
            }
            Under::Write(place, is_durable) => {
                let disk = self.devices.of(place);
                disk.finish_write(id.into(), is_durable, &mut self.chance)
                    .map(|()| Vec::new())
                    .map_err(|_| IoError::Io)
            }
            // Its driver asks then whether the reservation is held still.
            Under::Flush(place @ IoTarget::Sidecar(0)) if !self.reservations.may_write(0) => {
                let _ = self.devices.of(place).finish_flush(id.into());
                Err(IoError::Fenced)
            }
            Under::Flush(place) => self
                .devices
                .of(place)
                .finish_flush(id.into())
                .map(|()| Vec::new())
                .map_err(|_| IoError::Io),
        }
    }

    fn end_read(&mut self, io: &ReadIo) -> Result<Vec<u32>, IoError> {
        let mut bytes = vec![0; io.bytes as usize];
        self.devices.of(io.place).read(io.at, &mut bytes).map_err(|_| IoError::Io)?;
        for check in &io.checks {
            let range = check.at as usize..(check.at + check.bytes) as usize;
            if tilemark_tier::format::block_sum(&bytes[range]) != check.sum {
                return Err(IoError::Checksum);
            }
        }
        let buf = self.bufs.get_mut(&io.buf.0).expect("the destination buffer is set");
        let (skip, take, to) = (io.skip as usize, io.take as usize, io.to as usize);
        buf[to..to + take].copy_from_slice(&bytes[skip..skip + take]);
        if !io.wants_sums {
            return Ok(Vec::new());
        }
        let first = usize::try_from(io.at.next_multiple_of(4096) - io.at).expect("short");
        Ok(bytes
            .get(first..)
            .unwrap_or(&[])
            .chunks_exact(4096)
            .map(tilemark_tier::format::block_sum)
            .collect())
    }

    pub fn event(&mut self, event: Event) {
        self.handle(event);
        self.handle(Event::Turn);
        let (status, most) = (self.tier.memory(), self.devices.memory_bytes);
        assert_eq!(status.taken_bytes, self.kept.taken() * u64::from(CELL_BYTES));
        assert!(status.taken_bytes <= most, "{status:?}");
    }

    /// Effects of a turn that looks at all disks, not only at those with events. An order that
    /// changes nothing makes the turn look at all.
    fn turn_of_all(&self) -> Vec<Effect> {
        let mut tier = self.tier.clone();
        let mut effects = Vec::new();
        if let Some(status) = self.tier.status(0).filter(|_| tier.wants_turn()) {
            let order = Order::Populate { disk: 0, is_on: status.populates };
            tier.handle(self.now, Event::Order(order), &mut effects);
        }
        tier.handle(self.now, Event::Turn, &mut effects);
        effects
    }

    fn handle(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.turns += u64::from(event == Event::Turn);
        let is_compared = event == Event::Turn && self.turns.is_multiple_of(COMPARED_EVERY);
        let looks_at_all = is_compared.then(|| self.turn_of_all());
        self.tier.handle(self.now, event, &mut effects);
        if let Some(wanted) = looks_at_all {
            assert_eq!(effects, wanted, "a turn passed over a disk of which something could go on");
        }
        for effect in effects {
            self.effect(effect);
        }
        for (io, kept) in std::mem::take(&mut self.kept.told) {
            self.handle(Event::Kept(io, kept));
        }
        self.devices.moments = [0, 1].map(|disk| self.tier.moment(disk));
    }

    fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Read(io) => {
                self.under.insert(io.io.0, Under::Read(io));
            }
            Effect::Write { io, place, at, from, durable } => {
                let mut bytes = Vec::new();
                from.iter().for_each(|piece| self.piece(piece, &mut bytes));
                if let IoTarget::Copy(_, peer) = place {
                    return self.ways.write(peer, io, at, bytes);
                }
                self.devices
                    .of(place)
                    .start_write(io.0.into(), at, &bytes)
                    .expect("within the device");
                self.under.insert(io.0, Under::Write(place, durable));
            }
            Effect::Zero { io, place, at, bytes, .. } => {
                let zeros = vec![0; bytes as usize];
                if let IoTarget::Copy(_, peer) = place {
                    return self.ways.write(peer, io, at, zeros);
                }
                self.devices
                    .of(place)
                    .start_write(io.0.into(), at, &zeros)
                    .expect("within the device");
                self.under.insert(io.0, Under::Write(place, false));
            }
            Effect::Flush { io, place: IoTarget::Copy(_, peer) } => self.ways.flush(peer, io),
            Effect::Confirm { io, disk, generation } => {
                self.under.insert(io.0, Under::Confirm(disk, generation));
            }
            Effect::Cut { peer, .. } => {
                self.ways.break_off(peer.into());
            }
            Effect::Flush { io, place } => {
                self.devices.of(place).start_flush(io.0.into());
                self.under.insert(io.0, Under::Flush(place));
            }
            Effect::Copy { from, at, buf, to, bytes } => {
                let data = self.bufs[&from.0][at as usize..(at + bytes) as usize].to_vec();
                self.bufs.get_mut(&buf.0).expect("there")[to as usize..(to + bytes) as usize]
                    .copy_from_slice(&data);
            }
            Effect::Clear { buf, to, bytes } => {
                self.bufs.get_mut(&buf.0).expect("there")[to as usize..(to + bytes) as usize]
                    .fill(0);
            }
            Effect::Keep { io, from, at } => {
                let block = &self.bufs[&from.0][at as usize..at as usize + 4096];
                self.kept.keep(io, block);
            }
            Effect::Recall { kept, skip, buf, to, bytes } => {
                let (skip, to, bytes) = (skip as usize, to as usize, bytes as usize);
                let into = self.bufs.get_mut(&buf.0).expect("there");
                into[to..to + bytes].copy_from_slice(&self.kept.block(kept)[skip..skip + bytes]);
            }
            Effect::Forget(kept) => self.kept.forget(kept),
            Effect::Take(buf, bytes) => {
                let is_new = self.bufs.insert(buf.0, vec![0xdd; bytes as usize]).is_none();
                assert!(is_new, "{buf:?} was taken twice");
            }
            Effect::Release(buf) => {
                self.bufs.remove(&buf.0).expect("what is released was there");
            }
            Effect::Reply(id, result) => self.reply(id, result),
            Effect::Wake(at) => self.wake = Some(at),
            Effect::Note(note) => self.notes.push(note),
        }
    }

    fn piece(&self, piece: &Piece, into: &mut Vec<u8>) {
        match piece {
            Piece::Bytes(bytes) => into.extend_from_slice(bytes),
            Piece::Zero(bytes) => into.resize(into.len() + *bytes as usize, 0),
            Piece::Buf { buf, at, bytes } => {
                into.extend_from_slice(&self.bufs[&buf.0][*at as usize..(*at + *bytes) as usize]);
            }
        }
    }

    fn reply(&mut self, id: RequestId, result: Result<(), IoError>) {
        let request = self.asked.remove(&id.0.into()).expect("a request is answered once");
        if result.is_err() {
            self.errors += 1;
            self.oracle_of(request.disk).failed(&request);
            return;
        }
        self.flushes += usize::from(request.fua || request.op == Op::Flush);
        let data =
            request.buf.filter(|_| request.op == Op::Read).map(|buf| self.bufs[&buf.0].clone());
        self.oracle_of(request.disk).answered(&request, data.as_deref());
        if let Some(data) = data {
            self.answers.insert(id.0.into(), data);
        }
    }

    /// The whole disk as a client sees it now.
    pub fn read_all(&mut self) -> Vec<u8> {
        self.read_disk(0)
    }

    /// Reads all of a disk.
    pub fn read_disk(&mut self, disk: u16) -> Vec<u8> {
        let step = 16 << 10;
        let mut ids = Vec::new();
        for offset in (0..self.shape.disk_bytes).step_by(step) {
            let bytes = (step as u64).min(self.shape.disk_bytes - offset);
            let request = Request { disk, ..self.request(Op::Read, offset, bytes, false) };
            ids.push(u64::from(request.id.0));
            self.ask(request);
        }
        self.settle(|world| world.waiting() == 0);
        assert_eq!(self.waiting(), 0, "every read is answered");
        let mut all = Vec::new();
        for id in ids {
            all.append(&mut self.answers.remove(&id).expect("no read of a sound disk fails"));
        }
        all
    }

    pub fn write(&mut self, offset: u64, bytes: u64) {
        for at in (offset..offset + bytes).step_by(32 << 10) {
            self.whole(Op::Write, at, (offset + bytes - at).min(32 << 10));
        }
    }

    pub fn flush(&mut self) {
        self.whole(Op::Flush, 0, 0);
    }

    pub fn read(&mut self, offset: u64, bytes: u64) -> Vec<u8> {
        let most = 32 << 10;
        (offset..offset + bytes)
            .step_by(most)
            .flat_map(|at| {
                let id = self.whole(Op::Read, at, (most as u64).min(offset + bytes - at));
                self.answers.remove(&id).expect("no read of a sound disk fails")
            })
            .collect()
    }

    /// Makes a request and runs the world until it is answered.
    fn whole(&mut self, op: Op, offset: u64, bytes: u64) -> u64 {
        let request = self.request(op, offset, bytes, false);
        let id = u64::from(request.id.0);
        self.ask(request);
        self.settle(|world| !world.asked.contains_key(&id));
        assert!(!self.asked.contains_key(&id), "{op:?} at {offset} is answered");
        id
    }

    /// The first half of the disk.
    pub fn read_half(&mut self) {
        self.read(0, self.shape.disk_bytes / 2);
    }

    /// Until there is nothing left to do, not even later.
    pub fn settle_all(&mut self) {
        self.settle(|world| !world.is_busy() && world.wake.is_none());
    }

    /// So many I/Os end, or as many as there are.
    pub fn rest(&mut self, steps: usize) {
        for _ in 0..steps {
            if self.is_busy() {
                self.end_one();
            } else {
                self.fire_timer();
            }
        }
    }

    /// Fires the timer at its time, if one is set.
    pub fn fire_timer(&mut self) -> bool {
        let Some(wake) = self.wake.take() else { return false };
        self.now = self.now.max(wake);
        self.event(Event::Timer);
        true
    }

    pub fn close(&mut self) {
        self.order(Order::Close);
        self.settle(|world| world.notes.contains(&Note::Closed));
        assert!(self.notes.contains(&Note::Closed), "{:?}", self.tier.status(0));
    }

    /// Number of buffers of the driver that are in use.
    pub fn bufs(&self) -> usize {
        self.bufs.len()
    }
}
