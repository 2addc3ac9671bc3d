//! Writes a store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use run_store::gauge::ScopeKind;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::journal::{self, Journal};
use crate::known::{self, Known, Sightings};
pub(crate) use crate::listing::{entries, journals, segments, state};
use crate::segment::{self, Segment, SegmentName};
use crate::sets;
use crate::slice::Names;
use crate::{Evidences, LEVELS, SCHEMA, SetRow, Slice, WatchError};

/// Usual directory of a host's store.
pub const STORE_DIRECTORY: &str = "/var/lib/tilemark/watch";

const MAJOR: &str = "tilemark.watch/1.";
/// File that makes a directory a store.
pub(crate) const STORE_FILE: &str = "watch.json";
const LOCK_FILE: &str = "lock";

/// Description of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    pub schema: String,
    pub host: String,
}

/// Options for writing a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of the host whose I/O is stored.
    pub host: String,
    /// Maximum size of all files together, in bytes. Beyond it the oldest segment of the finest
    /// level is removed, then the next.
    pub bytes_max: Bytes,
}

/// Current period of the finest level, which still accepts slices.
#[derive(Debug)]
struct OpenPeriod {
    /// Segment that the period will become.
    segment: SegmentName,
    journal: Journal,
    /// Slices, by their begin.
    slices: BTreeMap<u64, Slice>,
}

impl OpenPeriod {
    fn add(&mut self, slice: Slice) {
        match self.slices.get_mut(&slice.start_s) {
            Some(own) => own.merge(&slice),
            None => drop(self.slices.insert(slice.start_s, slice)),
        }
    }
}

/// A store opened for writing. Only one process may write a store; others can read it at the same
/// time.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    options: Options,
    open: Option<OpenPeriod>,
    /// Segments from which coarser ones have been made.
    used: BTreeSet<SegmentName>,
    /// Working sets that could not be stored yet, at most of a day.
    waiting_sets: Vec<Vec<SetRow>>,
    known: Known,
    /// Lock on the store, held as long as this value lives.
    _lock: File,
}

impl Store {
    /// Opens or creates a store, and recovers the data that a killed writer left.
    ///
    /// # Errors
    /// The directory contains something else, or a store of a later version, or another process
    /// writes it.
    pub fn open(directory: &Path, options: Options) -> Result<Self, WatchError> {
        if !directory.join(STORE_FILE).exists() {
            create(directory, &options)?;
        }
        about(directory)?;
        let path = directory.join(LOCK_FILE);
        // Not through a link: who may write above could have put one there.
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = rustix::fs::open(&path, flags, Mode::from_raw_mode(0o644));
        let lock = File::from(lock.map_err(|error| WatchError::io(&path)(error.into()))?);
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| WatchError::Busy { path: directory.to_owned() })?;
        let mut store = Self {
            directory: directory.to_owned(),
            options,
            open: None,
            used: used(directory)?,
            waiting_sets: Vec::new(),
            known: Known::default(),
            _lock: lock,
        };
        store.take_up()?;
        Ok(store)
    }

    /// Moves the slices that a killed writer left in a journal into their segment, and removes
    /// unfinished files.
    fn take_up(&mut self) -> Result<(), WatchError> {
        for name in &entries(&self.directory)? {
            // Files of others may have the same ending.
            let is_own = [segment::is_unfinished, sets::is_unfinished, known::is_unfinished];
            if is_own.iter().any(|is_own| is_own(name)) {
                let path = self.directory.join(name);
                fs::remove_file(&path).map_err(WatchError::io(&path))?;
            }
        }
        // What an earlier version stored has no names.
        let has_any =
            !segments(&self.directory)?.is_empty() || !journals(&self.directory)?.is_empty();
        if known::is_there(&self.directory) || has_any {
            self.known = known::read(&self.directory);
        }
        for segment in journals(&self.directory)? {
            let journal = Journal::new(&self.directory, segment);
            if self.directory.join(segment.file()).exists() {
                journal.remove()?;
                continue;
            }
            let slices = journal::read(&self.directory, segment, &mut Names::default())?;
            let mut open = OpenPeriod { segment, journal, slices: BTreeMap::new() };
            slices.into_iter().for_each(|slice| open.add(slice));
            self.open = Some(open);
            self.seal()?;
        }
        self.make_coarser()?;
        self.make_room()
    }

    /// Adds a slice of the finest level. A slice of the same time as an earlier one is added to it.
    ///
    /// # Errors
    /// The disk is full, or a file cannot be written. The slice is kept in memory and stored with
    /// its period, so the caller continues with the next.
    pub fn push(&mut self, mut slice: Slice) -> Result<(), WatchError> {
        let level = &LEVELS[0];
        slice.start_s = level.slice_of(slice.start_s);
        slice.width_s = level.width_s;
        let period_s = level.period_of(slice.start_s);
        let is_other = self.open.as_ref().is_some_and(|open| open.segment.period_s != period_s);
        let ended = if is_other { self.end_period() } else { Ok(()) };
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let segment = free_name(&self.directory, 0, period_s)?;
                let journal = Journal::new(&self.directory, segment);
                none.insert(OpenPeriod { segment, journal, slices: BTreeMap::new() })
            }
        };
        let noted = open.journal.append(&slice);
        open.add(slice);
        ended.and(noted)
    }

    /// Stores the working sets of an hour.
    ///
    /// # Errors
    /// The sets cannot be written. They are kept in memory and stored with the sets of the next
    /// hour.
    pub fn push_sets(&mut self, rows: Vec<SetRow>) -> Result<(), WatchError> {
        self.waiting_sets.push(rows);
        // Memory is bounded: what could not be stored for a day is given up.
        let over = self.waiting_sets.len().saturating_sub(24);
        self.waiting_sets.drain(..over);
        let rows = self.waiting_sets.concat();
        let stored = match sets::put(&self.directory, &rows) {
            Err(error) if error.is_full() && self.drop_oldest()? => {
                sets::put(&self.directory, &rows)
            }
            other => other,
        };
        stored?;
        self.waiting_sets.clear();
        self.make_room()
    }

    /// Saves the state of a watcher's sets for the next watcher, unless it would take a tenth of
    /// the store's size limit.
    ///
    /// # Errors
    /// The state cannot be written; no state is then saved.
    pub fn save_sets(&self, saved: &[u8]) -> Result<(), WatchError> {
        match saved.len() as u64 > self.options.bytes_max.get() / 10 {
            true => sets::state::remove(&self.directory).map(drop),
            false => sets::state::write(&self.directory, saved),
        }
    }

    /// Returns the saved state of the last watcher's sets, if there is one.
    pub fn saved_sets(&self) -> Option<Vec<u8>> {
        sets::state::read(&self.directory)
    }

    /// Stores which initiators are VMs, and the identities of disks, as of the slice that begins at
    /// a time.
    ///
    /// # Errors
    /// The file cannot be written. The next call tries again.
    pub fn note(&mut self, at_s: u64, seen: &Sightings) -> Result<(), WatchError> {
        let mut known = self.known.clone();
        // From here on names are kept.
        known.since_s = known.since_s.min(at_s);
        if known.note(at_s, seen) {
            known::write(&self.directory, &known)?;
            self.known = known;
        }
        Ok(())
    }

    /// Ends the open period, makes coarser levels and removes data over the limits.
    ///
    /// # Errors
    /// As [`Store::push`].
    fn end_period(&mut self) -> Result<(), WatchError> {
        if let Err(error) = self.seal() {
            // On a full disk the oldest data is worth less than the newest. For any other reason
            // nothing is removed.
            let sealed =
                if error.is_full() && self.drop_oldest()? { self.seal() } else { Err(error) };
            // A period that still cannot be stored is given up, because memory is bounded. Its
            // journal stays: the next start tries again.
            self.open = None;
            sealed?;
        }
        self.make_coarser()?;
        self.make_room()
    }

    /// Writes the open period as a segment, and removes the journal.
    fn seal(&mut self) -> Result<(), WatchError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let slices: Vec<Slice> = std::mem::take(&mut open.slices).into_values().collect();
        let written = segment::write(&self.directory, open.segment, &slices, Vec::new());
        if let Err(error) = written {
            open.slices = slices.into_iter().map(|slice| (slice.start_s, slice)).collect();
            return Err(error);
        }
        match self.open.take() {
            Some(open) => open.journal.remove(),
            None => Ok(()),
        }
    }

    /// Makes segments of each coarser level from the next finer one, for periods that have ended.
    /// Each segment names its sources. So a writer that was killed makes no segment twice, and data
    /// that came late (after a clock stepped back) becomes a further segment.
    fn make_coarser(&mut self) -> Result<(), WatchError> {
        for (level, own_level) in LEVELS.iter().enumerate().skip(1) {
            let all = segments(&self.directory)?;
            let finer = || all.iter().filter(|own| own.level + 1 == level);
            // The open period of the finest level has no segment yet, so the period that holds the
            // end of the newest segment may still get more.
            let Some(end_s) = finer().map(SegmentName::end_s).max() else { return Ok(()) };
            let open_period = own_level.period_of(end_s);
            let mut periods: BTreeMap<u64, Vec<SegmentName>> = BTreeMap::new();
            for own in finer().filter(|own| !self.used.contains(own)) {
                let period_s = own_level.period_of(own.period_s);
                if period_s != open_period {
                    periods.entry(period_s).or_default().push(*own);
                }
            }
            for (period_s, sources) in periods {
                self.make_segment(level, period_s, &sources)?;
                self.used.extend(sources);
            }
        }
        Ok(())
    }

    fn make_segment(
        &self,
        level: usize,
        period_s: u64,
        sources: &[SegmentName],
    ) -> Result<(), WatchError> {
        let (width_s, mut names) = (LEVELS[level].width_s, Names::default());
        let mut slices: BTreeMap<u64, Slice> = BTreeMap::new();
        let mut used = Vec::new();
        for source in sources {
            let finer = Segment::open(&self.directory, *source)
                .and_then(|segment| segment.slices(width_s, &mut names));
            used.push(source.file());
            // A segment that cannot be read would stop all later ones; it is a gap.
            for slice in finer.unwrap_or_default() {
                match slices.get_mut(&slice.start_s) {
                    Some(own) => own.merge(&slice),
                    None => drop(slices.insert(slice.start_s, slice)),
                }
            }
        }
        let slices: Vec<Slice> = slices.into_values().collect();
        let name = free_name(&self.directory, level, period_s)?;
        segment::write(&self.directory, name, &slices, used).map(drop)
    }

    /// Removes segments beyond the maximum number of their level, and then the oldest of the finest
    /// level until the store is within its size limit.
    fn make_room(&mut self) -> Result<(), WatchError> {
        Evidences::of(&self.directory).make_room(Evidences::most_of(self.options.bytes_max))?;
        let all = segments(&self.directory)?;
        for (place, level) in LEVELS.iter().enumerate() {
            let own: Vec<&SegmentName> = all.iter().filter(|own| own.level == place).collect();
            for name in &own[..own.len().saturating_sub(level.periods_max)] {
                self.remove(**name)?;
            }
        }
        let bytes_max = self.options.bytes_max.get();
        let days = sets::days(&entries(&self.directory)?);
        for day in &days[..sets::over(&self.directory, &days, bytes_max)] {
            remove(&self.directory.join(day.file()))?;
        }
        while state(&self.directory)?.bytes > bytes_max {
            if !self.drop_oldest()? {
                break;
            }
        }
        Ok(())
    }

    /// Removes the oldest segment of the finest level that has any; returns false if there is none.
    fn drop_oldest(&mut self) -> Result<bool, WatchError> {
        let Some(oldest) = segments(&self.directory)?.into_iter().min() else { return Ok(false) };
        self.remove(oldest)?;
        Ok(true)
    }

    fn remove(&mut self, name: SegmentName) -> Result<(), WatchError> {
        self.used.remove(&name);
        remove(&self.directory.join(name.file()))
    }

    /// Adds a period of any level at once: slices of [`LEVELS`]\[`level`\], ascending, of one
    /// period. No coarser levels are made from it.
    ///
    /// # Errors
    /// The period cannot be written.
    ///
    /// # Panics
    /// If there is no such level, or no slice.
    pub fn add_period(&mut self, level: usize, slices: &[Slice]) -> Result<(), WatchError> {
        let period_s = LEVELS[level].period_of(slices[0].start_s);
        let name = free_name(&self.directory, level, period_s)?;
        segment::write(&self.directory, name, slices, Vec::new())?;
        self.used.insert(name);
        Ok(())
    }

    /// Removes data before a time, and all data of a VM or other initiator. A slice that begins
    /// before the time is removed as a whole. Returns the number of files that were removed or
    /// rewritten.
    ///
    /// # Errors
    /// A file cannot be read, removed or written; earlier files are already done.
    pub fn forget(&mut self, before_s: Option<u64>, vm: Option<&str>) -> Result<u64, WatchError> {
        self.seal()?;
        let mut changed = Evidences::of(&self.directory).forget(before_s, vm)?;
        if self.known.forget(before_s, vm) {
            known::write(&self.directory, &self.known)?;
            changed += 1;
        }
        for name in segments(&self.directory)? {
            if before_s.is_some_and(|before_s| name.end_s() <= before_s) {
                self.remove(name)?;
                changed += 1;
                continue;
            }
            changed += u64::from(self.forget_in(name, before_s, vm)?);
        }
        for day in sets::days(&entries(&self.directory)?) {
            if before_s.is_some_and(|before_s| day.end_s() <= before_s) {
                remove(&self.directory.join(day.file()))?;
                changed += 1;
                continue;
            }
            changed += u64::from(sets::forget_in(&self.directory, day, before_s, vm)?);
        }
        // The state of the working sets names VMs and has a week of their data, so it is removed,
        // too.
        changed += u64::from(sets::state::remove(&self.directory)?);
        Ok(changed)
    }

    /// Rewrites a segment without the data to be removed; returns false if it contains no such
    /// data.
    fn forget_in(
        &self,
        name: SegmentName,
        before_s: Option<u64>,
        vm: Option<&str>,
    ) -> Result<bool, WatchError> {
        let segment = Segment::open(&self.directory, name)?;
        let mut slices = segment.slices(name.level().width_s, &mut Names::default())?;
        let size = |slices: &[Slice]| -> usize {
            slices.iter().map(|slice| 1 + slice.io.len() + slice.gauges.len()).sum()
        };
        let had = size(&slices);
        slices.retain(|slice| before_s.is_none_or(|before_s| slice.start_s >= before_s));
        for slice in &mut slices {
            slice.io.retain(|key, _| vm.is_none_or(|vm| &*key.vm != vm));
            slice.gauges.retain(|(gauge, scope), _| {
                gauge.scope() != ScopeKind::Vm || vm.is_none_or(|vm| &**scope != vm)
            });
        }
        let is_changed = size(&slices) != had;
        if is_changed {
            let sources = segment.head().sources.clone();
            segment::write(&self.directory, name, &slices, sources)?;
        }
        Ok(is_changed)
    }

    /// Stores the slices of the open period.
    ///
    /// # Errors
    /// The slices cannot be written; they are still in the journal.
    pub fn close(mut self) -> Result<(), WatchError> {
        self.seal()
    }
}

fn remove(path: &Path) -> Result<(), WatchError> {
    fs::remove_file(path).map_err(WatchError::io(path))
}

/// Creates an empty store in a directory that is new or empty.
fn create(directory: &Path, options: &Options) -> Result<(), WatchError> {
    fs::create_dir_all(directory).map_err(WatchError::io(directory))?;
    if !entries(directory)?.is_empty() {
        return Err(WatchError::Foreign { path: directory.to_owned() });
    }
    let about = About { schema: SCHEMA.to_owned(), host: options.host.clone() };
    let text = serde_json::to_string(&about).expect("two texts");
    let path = directory.join(STORE_FILE);
    let written = untrusted::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(WatchError::io(&path))
}

/// Reads the description of a store.
///
/// # Errors
/// The directory is not a store, or is a store of a later version.
pub(crate) fn about(directory: &Path) -> Result<About, WatchError> {
    let path = directory.join(STORE_FILE);
    let text = match untrusted::read_text(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(WatchError::NoStore { path: directory.to_owned() });
        }
        other => other.map_err(WatchError::io(&path))?,
    };
    let about: About = serde_json::from_str(&text)
        .map_err(|error| WatchError::content(&path)(error.to_string().into()))?;
    if !about.schema.starts_with(MAJOR) {
        let found = untrusted::shown(&about.schema).into_owned();
        return Err(WatchError::Version { path: directory.to_owned(), found });
    }
    Ok(about)
}

/// Returns a free name for a further segment of a period.
fn free_name(directory: &Path, level: usize, period_s: u64) -> Result<SegmentName, WatchError> {
    let taken = segments(directory)?.into_iter().chain(journals(directory)?);
    let of_period = taken.filter(|own| (own.level, own.period_s) == (level, period_s));
    let number = of_period.map(|own| own.number.saturating_add(1)).max().unwrap_or(0);
    Ok(SegmentName { level, period_s, number })
}

/// Returns the segments that were already merged into coarser segments. A coarser segment that
/// cannot be read is skipped, so its sources may be merged a second time. The store still opens.
fn used(directory: &Path) -> Result<BTreeSet<SegmentName>, WatchError> {
    let mut used = BTreeSet::new();
    for own in segments(directory)?.into_iter().filter(|own| own.level > 0) {
        if let Ok(segment) = Segment::open(directory, own) {
            let sources = segment.head().sources.iter();
            used.extend(sources.filter_map(|source| SegmentName::parse(source)));
        }
    }
    Ok(used)
}
