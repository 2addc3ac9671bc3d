//! A run opened for looking at it.

mod facts;
mod page;
mod row;
mod timeline;

use std::sync::Arc;

use record::rollup::Rollup;
use record::run::{Run, Step};
use record::rundir::{RunDirError, State, StoredRun};
use record::series::SeriesError;

use crate::document::{LiveState, RunKind, RunState};
use facts::Files;
pub use row::{list, row_of};

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
    /// When it began, RFC 3339; empty if nobody knows.
    pub started: String,
    /// Bytes it takes.
    pub size_bytes: u64,
}

/// A run in memory: everything that views are made of.
#[derive(Debug)]
pub struct Source {
    stored: Option<StoredRun>,
    run: Option<Run>,
    trace: Option<TraceFacts>,
    rollup: Arc<Rollup>,
    files: Files,
    live: Option<LiveState>,
    state: RunState,
    is_sample: bool,
    size_bytes: u64,
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
        Self {
            stored: Some(stored),
            run,
            trace: None,
            rollup,
            files,
            live: None,
            state,
            is_sample: false,
            size_bytes,
        }
    }

    /// A run that goes on, as of now. If the state has no sentence it gets one.
    pub fn live(
        directory: Option<StoredRun>,
        run: Option<Run>,
        rollup: Arc<Rollup>,
        state: LiveState,
    ) -> Self {
        let files = directory.as_ref().map(Files::read).unwrap_or_default();
        let mut source = Self {
            stored: directory,
            run,
            trace: None,
            rollup,
            files,
            live: None,
            state: RunState::Running,
            is_sample: false,
            size_bytes: 0,
        };
        source.set_live(state);
        source
    }

    /// A recorded trace, live if there is a state.
    pub fn trace(trace: TraceFacts, rollup: Arc<Rollup>, live: Option<LiveState>) -> Self {
        let mut source = Self {
            stored: None,
            run: None,
            size_bytes: trace.size_bytes,
            trace: Some(trace),
            rollup,
            files: Files::default(),
            live: None,
            state: RunState::Complete,
            is_sample: false,
        };
        if let Some(state) = live {
            source.state = RunState::Running;
            source.set_live(state);
        }
        source
    }

    /// The same as the run that comes with the program.
    #[must_use]
    pub fn as_sample(mut self) -> Self {
        self.is_sample = true;
        self
    }

    fn set_live(&mut self, mut state: LiveState) {
        if state.sentence.is_empty() {
            state.sentence = crate::words::live(self, &state);
        }
        self.live = Some(state);
    }

    /// How it goes, while it runs.
    pub fn live_state(&self) -> Option<&LiveState> {
        self.live.as_ref()
    }

    /// Its id, as in paths; empty if it has none yet.
    pub fn id(&self) -> &str {
        let of_run = self.run.as_ref().map(|run| run.id.as_str());
        let of_directory = || self.stored.as_ref().map(|stored| stored.id().as_str());
        let of_trace = || self.trace.as_ref().map(|trace| trace.id.as_str());
        of_directory().or(of_run).or_else(of_trace).unwrap_or_default()
    }

    /// `run.json`, if there is one.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// Its I/O at the resolution of looking.
    pub fn rollup(&self) -> &Rollup {
        &self.rollup
    }

    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    pub(crate) fn trace_facts(&self) -> Option<&TraceFacts> {
        self.trace.as_ref()
    }

    pub(crate) fn steps(&self) -> &[Step] {
        self.run.as_ref().map_or(&[], |run| &run.steps)
    }

    pub(crate) fn kind(&self) -> RunKind {
        if self.is_sample {
            return RunKind::Sample;
        }
        if self.trace.is_some() {
            return RunKind::Recorded;
        }
        self.run.as_ref().map_or(RunKind::Measured, row::kind_of)
    }

    /// Whether it has an answer yet.
    pub(crate) fn is_running(&self) -> bool {
        self.live.is_some()
    }

    /// Whether its I/O was only watched.
    pub(crate) fn is_observed(&self) -> bool {
        self.trace.is_some()
    }
}
