//! Metadata of a set on its cache device, and repair of damage to the metadata of pages.
//!
//! Pages can be read again, so damage of the table or the pool's log costs only pages. It makes no
//! disk lose its log, as long as the start of each log is certain. This matters because the pool's
//! log also records these starts.

use std::collections::{BTreeMap, VecDeque};

use super::Media;
use super::area::LogArea;
use super::attach::ReadLog;
use super::errors::{OpenError, PageDamage};
use super::log_start::{find_log, read_log};
use super::reader::{Group, Start, Track, in_chunk};
use super::walk::{Walk, Whose, walk};
use crate::event::{IoError, IoTarget};
use crate::format::{
    BLOCK, BLOCK_BYTES, DiskEntry, Kind, Record, SUPERBLOCK_AT, SUPERBLOCK_BYTES, SetState,
    SlotEntry, Superblock, SuperblockError, TABLE_ENTRIES, decode_table, encode_table,
    table_number,
};
use crate::geometry::Geometry;
use crate::machine::log::Log;

/// Number of group numbers that are skipped when the pool's log is restarted, so that no remaining
/// old group has a number that will be used.
const SEQ_LEAP: u64 = 1 << 32;
/// Number of table blocks that are written at once.
const BLOCKS: usize = 64;

pub(super) type Slots = Vec<Option<SlotEntry>>;

/// Returns the valid superblock, and the index of its copy. An unreadable copy counts as damaged,
/// because the other copy has the same content.
pub(super) fn newest(media: &mut dyn Media) -> Result<(Superblock, usize), OpenError> {
    let mut copies = [vec![0; SUPERBLOCK_BYTES], vec![0; SUPERBLOCK_BYTES]];
    let [a, b] =
        [0, 1].map(|copy| media.read(IoTarget::Cache, SUPERBLOCK_AT[copy], &mut copies[copy]));
    let found = Superblock::newest([&copies[0], &copies[1]]);
    match found {
        Err(SuperblockError::None | SuperblockError::Damaged) => {
            a.and(b)?;
            Ok(found?)
        }
        found => Ok(found?),
    }
}

/// Metadata of a set on its cache device.
pub(super) struct Structure {
    pub(super) superblock: Superblock,
    /// Index of the copy from which the superblock was read.
    pub(super) copy: usize,
    pub(super) area: LogArea,
    /// Content of the slots, according to the table and the pool's log. Slots in a damaged block of
    /// the table are known only from the log.
    pub(super) slots: Slots,
    pub(super) pool: Walk,
    /// Number of damaged blocks of the table.
    table_blocks: u64,
}

impl Structure {
    /// Reads the metadata. Maps of a disk's pages are used up to the pool group that `believed_to`
    /// returns.
    pub(super) fn read(
        media: &mut dyn Media,
        believed_to: impl Fn(u16) -> u64,
    ) -> Result<Self, OpenError> {
        let (mut superblock, copy) = newest(media)?;
        let geometry = Geometry::of(&superblock);
        let (mut slots, table_blocks) = read_table(media, &superblock, &geometry);
        for slot in slots.iter_mut().flatten() {
            // The table was written after the last group before the first that counts.
            if believed_to(slot.disk) < superblock.pool_seq.saturating_sub(1) {
                slot.valid = 0;
            }
        }
        let area = LogArea::read(media, geometry);
        let pool = read_pool(media, &mut superblock, &area, &mut slots, believed_to);
        if pool.damage.is_some() {
            // An evicted page may still be in the table, and its blocks may have been written
            // since.
            slots.fill(None);
        }
        Ok(Self { superblock, copy, area, slots, pool, table_blocks })
    }

    /// Returns the metadata of a set that has only its superblock so far.
    pub(super) fn empty(media: &mut dyn Media, mut superblock: Superblock) -> Self {
        let area = LogArea::read(media, Geometry::of(&superblock));
        let mut slots = Slots::new();
        let pool = read_pool(media, &mut superblock, &area, &mut slots, |_| u64::MAX);
        Self { superblock, copy: 0, area, slots, pool, table_blocks: 0 }
    }

    /// Returns the damage of the page table or the pool's log.
    pub(super) fn page_damage(&self) -> PageDamage {
        let pool_group = self.pool.damage.as_ref().map(|damage| damage.group);
        PageDamage { table_blocks: self.table_blocks, pool_group }
    }

    /// Returns the last group of the pool's log that is known to have existed, damaged or not.
    pub(super) fn pool_last(&self) -> u64 {
        let damage = self.pool.damage.as_ref();
        damage.map_or(self.pool.log.last(), |damage| damage.missing_to.max(damage.last))
    }

    /// Returns the pool's log, if it is not damaged.
    pub(super) fn whole_pool(&self) -> Option<&Walk> {
        Some(&self.pool).filter(|pool| pool.damage.is_none())
    }

    /// Reads the logs of all disks of the set.
    pub(super) fn read_logs(
        &mut self,
        media: &mut dyn Media,
    ) -> Result<BTreeMap<u16, ReadLog>, OpenError> {
        let mut logs = BTreeMap::new();
        for (index, entry) in (0..).zip(&mut self.superblock.disks) {
            let Some(entry) = entry else { continue };
            logs.insert(index, read_log_of(media, &self.area, &self.pool, (index, entry))?);
        }
        Ok(logs)
    }

    /// Writes a new table, and restarts the pool's log if it is damaged. Both take effect with the
    /// next superblock.
    pub(super) fn mend(
        &mut self,
        media: &mut dyn Media,
        opening: u64,
        free: &mut VecDeque<u32>,
    ) -> Result<(), OpenError> {
        if self.page_damage().is_none() {
            return Ok(());
        }
        if let Some(damage) = &self.pool.damage {
            let known =
                self.area.chunks_of(self.superblock.set, 0).last().map_or(0, |(_, seq)| *seq);
            let last = known.max(damage.last).max(damage.missing_to).max(self.pool.durable);
            let (chunk, seq) = (free.pop_front().ok_or(OpenError::Full)?, last + SEQ_LEAP);
            self.pool.log = Log::new(self.superblock.set, 0, 0, chunk, seq);
            let next = &mut self.superblock;
            (next.pool_chunk, next.pool_seq, next.pool_durable) = (chunk, seq, seq - 1);
        }
        let [a, b] = self.area.geometry.tables_at();
        let next = &mut self.superblock;
        next.table_at = if next.table_at == a { b } else { a };
        next.table_seq = table_number(opening, 0);
        Ok(write_table(media, next, &self.slots)?)
    }
}

/// Reads a disk's log. If the pool's log is damaged, searches for the start of the disk's log.
pub(super) fn read_log_of(
    media: &mut dyn Media,
    area: &LogArea,
    pool: &Walk,
    (index, entry): (u16, &mut DiskEntry),
) -> Result<ReadLog, OpenError> {
    let Some(damage) = &pool.damage else { return read_log(media, area, entry) };
    let (known, group) = (entry.log_seq, damage.group);
    let found = find_log(media, area, entry)?.ok_or(OpenError::Pool { group, index })?;
    Ok(ReadLog { start_doubt: (entry.log_seq > known).then_some(group), ..found })
}

fn write_table(
    media: &mut dyn Media,
    superblock: &Superblock,
    slots: &Slots,
) -> Result<(), IoError> {
    let mut at = superblock.table_at;
    let blocks: Vec<_> = (0..).zip(slots.chunks(TABLE_ENTRIES)).collect();
    for some in blocks.chunks(BLOCKS) {
        let encode =
            |(index, slots): &(u64, &[_])| encode_table(superblock.table_seq, *index, slots);
        let bytes: Vec<u8> = some.iter().flat_map(|block| *encode(block)).collect();
        media.write(IoTarget::Cache, at, &bytes)?;
        at += bytes.len() as u64;
    }
    Ok(())
}

/// Reads the table. Returns the slots, and the number of blocks that are damaged or unreadable.
fn read_table(media: &mut dyn Media, superblock: &Superblock, geometry: &Geometry) -> (Slots, u64) {
    let mut slots: Slots = vec![None; geometry.slots() as usize];
    let (mut block, mut damaged) = ([0; BLOCK_BYTES], 0);
    for index in 0..geometry.table_blocks() {
        let read = media.read(IoTarget::Cache, superblock.table_at + index * BLOCK, &mut block);
        let entries = read.ok().and_then(|()| decode_table(superblock.table_seq, index, &block));
        damaged += u64::from(entries.is_none());
        let first = usize::try_from(index).unwrap_or(0) * TABLE_ENTRIES;
        for (slot, entry) in slots.iter_mut().skip(first).zip(entries.into_iter().flatten()) {
            *slot = entry;
        }
    }
    (slots, damaged)
}

/// Applies the records of the pool's log to the slots of the table, including the records behind
/// its damage.
fn read_pool(
    media: &mut dyn Media,
    superblock: &mut Superblock,
    area: &LogArea,
    slots: &mut Slots,
    believed_to: impl Fn(u16) -> u64,
) -> Walk {
    let whose = Whose { owner: superblock.set, generation: 0, attach: 0 };
    let mut changes: Vec<(u64, Record)> = Vec::new();
    let durable = superblock.pool_durable;
    let start = Start { durable, ..in_chunk(superblock.pool_chunk, superblock.pool_seq) };
    let walk = walk(media, Track::Chunks(area), whose, start, |group: Group<'_>| {
        changes.extend(group.head.records.iter().map(|record| (group.head.seq, record.clone())));
    });
    // A map counts only if its group is known to be durable: the page's bytes were durable with it.
    let was_clean = superblock.state == SetState::Clean;
    let durable = if was_clean { u64::MAX } else { walk.durable.max(superblock.pool_durable) };
    for (seq, record) in changes {
        apply(superblock, slots, &record, seq <= durable.min(believed_to(record.disk)));
    }
    if superblock.has_tags {
        // The slot may hold a page of an earlier attachment, or of an earlier disk with this index.
        // The page is named so that the slot gets unmapped, but none of its blocks counts.
        let tags: Vec<_> =
            superblock.disks.iter().map(|disk| disk.as_ref().map(DiskEntry::tag)).collect();
        let is_over = |slot: &&mut SlotEntry| {
            tags.get(usize::from(slot.disk)).is_none_or(|tag| *tag != Some(slot.tag))
        };
        slots.iter_mut().flatten().filter(is_over).for_each(|slot| slot.valid = 0);
    }
    walk
}

fn apply(superblock: &mut Superblock, slots: &mut Slots, record: &Record, is_durable: bool) {
    let slot = slots.get_mut(record.place as usize);
    match (record.kind, slot) {
        (Kind::Map, Some(slot)) => {
            let Some(sums) = record.sums.clone() else { return };
            let valid = u16::try_from(record.bytes).unwrap_or(0);
            // A map that is not durable may have taken effect or not: the page is named, but none
            // of its blocks counts.
            *slot = Some(SlotEntry {
                page: record.offset,
                disk: record.disk,
                valid: if is_durable { valid } else { 0 },
                age: slot.as_ref().map_or(u32::MAX, |slot| slot.age),
                tag: record.tag,
                log_seq: record.sum,
                sums,
            });
        }
        (Kind::Unmap, Some(slot)) => *slot = None,
        (Kind::LogStart, _) => {
            let has_tags = superblock.has_tags;
            if let Some(Some(disk)) = superblock.disks.get_mut(usize::from(record.disk))
                && record.offset > disk.log_seq
                && (!has_tags || record.tag == disk.tag())
            {
                (disk.log_chunk, disk.log_seq) = (record.bytes, record.offset);
            }
        }
        _ => {}
    }
}
