//! Distinction between a log with a torn end and a damaged log.
//!
//! A log ends at the first missing group. Groups behind it may be remains of a power cut that lost
//! an earlier group which no head had recorded as durable, or of earlier use of the chunk. But if
//! one of them records the missing group as durable, a flush may have been answered for it. In this
//! case the group existed, so the log is damaged.

use super::area::LogArea;
use super::reader::{Group, Reader, Start, Track, in_chunk, is_of, payload};
use crate::format::{BLOCK, BLOCK_BYTES, Flags, Head, LABEL_BYTES};
use crate::geometry::Geometry;
use crate::machine::log::Log;

/// Number of zero bytes in a copy after which the search ends. No group is longer, because none is
/// longer than a chunk. A copy has a size of 1 TiB, and nearly all of it was never written.
const ZEROS_MAX: u64 = 1 << 30;
/// Number of consecutive unreadable blocks of a copy after which its holder is considered gone. Our
/// choice.
const UNREAD_MAX: u32 = 64;

/// Groups that are missing in a log although they existed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogDamage {
    /// Number of the first missing group.
    pub(super) group: u64,
    /// Number of the last missing group.
    pub(super) missing_to: u64,
    /// Number of the last group that was found, or of the group before the first missing one.
    pub(super) last: u64,
    /// Chunks behind the first missing group; earlier chunks of the log are not included.
    pub(super) chunks: Vec<u32>,
    /// First whole group behind the missing groups at which reading can begin: in the chunk of the
    /// first missing group, or at the beginning of another chunk.
    pub(super) resume: Option<Start>,
}

/// Head of a group that was found behind the end of a log.
struct Behind {
    head: Head,
    sum: u64,
    at: u64,
}

/// Searches for groups behind the end of a log. If the log is damaged, passes the whole ones to
/// `each` and returns the damage. Raises `durable` to the highest group that they record as
/// durable. `is_unread` is true if the log ended at unreadable storage, which cannot be a torn end.
pub(super) fn judge(
    reader: &mut Reader<'_>,
    log: &mut Log,
    (start, is_unread): (Start, bool),
    durable: &mut u64,
    each: &mut impl FnMut(Group<'_>),
) -> Option<LogDamage> {
    let mut found = Vec::new();
    match reader.track {
        Track::Chunks(area) => look_in_chunks(reader, area, log, &mut found),
        Track::Copy { capacity, .. } => look_in_copy(reader, capacity, log, &mut found),
    }
    let told = found.iter().map(|behind| behind.head.durable).max().unwrap_or(0).max(start.durable);
    *durable = told.max(*durable);
    // In a copy the groups before its true beginning were trimmed, so reading on from there proves
    // the beginning.
    let is_begun = matches!(reader.track, Track::Copy { .. }) && log.last() >= start.seq;
    let has_more = found.iter().any(|behind| behind.head.seq > log.ends().seq);
    let is_doubtful = !start.is_certain && has_more && !is_begun;
    if told < log.ends().seq && !is_unread && !is_doubtful {
        return None;
    }
    let (group, chunks) = (log.ends().seq, Vec::new());
    let mut damage = LogDamage { group, missing_to: group, last: log.last(), chunks, resume: None };
    if let Track::Chunks(LogArea { geometry, .. }) = reader.track {
        damage.chunks = chunks_of(&found, geometry, log);
    }
    for Behind { head, at, .. } in chain(found, log, told) {
        if head.seq > damage.last + 1 {
            damage.missing_to = damage.missing_to.max(head.seq - 1);
        }
        match payload(reader, &head, at + BLOCK) {
            Ok(Some(records)) if head.seq > group => {
                damage.resume =
                    damage.resume.or_else(|| start_at(reader.track, log, (at, head.seq)));
                each(Group { head: &head, records });
            }
            // The log was torn there besides.
            _ if head.seq > group.max(told) => break,
            _ => damage.missing_to = damage.missing_to.max(head.seq),
        }
        damage.last = head.seq;
        log.set_retired(log.ends().retired.max(head.retired));
    }
    if told > damage.last {
        damage.missing_to = damage.missing_to.max(told);
    }
    Some(damage)
}

/// Returns the start for reading a log at the group at this address, if reading can begin there.
fn start_at(track: Track<'_>, log: &Log, (at, seq): (u64, u64)) -> Option<Start> {
    let Track::Chunks(LogArea { geometry, .. }) = track else { return None };
    let chunk = geometry.chunk_of(at);
    let before = u32::try_from(at - geometry.chunk_at(chunk)).ok()?;
    let can = before == 0 || chunk == log.chunk();
    can.then(|| Start { at: before, ..in_chunk(chunk, seq) })
}

fn chunks_of(found: &[Behind], geometry: &Geometry, log: &Log) -> Vec<u32> {
    let own = found.iter().map(|behind| geometry.chunk_of(behind.at));
    let links = found.iter().filter(|behind| behind.head.flags.has(Flags::LINK));
    let mut chunks: Vec<u32> = own.chain(links.map(|behind| behind.head.next_chunk)).collect();
    chunks.sort_unstable();
    chunks.dedup();
    chunks.retain(|chunk| {
        (geometry.page_chunks..geometry.chunks).contains(chunk) && !log.has_chunk(*chunk)
    });
    chunks
}

/// Selects the groups that continue the log, with gaps only up to group `told`, which a head
/// records as durable. Remains of a power cut or of earlier use do not continue it.
fn chain(mut found: Vec<Behind>, log: &Log, told: u64) -> Vec<Behind> {
    // Of two groups with one number, the one of the newer life calls more groups durable.
    found.sort_by_key(|behind| (behind.head.seq, std::cmp::Reverse(behind.head.durable)));
    let mut last = (log.last(), log.last_sum());
    found.retain(|behind| {
        let (seq, previous) = (behind.head.seq, behind.head.previous);
        let fits = match last {
            (last, sum) if last + 1 == seq => sum.is_none_or(|sum| sum == previous),
            (last, _) => last < seq && seq - 1 <= told.max(log.ends().seq),
        };
        if fits {
            last = (seq, Some(behind.sum));
        }
        fits
    });
    found
}

fn look_in_chunks(reader: &mut Reader<'_>, area: &LogArea, log: &Log, found: &mut Vec<Behind>) {
    let geometry = &area.geometry;
    let end_of = |chunk| geometry.chunk_at(chunk) + u64::from(geometry.chunk_bytes);
    let tail = log.next_at(geometry);
    // Groups that the chunk held before it joined the log have other positions, where positions are
    // known.
    let position = log.last_sum().map(|_| log.ends().position);
    look_in_chunk(reader, (tail, end_of(log.chunk())), log, position, found);
    for chunk in area.chunks_behind(log) {
        look_in_chunk(reader, (geometry.chunk_at(chunk), end_of(chunk)), log, None, found);
    }
}

/// Searches for heads between two addresses. `position` is the log position of the first address,
/// if it is known.
fn look_in_chunk(
    reader: &mut Reader<'_>,
    (first, end): (u64, u64),
    log: &Log,
    mut position: Option<u64>,
    found: &mut Vec<Behind>,
) {
    let (mut at, mut block) = (first, [0; BLOCK_BYTES]);
    while at + BLOCK <= end {
        let is_here = |head: &Head| {
            is_behind(head, log)
                && position.is_none_or(|position| head.position == position + (at - first))
                && at + BLOCK + u64::from(head.bytes) <= end
        };
        let read = reader.read(at, &mut block).ok().and_then(|()| Head::decode(&block));
        let head = read.filter(|(head, _)| is_here(head));
        if let Some((head, _)) = &head {
            position = position.or(head.position.checked_sub(at - first));
        }
        at += push(found, head, at);
    }
}

fn look_in_copy(reader: &mut Reader<'_>, capacity: u64, log: &Log, found: &mut Vec<Behind>) {
    let (mut at, end) = (log.ends().position, log.ends().position + (capacity - LABEL_BYTES));
    let (mut zeros, mut unread, mut block) = (0, 0, [0; BLOCK_BYTES]);
    while at + BLOCK <= end && zeros <= ZEROS_MAX && unread <= UNREAD_MAX {
        let is_read = reader.read(at, &mut block).is_ok();
        unread = if is_read { 0 } else { unread + 1 };
        zeros = if is_read && block == [0; BLOCK_BYTES] { zeros + BLOCK } else { 0 };
        let read = Head::decode(&block).filter(|_| is_read);
        // Earlier content of the ring has another position.
        let head = read.filter(|(head, _)| is_behind(head, log) && head.position == at);
        at += push(found, head, at);
    }
}

/// Returns true for a head that continues the log. This includes the first missing group if only
/// its payload is damaged, so that it is skipped. It excludes a group of earlier use.
fn is_behind(head: &Head, log: &Log) -> bool {
    let is_next = head.seq == log.ends().seq && log.is_followed_by(head.previous);
    is_of(head, log) && (is_next || head.seq > log.ends().seq)
}

/// Adds a head, if one was found. Returns the distance to the next possible head. The search skips
/// the payload of a known head, because a guest may have written a fake head there.
fn push(found: &mut Vec<Behind>, head: Option<(Head, u64)>, at: u64) -> u64 {
    let Some((head, sum)) = head else { return BLOCK };
    let step = BLOCK + u64::from(head.bytes);
    found.push(Behind { head, sum, at });
    step
}
