//! The memory tier: which blocks the driver keeps in memory, above the pages and below what was written.
//!
//! It decides which *units* of 16 KiB are in and which leaves, by policies of `cache` as pages do; of a unit only those
//! blocks are kept that were read. Where a block lies, and how many *cells* it takes there, the driver says when it
//! has put it there ([`crate::Event::Kept`]): compressed sizes are known to it alone. Until then a block counts as one that
//! is kept as it is.
//!
//! It refuses: writes (they make what they cover leave, and what is written comes in when it is read), parts of
//! blocks, and anything that was written since its read was accepted.
//!
//! Invariants: what is kept is what a read would find below whatever lies over it; cells that are taken, with those of
//! blocks on their way, are never more than there are.

mod shard;
#[cfg(test)]
mod tests;

use std::ops::Range;

use cache::{PageId, PolicyKind};

use super::Fx;
use crate::event::{Effect, Kept};
use shard::Shard;

/// Bytes of a cell, by which memory is given out: one in eight of a block, so that compression which saves less
/// than an eighth saves nothing.
pub const CELL_BYTES: u32 = 512;
/// Cells of a block that is kept as it is.
pub const BLOCK_CELLS: u8 = 8;
/// Blocks of a unit. What a policy and this module know of one is shared by its blocks (`docs/developers/adr/0022-memory-tier.md`).
const UNIT_BLOCKS: usize = 4;
/// Cells of a shard, 64 MiB. Each has a policy of its own, which is made anew when more or fewer units fit
/// ([`Shard::refit`]): that takes milliseconds for one, and would take a second for all of a large memory.
const SHARD_CELLS: u64 = 1 << 17;

/// A place for blocks that are on their way in, as it was when their read was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opened {
    unit: u64,
    shard: u32,
    place: u32,
    version: u32,
    /// Which of its blocks may come in.
    bits: u8,
}

impl Opened {
    /// One more block may come in, if it is of the same unit.
    pub(super) fn add(&mut self, disk: u16, block: u64) -> bool {
        let (unit, bit) = unit_of(disk, block);
        let is_same = unit == self.unit;
        self.bits |= u8::from(is_same) << bit;
        is_same
    }

    /// That of a block, of some in the order of their units.
    pub(super) fn of(opened: &[Self], disk: u16, block: u64) -> Option<Self> {
        let (unit, bit) = unit_of(disk, block);
        let found = opened.binary_search_by_key(&unit, |opened| opened.unit).ok()?;
        Some(opened[found]).filter(|opened| opened.bits & (1 << bit) != 0)
    }
}

/// What is in memory, of a disk or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryStatus {
    /// Bytes that there are for blocks.
    pub bytes: u64,
    /// Bytes of blocks that are kept.
    pub held_bytes: u64,
    /// Bytes that these take.
    pub taken_bytes: u64,
    /// Bytes that the machine takes to know of them, at most.
    pub known_by_bytes: u64,
}

/// Blocks that the driver keeps.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    shards: Vec<Shard>,
    kind: PolicyKind,
    /// By disk, percent that it may have, where that is not all.
    shares: Vec<u8>,
    /// Counts changes of units.
    version: u32,
    /// Counts uses of units.
    uses: u32,
}

impl Memory {
    /// So many bytes, all free; with less than a block there is none.
    pub(crate) fn new(bytes: u64, kind: PolicyKind) -> Self {
        let cells = bytes / u64::from(CELL_BYTES);
        let cells = if cells < u64::from(BLOCK_CELLS) { 0 } else { cells };
        let count = cells.div_ceil(SHARD_CELLS);
        let shards =
            (0..count).map(|_| Shard::new(u32::try_from(cells / count).unwrap_or(u32::MAX), kind));
        Self { shards: shards.collect(), kind, shares: Vec::new(), version: 0, uses: 0 }
    }

    /// Whether there is any.
    pub(super) fn is_on(&self) -> bool {
        !self.shards.is_empty()
    }

    fn shard_of(&self, unit: u64) -> usize {
        let mixed = unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        usize::try_from(mixed % self.shards.len() as u64).unwrap_or(0)
    }

    /// A use of the units of these blocks, of each one that is in.
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

    /// Where a block is. No use of it.
    pub(super) fn find(&self, disk: u16, block: u64) -> Option<Kept> {
        if !self.is_on() {
            return None;
        }
        let (unit, bit) = unit_of(disk, block);
        self.shards[self.shard_of(unit)].find(unit)?.kept(bit)
    }

    /// Lets the unit of a block in that is about to be read, if its disk may have any. One that is in stays as it is.
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

    /// Whether a block that was read may come to where it was to: nobody wrote to its unit since, that is still in,
    /// and there is room, which is set aside for [`Memory::kept`].
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

    /// A block is there. It was not written since it was admitted, or is given up.
    pub(super) fn kept(&mut self, opened: Opened, block: u64, kept: Kept, fx: &mut Fx) {
        let disk = disk_of(opened.unit);
        let shard = &mut self.shards[opened.shard as usize];
        shard.give(disk, BLOCK_CELLS);
        if !shard.put(opened, bit_of(block), kept) {
            fx.push(Effect::Forget(kept));
        }
    }

    /// These blocks are written: they are true no more, and nothing that is on its way into their units is.
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

    /// Up to so many units leave of a disk of which nothing comes in any more. Whether there are others.
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

    /// A disk may have so much of it from now on; what it has beyond leaves as it asks for more.
    pub(super) fn set_share(&mut self, disk: u16, percent: u8) {
        let at = usize::from(disk);
        if self.shares.len() <= at {
            self.shares.resize(at + 1, 100);
        }
        self.shares[at] = percent.min(100);
    }

    /// Another policy decides from now on. It learns what is in from the order of the last uses.
    pub(super) fn set_policy(&mut self, kind: PolicyKind) {
        self.kind = kind;
        self.shards.iter_mut().for_each(|shard| shard.rebuild(kind));
    }

    /// What is there: of one disk, or of all.
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

/// A block's unit, by the policy's number, and which of its blocks it is.
fn unit_of(disk: u16, block: u64) -> (u64, u8) {
    let number = block / UNIT_BLOCKS as u64;
    (u64::from(disk) << 48 | number, bit_of(block))
}

/// The units that blocks are of, by their number on the disk.
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
