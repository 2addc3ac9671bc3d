//! Files of working sets, one for each day: `sets-1764374400.parquet`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{SetRow, table};
use crate::WatchError;

const DAY_S: u64 = 86_400;
/// Maximum number of days kept, as long as slices of an hour. As there, it is a number and not an
/// age.
const DAYS_MAX: usize = 400;
/// Maximum size of a file that is read: some hundred times the size of a day of 256 VMs.
const FILE_MAX: u64 = 64 << 20;
/// Latest begin of a day, as for a segment.
const START_MAX: u64 = 1 << 40;
const UNFINISHED: &str = ".tmp";

/// Day that has a file, as its begin in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day {
    pub start_s: u64,
}

impl Day {
    fn of(start_s: u64) -> Self {
        Self { start_s: start_s - start_s % DAY_S }
    }

    fn parse(name: &str) -> Option<Self> {
        let text = name.strip_prefix("sets-")?.strip_suffix(".parquet")?;
        let start_s: u64 = text.parse().ok()?;
        let day = Self::of(start_s);
        (day.file() == name && start_s <= START_MAX).then_some(day)
    }

    pub fn file(self) -> String {
        format!("sets-{}.parquet", self.start_s)
    }

    pub fn end_s(self) -> u64 {
        self.start_s + DAY_S
    }
}

/// Returns true for the name of a file that a killed writer left unfinished.
pub(crate) fn is_unfinished(name: &str) -> bool {
    let own = |name: &str| Day::parse(name).is_some() || name == super::state::FILE;
    name.strip_suffix(UNFINISHED).is_some_and(own)
}

/// Returns the days that have a file among the names of a directory, ascending.
pub(crate) fn days(names: &[String]) -> Vec<Day> {
    let mut found: Vec<Day> = names.iter().filter_map(|name| Day::parse(name)).collect();
    found.sort_unstable();
    found
}

/// Reads a day's rows for the hours that begin in a window.
///
/// # Errors
/// The file cannot be read, or has rows that no writer of this program wrote.
pub(crate) fn read(
    directory: &Path,
    day: Day,
    (from_s, to_s): (u64, u64),
) -> Result<Vec<SetRow>, WatchError> {
    let path = directory.join(day.file());
    let file = untrusted::open(&path).map_err(WatchError::io(&path))?;
    let length = file.metadata().map_err(WatchError::io(&path))?.len();
    if length > FILE_MAX {
        let text = format!("it has {length} bytes, but the maximum is {FILE_MAX}");
        return Err(WatchError::content(&path)(text.into()));
    }
    let is_wanted = |start_s: u64| (from_s..to_s).contains(&start_s) && Day::of(start_s) == day;
    table::read(&file, is_wanted).map_err(WatchError::content(&path))
}

/// Adds rows to the files of their days.
///
/// # Errors
/// A file cannot be read or written; it is then unchanged.
pub(crate) fn put(directory: &Path, rows: &[SetRow]) -> Result<(), WatchError> {
    let mut by_day: BTreeMap<Day, Vec<SetRow>> = BTreeMap::new();
    for row in rows {
        by_day.entry(Day::of(row.start_s)).or_default().push(row.clone());
    }
    for (day, rows) in by_day {
        let known = match directory.join(day.file()).exists() {
            true => read(directory, day, (0, u64::MAX)),
            false => Ok(Vec::new()),
        };
        let known = match known {
            // What cannot be read is lost already; the day's other hours need not be.
            Err(WatchError::Content { .. }) => Vec::new(),
            known => known?,
        };
        write(directory, day, known.into_iter().chain(rows).collect())?;
    }
    Ok(())
}

/// Writes the file of a day. The file gets its name only when it is complete and durable.
fn write(directory: &Path, day: Day, rows: Vec<SetRow>) -> Result<(), WatchError> {
    let path = directory.join(day.file());
    let temporary = directory.join(format!("{}{UNFINISHED}", day.file()));
    let rows = merged(rows);
    let write_file = |path: &PathBuf| {
        let file = untrusted::create(path)?;
        table::write(&file, &rows, None)?;
        file.sync_all()
    };
    let written = write_file(&temporary)
        .and_then(|()| fs::rename(&temporary, &path))
        .and_then(|()| File::open(directory)?.sync_all());
    written.map_err(|source| {
        // The first error is the one that matters.
        let _ = fs::remove_file(&temporary);
        WatchError::Io { path, source }
    })
}

/// Sorts the rows into the order of files, and keeps one row for each hour, VM and span. A watcher
/// that was restarted within the hour writes a second row. The row with data over a longer time is
/// kept, or of equal ones the later.
fn merged(mut rows: Vec<SetRow>) -> Vec<SetRow> {
    // Stable, so that later rows stay behind.
    rows.sort_by(|left, right| left.key().cmp(&right.key()).then(right.since_s.cmp(&left.since_s)));
    let mut merged: Vec<SetRow> = Vec::with_capacity(rows.len());
    for row in rows {
        match merged.last_mut().filter(|last| last.is_of(&row)) {
            Some(last) => *last = row,
            None => merged.push(row),
        }
    }
    merged
}

/// Removes sets with I/O before a time, and sets of a VM, from the file of a day. Returns true if
/// any was removed.
///
/// # Errors
/// The file cannot be read or written.
pub(crate) fn forget_in(
    directory: &Path,
    day: Day,
    before_s: Option<u64>,
    vm: Option<&str>,
) -> Result<bool, WatchError> {
    let mut rows = read(directory, day, (0, u64::MAX))?;
    let had = rows.len();
    rows.retain(|row| {
        before_s.is_none_or(|before_s| row.since_s >= before_s)
            && vm.is_none_or(|vm| &*row.vm != vm)
    });
    if rows.len() == had {
        return Ok(false);
    }
    write(directory, day, rows)?;
    Ok(true)
}

/// Keeps the rows of at most one hour, the last, in each `step_s` seconds.
pub(crate) fn thinned(rows: Vec<SetRow>, step_s: u64) -> Vec<SetRow> {
    let step_s = step_s.max(1);
    let mut thinned: Vec<SetRow> = Vec::new();
    for row in rows {
        let is_same = |last: &&mut SetRow| {
            let step = |own: &SetRow| own.start_s / step_s;
            (&last.vm, last.span, step(last)) == (&row.vm, row.span, step(&row))
        };
        match thinned.last_mut().filter(is_same) {
            Some(last) => *last = row,
            None => thinned.push(row),
        }
    }
    thinned
}

/// Returns the number of oldest days to remove. They exceed the maximum number of days, or a tenth
/// of the store's size limit, so that sets never displace slices.
pub(crate) fn over(directory: &Path, days: &[Day], bytes_max: u64) -> usize {
    let mut room = bytes_max / 10;
    // Newest first; a file that was removed meanwhile takes nothing.
    let kept = days.iter().rev().take(DAYS_MAX).take_while(|day| {
        let length = fs::metadata(directory.join(day.file())).map_or(0, |data| data.len());
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    });
    days.len() - kept.count()
}

/// Returns the newest rows of each VM and span.
pub(crate) fn newest(mut rows: Vec<SetRow>) -> Vec<SetRow> {
    rows.sort_by(|left, right| left.key().cmp(&right.key()));
    thinned(rows, u64::MAX)
}
