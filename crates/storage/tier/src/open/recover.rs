use std::collections::{BTreeMap, VecDeque};

use super::Media;
use super::accept::word_for_cache;
use super::attach::{Attached, ReadLog, Touched, attach};
use super::copies::{put_sidecar, put_superblock};
use super::errors::{AttachError, Attachment, Damaged, OpenError, PageDamage, Settings, Skipped};
use super::structure::{Slots, Structure, newest};
use super::walk::{Walk, clear_end};
use crate::event::{IoError, IoTarget};
use crate::format::{DiskEntry, HOLDERS, Match, SetState, SlotEntry, Superblock};
use crate::geometry::Geometry;
use crate::machine::log::LogChunk;
use crate::machine::pages::PageIndex;
use crate::machine::pool::Item;
use crate::machine::{Memory, Pool, Roster, Tier};

/// Opened set, with a summary of its recovery.
#[derive(Debug, Clone)]
pub struct Opened {
    /// State machine of the set.
    pub tier: Tier,
    /// True if the set had been closed in order.
    pub was_clean: bool,
    /// Number of recovered pages that can be served.
    pub pages: usize,
    /// Number of writes that are not destaged.
    pub writes: usize,
    /// Damage of the page table or the pool's log; the affected pages are no longer valid.
    pub damage: PageDamage,
    /// Damage of logs that causes no loss of a write, with the index of the disk.
    pub skipped: Vec<(u16, Skipped)>,
}

/// Disk of a set, as described by its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExaminedDisk {
    /// Index of the disk in the set.
    pub index: u16,
    /// Entry of the disk in the superblock.
    pub entry: DiskEntry,
    /// Number of groups that follow each other and match their checksums.
    pub groups: u64,
    /// Number of writes that the backing store may lack, according to the log alone.
    pub writes: usize,
    /// Size of these writes, in bytes.
    pub bytes: u64,
    /// Damage, if groups are missing that were durable.
    pub damage: Option<Damaged>,
    /// Skipped groups, if groups are missing whose writes the backing store has. The counts above
    /// are then those of the groups behind them.
    pub skipped: Option<Skipped>,
}

/// Content of a set, read without changing anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Superblock of the set.
    pub superblock: Superblock,
    /// Number of pages that are valid if their disks have not been changed meanwhile.
    pub pages: usize,
    /// Disks of the set.
    pub disks: Vec<ExaminedDisk>,
    /// Damage of the page table or the pool's log.
    pub damage: PageDamage,
}

impl Tier {
    /// Reads all metadata of a set, as opening does, and changes nothing.
    ///
    /// # Errors
    /// [`OpenError`]: the reason why the set would not open, as far as it can be found without
    /// backing stores.
    pub fn examine(media: &mut dyn Media) -> Result<Examined, OpenError> {
        let mut structure = Structure::read(media, |_| u64::MAX)?;
        let logs = structure.read_logs(media)?;
        free_chunks(&structure, &logs)?;
        let Structure { superblock, slots, .. } = &structure;
        let disks = logs.into_iter().filter_map(|(index, found)| {
            let entry = superblock.disks[usize::from(index)].clone()?;
            let waiting = || found.unretired().filter(|(.., logged)| logged.bytes > 0);
            Some(ExaminedDisk {
                index,
                groups: found.walk.log.last() + 1 - entry.log_seq.max(found.walk.log.whole_from()),
                skipped: found.skipped,
                writes: waiting().count(),
                bytes: waiting().map(|(.., logged)| u64::from(logged.bytes)).sum(),
                damage: found.damaged(),
                entry,
            })
        });
        Ok(Examined {
            pages: slots.iter().flatten().filter(|slot| slot.valid != 0).count(),
            disks: disks.collect(),
            superblock: superblock.clone(),
            damage: structure.page_damage(),
        })
    }

    /// Reads the superblock of a cache device.
    ///
    /// # Errors
    /// If there is no set, or none that this program version can use.
    pub fn inspect(media: &mut dyn Media) -> Result<Superblock, OpenError> {
        Ok(newest(media)?.0)
    }

    /// Opens a set for these disks. Only pages that are proven valid are served. When the state
    /// machine starts, it has all writes of the logs that the backing stores may lack.
    ///
    /// # Errors
    /// [`OpenError`]. Nothing is changed then except sidecars of disks before the one that failed,
    /// and torn ends of logs.
    pub fn open(
        media: &mut dyn Media,
        settings: Settings,
        disks: &[Attachment],
    ) -> Result<Opened, OpenError> {
        let structure = Structure::read(media, |index| believed_to(disks, index))?;
        Self::open_found(media, structure, settings, disks)
    }

    /// Opens a set whose metadata has been read.
    pub(super) fn open_found(
        media: &mut dyn Media,
        mut structure: Structure,
        settings: Settings,
        disks: &[Attachment],
    ) -> Result<Opened, OpenError> {
        let was_clean = structure.superblock.state == SetState::Clean;
        check_attachments(&structure.superblock, &structure.area.geometry, disks)?;
        check_place(&structure.superblock, &settings)?;
        let mut logs = structure.read_logs(media)?;
        let mut free = free_chunks(&structure, &logs)?;
        let damage = structure.page_damage();
        let (mut opened, mut skipped): (Vec<Option<Attached>>, _) = (Vec::new(), Vec::new());
        opened.resize_with(structure.superblock.disks.len(), || None);
        for disk in disks {
            let index = usize::from(disk.index);
            let found = logs.remove(&disk.index);
            let missing = found.as_ref().and_then(|found| found.skipped);
            skipped.extend(missing.map(|missing| (disk.index, missing)));
            let pool = structure.pool_last();
            let superblock = &mut structure.superblock;
            let mut attached = attach(media, superblock, settings.session, disk, found, pool)?;
            free.extend(attached.spare.drain(..));
            if attached.disk.wants_chunk() {
                attached.disk.take_chunk(free.pop_front().ok_or(OpenError::Full)?);
            }
            superblock.disks[index] = Some(attached.disk.entry.clone());
            opened[index] = Some(attached);
        }
        structure.mend(media, settings.session.opening, &mut free)?;
        let Structure { mut superblock, copy, slots, pool, area, .. } = structure;
        let geometry = area.geometry;
        clear_end(media, &area, &pool.log)?;
        opened.iter().flatten().try_for_each(|attached| attached.clear_end(media, &area))?;
        superblock.seq += 1;
        superblock.opens += 1;
        superblock.state = SetState::Open;
        (superblock.has_tags, superblock.has_numbers) = (true, true);
        superblock.place = settings.place;
        let copy = 1 - copy;
        begin(media, &superblock, copy, &mut opened)?;
        let writes =
            opened.iter().flatten().map(|attached| attached.disk.destager.write_count()).sum();
        let pages = PageIndex::new(&geometry, settings.policy, settings.admission);
        let memory = Memory::new(settings.memory_bytes, settings.policy);
        let pool = Pool::new(pool.log);
        let mut tier = {
            let opening = settings.session.opening;
            Self::new(geometry, Roster::new(superblock, copy), opening, (pages, memory), pool, free)
        };
        tier.start(opened, slots);
        Ok(Opened { pages: tier.resident(), tier, was_clean, writes, damage, skipped })
    }

    /// Adds the recovered disks and slots to the state machine.
    fn start(&mut self, opened: Vec<Option<Attached>>, slots: Slots) {
        let mut touched = Vec::new();
        for attached in opened {
            self.disks.push(None);
            touched.push(attached.as_ref().and_then(|attached| attached.touched.clone()));
            if let Some(attached) = attached {
                let index = self.disks.len() - 1;
                let mut disk = attached.disk;
                self.order = self.order.max(disk.lay_recovered());
                self.disks[index] = Some(disk);
            }
        }
        let mut slots: Vec<(u32, SlotEntry)> =
            (0..).zip(slots).filter_map(|(slot, entry)| Some((slot, entry?))).collect();
        slots.sort_by_key(|(_, entry)| entry.age);
        for (slot, entry) in slots {
            let touched = touched.get(usize::from(entry.disk)).and_then(Option::as_ref);
            self.restore(slot, &entry, touched);
        }
        // Behind the maps of the groups' pages, as always: if no batch follows, nothing else would
        // free the groups.
        for index in 0..self.disks.len() {
            let index = u16::try_from(index).unwrap_or(u16::MAX);
            if self.disks[usize::from(index)].is_some() {
                let start = self.next_log_start(index);
                self.pool.queue.extend(start);
            }
        }
        self.pages.restored();
        self.pool.since = Some(units::Nanos(0));
        self.pool.is_due = true;
    }

    /// Restores the page of a slot, if it is still valid, without the blocks that the log changed
    /// later.
    fn restore(&mut self, slot: u32, entry: &SlotEntry, touched: Option<&Touched>) {
        let per = self.geometry.page_blocks();
        let is_there = entry.valid != 0 && touched.is_some();
        let newest =
            |block: u64| touched.and_then(|touched| touched.get(&block)).copied().unwrap_or(0);
        let believed = (0..per)
            .filter(|bit| newest(entry.page * per + bit) <= entry.log_seq)
            .fold(0_u16, |bits, bit| bits | 1 << bit);
        if is_there && self.pages.restore(slot, entry, believed) {
            if entry.valid & !believed != 0 && self.pages.want_map(slot) {
                self.pool.queue.push_back(Item::Map(slot));
            }
            return;
        }
        let key = self.pages.forget(slot, entry);
        self.pool.queue.push_back(Item::Unmap(slot, key));
    }
}

/// Claims the set: writes superblock and sidecars. The superblock is written first, so that a
/// sidecar never names a log that the set does not record.
fn begin(
    media: &mut dyn Media,
    superblock: &Superblock,
    copy: usize,
    opened: &mut [Option<Attached>],
) -> Result<(), IoError> {
    media.flush(IoTarget::Cache)?;
    for (index, _) in (0..).zip(opened.iter()).filter(|(_, disk)| disk.is_some()) {
        media.flush(IoTarget::Backing(index))?;
    }
    put_superblock(media, superblock, copy)?;
    for (index, attached) in (0..).zip(opened) {
        let Some(Attached { disk, .. }) = attached else { continue };
        put_sidecar(media, index, disk.sidecar.word_mut())?;
        disk.sidecar_is_durable();
    }
    Ok(())
}

/// Checks the storage of a set. If the set is on other storage than before, it is a copy or was
/// moved; the owner must confirm a move. A set on storage without a lasting identity is recognised
/// by its own identity, which its sidecars record, and by their numbers.
fn check_place(superblock: &Superblock, settings: &Settings) -> Result<(), OpenError> {
    let (known, found) = (&superblock.place, &settings.place);
    match known.compare(found) {
        Match::Other if !settings.is_place_vouched => {
            let word = word_for_cache(&found.name, superblock);
            Err(OpenError::OtherCache { known: known.name.clone(), word })
        }
        _ => Ok(()),
    }
}

/// Returns the last group of the pool's log up to which maps of a disk are believed: since the
/// moment of that group the backing store is known not to have changed. A page that was mapped
/// later may be newer than a backing store that was restored from a backup.
fn believed_to(disks: &[Attachment], index: u16) -> u64 {
    let asked = disks.iter().find(|disk| disk.index == index);
    asked.and_then(|disk| disk.since.moment()).map_or(u64::MAX, |moment| moment.pool)
}

pub(super) fn check_attachments(
    superblock: &Superblock,
    geometry: &Geometry,
    disks: &[Attachment],
) -> Result<(), OpenError> {
    for (position, disk) in disks.iter().enumerate() {
        let refused = |error| Err(OpenError::Attach { index: disk.index, error });
        let place = superblock.disks.get(usize::from(disk.index));
        let Some(place) = place else { return refused(AttachError::Index(disk.index)) };
        if place.as_ref().is_some_and(|entry| entry.disk != disk.disk) {
            return refused(AttachError::Index(disk.index));
        }
        if usize::from(disk.copies) > disk.peers.len() || disk.peers.len() > HOLDERS {
            let (copies, peers) = (disk.copies, disk.peers.len());
            return refused(AttachError::Copies { copies, peers });
        }
        let is_elsewhere = superblock.disks.iter().enumerate().any(|(at, entry)| {
            at != usize::from(disk.index) && entry.as_ref().is_some_and(|e| e.disk == disk.disk)
        });
        let is_twice = disks[..position]
            .iter()
            .any(|other| other.disk == disk.disk || other.index == disk.index);
        if disk.disk == [0; 16] || is_elsewhere || is_twice {
            return refused(AttachError::Name);
        }
        let new = disks
            .iter()
            .filter(|d| superblock.disks.get(usize::from(d.index)).is_some_and(Option::is_none));
        let all = superblock.disks.iter().flatten().count() + new.count();
        if all > geometry.disks_max() {
            return refused(AttachError::Many { disks: all, most: geometry.disks_max() });
        }
    }
    Ok(())
}

/// Returns the log chunks that belong to no log.
fn free_chunks(
    structure: &Structure,
    logs: &BTreeMap<u16, ReadLog>,
) -> Result<VecDeque<u32>, OpenError> {
    let geometry = structure.area.geometry;
    let mut is_used = vec![false; geometry.chunks as usize];
    let walks = || structure.whole_pool().into_iter().chain(logs.values().map(|found| &found.walk));
    for LogChunk { chunk, .. } in walks().flat_map(|walk| walk.log.chunks()).copied() {
        if std::mem::replace(&mut is_used[chunk as usize], true) {
            return Err(OpenError::Chunk(chunk));
        }
    }
    // Chunks behind the damage of a log stay reserved, so that its disk can still be read later.
    walks().flat_map(Walk::chunks).for_each(|chunk| is_used[chunk as usize] = true);
    Ok((geometry.page_chunks..geometry.chunks).filter(|chunk| !is_used[*chunk as usize]).collect())
}
