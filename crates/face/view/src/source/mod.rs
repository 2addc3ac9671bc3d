//! A run opened for looking at it.

mod facts;
mod hosts;
mod timeline;
mod trace;
mod zoom;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use run_store::rollup::Rollup;
use run_store::run::{Run, Step};
use run_store::rundir::{RunDirError, State, StoredRun};
use run_store::series::SeriesError;
use units::Nanos;

use crate::document::{AccessPage, LiveState, RunKind, RunState};
use facts::Files;
pub(crate) use hosts::Hosts;
use zoom::Zooms;

/// A run that does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its `run.json` is missing or wrong.
    #[error(transparent)]
    Directory(#[from] RunDirError),
    /// Its rollup is missing or wrong.
    #[error(transparent)]
    Series(#[from] SeriesError),
}

/// What is known of a recorded trace beside its I/O.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceFacts {
    /// Its id, as in paths.
    pub id: String,
    /// Its file or directory, for people.
    pub name: String,
    /// Where it was recorded, one line.
    pub target: String,
    /// The machine it was recorded on, if that is known.
    pub host: Option<String>,
    /// When it began, RFC 3339; empty if nobody knows.
    pub started: String,
    /// Bytes it takes.
    pub size_bytes: u64,
    /// From its beginning to its last I/O, nanoseconds; 0 if that is not known.
    pub duration_ns: u64,
    /// Whether its I/O has an order and no times: nothing is said of rates.
    pub is_order_only: bool,
}

/// A run in memory: everything that views are made of.
#[derive(Debug, Clone)]
pub struct Source {
    facts: Arc<Facts>,
    rollup: Arc<Rollup>,
    live: Option<LiveState>,
    pub(crate) state: RunState,
    is_sample: bool,
    pub(crate) size_bytes: u64,
}

/// What does not change while it is looked at.
#[derive(Debug, Default)]
struct Facts {
    stored: Option<StoredRun>,
    run: Option<Run>,
    trace: Option<TraceFacts>,
    files: Files,
    zooms: Zooms,
    hosts: OnceLock<Hosts>,
    /// The directory of a trace that is stored and complete.
    recorded: Option<PathBuf>,
    access: OnceLock<AccessPage>,
}

impl Source {
    /// A stored run, also one whose writer died.
    pub fn open(stored: StoredRun) -> Result<Self, OpenError> {
        let run = stored.run()?.clone();
        let rollup = Arc::new(Rollup::of_run(&stored)?);
        Ok(Self::stored(stored, Some(run), rollup))
    }

    /// A stored run whose rollup is at hand: the one a run has when it ends.
    pub fn stored(stored: StoredRun, run: Option<Run>, rollup: Arc<Rollup>) -> Self {
        let state = match stored.state() {
            State::Complete => RunState::Complete,
            State::Running => RunState::Running,
            State::Abandoned => RunState::Abandoned,
        };
        let files = Files::read(&stored);
        let size_bytes = stored.size_bytes().unwrap_or(0);
        let facts = Facts { stored: Some(stored), run, files, ..Facts::default() };
        Self { size_bytes, ..Self::of(facts, rollup, state) }
    }

    /// A run in memory that lies in no directory.
    pub fn in_memory(run: Run, rollup: Arc<Rollup>) -> Self {
        Self::of(Facts { run: Some(run), ..Facts::default() }, rollup, RunState::Complete)
    }

    /// A run that goes on: what is known of it.
    pub(crate) fn going_on(
        directory: Option<StoredRun>,
        run: Option<Run>,
        rollup: Arc<Rollup>,
    ) -> Self {
        let files = directory.as_ref().map(Files::read).unwrap_or_default();
        let facts = Facts { stored: directory, run, files, ..Facts::default() };
        Self::of(facts, rollup, RunState::Running)
    }

    /// A recorded trace that has ended.
    pub(crate) fn of_facts(trace: TraceFacts, rollup: Arc<Rollup>) -> Self {
        let size_bytes = trace.size_bytes;
        let facts = Facts { trace: Some(trace), ..Facts::default() };
        Self { size_bytes, ..Self::of(facts, rollup, RunState::Complete) }
    }

    /// The same with how it goes.
    #[must_use]
    pub(crate) fn with_live(self, state: LiveState) -> Self {
        Self { live: Some(state), state: RunState::Running, ..self }
    }

    fn of(facts: Facts, rollup: Arc<Rollup>, state: RunState) -> Self {
        let facts = Arc::new(facts);
        Self { facts, rollup, live: None, state, is_sample: false, size_bytes: 0 }
    }

    /// The same as the run that comes with the program.
    #[must_use]
    pub fn as_sample(mut self) -> Self {
        self.is_sample = true;
        self
    }

    /// The same with the buckets of a time as short as the series and the work of reading it
    /// allow; nothing if they are as short already, or the run is not stored or goes on.
    pub(crate) fn zoomed(&self, window: (Nanos, Nanos)) -> Option<Self> {
        let stored = self.facts.stored.as_ref().filter(|_| !self.is_running())?;
        let rollup = self.facts.zooms.get(&self.rollup, stored, window)?;
        Some(Self { rollup, ..self.clone() })
    }

    /// How it goes, while it runs.
    pub fn live_state(&self) -> Option<&LiveState> {
        self.live.as_ref()
    }

    /// Its id, as in paths; empty if it has none yet.
    pub fn id(&self) -> &str {
        let of_run = self.facts.run.as_ref().map(|run| run.id.as_str());
        let of_directory = || self.facts.stored.as_ref().map(|stored| stored.id().as_str());
        let of_trace = || self.facts.trace.as_ref().map(|trace| trace.id.as_str());
        of_directory().or(of_run).or_else(of_trace).unwrap_or_default()
    }

    /// `run.json`, if there is one.
    pub fn run(&self) -> Option<&Run> {
        self.facts.run.as_ref()
    }

    /// Where it is stored; nothing if it is in memory alone.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.facts.stored.as_ref().map(StoredRun::path)
    }

    /// Which bytes its I/O uses: made of where it was recorded, once it is asked for.
    pub(crate) fn access_or(&self, make: impl FnOnce(Option<&Path>) -> AccessPage) -> &AccessPage {
        self.facts.access.get_or_init(|| make(self.facts.recorded.as_deref()))
    }

    /// Its I/O at the resolution of looking.
    pub fn rollup(&self) -> &Rollup {
        &self.rollup
    }

    pub(crate) fn files(&self) -> &Files {
        &self.facts.files
    }

    pub(crate) fn trace_facts(&self) -> Option<&TraceFacts> {
        self.facts.trace.as_ref()
    }

    pub(crate) fn steps(&self) -> &[Step] {
        self.facts.run.as_ref().map_or(&[], |run| &run.steps)
    }

    /// Which host drove which tile.
    pub(crate) fn hosts(&self) -> &Hosts {
        self.facts.hosts.get_or_init(|| Hosts::of(self.facts.run.as_ref()))
    }

    pub(crate) fn kind(&self) -> RunKind {
        if self.is_sample {
            return RunKind::Sample;
        }
        if self.facts.trace.is_some() {
            return RunKind::Recorded;
        }
        self.facts.run.as_ref().map_or(RunKind::Measured, kind_of)
    }

    /// Whether it has an answer yet.
    pub(crate) fn is_running(&self) -> bool {
        self.live.is_some()
    }

    /// Whether it is known when its I/O was sent.
    pub(crate) fn has_times(&self) -> bool {
        !self.trace_facts().is_some_and(|trace| trace.is_order_only)
    }

    /// Whether it is known how long its I/O took; also where there is none yet.
    pub(crate) fn has_latencies(&self) -> bool {
        let rows = &self.rollup.wide().rows;
        rows.iter().all(|row| row.count() == 0) || rows.iter().any(|row| row.service.sum_ns > 0)
    }

    /// Whether its I/O was only watched.
    pub(crate) fn is_observed(&self) -> bool {
        self.facts.trace.is_some()
    }
}

/// What a run that has this document is.
pub(crate) fn kind_of(run: &Run) -> RunKind {
    if run.target.is_simulated() {
        RunKind::Simulated
    } else if run.steps.iter().any(|step| step.replay.is_some()) {
        RunKind::Replayed
    } else {
        RunKind::Measured
    }
}
