use std::collections::BTreeSet;
use std::sync::Arc;

use datastore::{HeldDir, OwnDir, VirtualDisk};
use units::Nanos;

use super::error::StateError;
use super::judge::{Context, Fault, blocks, judge};
use super::layout::{Owner, disk_name};
use super::mismatch::{Expected, FoundHeader, Mismatch};
use super::sector::{Header, Identity, SECTOR};
use super::state::State;
use super::window::{Window, low, widen};

/// Settings of a verification.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Directory of the state files. They take 0.2 % of the disks' size, and 1.6 % more if writes
    /// are not multiples of 4 KiB.
    pub state_dir: OwnDir,
    /// Seed that distinguishes this verification's blocks from the blocks of an earlier one.
    pub seed: u64,
    /// Unix time, in nanoseconds, at which the driver's clock shows zero.
    pub epoch_unix_ns: u64,
    /// Disks whose state files are in another directory, on the datastore of the disks.
    pub elsewhere: Option<Elsewhere>,
}

/// Disks on another datastore, which also holds their state files.
#[derive(Debug, Clone, PartialEq)]
pub struct Elsewhere {
    /// Names of the disks.
    pub disks: Arc<BTreeSet<String>>,
    /// Directory of their state files.
    pub state_dir: OwnDir,
}

impl Setup {
    /// Returns the directory of a disk's state file.
    fn state_dir_of(&self, disk: &str) -> &OwnDir {
        let elsewhere = self.elsewhere.as_ref().filter(|own| own.disks.contains(disk));
        elsewhere.map_or(&self.state_dir, |own| &own.state_dir)
    }
}

/// Result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The whole write was acknowledged.
    Acknowledged,
    /// The write failed or was short. From now on the old and the new content are accepted.
    Failed,
}

/// Submitted write; pass it to [`Tracker::on_write_done`].
#[must_use = "a write that never ends keeps its slot, and is never expected on the disk"]
#[derive(Debug, PartialEq, Eq)]
pub struct WriteTicket(u32);

/// Submitted read; pass it to [`Tracker::on_read_done`] or [`Tracker::on_read_failed`].
#[must_use = "a read that never ends keeps its slot"]
#[derive(Debug, PartialEq, Eq)]
pub struct ReadTicket(u32);

/// Header of one reserved write. [`Seal::apply`] puts it into every sector of the buffer.
#[derive(Debug, Clone, Copy)]
pub struct Seal(Header);

impl Seal {
    /// Overwrites the first 40 bytes of every sector and seals each sector with a CRC.
    pub fn apply(&self, buffer: &mut [u8]) {
        for (sector, bytes) in (self.0.sector..).zip(buffer.chunks_exact_mut(SECTOR)) {
            Header { sector, ..self.0 }.seal(bytes);
        }
    }
}

/// Tracks the reads and writes of one virtual disk. It serves one thread at a time. It only
/// allocates when more requests are outstanding than ever before.
///
/// Concurrent overlapping writes are allowed, and storage may apply them in either order. Each of
/// them stays acceptable until a write is acknowledged that overlapped none of them in time. For
/// this, a write raises the oldest accepted version only up to the oldest write that was in flight
/// on the same sectors when it was submitted.
#[derive(Debug)]
pub struct Tracker {
    state: State,
    epoch_unix_ns: u64,
    writes: Slots<Write>,
    reads: Slots<Read>,
}

#[derive(Debug, Default)]
struct Write {
    range: Range,
    version: u64,
    /// Oldest version that the storage may still return after this write is acknowledged.
    floor: u64,
}

#[derive(Debug, Default)]
struct Read {
    range: Range,
    /// Acknowledged version of each sector at submission.
    acknowledged: Vec<u32>,
}

/// Range of sectors of 512 B.
#[derive(Debug, Clone, Copy, Default)]
struct Range {
    first: u64,
    count: u64,
}

impl Range {
    fn new(offset: u64, length: usize) -> Self {
        const UNIT: u64 = SECTOR as u64;
        debug_assert!(offset.is_multiple_of(UNIT) && length.is_multiple_of(SECTOR));
        Self { first: offset / UNIT, count: length as u64 / UNIT }
    }

    fn overlaps(self, other: Self) -> bool {
        self.first < other.first + other.count && other.first < self.first + self.count
    }
}

impl Tracker {
    /// Opens the disk's state, or creates it. Refuses state of another disk, size or seed.
    pub fn open(setup: &Setup, disk: &VirtualDisk) -> Result<Self, StateError> {
        let owner = Owner { disk: disk.name.clone(), size: disk.size, seed: setup.seed };
        let state = State::open_or_create(setup.state_dir_of(&disk.name), owner)?;
        Ok(Self {
            state,
            epoch_unix_ns: setup.epoch_unix_ns,
            writes: Slots::default(),
            reads: Slots::default(),
        })
    }

    /// Stops tracking the disk and makes its state durable, so that another host may track it.
    pub fn hand_over(self) -> std::io::Result<()> {
        self.state.sync()
    }

    /// Returns an error if the state cannot be read any more.
    pub fn check(&self) -> Result<(), StateError> {
        self.state.check_length()
    }

    /// Discards the expected content of the whole disk, which is about to change. No block is
    /// verified until it is written again. Nothing may be in flight.
    pub fn forget(&mut self) {
        let sectors = self.state.owner().size.get() / SECTOR as u64;
        self.state.update(0, sectors, |_| Window { issued: 0, acknowledged: 0 });
    }

    /// Stamps the buffer of a write before submission. `offset` is the offset on the disk, in
    /// bytes. Offset and length are multiples of 512. The buffer may already hold a payload: 40
    /// bytes of each sector are overwritten.
    pub fn on_submit_write(
        &mut self,
        now: Nanos,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<WriteTicket, StateError> {
        let (ticket, seal) = self.reserve(now, offset, buffer.len())?;
        seal.apply(buffer);
        Ok(ticket)
    }

    /// Reserves a write without stamping its buffer. This is the first half of
    /// [`Tracker::on_submit_write`], for callers that stamp elsewhere.
    pub fn reserve(
        &mut self,
        now: Nanos,
        offset: u64,
        length: usize,
    ) -> Result<(WriteTicket, Seal), StateError> {
        let range = Range::new(offset, length);
        self.state.separate(range.first, range.count)?;
        let version = self.state.next_version();
        self.state
            .update(range.first, range.count, |window| Window { issued: low(version), ..window });
        let racing = self.writes.live().filter(|write| write.range.overlaps(range));
        let floor = racing.map(|write| write.version).fold(version, u64::min);
        let ticket = self.writes.take(|write| *write = Write { range, version, floor });
        let header = Header {
            identity: self.state.identity(),
            sector: range.first,
            version,
            written_unix_ns: self.epoch_unix_ns.saturating_add(now.0),
        };
        Ok((WriteTicket(ticket), Seal(header)))
    }

    /// Records the result of a write. After an acknowledgement, its version is expected.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is used once")]
    pub fn on_write_done(&mut self, ticket: WriteTicket, result: Written) {
        let Write { range, floor, .. } = *self.writes.give_back(ticket.0);
        if result == Written::Acknowledged {
            self.state.update(range.first, range.count, |window| raise(window, low(floor)));
        }
    }

    /// Records the submission of a read.
    pub fn on_submit_read(&mut self, offset: u64, length: usize) -> ReadTicket {
        let range = Range::new(offset, length);
        let state = &self.state;
        ReadTicket(self.reads.take(|read| {
            read.range = range;
            let sectors = range.first..range.first + range.count;
            read.acknowledged.clear();
            read.acknowledged.extend(sectors.map(|sector| state.window(sector).acknowledged));
        }))
    }

    /// Verifies every sector of a read that was ever written through this tracker. Accepted
    /// versions reach from the last one acknowledged when the read was submitted to the last one
    /// submitted by now.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is used once")]
    pub fn on_read_done(&mut self, ticket: ReadTicket, buffer: &[u8]) -> Result<(), Box<Mismatch>> {
        let read = &*self.reads.give_back(ticket.0);
        let window = |sector| Window {
            acknowledged: read.acknowledged[index(sector - read.range.first)],
            ..self.state.window(sector)
        };
        let mut faults = judge_read(&self.state, read.range, buffer, window);
        match faults.next() {
            None => Ok(()),
            Some(fault) => {
                let more = u32::try_from(faults.count()).unwrap_or(u32::MAX);
                Err(Box::new(describe(&self.state, fault, more)))
            }
        }
    }

    /// Records a read that returned no data.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is used once")]
    pub fn on_read_failed(&mut self, ticket: ReadTicket) {
        self.reads.give_back(ticket.0);
    }
}

/// Judges a range while no request is in flight.
pub fn judge_quiet<'a>(
    state: &'a State,
    offset: u64,
    buffer: &'a [u8],
) -> impl Iterator<Item = Mismatch> + 'a {
    let range = Range::new(offset, buffer.len());
    judge_read(state, range, buffer, |sector| state.window(sector))
        .map(|fault| describe(state, fault, 0))
}

fn judge_read<'a>(
    state: &State,
    range: Range,
    buffer: &'a [u8],
    window: impl Fn(u64) -> Window + 'a,
) -> impl Iterator<Item = Fault> + 'a {
    let context = Context { identity: state.identity(), sequence: state.sequence() };
    blocks(range.first, range.count).filter_map(move |(first, count)| {
        let start = index(first - range.first) * SECTOR;
        judge(context, first, &buffer[start..start + index(count) * SECTOR], &window)
    })
}

/// Raises the oldest accepted version to `floor`, unless a write that was submitted later has
/// already been acknowledged. The distance of the two versions is at most the number of outstanding
/// writes. A larger difference means that the counter has wrapped since.
fn raise(window: Window, floor: u32) -> Window {
    const OUTSTANDING_MAX: u32 = 1 << 24;
    let ahead = window.acknowledged.wrapping_sub(floor);
    let keep = window.acknowledged != 0 && ahead < OUTSTANDING_MAX;
    Window { acknowledged: if keep { window.acknowledged } else { floor }, ..window }
}

#[cold]
fn describe(state: &State, fault: Fault, more_blocks: u32) -> Mismatch {
    let newest = widen(fault.window.issued, state.sequence());
    Mismatch {
        disk: state.owner().disk.clone(),
        offset: fault.sector * SECTOR as u64,
        length: u64::from(fault.sectors) * SECTOR as u64,
        kind: fault.kind,
        expected: Expected { oldest: widen(fault.window.acknowledged, newest), newest },
        found: fault.header.map(|header| FoundHeader {
            disk: name_of(state, header.identity),
            offset: header.sector.saturating_mul(SECTOR as u64),
            version: header.version,
            written_unix_ns: header.written_unix_ns,
        }),
        more_blocks,
    }
}

/// Returns the name of the disk with this identity. It is this disk, or a disk with a state file in
/// the same directory.
fn name_of(state: &State, identity: Identity) -> Option<String> {
    let owner = state.owner();
    if identity == state.identity() {
        return Some(owner.disk.clone());
    }
    neighbours(state.directory())
        .into_iter()
        .find(|name| Identity::new(name, owner.seed) == identity)
}

/// Returns the names of all disks with a state file in the directory.
pub fn neighbours(directory: &HeldDir) -> Vec<String> {
    let names = directory.names().unwrap_or_default();
    names.iter().filter_map(|name| disk_name(name.to_str().ok()?)).collect()
}

fn index(count: u64) -> usize {
    usize::try_from(count).expect("a read fits memory")
}

/// Slots for outstanding requests, which are reused with their memory.
// Not `state_machine::Slab`: a value stays in its slot when it is given back, and its memory is used again.
#[derive(Debug)]
struct Slots<T> {
    places: Vec<(bool, T)>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Slots<T> {
    fn take(&mut self, set: impl FnOnce(&mut T)) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.places.push((false, T::default()));
            u32::try_from(self.places.len() - 1).expect("fewer than 2^32 requests are outstanding")
        });
        let place = &mut self.places[number as usize];
        place.0 = true;
        set(&mut place.1);
        number
    }

    fn give_back(&mut self, number: u32) -> &mut T {
        let place = &mut self.places[number as usize];
        assert!(place.0, "a ticket of this tracker is used once");
        place.0 = false;
        self.free.push(number);
        &mut place.1
    }

    fn live(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter(|place| place.0).map(|place| &place.1)
    }
}
