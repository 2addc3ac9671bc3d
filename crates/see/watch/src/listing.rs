//! Lists the files of a store, and sums up their contents.

use std::fs;
use std::path::Path;

use crate::segment::SegmentName;
use crate::{Evidences, LEVELS, WatchError, journal, known, sets};

/// Size and age of a store's data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// Size of all segments, journals, files of working sets and recordings, in bytes.
    pub bytes: u64,
    /// State of each level, finest first.
    pub levels: Vec<LevelState>,
}

/// Size and age of the data in one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LevelState {
    /// Number of segments.
    pub segments: usize,
    /// Begin of the first segment and end of the last, in seconds since 1970; `None` without
    /// segments.
    pub time_s: Option<(u64, u64)>,
}

/// Returns the names of the files of a store.
pub(crate) fn entries(directory: &Path) -> Result<Vec<String>, WatchError> {
    let found = fs::read_dir(directory).map_err(WatchError::io(directory))?;
    Ok(found.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// Returns the segments that the store's journals will become, sorted.
pub(crate) fn journals(directory: &Path) -> Result<Vec<SegmentName>, WatchError> {
    let names = entries(directory)?;
    let mut found: Vec<_> = names.iter().filter_map(|name| journal::segment_of(name)).collect();
    found.sort_unstable();
    Ok(found)
}

/// Returns the segments of a store, finest level first, then sorted by time.
pub(crate) fn segments(directory: &Path) -> Result<Vec<SegmentName>, WatchError> {
    let names = entries(directory)?;
    let mut found: Vec<_> = names.iter().filter_map(|name| SegmentName::parse(name)).collect();
    found.sort_unstable();
    Ok(found)
}

/// Returns size and age of a store's data.
///
/// # Errors
/// The directory cannot be read.
pub(crate) fn state(directory: &Path) -> Result<State, WatchError> {
    let all = segments(directory)?;
    let open = journals(directory)?.into_iter().map(|own| journal::path_of(directory, own));
    let sets = sets::days(&entries(directory)?).into_iter().map(|day| directory.join(day.file()));
    let single = [known::NAMES_FILE, sets::state::FILE].map(|name| directory.join(name));
    let files =
        all.iter().map(|own| directory.join(own.file())).chain(open).chain(sets).chain(single);
    // A file that was removed meanwhile takes nothing.
    let sizes = files.map(|file| fs::metadata(file).map_or(0, |data| data.len()));
    let levels = (0..LEVELS.len()).map(|level| {
        let own: Vec<_> = all.iter().filter(|own| own.level == level).collect();
        let end = own.iter().map(|own| own.end_s()).max();
        let time_s = own.first().map(|first| first.period_s).zip(end);
        LevelState { segments: own.len(), time_s }
    });
    let bytes = sizes.sum::<u64>() + Evidences::of(directory).bytes();
    Ok(State { bytes, levels: levels.collect() })
}
