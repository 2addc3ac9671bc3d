//! Run, opened for views.

mod axis;
mod facts;
mod hosts;
mod timeline;
mod trace;
mod watched;
mod zoom;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use run_store::rollup::Rollup;
use run_store::run::{Run, Step};
use run_store::rundir::{RunDirError, State, StoredRun};
use run_store::series::SeriesError;
use units::Nanos;

use crate::document::{AccessPage, LiveState, RunKind, RunState};
pub(crate) use axis::Axis;
use facts::Files;
pub(crate) use hosts::Hosts;
pub(crate) use watched::Watched;
use zoom::Zooms;

/// Reason why a run cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// `run.json` is missing or invalid.
    #[error(transparent)]
    Directory(#[from] RunDirError),
    /// The rollup is missing or invalid.
    #[error(transparent)]
    Series(#[from] SeriesError),
}

/// Facts about a recorded trace, in addition to its I/O.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceFacts {
    /// Identifier, as in paths.
    pub id: String,
    /// Name of the file or directory, for people.
    pub name: String,
    /// Description of the recorded host or disks, in one line.
    pub target: String,
    /// Host of the recording, if known.
    pub host: Option<String>,
    /// Begin of the recording, RFC 3339; empty if unknown.
    pub started: String,
    /// Size of the files, in bytes.
    pub size_bytes: u64,
    /// Time from the beginning to the last I/O, nanoseconds; 0 if unknown.
    pub duration_ns: u64,
    /// True if the trace has only the order of I/Os and no times, so that there are no rates.
    pub is_order_only: bool,
    /// True if this is the store of a watched host, not a recording.
    pub is_watched: bool,
}

/// A run in memory: all data of its views.
#[derive(Debug, Clone)]
pub struct Source {
    facts: Arc<Facts>,
    rollup: Arc<Rollup>,
    live: Option<LiveState>,
    pub(crate) state: RunState,
    is_sample: bool,
    pub(crate) size_bytes: u64,
}

/// Data that does not change while the run is open.
#[derive(Debug, Default)]
struct Facts {
    stored: Option<StoredRun>,
    run: Option<Run>,
    trace: Option<TraceFacts>,
    files: Files,
    zooms: Zooms,
    hosts: OnceLock<Hosts>,
    /// Directory of a trace, if it is stored and complete.
    recorded: Option<PathBuf>,
    /// Store of a watched host.
    watched: Option<Watched>,
    access: OnceLock<AccessPage>,
}

impl Source {
    /// Opens a stored run. The process that wrote the run may have died.
    pub fn open(stored: StoredRun) -> Result<Self, OpenError> {
        let run = stored.run()?.clone();
        let rollup = Arc::new(Rollup::of_run(&stored)?);
        Ok(Self::stored(stored, Some(run), rollup))
    }

    /// Opens a stored run with a given rollup, for a run that just ended.
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

    /// Opens a run in memory that has no directory.
    pub fn in_memory(run: Run, rollup: Arc<Rollup>) -> Self {
        Self::of(Facts { run: Some(run), ..Facts::default() }, rollup, RunState::Complete)
    }

    /// Opens a run in progress, with the data so far.
    pub(crate) fn going_on(
        directory: Option<StoredRun>,
        run: Option<Run>,
        rollup: Arc<Rollup>,
    ) -> Self {
        let files = directory.as_ref().map(Files::read).unwrap_or_default();
        let facts = Facts { stored: directory, run, files, ..Facts::default() };
        Self::of(facts, rollup, RunState::Running)
    }

    /// Opens a complete recorded trace.
    pub(crate) fn of_facts(trace: TraceFacts, rollup: Arc<Rollup>) -> Self {
        let size_bytes = trace.size_bytes;
        let facts = Facts { trace: Some(trace), ..Facts::default() };
        Self { size_bytes, ..Self::of(facts, rollup, RunState::Complete) }
    }

    /// Adds the live state of a run in progress.
    #[must_use]
    pub(crate) fn with_live(self, state: LiveState) -> Self {
        Self { live: Some(state), state: RunState::Running, ..self }
    }

    fn of(facts: Facts, rollup: Arc<Rollup>, state: RunState) -> Self {
        let facts = Arc::new(facts);
        Self { facts, rollup, live: None, state, is_sample: false, size_bytes: 0 }
    }

    /// Marks the run as the sample that comes with the program.
    #[must_use]
    pub fn as_sample(mut self) -> Self {
        self.is_sample = true;
        self
    }

    /// Returns the source with shorter buckets in a window, as short as the stored series and a
    /// limit on the work allow. `None` if the buckets are already as short, or the run is not
    /// stored or still in progress.
    pub(crate) fn zoomed(&self, window: (Nanos, Nanos)) -> Option<Self> {
        let facts = &self.facts;
        let rollup = match (&facts.stored, &facts.watched) {
            (Some(stored), _) if !self.is_running() => {
                facts.zooms.of_run(&self.rollup, stored, window)
            }
            (None, Some(watched)) => facts.zooms.of_watched(&self.rollup, watched, window),
            _ => None,
        };
        Some(Self { rollup: rollup?, ..self.clone() })
    }

    /// Returns the live state, while the run is in progress.
    pub fn live_state(&self) -> Option<&LiveState> {
        self.live.as_ref()
    }

    /// Returns the identifier, as in paths; empty if there is none yet.
    pub fn id(&self) -> &str {
        let of_run = self.facts.run.as_ref().map(|run| run.id.as_str());
        let of_directory = || self.facts.stored.as_ref().map(|stored| stored.id().as_str());
        let of_trace = || self.facts.trace.as_ref().map(|trace| trace.id.as_str());
        of_directory().or(of_run).or_else(of_trace).unwrap_or_default()
    }

    /// Returns the content of `run.json`, if there is one.
    pub fn run(&self) -> Option<&Run> {
        self.facts.run.as_ref()
    }

    /// Returns the directory of the run; `None` if it is in memory only.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.facts.stored.as_ref().map(StoredRun::path)
    }

    /// Returns the answer of the view `access`. It is made from the recording at the first call.
    pub(crate) fn access_or(&self, make: impl FnOnce(Option<&Path>) -> AccessPage) -> &AccessPage {
        self.facts.access.get_or_init(|| make(self.facts.recorded.as_deref()))
    }

    /// Returns the rollup of the run's I/O.
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

    /// Returns the hosts of the tiles.
    pub(crate) fn hosts(&self) -> &Hosts {
        self.facts.hosts.get_or_init(|| Hosts::of(self.facts.run.as_ref()))
    }

    pub(crate) fn kind(&self) -> RunKind {
        if self.is_sample {
            return RunKind::Sample;
        }
        if let Some(trace) = &self.facts.trace {
            return if trace.is_watched { RunKind::Watched } else { RunKind::Recorded };
        }
        self.facts.run.as_ref().map_or(RunKind::Measured, kind_of)
    }

    /// Returns true while the run has no answer.
    pub(crate) fn is_running(&self) -> bool {
        self.live.is_some()
    }

    /// Returns the number of events that were lost while a host was watched. Their I/O is missing
    /// in all numbers.
    pub(crate) fn lost_events(&self) -> u64 {
        self.facts.watched.as_ref().map_or(0, Watched::lost)
    }

    /// Returns the store of a watched host.
    pub(crate) fn watched(&self) -> Option<&Watched> {
        self.facts.watched.as_ref()
    }

    /// Returns the axis of time.
    pub(crate) fn axis(&self) -> Axis {
        let zero = self.facts.watched.as_ref().map(Watched::zero_s);
        zero.map_or_else(Axis::default, Axis::of_dates)
    }

    /// Returns true if submission times of I/Os are known.
    pub(crate) fn has_times(&self) -> bool {
        !self.trace_facts().is_some_and(|trace| trace.is_order_only)
    }

    /// Returns true if latencies of I/Os are known; also true if there is no I/O.
    pub(crate) fn has_latencies(&self) -> bool {
        let rows = &self.rollup.wide().rows;
        rows.iter().all(|row| row.count() == 0) || rows.iter().any(|row| row.service.sum_ns > 0)
    }

    /// Returns true if the I/O was only observed, not generated.
    pub(crate) fn is_observed(&self) -> bool {
        self.facts.trace.is_some()
    }
}

/// Returns the kind of a run, from its `run.json`.
pub(crate) fn kind_of(run: &Run) -> RunKind {
    if run.target.is_simulated() {
        RunKind::Simulated
    } else if run.steps.iter().any(|step| step.replay.is_some()) {
        RunKind::Replayed
    } else {
        RunKind::Measured
    }
}
