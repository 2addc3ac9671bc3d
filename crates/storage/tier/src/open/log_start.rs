//! Search for the start of a disk's log: the start that the set records, or a later one.

use super::Media;
use super::area::LogArea;
use super::attach::ReadLog;
use super::errors::{OpenError, Skipped};
use super::reader::{Group, Start, Track, in_chunk};
use super::walk::{Walk, Whose, walk};
use crate::format::{DiskEntry, Kind};
use crate::machine::Logged;
use crate::machine::overlay::Source;

/// Reads a disk's log. Skips damage in groups that are not needed because the backing store has
/// their writes. A log with other damage is also returned, because only a request to serve the disk
/// is refused then.
pub(super) fn read_log(
    media: &mut dyn Media,
    area: &LogArea,
    entry: &DiskEntry,
) -> Result<ReadLog, OpenError> {
    let mut found = read_from(media, area, entry, start_of(area, entry)?);
    while let Some(later) = found.walk.damage.as_ref().and_then(|damage| damage.resume) {
        let next = read_from(media, area, entry, later);
        // A later group says that all groups before it are on the backing store. Without that,
        // writes may be lost, and the disk is refused.
        if next.told_retired + 1 < later.seq {
            break;
        }
        found = behind(found, next, later);
    }
    Ok(found)
}

/// Reads a disk's log whose start is uncertain: the start in the entry, or a later one. Corrects
/// the entry. `None` if the start cannot be determined.
pub(super) fn find_log(
    media: &mut dyn Media,
    area: &LogArea,
    entry: &mut DiskEntry,
) -> Result<Option<ReadLog>, OpenError> {
    let start = Start { is_certain: false, ..start_of(area, entry)? };
    let found = read_from(media, area, entry, start);
    if found.walk.damage.is_none() {
        return Ok(Some(found));
    }
    let later = area.chunks_of(entry.disk, entry.generation).into_iter();
    for (log_chunk, log_seq) in later.filter(|(_, seq)| *seq > entry.log_seq) {
        let start = Start { is_certain: false, ..in_chunk(log_chunk, log_seq) };
        let found = read_from(media, area, entry, start);
        // Its own heads say that all groups before it are on the backing store. The log may truly
        // begin later, and nothing is lost.
        if found.walk.damage.is_none() && found.told_retired + 1 >= log_seq {
            (entry.log_chunk, entry.log_seq) = (log_chunk, log_seq);
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn start_of(area: &LogArea, entry: &DiskEntry) -> Result<Start, OpenError> {
    let logs = area.geometry.page_chunks..area.geometry.chunks;
    match logs.contains(&entry.log_chunk) {
        true => Ok(in_chunk(entry.log_chunk, entry.log_seq)),
        false => Err(OpenError::Chunk(entry.log_chunk)),
    }
}

/// Joins a log that was read behind its damage with the part before the damage. The earlier chunks
/// stay part of the log, because the set records that the log begins there. Until the set records a
/// later start, the next opening gets the same result.
fn behind(before: ReadLog, mut found: ReadLog, start: Start) -> ReadLog {
    let Walk { log, damage, .. } = before.walk;
    let first = before.skipped.map(|skipped| skipped.group);
    let group = first.or(damage.map(|damage| damage.group)).unwrap_or(start.seq);
    found.walk.log.lies_behind(log, start.seq);
    found.skipped = Some(Skipped { group, missing_to: start.seq - 1 });
    found
}

fn read_from(media: &mut dyn Media, area: &LogArea, entry: &DiskEntry, start: Start) -> ReadLog {
    let whose = Whose { owner: entry.disk, generation: entry.generation, attach: entry.attach };
    let (mut records, mut told_retired) = (Vec::new(), 0);
    let walk = walk(media, Track::Chunks(area), whose, start, |group: Group<'_>| {
        told_retired = group.head.retired.max(told_retired);
        for (record, at, sums) in group.records {
            let logged = Logged {
                order: 0,
                offset: record.offset,
                bytes: record.bytes,
                source: match at {
                    Some(at) => Source::Flash { at },
                    None => Source::Zero { unmap: record.kind == Kind::Trim },
                },
                sums: sums.into(),
            };
            records.push((group.head.seq, group.head.epoch, logged));
        }
    });
    ReadLog { walk, records, told_retired, skipped: None, start_doubt: None }
}
