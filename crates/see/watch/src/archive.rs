//! Reads a store, even while it is being written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::journal;
use crate::segment::{Segment, SegmentName};
use crate::sets;
use crate::slice::Names;
use crate::store::{About, about, entries, journals, segments, state};
use crate::{LEVELS, SetRow, Slice, State, WatchError};

/// Maximum number of threads that read a window. More would take the processors of the VMs on a
/// watched host.
const THREADS_MAX: usize = 4;

/// A store opened for reading.
#[derive(Debug, Clone)]
pub struct Archive {
    directory: PathBuf,
    about: About,
}

/// Slices of a time window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// Usual width of a slice, in seconds. Where only coarser data is left, slices are wider.
    pub width_s: u64,
    /// Slices, ascending; there are none for time that was not watched.
    pub slices: Vec<Slice>,
    /// Files that could not be read, with the reason; their time is a gap.
    pub unreadable: Vec<String>,
}

/// Working sets of a time window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SetRows {
    /// Sets, sorted by VM, span and time. There are none for an hour that was not watched.
    pub rows: Vec<SetRow>,
    /// Files that could not be read, with the reason; their time is a gap.
    pub unreadable: Vec<String>,
}

impl Archive {
    /// Opens a store.
    ///
    /// # Errors
    /// The directory is not a store, or is a store of a later version.
    pub fn open(directory: &Path) -> Result<Self, WatchError> {
        Ok(Self { directory: directory.to_owned(), about: about(directory)? })
    }

    /// Returns true if the directory is a store of any version.
    pub fn is_store(directory: &Path) -> bool {
        directory.join(crate::store::STORE_FILE).is_file()
    }

    /// Returns the name of the host that was watched.
    pub fn host(&self) -> &str {
        &self.about.host
    }

    /// Returns size and age of the store's data.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn state(&self) -> Result<State, WatchError> {
        state(&self.directory)
    }

    /// Returns begin and end of the store's data, in seconds since 1970; `None` if the store is
    /// empty.
    ///
    /// # Errors
    /// A directory or the journal cannot be read.
    pub fn bounds(&self) -> Result<Option<(u64, u64)>, WatchError> {
        let open = self.open_slices(&mut Names::default())?;
        let of_open =
            open.iter().flat_map(|(_, slices)| slices).map(|slice| (slice.start_s, slice.width_s));
        let mut bounds: Option<(u64, u64)> = None;
        let mut add = |from: u64, last: u64, width_s: u64| {
            let (first, end) = bounds.unwrap_or((from, last + width_s));
            // A coarse slice may end later than the finer slices it was made of. So its end only
            // counts if it begins after all finer slices.
            let end = if last >= end { last + width_s } else { end };
            bounds = Some((first.min(from), end));
        };
        of_open.for_each(|(start_s, width_s)| add(start_s, start_s, width_s));
        let all = segments(&self.directory)?;
        // The slices of the outermost segments, since a period may be watched in part only.
        let ends = LEVELS.iter().enumerate().flat_map(|(level, _)| {
            let own = || all.iter().filter(move |own| own.level == level);
            [own().min_by_key(|own| own.period_s), own().max_by_key(|own| own.period_s)]
        });
        for name in ends.flatten() {
            let Ok(segment) = Segment::open(&self.directory, *name) else { continue };
            let slices = &segment.head().slices;
            if let (Some(first), Some(last)) = (slices.first(), slices.last()) {
                add(first.start_s, last.start_s, name.level().width_s);
            }
        }
        Ok(bounds)
    }

    /// Reads the slices that begin in a window, at the finest level that has at most `slices_max`
    /// slices in it. Where this level has no data, because the time is too recent or too long ago,
    /// the next finer level is used, or otherwise a coarser one.
    ///
    /// # Errors
    /// The directory cannot be read. A single file that cannot be read is a gap.
    pub fn window(
        &self,
        (from_s, to_s): (u64, u64),
        slices_max: u64,
    ) -> Result<Window, WatchError> {
        let fits = |width_s: u64| to_s.saturating_sub(from_s).div_ceil(width_s) <= slices_max;
        let chosen = LEVELS.iter().position(|level| fits(level.width_s));
        let chosen = chosen.unwrap_or(LEVELS.len() - 1);
        let mut reading = Reading {
            archive: self,
            window: (from_s, to_s),
            width_s: LEVELS[chosen].width_s,
            slices: BTreeMap::new(),
            covered: Vec::new(),
            unreadable: Vec::new(),
        };
        let open = self.open_slices(&mut Names::default())?;
        let all = segments(&self.directory)?;
        for level in (0..=chosen).rev() {
            reading.level(&all, level);
        }
        // One journal at a time is open, and no coarser segment holds its slices yet.
        let covered = std::mem::take(&mut reading.covered);
        let of_open = open.into_iter().filter(|(segment, _)| !all.contains(segment));
        of_open.flat_map(|(_, slices)| slices).for_each(|slice| reading.add(slice));
        reading.covered = covered;
        for level in chosen + 1..LEVELS.len() {
            reading.level(&all, level);
        }
        let slices = reading.slices.into_values().collect();
        Ok(Window { width_s: reading.width_s, slices, unreadable: reading.unreadable })
    }

    /// Reads the working sets of hours that begin in a window, at most one hour in each `step_s`
    /// seconds: the last hour that the file has. The current hour has no sets yet.
    ///
    /// # Errors
    /// The directory cannot be read. A single file that cannot be read is a gap.
    pub fn sets(&self, window: (u64, u64), step_s: u64) -> Result<SetRows, WatchError> {
        let mut found = SetRows::default();
        let (from_s, to_s) = window;
        for day in sets::days(&entries(&self.directory)?) {
            if day.start_s >= to_s || day.end_s() <= from_s {
                continue;
            }
            match sets::read(&self.directory, day, window) {
                Ok(rows) => found.rows.extend(sets::thinned(rows, step_s)),
                Err(error) if is_gone(&error) => {}
                Err(error) => found.unreadable.push(error.to_string()),
            }
        }
        Ok(found.sorted())
    }

    /// Reads the newest working sets of each VM, from the last two days with any sets. A VM whose
    /// last set is more than a day older than the newest set of all VMs is left out.
    ///
    /// # Errors
    /// As [`Archive::sets`].
    pub fn newest_sets(&self) -> Result<SetRows, WatchError> {
        let Some(last) = sets::days(&entries(&self.directory)?).last().copied() else {
            return Ok(SetRows::default());
        };
        let from_s = last.start_s.saturating_sub(last.end_s() - last.start_s);
        let mut found = self.sets((from_s, last.end_s()), 1)?;
        found.rows = sets::newest(found.rows);
        let end_s = found.rows.iter().map(|row| row.start_s).max().unwrap_or(0);
        found.rows.retain(|row| row.start_s + (last.end_s() - last.start_s) > end_s);
        Ok(found)
    }

    /// Reads the slices of journals that are not in a segment yet. This must be done before
    /// segments are listed: a period that is sealed in between is then found in both, and counted
    /// once. In the other order it could be missed.
    fn open_slices(&self, names: &mut Names) -> Result<Vec<(SegmentName, Vec<Slice>)>, WatchError> {
        let open = journals(&self.directory)?;
        open.into_iter().map(|own| Ok((own, journal::read(&self.directory, own, names)?))).collect()
    }
}

/// Window that is being read.
struct Reading<'a> {
    archive: &'a Archive,
    window: (u64, u64),
    width_s: u64,
    slices: BTreeMap<u64, Slice>,
    /// Times for which the levels read so far have data.
    covered: Vec<(u64, u64)>,
    unreadable: Vec<String>,
}

impl Reading<'_> {
    /// Reads the slices of the window that this level has and the levels read before did not.
    fn level(&mut self, all: &[SegmentName], level: usize) {
        let (from_s, to_s) = self.window;
        let is_within = |own: &&SegmentName| own.period_s < to_s && own.end_s() > from_s;
        // A finer segment lies in one coarser period, so it is covered whole or not at all. Reading
        // covered segments, too, would take minutes for a year.
        let covered = self.covered.clone();
        let is_covered = |own: &&SegmentName| {
            covered.iter().any(|(from, to)| *from <= own.period_s && own.end_s() <= *to)
        };
        let mut found = Vec::new();
        let own = all.iter().filter(|own| own.level == level).filter(is_within);
        let own: Vec<SegmentName> = own.filter(|own| !is_covered(own)).copied().collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let directory = &self.archive.directory;
        // Not all segments at once, because of fine levels only the merged slices are kept.
        for group in own.chunks(threads) {
            let all = parallel::map(group, threads, |name| {
                let segment = Segment::open(directory, *name)?;
                segment.slices(name.level().width_s, &mut Names::default())
            });
            for (name, slices) in group.iter().zip(all) {
                match slices {
                    Ok(slices) => {
                        slices.into_iter().for_each(|slice| self.add(slice));
                        found.push((name.period_s, name.end_s()));
                    }
                    Err(error) if is_gone(&error) => {}
                    Err(error) => self.unreadable.push(error.to_string()),
                }
            }
        }
        self.covered.extend(found);
    }

    fn add(&mut self, slice: Slice) {
        let (from_s, to_s) = self.window;
        let is_covered =
            self.covered.iter().any(|(from, to)| (*from..*to).contains(&slice.start_s));
        if is_covered || slice.start_s + slice.width_s <= from_s || slice.start_s >= to_s {
            return;
        }
        let width_s = self.width_s.max(slice.width_s);
        let start_s = slice.start_s - slice.start_s % width_s;
        match self.slices.get_mut(&start_s) {
            Some(own) => own.merge(&slice),
            None => drop(self.slices.insert(start_s, Slice { start_s, width_s, ..slice })),
        }
    }
}

impl SetRows {
    fn sorted(mut self) -> Self {
        self.rows.sort_by(|left, right| left.key().cmp(&right.key()));
        self
    }
}

/// Returns true if the error means that the writer has removed the file since it was listed.
fn is_gone(error: &WatchError) -> bool {
    matches!(error, WatchError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}
