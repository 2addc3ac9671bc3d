use super::Media;
use super::area::LogArea;
use super::damage::{LogDamage, judge};
use super::reader::{Group, Reader, Start, Track, is_of, payload};
use crate::event::{IoError, IoTarget};
use crate::format::{BLOCK, BLOCK_BYTES, Flags, Head, Uuid};
use crate::machine::log::Log;

/// Identity of the log that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose {
    pub(super) owner: Uuid,
    pub(super) generation: u64,
    pub(super) attach: u64,
}

/// Result of reading a log.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    /// Log that was read, to be continued if it is whole.
    pub(super) log: Log,
    /// Highest group that any head records as durable, including heads behind the end.
    pub(super) durable: u64,
    /// Damage, if groups are missing that were durable.
    pub(super) damage: Option<LogDamage>,
}

impl Walk {
    /// Returns the chunks of the log, including the chunks behind missing groups.
    pub(super) fn chunks(&self) -> impl Iterator<Item = u32> {
        let known = self.log.chunks().iter().map(|own| own.chunk);
        known.chain(self.damage.iter().flat_map(|damage| damage.chunks.iter().copied()))
    }
}

/// Reads a log from its start, as long as each group follows the group before it and matches its
/// checksums. If durable groups are missing after that, whole groups behind them are also passed to
/// `each`.
pub(super) fn walk(
    media: &mut dyn Media,
    track: Track<'_>,
    whose: Whose,
    start: Start,
    mut each: impl FnMut(Group<'_>),
) -> Walk {
    let mut reader = Reader::new(media, track);
    let mut log = Log::new(whose.owner, whose.generation, whose.attach, start.chunk, start.seq);
    log.read_from(start.position, start.at);
    let mut durable = start.seq.saturating_sub(1);
    let is_unread = loop {
        let (head, sum, at) = match next_head(&mut reader, &log) {
            Ok(Some(found)) => found,
            Ok(None) => break false,
            Err(_) => break true,
        };
        let records = match payload(&mut reader, &head, at + BLOCK) {
            Ok(Some(records)) => records,
            Ok(None) => break false,
            Err(_) => break true,
        };
        if head.flags.has(Flags::LINK) && !track.may_go_on(&log, &head) {
            break false;
        }
        each(Group { head: &head, records });
        durable = durable.max(head.durable);
        log.read_on(&head, sum, matches!(track, Track::Chunks(_)));
    };
    let damage = judge(&mut reader, &mut log, (start, is_unread), &mut durable, &mut each);
    log.was_read(durable);
    Walk { log, durable, damage }
}

/// Returns the next head with its checksum and address, if it follows the head before it.
fn next_head(reader: &mut Reader<'_>, log: &Log) -> Result<Option<(Head, u64, u64)>, IoError> {
    let Some(at) = reader.track.next(log) else { return Ok(None) };
    let mut block = [0; BLOCK_BYTES];
    reader.read(at, &mut block)?;
    let found = Head::decode(&block).filter(|(head, _)| {
        head.seq == log.ends().seq
            && is_of(head, log)
            && log.is_followed_by(head.previous)
            && reader.track.has_room(log, head)
    });
    Ok(found.map(|(head, sum)| (head, sum, at)))
}

/// Zeroes the block in which the log continues, unless it is zero. A flush must follow before a
/// group is written.
///
/// The block may hold the head of a group that a power cut tore and that counts as never written.
/// The next group begins in the same block. Suppose another power cut keeps only some of the next
/// group's sectors, and these are just the sectors that the torn group lacked. Then the torn group
/// would become whole, and a write would appear that was gone before. Without its first block no
/// group can become whole again.
pub(super) fn clear_end(media: &mut dyn Media, area: &LogArea, log: &Log) -> Result<(), IoError> {
    let Some(at) = Track::Chunks(area).next(log) else { return Ok(()) };
    let mut block = [0; BLOCK_BYTES];
    let is_clear = media.read(IoTarget::Cache, at, &mut block).is_ok() && block == [0; BLOCK_BYTES];
    if is_clear { Ok(()) } else { media.write(IoTarget::Cache, at, &[0; BLOCK_BYTES]) }
}
