use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use run_store::rundir::{State, StoredRun, files};
use view::Source;
use view::document::{RunRow, RunsTrend};

use super::unreadable;
use crate::library::running;
use crate::provider::ProviderError;

/// Maximum number of runs kept open.
const OPEN: usize = 4;
/// Shortest time between two readings of a run that another process writes.
const RUNNING_EVERY: Duration = Duration::from_secs(2);

/// State of a run's files, to detect changes. A complete run never changes; any other run gains
/// files.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    state: &'static str,
    changed: Vec<Option<SystemTime>>,
}

impl Stamp {
    fn of(run: &StoredRun) -> Self {
        let path = run.path();
        let names = match run.state() {
            State::Complete => &[][..],
            _ => &["", files::RUN, files::PARTS, files::EVENTS][..],
        };
        let changed =
            |name: &&str| path.join(name).metadata().and_then(|data| data.modified()).ok();
        Self {
            path: path.to_owned(),
            state: run.state().name(),
            changed: names.iter().map(changed).collect(),
        }
    }
}

struct Opened {
    stamp: Stamp,
    at: Instant,
    source: Arc<Source>,
}

/// Opened runs, rows of the list, and the last comparison of several runs.
#[derive(Default)]
pub struct Cache {
    /// Opened runs; the most recently used run is the last one.
    opened: Mutex<Vec<Opened>>,
    rows: Mutex<HashMap<PathBuf, (Stamp, RunRow)>>,
    /// The page asks again for the same runs whenever it is opened.
    trend: Mutex<Option<(Vec<Stamp>, RunsTrend)>>,
}

impl Cache {
    /// Returns a stored run, from the cache or newly opened.
    pub fn source(&self, run: StoredRun) -> Result<Arc<Source>, ProviderError> {
        let stamp = Stamp::of(&run);
        if let Some(source) = self.known(&stamp) {
            return Ok(source);
        }
        // Without the lock: opening takes a while, and other requests go on meanwhile.
        let source = match run.state() {
            State::Running => running::open(run),
            _ => Source::open(run).map_err(unreadable),
        };
        let source = Arc::new(source?);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.retain(|have| have.stamp.path != stamp.path);
        if opened.len() >= OPEN {
            opened.remove(0);
        }
        opened.push(Opened { stamp, at: Instant::now(), source: Arc::clone(&source) });
        Ok(source)
    }

    fn known(&self, stamp: &Stamp) -> Option<Arc<Source>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let at = opened.iter().position(|have| {
            let is_recent = stamp.state == State::Running.name()
                && have.stamp.state == stamp.state
                && have.at.elapsed() < RUNNING_EVERY;
            have.stamp.path == stamp.path && (is_recent || have.stamp == *stamp)
        })?;
        let have = opened.remove(at);
        let source = Arc::clone(&have.source);
        opened.push(have);
        Some(source)
    }

    /// Returns the row of a run in the list.
    pub fn row(&self, run: &StoredRun) -> RunRow {
        let stamp = Stamp::of(run);
        let rows = || self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, row)) = rows().get(&stamp.path).filter(|(known, _)| *known == stamp) {
            return row.clone();
        }
        let row = view::row_of(run);
        rows().insert(stamp.path.clone(), (stamp, row.clone()));
        row
    }

    /// Returns several complete runs side by side.
    pub fn trend(&self, runs: &[StoredRun]) -> RunsTrend {
        let stamps: Vec<Stamp> = runs.iter().map(Stamp::of).collect();
        let last = || self.trend.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, trend)) = last().as_ref().filter(|(known, _)| *known == stamps) {
            return trend.clone();
        }
        // Without the lock, as for a source.
        let trend = view::trend(runs);
        // A run that could not be read is read again next time.
        if trend.runs.len() == runs.len() {
            *last() = Some((stamps, trend.clone()));
        }
        trend
    }
}
