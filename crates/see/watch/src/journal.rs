//! Appends the slices of the current period one by one, so that a kill loses only the open slice.
//!
//! A frame is its length, its CRC-32 and a slice in postcard's encoding; length and CRC-32 are
//! little-endian. Reading ends at the first broken frame, because a kill may have cut it. A journal
//! is named after the segment that it will become. So if that segment exists, the journal contains
//! nothing new.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use run_store::gauge::{Folded, GaugeName};
use run_store::slice::{Direction, SizeClass};
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::segment::SegmentName;
use crate::slice::Names;
use crate::{Cell, Key, Latencies, Slice, WatchError};

const SUFFIX: &str = ".journal";
/// Maximum size of a journal that is read.
const JOURNAL_MAX: u64 = 1 << 30;
/// Maximum size of a frame that is read.
const FRAME_MAX: usize = 64 << 20;

/// Slice in a journal. Rows refer to VMs, disks and scopes by position.
#[derive(Serialize, Deserialize)]
struct Frame {
    start_s: u64,
    width_s: u64,
    watched_ns: u64,
    lost: u64,
    names: Vec<String>,
    io: Vec<Row>,
    gauges: Vec<GaugeRow>,
}

/// Positions of rows with I/O on disks below others. They follow the frame, where earlier versions
/// wrote nothing and read nothing.
type Below = Vec<u32>;

#[derive(Serialize, Deserialize)]
struct Row {
    vm: u32,
    disk: u32,
    direction: Direction,
    class: Option<SizeClass>,
    count: u64,
    errors: u64,
    bytes: u64,
    latency_ns: u64,
    queue_ns: Option<u64>,
    outstanding: Option<u64>,
    outstanding_max: Option<u32>,
    histogram: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct GaugeRow {
    name: GaugeName,
    scope: u32,
    time_ns: u64,
    value: f64,
    most: f64,
}

/// Journal open for appending.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: Option<File>,
}

impl Journal {
    /// Creates a journal for this segment. The file is created with the first slice.
    pub fn new(directory: &Path, segment: SegmentName) -> Self {
        Self { path: path_of(directory, segment), file: None }
    }

    /// Appends a slice. It is not synced, because a flush every ten seconds would disturb the
    /// watched storage. So a kill loses nothing of it, but a power failure loses what the kernel
    /// has not written yet.
    ///
    /// # Errors
    /// The file cannot be written. The written part of the frame is removed.
    pub fn append(&mut self, slice: &Slice) -> Result<(), WatchError> {
        self.append_frame(&encode(slice)).map_err(WatchError::io(&self.path))
    }

    fn append_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(untrusted::create(&self.path)?),
        };
        let before = file.stream_position()?;
        let written = file.write_all(frame);
        if written.is_err() {
            // Later frames would not be found behind a broken one.
            file.set_len(before)?;
            file.seek(SeekFrom::Start(before))?;
        }
        written
    }

    /// Removes the file, after its slices were stored in a segment.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(self) -> Result<(), WatchError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(WatchError::Io { path: self.path, source: error })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the path of the journal of a segment.
pub(crate) fn path_of(directory: &Path, segment: SegmentName) -> PathBuf {
    directory.join(format!("{}{SUFFIX}", segment.file()))
}

/// Returns the segment of a journal with this file name.
pub(crate) fn segment_of(name: &str) -> Option<SegmentName> {
    SegmentName::parse(name.strip_suffix(SUFFIX)?)
}

/// Reads the slices of a journal, up to the first frame that is broken or belongs to another
/// period; empty if the file no longer exists.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read(
    directory: &Path,
    segment: SegmentName,
    names: &mut Names,
) -> Result<Vec<Slice>, WatchError> {
    let path = path_of(directory, segment);
    let bytes = match untrusted::read(&path, JOURNAL_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(WatchError::io(&path))?,
    };
    let mut slices = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((frame, after)) = next_frame(rest) {
        let is_own = |slice: &Slice| {
            let level = segment.level();
            level.period_of(slice.start_s) == segment.period_s && slice.width_s == level.width_s
        };
        let Some(slice) = decode(frame, names).filter(is_own) else { break };
        slices.push(slice);
        rest = after;
    }
    Ok(slices)
}

fn next_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    let (frame, after) = rest.split_at_checked(length).filter(|_| length <= FRAME_MAX)?;
    (crc32fast::hash(frame) == u32::from_le_bytes(*sum)).then_some((frame, after))
}

fn encode(slice: &Slice) -> Vec<u8> {
    let bytes = frame(slice);
    let length = u32::try_from(bytes.len()).expect("a slice takes less than 4 GiB");
    let head = [length.to_le_bytes(), crc32fast::hash(&bytes).to_le_bytes()].concat();
    [head, bytes].concat()
}

/// Encodes a slice, without length and CRC-32; [`decode`] is the inverse.
pub(crate) fn frame(slice: &Slice) -> Vec<u8> {
    let mut names: Vec<String> = Vec::new();
    let mut known = rustc_hash::FxHashMap::default();
    let mut place = |name: &Arc<str>| {
        *known.entry(Arc::clone(name)).or_insert_with(|| {
            names.push(name.to_string());
            u32::try_from(names.len() - 1).expect("a slice has fewer than 2^32 names")
        })
    };
    let io = slice.io.iter().map(|(key, cell)| Row {
        vm: place(&key.vm),
        disk: place(&key.disk),
        direction: key.direction,
        class: key.class,
        count: cell.count,
        errors: cell.errors,
        bytes: cell.bytes,
        latency_ns: cell.latency_ns,
        queue_ns: cell.queue_ns,
        outstanding: cell.outstanding,
        outstanding_max: cell.outstanding_max,
        histogram: cell.latencies.bytes().to_vec(),
    });
    let io = io.collect();
    let gauges = slice.gauges.iter().map(|((name, scope), folded)| GaugeRow {
        name: *name,
        scope: place(scope),
        time_ns: folded.time.0,
        value: folded.value,
        most: folded.most,
    });
    let gauges = gauges.collect();
    let (start_s, width_s) = (slice.start_s, slice.width_s);
    let (watched_ns, lost) = (slice.watched.0, slice.lost);
    let frame = Frame { start_s, width_s, watched_ns, lost, names, io, gauges };
    let below: Below =
        (0..).zip(slice.io.keys()).filter(|(_, key)| key.is_below).map(|(row, _)| row).collect();
    postcard::to_stdvec(&(frame, below)).expect("numbers, texts and lists")
}

/// Decodes a slice from a frame; `None` for other bytes.
pub(crate) fn decode(frame: &[u8], names: &mut Names) -> Option<Slice> {
    let (frame, rest): (Frame, &[u8]) = postcard::take_from_bytes(frame).ok()?;
    let below: Below =
        if rest.is_empty() { Below::new() } else { postcard::from_bytes(rest).ok()? };
    let texts: Vec<Arc<str>> = frame.names.iter().map(|name| names.get(name)).collect();
    let text = |place: u32| texts.get(place as usize).cloned();
    let mut slice = Slice {
        watched: Nanos(frame.watched_ns),
        lost: frame.lost,
        ..Slice::new(frame.start_s, frame.width_s)
    };
    for (place, row) in (0..).zip(frame.io) {
        let (direction, class) = (row.direction, row.class);
        // `below` has positions in ascending order, as they were written. A position out of order
        // belongs to no row.
        let is_below = below.binary_search(&place).is_ok();
        let key = Key { vm: text(row.vm)?, disk: text(row.disk)?, direction, class, is_below };
        let cell = Cell {
            count: row.count,
            errors: row.errors,
            bytes: row.bytes,
            latency_ns: row.latency_ns,
            queue_ns: row.queue_ns,
            outstanding: row.outstanding,
            outstanding_max: row.outstanding_max,
            latencies: Latencies::decode(&row.histogram).ok()?,
        };
        slice.io.insert(key, cell);
    }
    for row in frame.gauges {
        let folded = Folded { time: Nanos(row.time_ns), value: row.value, most: row.most };
        slice.gauges.insert((row.name, text(row.scope)?), folded);
    }
    Some(slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(disks: &[(&str, bool)]) -> Slice {
        let mut slice = Slice { watched: Nanos::from_secs(10), ..Slice::new(50, 10) };
        for (disk, is_below) in disks {
            let (vm, disk, is_below) = ("web1".into(), (*disk).into(), *is_below);
            let (direction, class) = (Direction::Read, Some(SizeClass::of(4096)));
            let cell = Cell { count: 3, ..Cell::default() };
            slice.io.insert(Key { vm, disk, direction, class, is_below }, cell);
        }
        slice
    }

    #[test]
    fn frame_tells_which_io_is_below_another() {
        let slice = slice(&[("dm-3", false), ("sda", false), ("sda", true)]);
        assert_eq!(decode(&frame(&slice), &mut Names::default()), Some(slice));
    }

    #[test]
    fn frame_of_an_earlier_version_is_read() {
        let slice = slice(&[("sda", false)]);
        let mut frame = frame(&slice);
        assert_eq!(frame.pop(), Some(0), "no row is below another");
        assert_eq!(decode(&frame, &mut Names::default()), Some(slice));
        frame.push(9);
        assert_eq!(decode(&frame, &mut Names::default()), None, "a list that is cut");
    }
}
