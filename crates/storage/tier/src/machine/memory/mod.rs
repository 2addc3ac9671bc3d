//! Memory tier: the choice of blocks that the driver keeps in memory, above the pages and below the
//! overlay.
//!
//! This module chooses which *units* of 16 KiB are in memory and which are evicted, by policies of
//! `cache`, as for pages. Only those blocks of a unit are kept that were read. After storing a
//! block, the driver reports its location and its number of *cells* ([`crate::Event::Kept`]),
//! because only the driver knows the compressed size. Until then a block counts as uncompressed.
//!
//! Not stored: writes (they drop the blocks that they cover; written blocks are admitted when they
//! are read), parts of blocks, and blocks that were written since their read was accepted.
//!
//! Invariants: a stored block equals the data that a read would find below the overlay. The cells
//! in use, together with those reserved for blocks being stored, never exceed the existing cells.

mod shard;
#[cfg(test)]
mod tests;

use std::ops::Range;

use cache::{PageId, PolicyKind};

use super::Fx;
use crate::event::{Effect, MemoryCells};
use shard::Shard;

/// Size of a cell, the unit of memory, in bytes. It is an eighth of a block, so compression that
/// saves less than an eighth saves nothing.
pub const CELL_BYTES: u32 = 512;
/// Number of cells of an uncompressed block.
pub const BLOCK_CELLS: u8 = 8;
/// Number of blocks in a unit. They share the state that a policy and this module keep for the unit
/// (`docs/developers/adr/0022-memory-tier.md`).
const UNIT_BLOCKS: usize = 4;
/// Number of cells in a shard: 64 MiB. Each shard has its own policy, which is rebuilt when more or
/// fewer units fit ([`Shard::refit`]). This takes milliseconds for one shard, and would take a
/// second for a whole large memory.
const SHARD_CELLS: u64 = 1 << 17;

/// Place for blocks of a unit that are being read, as it was when their read was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opened {
    unit: u64,
    shard: u32,
    place: u32,
    version: u32,
    /// Blocks of the unit that may be admitted, one bit each.
    bits: u8,
}

impl Opened {
    /// Adds a block, if it belongs to the same unit.
    pub(super) fn add(&mut self, disk: u16, block: u64) -> bool {
        let (unit, bit) = unit_of(disk, block);
        let is_same = unit == self.unit;
        self.bits |= u8::from(is_same) << bit;
        is_same
    }

    /// Finds the place for a block among `opened`, which is sorted by unit.
    pub(super) fn of(opened: &[Self], disk: u16, block: u64) -> Option<Self> {
        let (unit, bit) = unit_of(disk, block);
        let found = opened.binary_search_by_key(&unit, |opened| opened.unit).ok()?;
        Some(opened[found]).filter(|opened| opened.bits & (1 << bit) != 0)
    }
}

/// Use of the memory tier, by one disk or by all disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryStatus {
    /// Size of the memory for blocks, in bytes.
    pub bytes: u64,
    /// Uncompressed size of the stored blocks, in bytes.
    pub held_bytes: u64,
    /// Memory that these blocks take, in bytes.
    pub taken_bytes: u64,
    /// Maximum memory that the state machine uses to track these blocks, in bytes.
    pub known_by_bytes: u64,
}

/// Blocks that the driver stores in memory.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    shards: Vec<Shard>,
    kind: PolicyKind,
    /// Shares in percent, by disk index; 100 if absent.
    shares: Vec<u8>,
    /// Number of changes of units so far.
    version: u32,
    /// Number of uses of units so far.
    uses: u32,
}

impl Memory {
    /// Creates a memory tier of `bytes`, all free. If it is smaller than a block, it is off.
    pub(crate) fn new(bytes: u64, kind: PolicyKind) -> Self {
        let cells = bytes / u64::from(CELL_BYTES);
        let cells = if cells < u64::from(BLOCK_CELLS) { 0 } else { cells };
        let count = cells.div_ceil(SHARD_CELLS);
        let shards =
            (0..count).map(|_| Shard::new(u32::try_from(cells / count).unwrap_or(u32::MAX), kind));
        Self { shards: shards.collect(), kind, shares: Vec::new(), version: 0, uses: 0 }
    }

    /// Returns true if there is a memory tier.
    pub(super) fn is_on(&self) -> bool {
        !self.shards.is_empty()
    }

    fn shard_of(&self, unit: u64) -> usize {
        let mixed = unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        usize::try_from(mixed % self.shards.len() as u64).unwrap_or(0)
    }

    /// Records a use of the resident units of these blocks.
    pub(super) fn touch(&mut self, disk: u16, blocks: Range<u64>) {
        if !self.is_on() {
            return;
        }
        self.uses = self.uses.wrapping_add(1);
        for number in units_of(&blocks) {
            let unit = unit_of(disk, number * UNIT_BLOCKS as u64).0;
            let shard = self.shard_of(unit);
            self.shards[shard].touch(unit, self.uses);
        }
    }

    /// Returns the cells of a block, without counting a use.
    pub(super) fn find(&self, disk: u16, block: u64) -> Option<MemoryCells> {
        if !self.is_on() {
            return None;
        }
        let (unit, bit) = unit_of(disk, block);
        self.shards[self.shard_of(unit)].find(unit)?.kept(bit)
    }

    /// Opens a place for a block that is about to be read, if its disk may have any. A resident
    /// unit is not changed.
    pub(super) fn open(&mut self, disk: u16, block: u64, fx: &mut Fx) -> Option<Opened> {
        if !self.is_on() || self.share_of(disk) == 0 {
            return None;
        }
        let (unit, bit) = unit_of(disk, block);
        let shard = self.shard_of(unit);
        self.version = self.version.wrapping_add(1);
        let (place, version) =
            self.shards[shard].open(unit, (self.version, self.uses), self.kind, fx);
        let shard = u32::try_from(shard).unwrap_or(u32::MAX);
        Some(Opened { unit, shard, place, version, bits: 1 << bit })
    }

    /// Returns true if a block that was read may be stored in its place: its unit was not written
    /// since, the block is not stored yet, and there is room. The room is reserved until
    /// [`Memory::kept`].
    pub(super) fn admit(&mut self, opened: Opened, block: u64, fx: &mut Fx) -> bool {
        let (disk, bit) = (disk_of(opened.unit), bit_of(block));
        let (share, kind) = (self.share_of(disk), self.kind);
        let shard = &mut self.shards[opened.shard as usize];
        let is_wanted = |shard: &Shard| {
            shard.at(opened.place, opened.version).is_some_and(|unit| !unit.has(bit))
        };
        if !is_wanted(shard) || !shard.make_room(disk, share, kind, fx) || !is_wanted(shard) {
            return false;
        }
        shard.take(disk, BLOCK_CELLS);
        true
    }

    /// Records that a block was stored. The block is dropped if its unit was written since it was
    /// admitted.
    pub(super) fn kept(&mut self, opened: Opened, block: u64, kept: MemoryCells, fx: &mut Fx) {
        let disk = disk_of(opened.unit);
        let shard = &mut self.shards[opened.shard as usize];
        shard.give(disk, BLOCK_CELLS);
        if !shard.put(opened, bit_of(block), kept) {
            fx.push(Effect::Forget(kept));
        }
    }

    /// Drops blocks that are written, and cancels the storing of other blocks of their units.
    pub(super) fn written(&mut self, disk: u16, blocks: Range<u64>, fx: &mut Fx) {
        if !self.is_on() {
            return;
        }
        let per = UNIT_BLOCKS as u64;
        for number in units_of(&blocks) {
            let (unit, _) = unit_of(disk, number * per);
            let bits = (0..per)
                .filter(|bit| blocks.contains(&(number * per + bit)))
                .fold(0_u8, |bits, bit| bits | 1 << bit);
            self.version = self.version.wrapping_add(1);
            let shard = self.shard_of(unit);
            self.shards[shard].written(unit, bits, self.version, fx);
        }
    }

    /// Evicts up to `most` units of a disk that admits no blocks any more. Returns true if some are
    /// left.
    pub(super) fn give_up(&mut self, disk: u16, most: usize, fx: &mut Fx) -> bool {
        let mut left = most;
        for shard in &mut self.shards {
            while shard.held(Some(disk)).0 > 0 {
                if left == 0 {
                    return true;
                }
                left -= 1;
                shard.evict_own(disk, fx);
            }
        }
        false
    }

    fn share_of(&self, disk: u16) -> u8 {
        self.shares.get(usize::from(disk)).copied().unwrap_or(100)
    }

    /// Sets the share of a disk. Blocks above the share are evicted when the disk stores the next
    /// blocks.
    pub(super) fn set_share(&mut self, disk: u16, percent: u8) {
        let at = usize::from(disk);
        if self.shares.len() <= at {
            self.shares.resize(at + 1, 100);
        }
        self.shares[at] = percent.min(100);
    }

    /// Sets another policy. The resident units are inserted in the order of their last uses.
    pub(super) fn set_policy(&mut self, kind: PolicyKind) {
        self.kind = kind;
        self.shards.iter_mut().for_each(|shard| shard.rebuild(kind));
    }

    /// Returns the use of the memory tier, by one disk or by all disks.
    pub(super) fn status(&self, disk: Option<u16>) -> MemoryStatus {
        let mut sum = MemoryStatus::default();
        for shard in &self.shards {
            let (blocks, cells) = shard.held(disk);
            sum.bytes += u64::from(shard.cells()) * u64::from(CELL_BYTES);
            sum.held_bytes += u64::from(blocks) * 4096;
            sum.taken_bytes += u64::from(cells) * u64::from(CELL_BYTES);
            sum.known_by_bytes += shard.known_by_bytes();
        }
        sum
    }
}

/// Returns the policy's number of a block's unit, and the block's index in the unit.
fn unit_of(disk: u16, block: u64) -> (u64, u8) {
    let number = block / UNIT_BLOCKS as u64;
    (u64::from(disk) << 48 | number, bit_of(block))
}

/// Returns the units that a range of blocks touches, by their number on the disk.
fn units_of(blocks: &Range<u64>) -> Range<u64> {
    blocks.start / UNIT_BLOCKS as u64..blocks.end.div_ceil(UNIT_BLOCKS as u64)
}

fn bit_of(block: u64) -> u8 {
    u8::try_from(block % UNIT_BLOCKS as u64).unwrap_or(0)
}

fn disk_of(unit: u64) -> u16 {
    u16::try_from(unit >> 48).unwrap_or(u16::MAX)
}

fn page_id(unit: u64) -> PageId {
    PageId(unit)
}
