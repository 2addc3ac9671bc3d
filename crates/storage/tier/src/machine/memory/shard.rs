use cache::{Outcome, Policy, PolicyKind, Slot};

use super::{BLOCK_CELLS, Fx, Opened, UNIT_BLOCKS, disk_of, page_id};
use crate::event::{Effect, MemoryCells};

/// Divisor of the number of cells: when a policy's capacity is computed, this part of the cells is
/// left free.
const SPARE: u64 = 32;
/// Divisor of the number of cells: if at least this part is free although the policy is full, the
/// policy is rebuilt for more units.
const IDLE: u32 = 16;

/// Resident unit, or a former one.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    unit: u64,
    /// Number of the change at which the unit was admitted or last written.
    version: u32,
    /// Number of the use at which the unit was used last.
    used: u32,
    /// For each block of the unit: its first cell. The field `cells` has the number of cells, 0 for
    /// a missing block.
    first: [u32; UNIT_BLOCKS],
    cells: [u8; UNIT_BLOCKS],
    is_in: bool,
}

impl Unit {
    pub(super) fn has(&self, bit: u8) -> bool {
        self.cells[usize::from(bit)] > 0
    }

    pub(super) fn kept(&self, bit: u8) -> Option<MemoryCells> {
        let at = usize::from(bit);
        self.has(bit).then(|| MemoryCells { first: self.first[at], cells: self.cells[at] })
    }

    fn is_empty(&self) -> bool {
        self.cells == [0; UNIT_BLOCKS]
    }
}

/// Numbers of blocks and cells that a disk uses.
#[derive(Debug, Clone, Copy, Default)]
struct DiskUsage {
    blocks: u32,
    cells: u32,
}

/// Shard of the memory, and the units in it.
#[derive(Debug, Clone)]
pub(super) struct Shard {
    policy: Box<dyn Policy>,
    /// Index of each resident unit in `units`, by the policy's slot.
    places: Vec<u32>,
    // Not `state_machine::Slab`: the search for a victim goes round by position.
    units: Vec<Unit>,
    free: Vec<u32>,
    cells: u32,
    /// Number of cells in use or reserved.
    taken: u32,
    /// Numbers of blocks and cells, by disk index.
    held: Vec<DiskUsage>,
    /// Index of the unit at which the search for a disk's next victim continues.
    hand: usize,
}

impl Shard {
    pub(super) fn new(cells: u32, kind: PolicyKind) -> Self {
        let per = u32::from(BLOCK_CELLS) * u32::try_from(UNIT_BLOCKS).unwrap_or(1);
        let policy = kind.build((cells / per).max(1) as usize);
        Self {
            places: vec![0; policy.slots()],
            policy,
            units: Vec::new(),
            free: Vec::new(),
            cells,
            taken: 0,
            held: Vec::new(),
            hand: 0,
        }
    }

    pub(super) fn cells(&self) -> u32 {
        self.cells
    }

    /// Returns the number of blocks and the number of their cells, of one disk or of all disks.
    pub(super) fn held(&self, disk: Option<u16>) -> (u32, u32) {
        let of = |held: &DiskUsage| (held.blocks, held.cells);
        match disk {
            Some(disk) => self.held.get(usize::from(disk)).map_or((0, 0), of),
            None => {
                self.held.iter().map(of).fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1))
            }
        }
    }

    /// Returns the maximum memory for tracking units, in bytes. A policy takes at most 49 bytes for
    /// each of its slots (`cache::Slab`).
    pub(super) fn known_by_bytes(&self) -> u64 {
        let of_policy = 49 * self.policy.slots().min(2 * self.units.len());
        let own = self.units.capacity() * size_of::<Unit>();
        (of_policy + own + 4 * (self.places.capacity() + self.free.capacity())) as u64
    }

    fn place(&self, unit: u64) -> Option<u32> {
        self.policy.find(page_id(unit)).map(|slot| self.places[slot.position()])
    }

    pub(super) fn find(&self, unit: u64) -> Option<&Unit> {
        self.place(unit).map(|place| &self.units[place as usize])
    }

    /// Returns the unit at an index, if it has not changed since `version`.
    pub(super) fn at(&self, place: u32, version: u32) -> Option<&Unit> {
        self.units.get(place as usize).filter(|unit| unit.is_in && unit.version == version)
    }

    pub(super) fn touch(&mut self, unit: u64, uses: u32) {
        if let Some(slot) = self.policy.touch(page_id(unit)) {
            self.units[self.places[slot.position()] as usize].used = uses;
        }
    }

    /// Returns the index of a unit, and its version. A missing unit is admitted with the given
    /// version and use.
    pub(super) fn open(
        &mut self,
        unit: u64,
        now: (u32, u32),
        kind: PolicyKind,
        fx: &mut Fx,
    ) -> (u32, u32) {
        if let Some(place) = self.place(unit) {
            return (place, self.units[place as usize].version);
        }
        let is_full = self.policy.len() == self.policy.capacity();
        if is_full
            && self.taken < self.cells - self.cells / IDLE
            && self.fitting() > self.policy.len()
        {
            self.refit(kind, 0, fx);
        }
        let Outcome::Miss { slot, evicted } = self.policy.reference(page_id(unit)) else {
            unreachable!("the unit was not resident")
        };
        if let Some(evicted) = evicted {
            self.leave(evicted.slot, fx);
        }
        let (version, used) = now;
        let (first, cells) = ([0; UNIT_BLOCKS], [0; UNIT_BLOCKS]);
        let new = Unit { unit, version, used, first, cells, is_in: true };
        let place = match self.free.pop() {
            Some(place) => {
                self.units[place as usize] = new;
                place
            }
            None => {
                self.units.push(new);
                u32::try_from(self.units.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.places[slot.position()] = place;
        (place, version)
    }

    /// Drops the blocks of a unit that was removed from the policy.
    fn leave(&mut self, slot: Slot, fx: &mut Fx) {
        let place = self.places[slot.position()];
        self.empty(place, u8::MAX, fx);
        self.units[place as usize].is_in = false;
        self.free.push(place);
    }

    /// Drops these blocks of a unit.
    fn empty(&mut self, place: u32, bits: u8, fx: &mut Fx) {
        let unit = &mut self.units[place as usize];
        let disk = disk_of(unit.unit);
        let mut left = DiskUsage::default();
        for (bit, (first, cells)) in unit.first.iter().zip(&mut unit.cells).enumerate() {
            if bits & (1 << bit) != 0 && *cells > 0 {
                left.blocks += 1;
                left.cells += u32::from(*cells);
                fx.push(Effect::Forget(MemoryCells {
                    first: *first,
                    cells: std::mem::take(cells),
                }));
            }
        }
        self.taken -= left.cells;
        let held = self.own(disk);
        held.blocks -= left.blocks;
        held.cells -= left.cells;
    }

    fn own(&mut self, disk: u16) -> &mut DiskUsage {
        let at = usize::from(disk);
        if self.held.len() <= at {
            self.held.resize(at + 1, DiskUsage::default());
        }
        &mut self.held[at]
    }

    /// Drops written blocks of a unit. If no blocks are left, the unit is removed.
    pub(super) fn written(&mut self, unit: u64, bits: u8, version: u32, fx: &mut Fx) {
        let Some(place) = self.place(unit) else { return };
        self.empty(place, bits, fx);
        let found = &mut self.units[place as usize];
        found.version = version;
        if found.is_empty()
            && let Some(slot) = self.policy.remove(page_id(unit))
        {
            self.leave(slot, fx);
        }
    }

    /// Makes room for an uncompressed block, both in the disk's share and in the shard. Returns
    /// false if there is no room.
    pub(super) fn make_room(
        &mut self,
        disk: u16,
        share: u8,
        kind: PolicyKind,
        fx: &mut Fx,
    ) -> bool {
        let wanted = u32::from(BLOCK_CELLS);
        let most = u64::from(self.cells) * u64::from(share) / 100;
        while share < 100 && u64::from(self.own(disk).cells + wanted) > most {
            if !self.evict_own(disk, fx) {
                return false;
            }
        }
        if self.taken + wanted > self.cells {
            self.refit(kind, wanted, fx);
        }
        self.taken + wanted <= self.cells
    }

    /// Evicts the next unit of a disk, starting at the hand, so that a disk with many reads evicts
    /// only its own units. Returns false if no unit of the disk has blocks.
    pub(super) fn evict_own(&mut self, disk: u16, fx: &mut Fx) -> bool {
        for _ in 0..self.units.len() {
            self.hand = (self.hand + 1) % self.units.len();
            let unit = &self.units[self.hand];
            if unit.is_in && !unit.is_empty() && disk_of(unit.unit) == disk {
                let slot =
                    self.policy.remove(page_id(unit.unit)).expect("a resident unit has a slot");
                self.leave(slot, fx);
                return true;
            }
        }
        false
    }

    pub(super) fn take(&mut self, disk: u16, cells: u8) {
        self.taken += u32::from(cells);
        self.own(disk).cells += u32::from(cells);
    }

    pub(super) fn give(&mut self, disk: u16, cells: u8) {
        self.taken -= u32::from(cells);
        self.own(disk).cells -= u32::from(cells);
    }

    /// Records the cells of a stored block. Returns false if its unit has changed since.
    pub(super) fn put(&mut self, opened: Opened, bit: u8, kept: MemoryCells) -> bool {
        if self.at(opened.place, opened.version).is_none_or(|unit| unit.has(bit)) {
            return false;
        }
        let unit = &mut self.units[opened.place as usize];
        (unit.first[usize::from(bit)], unit.cells[usize::from(bit)]) = (kept.first, kept.cells);
        let disk = disk_of(opened.unit);
        self.take(disk, kept.cells);
        self.own(disk).blocks += 1;
        true
    }

    /// Returns the number of units that fit, if their average size stays the same.
    fn fitting(&self) -> usize {
        let room = u64::from(self.cells) * (SPARE - 1) / SPARE;
        let fit = room * self.policy.len() as u64 / u64::from(self.taken.max(1));
        usize::try_from(fit.clamp(1, self.cells.into())).unwrap_or(1)
    }

    /// Rebuilds the policy for the number of units that fit now, with room for `wanted` cells. The
    /// least recently used units are evicted. This is needed because a policy has a fixed capacity,
    /// but the size of units changes with their content.
    pub(super) fn refit(&mut self, kind: PolicyKind, wanted: u32, fx: &mut Fx) {
        let fit = self.fitting();
        let mut left = self.policy.len();
        for place in self.by_use() {
            if left <= fit && self.taken + wanted <= self.cells {
                break;
            }
            let unit = self.units[place as usize].unit;
            let slot = self.policy.remove(page_id(unit)).expect("a resident unit has a slot");
            self.leave(slot, fx);
            left -= 1;
        }
        self.build(kind, fit.max(left));
    }

    /// Rebuilds the policy with another kind.
    pub(super) fn rebuild(&mut self, kind: PolicyKind) {
        self.build(kind, self.policy.capacity());
    }

    fn build(&mut self, kind: PolicyKind, capacity: usize) {
        let mut policy = kind.build(capacity);
        self.places = vec![0; policy.slots()];
        for place in self.by_use() {
            let slot = policy.reference(page_id(self.units[place as usize].unit)).slot();
            self.places[slot.position()] = place;
        }
        self.policy = policy;
    }

    /// Returns the indexes of resident units, the least recently used first.
    fn by_use(&self) -> Vec<u32> {
        let mut places: Vec<u32> =
            (0..).zip(&self.units).filter(|(_, unit)| unit.is_in).map(|(place, _)| place).collect();
        places.sort_unstable_by_key(|place| (self.units[*place as usize].used, *place));
        places
    }
}
