//! Reads a page of a ring buffer: a header, then entries with time deltas.
//!
//! Source: kernel `include/linux/ring_buffer.h` (`struct ring_buffer_event`, entry types) and
//! `kernel/trace/ring_buffer.c` (`RB_MISSED_EVENTS`, `RB_MISSED_STORED`, `rb_event_length`,
//! `rb_fix_abs_ts`); the layout of the header is read from `events/header_page`.

use crate::format::{Field, Format};

/// Flag: events were lost before this page.
const MISSED: u64 = 1 << 31;
/// Flag: the number of lost events is stored after the page's data.
const MISSED_STORED: u64 = 1 << 30;
/// Mask of the length of the data, in the bits below the flags.
const LENGTH_MASK: u64 = (1 << 20) - 1;
/// Number of bits of a time delta; an extension entry has the higher bits.
const DELTA_BITS: u32 = 27;
/// Mask of absolute times, which have 59 bits.
const ABSOLUTE_MASK: u64 = (1 << 59) - 1;
const HEAD_BYTES: usize = 4;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Layout of a page, with its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageLayout {
    timestamp: Field,
    commit: Field,
    data: Field,
}

impl PageLayout {
    /// Reads the layout from the text of `events/header_page`.
    pub fn parse(text: &str) -> Option<Self> {
        let format = Format::parse(text);
        let layout = Self {
            timestamp: format.field("timestamp")?,
            commit: format.field("commit")?,
            data: format.field("data")?,
        };
        let sizes = [4, 8];
        (layout.timestamp.size == 8
            && sizes.contains(&layout.commit.size)
            && layout.data.size > 0
            && layout.commit.offset + layout.commit.size <= layout.data.offset)
            .then_some(layout)
    }

    /// Returns the size of a whole page in bytes.
    pub fn page_bytes(&self) -> usize {
        self.data.offset + self.data.size
    }
}

/// Error for an inconsistent page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// Events lost before a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missed {
    /// Number of lost events, if the kernel stored it.
    pub count: Option<u64>,
    /// Time of the page, before which they were lost.
    pub before: u64,
}

/// Calls `entry` with the time and bytes of each entry; returns the events lost before the page.
///
/// If the page is inconsistent, reading stops at that place.
pub(crate) fn read(
    layout: &PageLayout,
    page: &[u8],
    mut entry: impl FnMut(u64, &[u8]),
) -> Result<Option<Missed>, Broken> {
    let mut time = number(page, layout.timestamp).ok_or(Broken)?;
    let commit = number(page, layout.commit).ok_or(Broken)?;
    let length = usize::try_from(commit & LENGTH_MASK).map_err(|_| Broken)?;
    let start = layout.data.offset;
    let data = page.get(start..start + length).ok_or(Broken)?;
    let missed = (commit & MISSED != 0).then(|| {
        let stored = Field { offset: start + length, size: layout.commit.size };
        let count = (commit & MISSED_STORED != 0).then(|| number(page, stored)).flatten();
        Missed { count, before: time }
    });
    let mut at = 0;
    while let Some(head) = word(data, at) {
        let (kind, delta) = split(head);
        let rest = at + HEAD_BYTES;
        match kind {
            PADDING if delta == 0 => break,
            PADDING => {
                time = time.saturating_add(delta);
                at = rest + skip(data, rest)?;
            }
            TIME_EXTEND => {
                let high = u64::from(word(data, rest).ok_or(Broken)?) << DELTA_BITS;
                time = time.saturating_add(high + delta);
                at = rest + 4;
            }
            TIME_STAMP => {
                let high = u64::from(word(data, rest).ok_or(Broken)?) << DELTA_BITS;
                time = (time & !ABSOLUTE_MASK) | high | delta;
                at = rest + 4;
            }
            kind => {
                time = time.saturating_add(delta);
                let (begin, end) = span(data, rest, kind)?;
                entry(time, data.get(begin..end).ok_or(Broken)?);
                at = end;
            }
        }
    }
    Ok(missed)
}

/// Returns the length of the padding after the header of a discarded entry.
fn skip(data: &[u8], at: usize) -> Result<usize, Broken> {
    let length = word(data, at).ok_or(Broken)?;
    let length = usize::try_from(length).map_err(|_| Broken)?;
    if length == 0 || length > data.len() { Err(Broken) } else { Ok(length) }
}

/// Returns start and end of an entry's data. Short entries have their length in the header, in
/// words; long ones have it in a separate word, which is included.
fn span(data: &[u8], rest: usize, kind: u32) -> Result<(usize, usize), Broken> {
    if kind > 0 {
        return Ok((rest, rest + 4 * usize::try_from(kind).map_err(|_| Broken)?));
    }
    let length = skip(data, rest)?;
    if length < 4 { Err(Broken) } else { Ok((rest + 4, rest + length.next_multiple_of(4))) }
}

/// Splits an entry's header into type (5 bits) and time delta. Bit fields begin at the low end on
/// little-endian computers, and at the high end on others.
fn split(head: u32) -> (u32, u64) {
    if cfg!(target_endian = "little") {
        (head & 31, u64::from(head >> 5))
    } else {
        (head >> DELTA_BITS, u64::from(head & ((1 << DELTA_BITS) - 1)))
    }
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

/// Reads an integer of 1, 2, 4 or 8 bytes in native byte order.
pub(crate) fn number(data: &[u8], field: Field) -> Option<u64> {
    let bytes = data.get(field.offset..field.offset.checked_add(field.size)?)?;
    Some(match field.size {
        1 => u64::from(bytes[0]),
        2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
        4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
        8 => u64::from_ne_bytes(bytes.try_into().ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
