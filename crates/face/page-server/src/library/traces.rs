use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use run_store::rundir::RunId;
use trace::TraceError;
use trace::store::TRACE_FILE;
use view::document::RunRow;
use view::{Source, TraceFacts};
use watch::{HostStores, WatchError};

use super::unreadable;
use crate::provider::ProviderError;

/// Maximum number of traces listed from a directory, the first by name. The number is limited
/// because each trace's description must be read.
const LISTED_MAX: usize = 1000;
/// Maximum number of traces kept in memory with their I/O.
const OPEN: usize = 4;
/// Time after which the store of a watched host is read again. It gains a slice every ten seconds.
const FRESH: Duration = Duration::from_secs(10);

/// Recorded traces, shown beside the runs.
#[derive(Default)]
pub struct Traces {
    /// Traces added by path.
    added: Mutex<Vec<Arc<Trace>>>,
    /// Traces stored beside the runs, by their directories.
    beside: Mutex<BTreeMap<PathBuf, (Stamp, Arc<Trace>)>>,
    /// Traces with their I/O in memory, the most recently used last.
    open: Mutex<Vec<Arc<Trace>>>,
}

/// Modification time and length of a description, to detect changes.
type Stamp = Option<(SystemTime, u64)>;

/// Recorded trace, or store of a watched host. The I/O is read at the first request.
pub struct Trace {
    path: PathBuf,
    /// Stores of several hosts, which have no path here.
    stores: Option<Arc<HostStores>>,
    facts: TraceFacts,
    records: u64,
    /// Error from reading the description.
    error: Option<ProviderError>,
    opened: Mutex<Option<Opened>>,
    /// Row of the list; known only after the I/O was read.
    row: Mutex<Option<RunRow>>,
}

/// Trace with its I/O in memory, or the reason why it cannot be read.
struct Opened {
    at: Instant,
    source: Result<Arc<Source>, ProviderError>,
}

impl Traces {
    /// Adds a stored trace and returns its id.
    pub fn add(&self, path: &Path) -> Result<RunId, TraceError> {
        Ok(self.insert(Trace::of_stored(path)?))
    }

    /// Adds the store of a watched host and returns its id.
    pub fn add_watched(&self, path: &Path) -> Result<RunId, WatchError> {
        let facts = TraceFacts::of_watched(path)?;
        Ok(self.insert(Trace::new(path, facts, 0)))
    }

    /// Adds the stores of several watched hosts as one, and returns its id.
    pub fn add_watched_hosts(&self, stores: Arc<HostStores>) -> RunId {
        let facts = TraceFacts::of_watched_hosts(&stores);
        self.insert(Trace { stores: Some(stores), ..Trace::new(Path::new(""), facts, 0) })
    }

    fn insert(&self, trace: Trace) -> RunId {
        let id = RunId::parse(&trace.facts.id).expect("the id of a trace is valid");
        let mut added = locked(&self.added);
        added.retain(|known| known.facts.id != trace.facts.id);
        added.push(Arc::new(trace));
        id
    }

    /// Scans a directory for traces. Reads only descriptions that are new or changed.
    pub fn look_in(&self, base: &Path) {
        let mut beside = locked(&self.beside);
        let mut before = std::mem::take(&mut *beside);
        for path in stores(base) {
            let stamp = fs::metadata(path.join(TRACE_FILE))
                .and_then(|data| Ok((data.modified()?, data.len())))
                .ok();
            let known = before.remove(&path).filter(|(known, _)| *known == stamp);
            let found = known.unwrap_or_else(|| {
                let trace = Trace::of_stored(&path);
                (stamp, Arc::new(trace.unwrap_or_else(|error| Trace::broken(&path, &error))))
            });
            beside.insert(path, found);
        }
    }

    fn all(&self) -> Vec<Arc<Trace>> {
        let mut all = locked(&self.added).clone();
        let mut ids: BTreeSet<String> = all.iter().map(|trace| trace.facts.id.clone()).collect();
        let beside = locked(&self.beside);
        let others = beside.values().map(|(_, trace)| trace);
        all.extend(others.filter(|trace| ids.insert(trace.facts.id.clone())).cloned());
        all
    }

    /// Returns the known trace with this id.
    pub fn find(&self, id: &RunId) -> Option<Arc<Trace>> {
        self.all().into_iter().find(|trace| trace.facts.id == id.as_str())
    }

    /// Returns the rows of the list.
    pub fn rows(&self) -> Vec<RunRow> {
        self.all().iter().map(|trace| trace.row()).collect()
    }

    /// Returns the whole trace. Reading takes a while; the trace stays in memory until some others
    /// were opened.
    pub fn source(&self, trace: &Arc<Trace>) -> Result<Arc<Source>, ProviderError> {
        let source = trace.source();
        let one_too_many = {
            let mut open = locked(&self.open);
            open.retain(|known| !Arc::ptr_eq(known, trace));
            open.push(Arc::clone(trace));
            (open.len() > OPEN).then(|| open.remove(0))
        };
        if let Some(oldest) = one_too_many {
            oldest.close();
        }
        source
    }
}

impl Trace {
    fn of_stored(path: &Path) -> Result<Self, TraceError> {
        let (facts, records) = TraceFacts::of_stored(path)?;
        Ok(Self::new(path, facts, records))
    }

    fn new(path: &Path, facts: TraceFacts, records: u64) -> Self {
        Self {
            path: path.to_owned(),
            stores: None,
            facts,
            records,
            error: None,
            opened: Mutex::default(),
            row: Mutex::default(),
        }
    }

    /// Makes the entry of an unreadable trace, which is listed with the reason.
    fn broken(path: &Path, error: &TraceError) -> Self {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let id = RunId::following(&name, 0).to_string();
        let facts = TraceFacts { id, name, ..TraceFacts::default() };
        Self { error: Some(unreadable(error)), ..Self::new(path, facts, 0) }
    }

    /// Reads the I/O once; concurrent requests wait for the reading.
    fn source(&self) -> Result<Arc<Source>, ProviderError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let mut opened = locked(&self.opened);
        let is_stale = |own: &Opened| self.facts.is_watched && own.at.elapsed() > FRESH;
        if let Some(own) = opened.as_ref().filter(|own| !is_stale(own)) {
            return own.source.clone();
        }
        let source = match &self.stores {
            Some(stores) => Ok(Source::open_watched_hosts(stores)),
            None if self.facts.is_watched => Source::open_watched(&self.path).map_err(unreadable),
            None => Source::open_trace(&self.path).map_err(unreadable),
        };
        let source = source.map(Arc::new);
        *opened = Some(Opened { at: Instant::now(), source: source.clone() });
        let failed = |error: &ProviderError| RunRow {
            error: Some(error.to_string()),
            ..self.facts.row(self.records)
        };
        let row = source.as_ref().map_or_else(failed, |source| source.row());
        *locked(&self.row) = Some(row);
        source
    }

    /// Drops the I/O from memory; a later request reads it again.
    fn close(&self) {
        locked(&self.opened).take();
    }

    fn row(&self) -> RunRow {
        let row = || RunRow {
            error: self.error.as_ref().map(ToString::to_string),
            ..self.facts.row(self.records)
        };
        locked(&self.row).clone().unwrap_or_else(row)
    }
}

/// Returns the finished traces in a directory, sorted by name; empty for an absent directory.
fn stores(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().as_encoded_bytes().ends_with(b".tmt"));
    let mut paths: Vec<PathBuf> = named
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| path.join(TRACE_FILE).is_file())
        .collect();
    paths.sort_unstable();
    paths.truncate(LISTED_MAX);
    paths
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
