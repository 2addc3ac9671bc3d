use super::Media;
use crate::event::{IoError, Place, Sums};
use crate::format::{BLOCK, BLOCK_BYTES, Flags, Head, Kind, Record, Uuid};
use crate::geometry::Geometry;
use crate::machine::log::Log;

/// Whose log is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose {
    pub(super) owner: Uuid,
    pub(super) generation: u64,
    pub(super) attach: u64,
}

/// What a log turned out to be.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    /// Where it is to be gone on with.
    pub(super) log: Log,
    /// The highest number that any head called durable.
    pub(super) durable: u64,
    /// A number that is durable by a later head and is not there: the log is damaged.
    pub(super) damaged: Option<u64>,
}

/// A record, where its payload lies, and the sums of that.
type Found<'a> = (&'a Record, Option<u64>, Vec<u32>);

/// A group of it.
pub(super) struct Group<'a> {
    pub(super) head: &'a Head,
    pub(super) records: Vec<Found<'a>>,
}

/// Reads a log from group `seq` at the start of `chunk` as far as every group follows from the one
/// before it and has what its sums say.
pub(super) fn walk(
    media: &mut dyn Media,
    geometry: &Geometry,
    whose: Whose,
    (chunk, seq): (u32, u64),
    mut each: impl FnMut(Group<'_>),
) -> Result<Walk, IoError> {
    let mut log = Log::new(whose.owner, whose.generation, whose.attach, chunk, seq);
    let (mut durable, mut is_first) = (seq.saturating_sub(1), true);
    while let Some((head, sum)) = next_head(media, geometry, &log, is_first)? {
        let at = geometry.chunk_at(log.chunk()) + u64::from(log.at);
        let Some(records) = payload(media, &head, at + BLOCK)? else { break };
        // A link to nowhere is none.
        let is_link = head.flags.has(Flags::LINK);
        let is_log_chunk = (geometry.page_chunks..geometry.chunks).contains(&head.next_chunk);
        if is_link
            && (!is_log_chunk || log.chunks.iter().any(|(chunk, _)| *chunk == head.next_chunk))
        {
            break;
        }
        each(Group { head: &head, records });
        is_first = false;
        durable = durable.max(head.durable);
        log.seq = head.seq + 1;
        log.previous = sum;
        log.position = head.position + BLOCK + u64::from(head.bytes);
        log.retired = log.retired.max(head.retired);
        log.at += 4096 + head.bytes;
        if is_link {
            log.chunks.push_back((head.next_chunk, log.seq));
            log.at = 0;
        }
    }
    let damaged = damage(media, geometry, &log)?;
    (log.accepted, log.durable, log.told) = (log.last(), log.last(), durable);
    Ok(Walk { log, durable, damaged })
}

/// The head that follows, if it does.
fn next_head(
    media: &mut dyn Media,
    geometry: &Geometry,
    log: &Log,
    is_first: bool,
) -> Result<Option<(Head, u64)>, IoError> {
    if log.at + 4096 > geometry.chunk_bytes {
        return Ok(None);
    }
    let at = geometry.chunk_at(log.chunk()) + u64::from(log.at);
    let mut block = [0; BLOCK_BYTES];
    media.read(Place::Cache, at, &mut block)?;
    Ok(Head::decode(&block).filter(|(head, _)| {
        head.seq == log.seq
            && is_of(head, log)
            && (is_first || head.previous == log.previous)
            && log
                .at
                .checked_add(4096)
                .and_then(|at| at.checked_add(head.bytes))
                .is_some_and(|end| end <= geometry.chunk_bytes)
    }))
}

fn is_of(head: &Head, log: &Log) -> bool {
    (head.owner, head.generation) == (log.owner, log.generation)
}

/// The records with what belongs to them; `None` if a payload is not what its sum says.
fn payload<'a>(
    media: &mut dyn Media,
    head: &'a Head,
    mut at: u64,
) -> Result<Option<Vec<Found<'a>>>, IoError> {
    let mut found = Vec::new();
    for record in &head.records {
        if record.kind != Kind::Write {
            found.push((record, None, Vec::new()));
            continue;
        }
        let blocks = record.payload_blocks();
        let mut bytes = vec![0; usize::try_from(blocks * BLOCK).unwrap_or(0)];
        media.read(Place::Cache, at, &mut bytes)?;
        let from = usize::try_from(record.offset % BLOCK).unwrap_or(0);
        let sums = Sums::of(record.offset, &bytes[from..from + record.bytes as usize]);
        if sums.whole != record.sum {
            return Ok(None);
        }
        found.push((record, Some(at), sums.blocks));
        at += blocks * BLOCK;
    }
    Ok(Some(found))
}

/// A later head in the chunk where the log ended that calls durable what is not there.
fn damage(media: &mut dyn Media, geometry: &Geometry, log: &Log) -> Result<Option<u64>, IoError> {
    let start = geometry.chunk_at(log.chunk());
    let mut block = [0; BLOCK_BYTES];
    for at in (log.at..geometry.chunk_bytes).step_by(4096) {
        media.read(Place::Cache, start + u64::from(at), &mut block)?;
        let found = Head::decode(&block).map(|(head, _)| head);
        if found
            .is_some_and(|head| is_of(&head, log) && head.seq > log.seq && head.durable >= log.seq)
        {
            return Ok(Some(log.seq));
        }
    }
    Ok(None)
}
