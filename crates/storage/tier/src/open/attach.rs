use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::Media;
use super::accept::word_for_disk;
use super::area::LogArea;
use super::damage::LogDamage;
use super::errors::{AttachError, Attachment, Damaged, LogWrites, OpenError, Session, Skipped};
use super::in_step::{self, Reach, Step};
use super::walk::{Walk, clear_end};
use crate::event::{IoError, IoTarget, Mode};
use crate::format::{
    DiskEntry, FINGERPRINT_BYTES, Identity, Match, NO_CHUNK, SIDECAR_BYTES, Sidecar, SidecarState,
    Superblock, mode,
};
use crate::machine::log::Log;
use crate::machine::overlay::blocks_of;
use crate::machine::{Disk, Epoch, Logged, ServingDemands};
use crate::moment::Since;
use crate::ownership::{has_log, is_free};

/// Log of a disk, with the result of reading it.
pub(super) struct ReadLog {
    pub(super) walk: Walk,
    /// Records that were read, oldest first: group, epoch, write. In a damaged log they include the
    /// records behind the damage.
    pub(super) records: Vec<(u64, u64, Logged)>,
    /// Last group that any head records as retired.
    pub(super) told_retired: u64,
    /// Unreadable groups whose writes the backing store has. The records begin behind these groups.
    pub(super) skipped: Option<Skipped>,
    /// Damaged group of the pool's log that may have contained the start of this log. Set if the
    /// log seems to begin later than the set records.
    pub(super) start_doubt: Option<u64>,
}

/// Last group that wrote each block.
pub(super) type Touched = FxHashMap<u64, u64>;

/// Disk that may be served.
pub(super) struct Attached {
    pub(super) disk: Disk,
    /// Last group that wrote each block, according to the log. `None` if none of the disk's pages
    /// may be served.
    pub(super) touched: Option<Touched>,
    /// Chunks that the log no longer uses.
    pub(super) spare: Vec<u32>,
    /// True if new groups will be written behind the last group.
    goes_on: bool,
}

impl Attached {
    /// Clears the block in which the next group will be written ([`clear_end`]).
    pub(super) fn clear_end(&self, media: &mut dyn Media, area: &LogArea) -> Result<(), IoError> {
        if self.goes_on { clear_end(media, area, &self.disk.log) } else { Ok(()) }
    }
}

/// Properties of a disk that were found in its sidecar and in the set.
struct DiskFacts {
    sidecar: Option<Sidecar>,
    /// Highest generation known.
    generation: u64,
    /// True if the sidecar names this set and its log's generation, and neither the sidecar nor the
    /// set is an older state.
    is_known: bool,
    /// Result of comparing the sidecar with the set.
    step: Step,
    /// Result of comparing the backing store with the one recorded in the sidecar.
    backing: Match,
    place: Match,
    /// Lowest number for the next copy of the sidecar.
    seq: u64,
}

/// Decides if a disk may be served, and which parts of its log and its pages are valid. `pool` is
/// the last group of the pool's log.
pub(super) fn attach(
    media: &mut dyn Media,
    superblock: &Superblock,
    session: Session,
    asked: &Attachment,
    mut found: Option<ReadLog>,
    pool: u64,
) -> Result<Attached, OpenError> {
    let entry = superblock.disks[usize::from(asked.index)].clone();
    let mut seen = look(media, superblock, asked, entry.as_ref(), found.as_ref(), pool)?;
    if let (Some(found), Some(sidecar)) = (found.as_mut().filter(|_| seen.is_known), &seen.sidecar)
    {
        found.retire(sidecar);
    }
    if let Some(error) = refused(&seen, superblock, asked, entry.as_ref(), found.as_ref()) {
        return Err(OpenError::Attach { index: asked.index, error });
    }
    // The backing store has all missing groups, but the log cannot continue across them, so it
    // begins again.
    seen.is_known &= found.as_ref().is_none_or(|found| found.walk.damage.is_none());
    // A skipped group may have changed the content of a page.
    let is_whole = found.as_ref().is_none_or(|found| found.skipped.is_none());
    let is_orphaned = !is_whole || !may_have_pages(&seen, asked, entry.as_ref());
    let attach = is_orphaned.then_some(superblock.seq + 1);
    let mut entry = next_entry(&seen, asked, entry, attach);
    (entry.before, entry.opening) = (entry.opening, session.opening);
    entry.superblock = superblock.seq + 1;
    let last_epoch =
        found.iter().flat_map(|found| &found.records).map(|(_, epoch, _)| *epoch).max();
    let touched = (!is_orphaned).then(|| found.as_ref().map(ReadLog::touched).unwrap_or_default());
    let mut spare = Vec::new();
    // A log that begins again has a new generation, so no group that still lies there belongs to
    // it.
    let goes_on = found.is_some() && seen.is_known;
    let (log, epochs) = match found {
        Some(found) if seen.is_known => found.into_epochs(),
        // Its groups are of another generation, so the log begins again in its first chunk.
        Some(found) => (begin_again(&entry, &found.walk, &mut spare), VecDeque::new()),
        None => {
            (Log::new(entry.disk, entry.generation, entry.attach, NO_CHUNK, 1), VecDeque::new())
        }
    };
    let first = log.first_chunk();
    (entry.log_chunk, entry.log_seq) = (first.chunk, first.first);
    // A disk with writes in its log stays in mode back until they are destaged.
    let wish =
        ServingDemands { mode: asked.mode, copies: asked.copies, peers: asked.peers.clone() };
    let mode = if epochs.is_empty() { wish.first() } else { Mode::Back };
    let mut sidecar = next_sidecar(&seen, superblock, session, asked, &entry);
    (sidecar.log_durable, sidecar.log_retired) = (log.ends().durable, log.ends().retired);
    sidecar.state = match (epochs.front(), epochs.back()) {
        (Some(first), Some(last)) => SidecarState::Applying { from: first.number, to: last.number },
        _ if mode == Mode::Back => SidecarState::Dirty,
        _ => SidecarState::Clean,
    };
    sidecar.applied = match epochs.front() {
        Some(first) => first.number.saturating_sub(1),
        None => sidecar.applied.max(last_epoch.unwrap_or(0)),
    };
    let disk = Disk::new(entry, mode, sidecar, (log, epochs), wish);
    Ok(Attached { disk, touched, spare, goes_on })
}

fn look(
    media: &mut dyn Media,
    superblock: &Superblock,
    asked: &Attachment,
    entry: Option<&DiskEntry>,
    found: Option<&ReadLog>,
    pool: u64,
) -> Result<DiskFacts, IoError> {
    let mut bytes = vec![0; SIDECAR_BYTES];
    media.read(IoTarget::Sidecar(asked.index), 0, &mut bytes)?;
    let sidecar = Sidecar::newest(&bytes).filter(|sidecar| sidecar.disk == asked.disk);
    let generation = sidecar.as_ref().map_or(0, |sidecar| sidecar.generation);
    let ours = entry.zip(sidecar.as_ref()).filter(|(entry, sidecar)| {
        sidecar.owner == superblock.set
            && sidecar.generation == entry.generation
            && sidecar.log_generation == 0
    });
    let step = ours.map_or(Step::Unnumbered, |(entry, sidecar)| {
        let log = found.map(|found| &found.walk.log);
        let damage = found.and_then(|found| found.walk.damage.as_ref());
        let reach = Reach {
            // Damage is reported as damage and not as an older state.
            log: damage
                .map_or(log.map_or(0, Log::last), |damage| damage.missing_to.max(damage.last)),
            first: log.map_or(1, |log| log.first_chunk().first),
            first_doubt: found.and_then(|found| found.start_doubt),
            sidecar: log.map_or(0, |log| log.ends().sidecar),
            pool,
        };
        in_step::compare(entry, sidecar, reach, asked.since.moment())
    });
    let is_older =
        matches!(step, Step::CacheOlder(_) | Step::SidecarOlder(_) | Step::StartUnknown(_));
    let compare = |known: fn(&Sidecar) -> &Identity, found: &Identity| {
        sidecar.as_ref().map_or(Match::Unknown, |sidecar| known(sidecar).compare(found))
    };
    Ok(DiskFacts {
        is_known: ours.is_some() && !is_older,
        seq: match step {
            Step::SidecarOlder(known) => known,
            _ => sidecar.as_ref().map_or(0, |sidecar| sidecar.seq),
        },
        step,
        backing: compare(|sidecar| &sidecar.backing, &asked.backing),
        place: compare(|sidecar| &sidecar.place, &asked.sidecar),
        sidecar,
        generation,
    })
}

/// Returns true if cached pages of the disk are still valid. All of the following must hold.
///
/// - The set knows the disk, and the set and the sidecar are of the same state.
/// - The backing store is the recorded one.
/// - No program has written to the backing store since a recorded moment, and the moment is of the
///   disk's last opening.
fn may_have_pages(seen: &DiskFacts, asked: &Attachment, entry: Option<&DiskEntry>) -> bool {
    let Since::Unchanged(moment) = asked.since else { return false };
    seen.is_known
        && seen.step == Step::Same
        && seen.backing == Match::Same
        && entry.is_some_and(|entry| entry.opening == moment.opening)
}

fn refused(
    seen: &DiskFacts,
    superblock: &Superblock,
    asked: &Attachment,
    entry: Option<&DiskEntry>,
    found: Option<&ReadLog>,
) -> Option<AttachError> {
    if asked.key == 0 && seen.sidecar.as_ref().is_some_and(|sidecar| sidecar.key != 0) {
        return Some(AttachError::Reserved);
    }
    let writes = found.map_or(0, |found| found.unretired().count());
    if let Some(error) = older(seen, superblock, entry, writes) {
        return Some(error);
    }
    if let Some(sidecar) = seen.sidecar.as_ref().filter(|sidecar| !is_free(sidecar))
        && !(seen.is_known && found.is_some())
    {
        // The log with its writes belongs to another set, or is of another time.
        return Some(match has_log(sidecar) {
            true => AttachError::Owned(sidecar.owner),
            false => AttachError::Claimed,
        });
    }
    if let Some(error) = other_place(seen, asked, writes) {
        return Some(error);
    }
    // An older cache or sidecar gets here only if the sidecar says that the backing store has
    // everything.
    if seen.is_known || matches!(seen.step, Step::Unnumbered) {
        let has_writes = found.is_some_and(ReadLog::has_writes);
        refused_for_writes(seen, asked, entry.filter(|_| has_writes)?, found)
    } else {
        None
    }
}

fn refused_for_writes(
    seen: &DiskFacts,
    asked: &Attachment,
    entry: &DiskEntry,
    found: Option<&ReadLog>,
) -> Option<AttachError> {
    let writes = found.map_or(0, |found| found.unretired().count());
    match (&seen.sidecar, asked.since) {
        (None, _) => Some(AttachError::NoSidecar),
        (Some(sidecar), _) if !seen.is_known || sidecar.state == SidecarState::Burnt => {
            Some(AttachError::Stale { log: entry.generation, sidecar: seen.generation })
        }
        // An identity names the storage and says nothing of its age.
        (Some(_), Since::Older(_)) => Some(AttachError::BackingOlder { writes }),
        (Some(sidecar), since)
            if !asked.is_backing_vouched && is_changed(sidecar, since, entry, asked) =>
        {
            let word = word_for_disk(&asked.backing.name, sidecar);
            Some(AttachError::Changed { writes, word })
        }
        (Some(sidecar), since) => {
            let found = found?;
            found.damaged().or_else(|| found.unproven(sidecar, since)).map(AttachError::Damaged)
        }
    }
}

/// Returns true if another program changed the backing store. Different marks alone are not enough,
/// because the disk may have been served after the marks were stored.
fn is_changed(sidecar: &Sidecar, since: Since, entry: &DiskEntry, asked: &Attachment) -> bool {
    let is_other = matches!(since, Since::Changed(at) if at.opening == sidecar.opening);
    is_other || entry.bytes != asked.bytes / 512 * 512
}

/// Refuses other storage than the recorded storage. If the identity is unknown, the disk is refused
/// only if its log has writes.
fn other_place(seen: &DiskFacts, asked: &Attachment, writes: usize) -> Option<AttachError> {
    let sidecar = seen.sidecar.as_ref()?;
    let waits = if seen.is_known { writes } else { 0 };
    let places = [
        (seen.backing, "backing store", &sidecar.backing, &asked.backing, asked.is_backing_vouched),
        (seen.place, "sidecar", &sidecar.place, &asked.sidecar, asked.is_sidecar_vouched),
    ];
    let doubtful = places.into_iter().filter(|(.., is_vouched)| !is_vouched);
    doubtful.into_iter().find_map(|(compared, what, known, found, _)| {
        let (known, word) = (known.name.clone(), word_for_disk(&found.name, sidecar));
        match compared {
            Match::Same => None,
            Match::Other => Some(AttachError::OtherPlace { what, known, word }),
            Match::Unknown if waits == 0 => None,
            Match::Unknown => Some(AttachError::UnknownPlace { what, known, word, writes: waits }),
        }
    })
}

/// Refuses an older cache or sidecar if a write could be lost silently. An older cache may be
/// dropped if the backing store has all writes, and an older sidecar may be rewritten if no write
/// waits.
fn older(
    seen: &DiskFacts,
    superblock: &Superblock,
    entry: Option<&DiskEntry>,
    writes: usize,
) -> Option<AttachError> {
    let (entry, sidecar) = entry.zip(seen.sidecar.as_ref())?;
    match &seen.step {
        Step::CacheOlder(lost) if has_log(sidecar) => {
            Some(AttachError::CacheOlder { lost: lost.clone() })
        }
        Step::SidecarOlder(known) if has_log(sidecar) || writes > 0 => {
            Some(AttachError::SidecarOlder { known: *known, found: sidecar.seq, writes })
        }
        Step::StartUnknown(group) if has_log(sidecar) || writes > 0 => {
            Some(AttachError::LogStart { group: *group })
        }
        // The same, for another generation of this very set.
        Step::Unnumbered
            if sidecar.owner == superblock.set
                && sidecar.log_generation == 0
                && has_log(sidecar)
                && sidecar.generation > entry.generation =>
        {
            let lost = format!(
                "generation {} of the disk; the newest one found is {}",
                sidecar.generation, entry.generation
            );
            Some(AttachError::CacheOlder { lost })
        }
        _ => None,
    }
}

/// Returns the new entry of the disk. If none of its pages is valid, its attachment becomes the
/// number of the next superblock, which no attachment of any disk has had before.
fn next_entry(
    seen: &DiskFacts,
    asked: &Attachment,
    entry: Option<DiskEntry>,
    attach: Option<u64>,
) -> DiskEntry {
    // Chunks may still hold groups of an earlier disk of this name, whose sidecar is gone. Each of
    // its generations was counted by a superblock, so the superblock's number is above them.
    let counted = attach.map_or(0, |next| next.saturating_sub(2));
    let mut entry = entry.unwrap_or(DiskEntry {
        disk: asked.disk,
        generation: counted,
        log_seq: 1,
        log_chunk: NO_CHUNK,
        mode: mode::THROUGH,
        ..DiskEntry::default()
    });
    entry.bytes = asked.bytes / 512 * 512;
    entry.attach = attach.unwrap_or(entry.attach);
    entry.mode = asked.mode.number();
    entry.sidecar = seen.sidecar.as_ref().map_or(0, |sidecar| sidecar.seq.saturating_sub(1));
    if !seen.is_known {
        entry.generation = seen.generation.max(entry.generation) + 1;
    }
    entry
}

/// Returns the new sidecar of the disk, without the fields that depend on the log.
fn next_sidecar(
    seen: &DiskFacts,
    superblock: &Superblock,
    session: Session,
    asked: &Attachment,
    entry: &DiskEntry,
) -> Sidecar {
    let before = seen.sidecar.as_ref();
    Sidecar {
        disk: asked.disk,
        generation: entry.generation,
        seq: seen.seq + 1,
        owner: superblock.set,
        boot: session.boot,
        state: SidecarState::Clean,
        mode: entry.mode,
        applied: before.filter(|_| seen.is_known).map_or(0, |sidecar| sidecar.applied),
        // A former holder may have more than the log: writes under way that were never answered.
        holders: Vec::new(),
        log_generation: 0,
        key: asked.key,
        stays: before.is_some_and(|sidecar| sidecar.stays),
        fingerprint: [0; FINGERPRINT_BYTES],
        backing: asked.backing.clone(),
        place: asked.sidecar.clone(),
        opening: session.opening,
        superblock: superblock.seq + 1,
        log_durable: 0,
        log_retired: 0,
    }
}

/// Creates the log of a disk whose old log is no longer valid. It keeps one chunk of the old log,
/// and adds the others to `spare`.
fn begin_again(entry: &DiskEntry, walk: &Walk, spare: &mut Vec<u32>) -> Log {
    let mut chunks = walk.chunks();
    let chunk = chunks.next().unwrap_or(NO_CHUNK);
    spare.extend(chunks);
    Log::new(entry.disk, entry.generation, entry.attach, chunk, walk.log.ends().seq)
}

impl ReadLog {
    /// Marks groups as retired whose writes are on the backing store according to the sidecar. The
    /// last head may not have recorded them.
    fn retire(&mut self, sidecar: &Sidecar) {
        let applied = self
            .records
            .iter()
            .filter(|(_, epoch, _)| *epoch <= sidecar.applied)
            .map(|(seq, ..)| *seq)
            .max();
        let log = &mut self.walk.log;
        // Heads may call more groups retired than the sidecar does. They speak of the newest
        // backing store, and the one found may be as old as the sidecar. So all groups that it may
        // lack are written again, in order.
        let (first, told) = (log.first_chunk().first, sidecar.log_retired);
        self.told_retired = log.ends().retired.max(told);
        let by_heads = if sidecar.opening == 0 { self.told_retired } else { told.max(first - 1) };
        let skipped = self.skipped.map_or(0, |skipped| skipped.missing_to);
        let is_clean = sidecar.state == SidecarState::Clean;
        let damage = self.walk.damage.as_ref().filter(|_| is_clean);
        let missing = damage.map_or(0, |damage| damage.missing_to);
        log.set_retired(by_heads.max(applied.unwrap_or(0)).max(skipped).max(missing));
        self.told_retired = self.told_retired.max(log.ends().retired);
    }

    /// Returns true if the log has, or had before its damage, writes that the backing store may
    /// lack.
    fn has_writes(&self) -> bool {
        // Damage in groups that heads call retired loses nothing.
        let Some(damage) = &self.walk.damage else { return self.unretired().next().is_some() };
        let told = self.told_retired;
        damage.missing_to > told || self.records.iter().any(|(seq, ..)| *seq > told)
    }

    /// Returns the damage of the log, with the writes that can still be read; `None` if the log is
    /// whole.
    pub(super) fn damaged(&self) -> Option<Damaged> {
        let damage = self.walk.damage.as_ref()?;
        let side = |is_behind: bool| {
            let writes =
                self.unretired().filter(move |(seq, ..)| (*seq > damage.group) == is_behind);
            LogWrites::of(writes.map(|(.., logged)| logged.bytes))
        };
        let (before, behind) = (side(false), side(true));
        let LogDamage { group, missing_to, .. } = *damage;
        Some(Damaged { group, missing_to, before, behind })
    }

    /// Returns the skipped groups as damage, if only the log records that the backing store has
    /// their writes. The log refers to the newest backing store; an older one that was restored
    /// together with its sidecar may lack these writes.
    fn unproven(&self, sidecar: &Sidecar, since: Since) -> Option<Damaged> {
        let Skipped { group, missing_to } = self.skipped?;
        let is_proven = matches!(since, Since::Unchanged(_)) || sidecar.log_retired >= missing_to;
        let behind = LogWrites::of(self.unretired().map(|(.., logged)| logged.bytes));
        (!is_proven).then(|| Damaged { group, missing_to, before: LogWrites::default(), behind })
    }

    /// Iterates over the records whose writes the backing store may lack.
    pub(super) fn unretired(&self) -> impl Iterator<Item = &(u64, u64, Logged)> {
        let retired = self.walk.log.ends().retired;
        self.records.iter().filter(move |(seq, ..)| *seq > retired)
    }

    /// Returns the last group that wrote each block.
    fn touched(&self) -> Touched {
        let mut touched = Touched::default();
        for (seq, _, logged) in &self.records {
            for (block, ..) in blocks_of(logged.offset, logged.bytes) {
                touched.insert(block, *seq);
            }
        }
        touched
    }

    /// Returns the log, to be continued, and the epochs in it that are not destaged.
    fn into_epochs(self) -> (Log, VecDeque<Epoch>) {
        let Self { walk, records, .. } = self;
        let mut epochs: VecDeque<Epoch> = VecDeque::new();
        for (seq, number, logged) in records {
            if seq <= walk.log.ends().retired {
                continue;
            }
            if epochs.back().is_none_or(|epoch| epoch.number != number) {
                epochs.push_back(Epoch { number, is_closed: true, ..Epoch::default() });
            }
            if let Some(epoch) = epochs.back_mut() {
                epoch.last_seq = seq;
                epoch.writes.push(logged);
            }
        }
        (walk.log, epochs)
    }
}
