//! Runs on disk and the live run of this process, as a [`Provider`].

mod cached;
mod held;
mod running;
mod traces;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use run_store::rundir::{self, RunId, State, StoredRun, files};
use trace::TraceError;
use view::document::{
    ComparePage, EventList, LiveState, RunKind, RunList, RunPage, RunRow, RunState, RunsTrend,
    StudyList, StudyPage,
};
use view::{OpenError, Request, Source};
use watch::{HostStores, WatchError};

use crate::felt::Felt;
use crate::live_run::LiveRun;
use crate::provider::{Current, Provider, ProviderError};
use cached::Cache;
use traces::{Trace, Traces};

/// Stored runs to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shelf {
    /// All runs and recorded traces in a directory, including runs and traces that are stored
    /// later.
    All(PathBuf),
    /// Only the runs in these directories.
    Some(Vec<PathBuf>),
}

/// Stored runs, and possibly a live run.
pub struct Library {
    shelf: Shelf,
    cache: Cache,
    traces: Traces,
    live: Mutex<Option<Arc<LiveRun>>>,
    /// Sample run, shown while there is no other run.
    sample: Mutex<Option<Arc<Source>>>,
}

impl Library {
    /// Creates a library of a shelf's runs.
    pub fn new(shelf: Shelf) -> Self {
        Self {
            shelf,
            cache: Cache::default(),
            traces: Traces::default(),
            live: Mutex::new(None),
            sample: Mutex::new(None),
        }
    }

    /// Adds the live run of this process.
    pub fn set_live(&self, run: Arc<LiveRun>) {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(run);
    }

    /// Adds a recorded trace. Only the trace's description is read before the first request for the
    /// trace.
    ///
    /// # Errors
    ///
    /// If the path is not a complete trace.
    pub fn add_trace(&self, path: &Path) -> Result<RunId, TraceError> {
        self.traces.add(path)
    }

    /// Adds the store of a watched host.
    ///
    /// # Errors
    ///
    /// If the path is not such a store, or is a store of a later version.
    pub fn add_watched(&self, path: &Path) -> Result<RunId, WatchError> {
        self.traces.add_watched(path)
    }

    /// Adds the stores of several watched hosts as one.
    pub fn add_watched_hosts(&self, stores: Arc<HostStores>) -> RunId {
        self.traces.add_watched_hosts(stores)
    }

    /// Adds a sample run that is shown while there is no other run, so that the first page is never
    /// empty.
    pub fn set_sample(&self, run: StoredRun) -> Result<(), OpenError> {
        let source = Arc::new(Source::open(run)?.as_sample());
        *self.sample.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
        Ok(())
    }

    /// Returns the directory of all runs, which also contains studies.
    fn base(&self) -> Option<&Path> {
        match &self.shelf {
            Shelf::All(base) => Some(base),
            Shelf::Some(_) => None,
        }
    }

    fn sample(&self) -> Option<Arc<Source>> {
        self.sample.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn live_run(&self) -> Option<Arc<LiveRun>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the live run of this process, if it has this id.
    fn live_as(&self, id: &RunId) -> Option<Arc<LiveRun>> {
        self.live_run().filter(|live| live.id() == id && !live.has_ended())
    }

    fn stored(&self, id: &RunId) -> Result<StoredRun, ProviderError> {
        let find = |base: &Path| {
            let partial = format!("{id}{}", files::PARTIAL);
            let mut paths = [id.as_str(), &partial].map(|name| base.join(name)).into_iter();
            paths.find(|path| path.is_dir()).and_then(|path| StoredRun::at(&path))
        };
        let found = match &self.shelf {
            Shelf::All(base) => find(base),
            Shelf::Some(paths) => paths
                .iter()
                .filter(|path| StoredRun::at(path).is_some_and(|run| run.id() == id))
                .find_map(|path| find(path.parent()?)),
        };
        found.ok_or_else(|| ProviderError::UnknownRun(id.clone()))
    }

    /// Returns a complete run of tiles.
    fn complete(&self, id: &RunId) -> Result<StoredRun, ProviderError> {
        if self.has_no_directory(id) {
            let why = format!("{id} is no run of tiles, so it has no figures to put beside others");
            return Err(ProviderError::Request(why));
        }
        let stored = self.stored(id)?;
        match stored.state() {
            State::Complete => Ok(stored),
            State::Running | State::Abandoned => {
                Err(ProviderError::NotYet(format!("run {id} is not complete")))
            }
        }
    }

    fn all(&self) -> Result<Vec<StoredRun>, ProviderError> {
        match &self.shelf {
            Shelf::All(base) => rundir::list(base).map_err(unreadable),
            Shelf::Some(paths) => {
                let ids = paths.iter().filter_map(|path| StoredRun::at(path));
                let mut runs: Vec<_> = ids.filter_map(|run| self.stored(run.id()).ok()).collect();
                runs.sort_by(|a, b| a.id().cmp(b.id()));
                Ok(runs)
            }
        }
    }

    /// Returns a run, live or stored.
    fn source(&self, id: &RunId) -> Result<Arc<Source>, ProviderError> {
        if let Some(live) = self.live_as(id) {
            return Ok(Arc::new(live.source()));
        }
        if let Some(sample) = self.sample_as(id) {
            return Ok(sample);
        }
        match self.trace(id) {
            Some(trace) => self.traces.source(&trace),
            None => self.cache.source(self.stored(id)?),
        }
    }

    fn sample_as(&self, id: &RunId) -> Option<Arc<Source>> {
        self.sample().filter(|sample| sample.id() == id.as_str())
    }

    /// Returns a trace that is already known, or that was stored beside the runs since.
    fn trace(&self, id: &RunId) -> Option<Arc<Trace>> {
        let known = self.traces.find(id);
        let base = self.base().filter(|_| known.is_none() && self.stored(id).is_err());
        known.or_else(|| {
            self.traces.look_in(base?);
            self.traces.find(id)
        })
    }

    /// Returns a run in progress, in this or in another process.
    fn going_on(&self, id: &RunId) -> Result<Option<Arc<Source>>, ProviderError> {
        if let Some(live) = self.live_as(id) {
            return Ok(Some(Arc::new(live.source())));
        }
        if self.has_no_directory(id) {
            return Ok(None);
        }
        let stored = self.stored(id)?;
        if stored.state() != State::Running {
            return Ok(None);
        }
        self.cache.source(stored).map(Some)
    }

    /// Returns a run's data for the metrics.
    fn known_of(&self, row: &RunRow) -> Current {
        let mut known = Current {
            row: row.clone(),
            live: None,
            held: None,
            gauges: Vec::new(),
            felt: Felt::default(),
        };
        let Some(id) = RunId::parse(&row.id) else { return known };
        if let Some(source) = self.going_on(&id).ok().flatten() {
            known.live = source.live_state().cloned();
            known.gauges = source.rollup().levels();
            known.felt = Felt::of_live(source.rollup(), source.run());
        } else if let Ok(stored) = self.stored(&id)
            && let Ok(run) = stored.run()
            && let Some(step) = held::step(run)
        {
            known.held = Some(held::of(run, step));
            known.gauges = step.levels().collect();
            known.felt = Felt::of_step(run, step);
        }
        known
    }

    /// Returns true for a trace or the sample, which have no run directory here.
    fn has_no_directory(&self, id: &RunId) -> bool {
        self.sample_as(id).is_some() || self.trace(id).is_some()
    }

    fn rows(&self) -> Result<Vec<RunRow>, ProviderError> {
        let live = self.live_run().filter(|live| !live.has_ended());
        let mut rows: Vec<RunRow> = self.all()?.iter().map(|run| self.cache.row(run)).collect();
        if let Some(base) = self.base() {
            self.traces.look_in(base);
        }
        rows.extend(self.traces.rows());
        if let Some(live) = live {
            rows.retain(|row| row.id != live.id().as_str());
            rows.push(live.row(live.source().row()));
        }
        rows.sort_by_cached_key(|row| Reverse((RunId::parse(&row.id), row.id.clone())));
        if rows.is_empty() {
            rows.extend(self.sample().map(|sample| sample.row()));
        }
        Ok(rows)
    }
}

impl Provider for Library {
    fn runs(&self) -> Result<RunList, ProviderError> {
        let base = match &self.shelf {
            Shelf::All(base) => base.display().to_string(),
            Shelf::Some(paths) if paths.is_empty() => "recorded traces".to_owned(),
            Shelf::Some(paths) => {
                let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                names.join(", ")
            }
        };
        Ok(RunList { base, runs: self.rows()? })
    }

    fn page(&self, run: &RunId) -> Result<RunPage, ProviderError> {
        let mut page = self.source(run)?.page();
        if let Some(live) = self.live_as(run) {
            page.row = live.row(page.row);
        }
        Ok(page)
    }

    fn answer(&self, run: &RunId, request: &Request) -> Result<serde_json::Value, ProviderError> {
        let source = self.source(run)?;
        if let Some(why) = view::refused(&source, request) {
            return Err(ProviderError::Request(why));
        }
        serde_json::to_value(view::answer(&source, request)).map_err(unreadable)
    }

    fn events(&self, run: &RunId) -> Result<EventList, ProviderError> {
        let events = match self.live_as(run) {
            Some(live) => live.stored().map(|stored| stored.events()),
            None if self.has_no_directory(run) => None,
            None => Some(self.stored(run)?.events()),
        };
        // Before the directory exists, nothing has happened.
        let events = events.transpose().map_err(unreadable)?.unwrap_or_default();
        Ok(EventList { events })
    }

    fn compare(&self, a: &RunId, b: &RunId) -> Result<ComparePage, ProviderError> {
        let (a, b) = (self.source(a)?, self.source(b)?);
        Ok(view::compare(&a, &b))
    }

    fn trend(&self, runs: &[RunId]) -> Result<RunsTrend, ProviderError> {
        let ids: BTreeSet<&RunId> = runs.iter().collect();
        let stored = ids.into_iter().map(|id| self.complete(id)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.cache.trend(&stored))
    }

    fn studies(&self) -> Result<StudyList, ProviderError> {
        Ok(view::studies(self.base()))
    }

    fn study(&self, name: &str) -> Result<StudyPage, ProviderError> {
        view::study(self.base(), name).ok_or_else(|| ProviderError::UnknownStudy(name.to_owned()))
    }

    fn live(&self, run: &RunId) -> Result<Option<LiveState>, ProviderError> {
        Ok(self.going_on(run)?.and_then(|source| source.live_state().cloned()))
    }

    fn current(&self) -> Result<Vec<Current>, ProviderError> {
        let rows = self.rows()?;
        let is_running = |row: &&RunRow| row.state == RunState::Running;
        let is_complete = |row: &&RunRow| row.state == RunState::Complete;
        let is_observed = |kind| matches!(kind, RunKind::Recorded | RunKind::Watched);
        let is_run = |row: &&RunRow| is_complete(row) && !is_observed(row.kind);
        let last = rows.iter().find(is_run).or_else(|| rows.iter().find(is_complete));
        Ok(rows.iter().filter(is_running).chain(last).map(|row| self.known_of(row)).collect())
    }
}

fn unreadable(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::Unreadable(error.to_string())
}
