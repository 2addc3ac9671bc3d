use std::collections::{BTreeMap, VecDeque};

use super::Media;
use super::area::LogArea;
use super::attach::{Attached, Found, Touched, attach, read_log};
use super::errors::{AttachError, Attachment, Damaged, OpenError, Settings};
use super::reader::{Group, Track, in_chunk};
use super::walk::{Walk, Whose, walk};
use crate::event::{IoError, Place};
use crate::format::{
    BLOCK, BLOCK_BYTES, DiskEntry, HOLDERS, Kind, Match, SIDECAR_BYTES, SUPERBLOCK_AT,
    SUPERBLOCK_BYTES, SetState, Sidecar, SlotEntry, Superblock, TABLE_ENTRIES, decode_table,
};
use crate::geometry::Geometry;
use crate::machine::pages::Pages;
use crate::machine::pool::Item;
use crate::machine::{Memory, Pool, Tier};

/// An open set, and what was found.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The machine.
    pub tier: Tier,
    /// Whether it had been left in order.
    pub was_clean: bool,
    /// Pages that are served again.
    pub pages: usize,
    /// Writes that wait to go to the backing stores.
    pub writes: usize,
}

/// A disk of a set, as its log says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExaminedDisk {
    /// Its place in the set.
    pub index: u16,
    /// Its entry.
    pub entry: DiskEntry,
    /// Groups that follow from each other and are what their sums say.
    pub groups: u64,
    /// Writes that its backing store may not have, by the log alone.
    pub writes: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// Set where groups are missing that were durable.
    pub damage: Option<Damaged>,
}

/// What a set holds, found without changing anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// What it is.
    pub superblock: Superblock,
    /// Pages that may be believed, if their disks were not changed meanwhile.
    pub pages: usize,
    /// Its disks.
    pub disks: Vec<ExaminedDisk>,
}

impl Tier {
    /// Reads all of a set's structure, as opening it does, and changes nothing.
    ///
    /// # Errors
    /// [`OpenError`]: why it would not be opened, but for what only a backing store tells.
    pub fn examine(media: &mut dyn Media) -> Result<Examined, OpenError> {
        let (mut superblock, _) = newest(media)?;
        let geometry = Geometry::of(&superblock);
        let mut slots = read_table(media, &superblock, &geometry)?;
        let was_clean = superblock.state == SetState::Clean;
        let area = LogArea::read(media, geometry);
        let pool = read_pool(media, &mut superblock, &area, was_clean, &mut slots)?;
        let mut logs = BTreeMap::new();
        for (index, entry) in (0..).zip(&superblock.disks) {
            if let Some(entry) = entry {
                logs.insert(index, read_log(media, &area, entry)?);
            }
        }
        free_chunks(&geometry, &pool, &logs)?;
        let disks = logs.into_iter().filter_map(|(index, found)| {
            let entry = superblock.disks[usize::from(index)].clone()?;
            let waiting = || found.unretired().filter(|(.., logged)| logged.bytes > 0);
            Some(ExaminedDisk {
                index,
                groups: found.walk.log.last() + 1 - entry.log_seq,
                writes: waiting().count(),
                bytes: waiting().map(|(.., logged)| u64::from(logged.bytes)).sum(),
                damage: found.damaged(),
                entry,
            })
        });
        Ok(Examined {
            pages: slots.iter().flatten().filter(|slot| slot.valid != 0).count(),
            disks: disks.collect(),
            superblock,
        })
    }

    /// What a cache device says it is.
    ///
    /// # Errors
    /// No set is there, or none that this program can use.
    pub fn inspect(media: &mut dyn Media) -> Result<Superblock, OpenError> {
        Ok(newest(media)?.0)
    }

    /// Opens a set for these disks. Nothing is served that is not known to be true; what the log has
    /// and the backing store may not have is in the machine when it starts.
    ///
    /// # Errors
    /// [`OpenError`]. Nothing is changed then, but for sidecars of disks before the one that failed.
    pub fn open(
        media: &mut dyn Media,
        settings: Settings,
        disks: &[Attachment],
    ) -> Result<Opened, OpenError> {
        let (mut superblock, copy) = newest(media)?;
        let geometry = Geometry::of(&superblock);
        let was_clean = superblock.state == SetState::Clean;
        check_attachments(&superblock, &geometry, disks)?;
        check_place(&superblock, &settings)?;
        let mut slots = read_table(media, &superblock, &geometry)?;
        let area = LogArea::read(media, geometry);
        let pool = read_pool(media, &mut superblock, &area, was_clean, &mut slots)?;
        let mut logs = BTreeMap::new();
        for (index, entry) in (0..).zip(superblock.disks.clone()) {
            if let Some(entry) = entry {
                logs.insert(index, read_log(media, &area, &entry)?);
            }
        }
        let mut free = free_chunks(&geometry, &pool, &logs)?;
        let mut opened: Vec<Option<Attached>> = Vec::new();
        opened.resize_with(superblock.disks.len(), || None);
        for disk in disks {
            let index = usize::from(disk.index);
            let found = logs.remove(&disk.index);
            let pool = pool.log.last();
            let mut attached = attach(media, &superblock, settings.session, disk, found, pool)?;
            free.extend(attached.spare.drain(..));
            if attached.disk.wants_chunk() {
                attached.disk.take_chunk(free.pop_front().ok_or(OpenError::Full)?);
            }
            superblock.disks[index] = Some(attached.disk.entry.clone());
            opened[index] = Some(attached);
        }
        superblock.seq += 1;
        superblock.opens += 1;
        superblock.state = SetState::Open;
        (superblock.has_tags, superblock.has_numbers) = (true, true);
        superblock.place = settings.place;
        let copy = 1 - copy;
        begin(media, &superblock, copy, &mut opened)?;
        let writes = opened
            .iter()
            .flatten()
            .flat_map(|d| &d.disk.epochs)
            .map(|epoch| epoch.writes.len())
            .sum();
        let pages = Pages::new(&geometry, settings.policy, settings.admission);
        let memory = Memory::new(settings.memory_bytes, settings.policy);
        let pool = Pool::new(pool.log);
        let mut tier = Self::new(geometry, superblock, copy, (pages, memory), pool, free);
        tier.start(opened, slots);
        Ok(Opened { pages: tier.resident(), tier, was_clean, writes })
    }

    /// Takes what was found for true.
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
        self.pages.restored();
        self.pool.since = Some(units::Nanos(0));
        self.pool.is_due = true;
    }

    /// A slot as it was, if its page is still one: blocks that the log changed later are not.
    fn restore(&mut self, slot: u32, entry: &SlotEntry, touched: Option<&Touched>) {
        let per = self.geometry.page_blocks();
        let is_there = entry.valid != 0 && touched.is_some();
        let newest =
            |block: u64| touched.and_then(|touched| touched.get(&block)).copied().unwrap_or(0);
        let believed = (0..per)
            .filter(|bit| newest(entry.page * per + bit) <= entry.log_seq)
            .fold(0_u16, |bits, bit| bits | 1 << bit);
        if is_there && self.pages.restore(slot, entry, believed) {
            if entry.valid & !believed != 0 {
                self.pages.slot(slot).is_queued = true;
                self.pool.queue.push_back(Item::Map(slot));
            }
            return;
        }
        let key = self.pages.forget(slot, entry);
        self.pool.queue.push_back(Item::Unmap(slot, key));
    }
}

/// From now on the set is ours. The superblock comes first: a sidecar never tells of a log that the
/// set does not know.
fn begin(
    media: &mut dyn Media,
    superblock: &Superblock,
    copy: usize,
    opened: &mut [Option<Attached>],
) -> Result<(), IoError> {
    media.flush(Place::Cache)?;
    for (index, _) in (0..).zip(opened.iter()).filter(|(_, disk)| disk.is_some()) {
        media.flush(Place::Backing(index))?;
    }
    media.write(Place::Cache, SUPERBLOCK_AT[copy], &superblock.encode())?;
    media.flush(Place::Cache)?;
    for (index, attached) in (0..).zip(opened) {
        let Some(Attached { disk, .. }) = attached else { continue };
        let place = Place::Sidecar(index);
        put_sidecar(media, place, &mut disk.sidecar)?;
        disk.sidecar_is_durable();
    }
    Ok(())
}

/// Writes the next copy of a sidecar, durably. One that an earlier program wrote lies in the other place
/// then, and that program would take it for the newest: it is written over, too.
fn put_sidecar(media: &mut dyn Media, place: Place, sidecar: &mut Sidecar) -> Result<(), IoError> {
    media.write(place, sidecar.place(), &sidecar.encode()[..])?;
    media.flush(place)?;
    let mut bytes = vec![0; SIDECAR_BYTES];
    media.read(place, 0, &mut bytes)?;
    if Sidecar::has_first_version(&bytes) {
        sidecar.seq += 1;
        media.write(place, sidecar.place(), &sidecar.encode()[..])?;
        media.flush(place)?;
    }
    Ok(())
}

pub(super) fn newest(media: &mut dyn Media) -> Result<(Superblock, usize), OpenError> {
    let mut copies = [vec![0; SUPERBLOCK_BYTES], vec![0; SUPERBLOCK_BYTES]];
    for (copy, at) in copies.iter_mut().zip(SUPERBLOCK_AT) {
        media.read(Place::Cache, at, copy)?;
    }
    Ok(Superblock::newest([&copies[0], &copies[1]])?)
}

/// A set that lies on another storage than before is a copy, or was moved: whoever moved it says so. One on
/// storage without a lasting identity is told by its own name, which its sidecars have, and by their numbers.
fn check_place(superblock: &Superblock, settings: &Settings) -> Result<(), OpenError> {
    let (known, found) = (&superblock.place, &settings.place);
    match known.compare(found) {
        Match::Other if !settings.is_place_vouched => {
            Err(OpenError::OtherCache { known: known.name.clone(), found: found.name.clone() })
        }
        _ => Ok(()),
    }
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

type Slots = Vec<Option<SlotEntry>>;

fn read_table(
    media: &mut dyn Media,
    superblock: &Superblock,
    geometry: &Geometry,
) -> Result<Slots, OpenError> {
    let mut slots: Slots = vec![None; geometry.slots() as usize];
    let mut block = [0; BLOCK_BYTES];
    for index in 0..geometry.table_blocks() {
        media.read(Place::Cache, superblock.table_at + index * BLOCK, &mut block)?;
        let entries =
            decode_table(superblock.table_seq, index, &block).ok_or(OpenError::Table(index))?;
        let first = usize::try_from(index).unwrap_or(0) * TABLE_ENTRIES;
        for (slot, entry) in slots.iter_mut().skip(first).zip(entries) {
            *slot = entry;
        }
    }
    Ok(slots)
}

/// Applies what the pool's log says after the table.
fn read_pool(
    media: &mut dyn Media,
    superblock: &mut Superblock,
    area: &LogArea,
    was_clean: bool,
    slots: &mut Slots,
) -> Result<Walk, OpenError> {
    let whose = Whose { owner: superblock.set, generation: 0, attach: 0 };
    let mut changes: Vec<(u64, crate::format::Record)> = Vec::new();
    let start = in_chunk(superblock.pool_chunk, superblock.pool_seq);
    let walk = walk(media, Track::Chunks(area), whose, start, |group: Group<'_>| {
        changes.extend(group.head.records.iter().map(|record| (group.head.seq, record.clone())));
    });
    if let Some(damage) = &walk.damage {
        return Err(OpenError::Pool(damage.group));
    }
    // A map is believed when what it tells of was durable with it.
    let durable = if was_clean { u64::MAX } else { walk.durable.max(superblock.pool_durable) };
    for (seq, record) in changes {
        apply(superblock, slots, &record, seq <= durable);
    }
    if superblock.has_tags {
        // What an earlier attachment had in the slot, or an earlier disk of that place: the page is named, and
        // nothing of it is believed.
        let tags: Vec<_> =
            superblock.disks.iter().map(|disk| disk.as_ref().map(DiskEntry::tag)).collect();
        let is_over = |slot: &&mut SlotEntry| {
            tags.get(usize::from(slot.disk)).is_none_or(|tag| *tag != Some(slot.tag))
        };
        slots.iter_mut().flatten().filter(is_over).for_each(|slot| slot.valid = 0);
    }
    Ok(walk)
}

fn apply(
    superblock: &mut Superblock,
    slots: &mut Slots,
    record: &crate::format::Record,
    is_durable: bool,
) {
    let slot = slots.get_mut(record.place as usize);
    match (record.kind, slot) {
        (Kind::Map, Some(slot)) => {
            let Some(sums) = record.sums.clone() else { return };
            let valid = u16::try_from(record.bytes).unwrap_or(0);
            // One that is not durable may have been, or not: the page is named, and nothing of it
            // is believed.
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

/// Log chunks that no log has.
fn free_chunks(
    geometry: &Geometry,
    pool: &Walk,
    logs: &BTreeMap<u16, Found>,
) -> Result<VecDeque<u32>, OpenError> {
    let mut is_used = vec![false; geometry.chunks as usize];
    let walks = || std::iter::once(pool).chain(logs.values().map(|found| &found.walk));
    for (chunk, _) in walks().flat_map(|walk| &walk.log.chunks) {
        if std::mem::replace(&mut is_used[*chunk as usize], true) {
            return Err(OpenError::Chunk(*chunk));
        }
    }
    // What lies behind the damage of a log that nobody asked for stays for whoever does.
    walks().flat_map(Walk::chunks).for_each(|chunk| is_used[chunk as usize] = true);
    Ok((geometry.page_chunks..geometry.chunks).filter(|chunk| !is_used[*chunk as usize]).collect())
}
