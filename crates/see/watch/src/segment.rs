//! File of one period of a level. It is a Parquet file, written at once and never changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use serde::{Deserialize, Serialize};
use units::Nanos;
use untrusted::Malformed;

use crate::columns;
use crate::slice::Names;
use crate::{Level, SCHEMA, Slice, WatchError};

/// Key of the head in a file's metadata.
const HEAD_KEY: &str = "tilemark.watch.segment";
/// Maximum size of a file that is read: some hundred times the size of a period of 100 busy VMs.
const FILE_MAX: u64 = 1 << 30;
const UNFINISHED: &str = ".tmp";

/// Latest begin of a period, some 34,000 years from now, so that sums of times do not overflow.
pub(crate) const PERIOD_MAX: u64 = 1 << 40;

/// Returns true for the file name of a segment that a killed writer left unfinished.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.strip_suffix(UNFINISHED).is_some_and(|name| SegmentName::parse(name).is_some())
}

/// Facts about a segment, in addition to its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Format, `tilemark.watch/1.0`.
    pub schema: String,
    /// Name of the level.
    pub level: String,
    /// Begin of the period, in seconds since 1970.
    pub period_s: u64,
    /// Names of the finer segments from which this segment was made.
    pub sources: Vec<String>,
    /// Slices, ascending.
    pub slices: Vec<SliceFacts>,
}

/// Facts about a slice, in addition to its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SliceFacts {
    pub start_s: u64,
    pub watched_ns: u64,
    pub lost: u64,
}

/// Name of a segment's file: `10s-1764446400-0.parquet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentName {
    /// Position of the level in [`crate::LEVELS`].
    pub level: usize,
    pub period_s: u64,
    /// Number among the segments of this period. There is a second one if the clock steps back.
    pub number: u32,
}

impl SegmentName {
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".parquet")?.split('-');
        let level = parts.next()?;
        let level = crate::LEVELS.iter().position(|own| own.name == level)?;
        let name = Self { level, period_s: number(parts.next()?)?, number: number(parts.next()?)? };
        let is_period = name.level().period_of(name.period_s) == name.period_s;
        let is_own = parts.next().is_none() && is_period && name.period_s <= PERIOD_MAX;
        is_own.then_some(name)
    }

    pub fn level(&self) -> &'static Level {
        &crate::LEVELS[self.level]
    }

    pub fn end_s(&self) -> u64 {
        self.period_s + self.level().period_s
    }

    pub fn file(&self) -> String {
        format!("{}-{}-{}.parquet", self.level().name, self.period_s, self.number)
    }
}

/// Parses a number without sign or leading zeros, so that a segment has exactly one name.
fn number<T: std::str::FromStr + ToString>(text: &str) -> Option<T> {
    text.parse().ok().filter(|number: &T| number.to_string() == text)
}

/// Writes the slices of a period. They must be ascending, and no two may have the same time. The
/// file gets its name only when it is complete and durable.
///
/// # Errors
/// The file cannot be written; no part of it remains.
pub(crate) fn write(
    directory: &Path,
    name: SegmentName,
    slices: &[Slice],
    sources: Vec<String>,
) -> Result<u64, WatchError> {
    let path = directory.join(name.file());
    let temporary = directory.join(format!("{}{UNFINISHED}", name.file()));
    let written = write_file(&temporary, name, slices, sources)
        .and_then(|bytes| fs::rename(&temporary, &path).map(|()| bytes))
        .and_then(|bytes| File::open(directory)?.sync_all().map(|()| bytes));
    written.map_err(|source| {
        // The first error is the one that matters.
        let _ = fs::remove_file(&temporary);
        WatchError::Io { path, source }
    })
}

fn write_file(
    path: &Path,
    name: SegmentName,
    slices: &[Slice],
    sources: Vec<String>,
) -> std::io::Result<u64> {
    let head = Head {
        schema: SCHEMA.to_owned(),
        level: name.level().name.to_owned(),
        period_s: name.period_s,
        sources,
        slices: slices.iter().map(facts).collect(),
    };
    let head = serde_json::to_string(&head).expect("numbers and texts");
    let file = untrusted::create(path)?;
    let notes = vec![KeyValue::new(HEAD_KEY.to_owned(), head)];
    columns::write_rows(&file, slices, notes)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn facts(slice: &Slice) -> SliceFacts {
    SliceFacts { start_s: slice.start_s, watched_ns: slice.watched.0, lost: slice.lost }
}

/// A segment opened for reading.
pub(crate) struct Segment {
    path: PathBuf,
    file: File,
    head: Head,
}

impl Segment {
    /// Opens a segment and reads its head.
    ///
    /// # Errors
    /// The file is not a segment of this name.
    pub fn open(directory: &Path, name: SegmentName) -> Result<Self, WatchError> {
        let path = directory.join(name.file());
        let file = untrusted::open(&path).map_err(WatchError::io(&path))?;
        let head = Self::head_of(&file, name).map_err(WatchError::content(&path))?;
        Ok(Self { path, file, head })
    }

    fn head_of(file: &File, name: SegmentName) -> Result<Head, Malformed> {
        let length = file.metadata().map_err(|error| error.to_string())?.len();
        if length > FILE_MAX {
            return Err(format!("it has {length} bytes, but the maximum is {FILE_MAX}").into());
        }
        let file = file.try_clone().map_err(|error| error.to_string())?;
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| error.to_string())?;
        let notes = builder.metadata().file_metadata().key_value_metadata();
        let head = notes
            .and_then(|notes| notes.iter().find(|note| note.key == HEAD_KEY)?.value.as_deref())
            .ok_or("it has no head of a segment")?;
        let head: Head = serde_json::from_str(head).map_err(|error| error.to_string())?;
        let level = name.level();
        let is_within = |own: &SliceFacts| {
            level.period_of(own.start_s) == name.period_s
                && level.slice_of(own.start_s) == own.start_s
        };
        let ascends = head.slices.is_sorted_by(|left, right| left.start_s < right.start_s);
        if head.level != level.name || head.period_s != name.period_s {
            return Err("its head belongs to another segment".into());
        }
        if !ascends || !head.slices.iter().all(is_within) {
            return Err("its slices do not belong to its period".into());
        }
        Ok(head)
    }

    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Reads all slices, ascending, merged to slices of `width_s`: the level's own width, or a
    /// multiple. So a whole period of fine slices is never in memory when coarser slices are made.
    ///
    /// # Errors
    /// The file cannot be read, or has rows that no writer of this program wrote.
    pub fn slices(&self, width_s: u64, names: &mut Names) -> Result<Vec<Slice>, WatchError> {
        let mut slices: BTreeMap<u64, Slice> = BTreeMap::new();
        for facts in &self.head.slices {
            let start_s = facts.start_s - facts.start_s % width_s;
            let own = slices.entry(start_s).or_insert_with(|| Slice::new(start_s, width_s));
            own.watched = own.watched.saturating_add(Nanos(facts.watched_ns));
            own.lost = own.lost.saturating_add(facts.lost);
        }
        columns::read_rows(&self.file, width_s, &mut slices, names)
            .map_err(WatchError::content(&self.path))?;
        Ok(slices.into_values().collect())
    }
}
