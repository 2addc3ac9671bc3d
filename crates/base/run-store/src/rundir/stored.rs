use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{ChecksumProblem, Event, RunDirError, RunId, checksum, event};
use crate::env::Environment;
use crate::files;
use crate::run::{self, Run};
use crate::series::{
    self, ActionRecord, CallRecord, GaugeRecord, GeneratorRecord, IoRecord, SeriesError,
};

/// State of a stored run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The run was finished and has its checksums.
    Complete,
    /// A live process is writing the run.
    Running,
    /// The process died before it finished the run. The files can be read.
    Abandoned,
}

impl State {
    /// Returns the name of the state: `complete`, `running` or `abandoned`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Running => "running",
            Self::Abandoned => "abandoned",
        }
    }
}

/// A run on disk. Its files are read on demand.
#[derive(Debug)]
pub struct StoredRun {
    path: PathBuf,
    id: RunId,
    run: OnceLock<Run>,
}

impl StoredRun {
    /// Opens the run in a directory. `None` if neither the name nor the content identifies a run.
    /// If the name does not, `run.json` identifies it.
    pub fn at(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let named = RunId::parse(name.strip_suffix(files::PARTIAL).unwrap_or(name));
        let id = named.or_else(|| {
            let text = untrusted::read_text(&path.join(files::RUN)).ok()?;
            RunId::parse(&run::parse(&text).ok()?.id)
        })?;
        Some(Self { path: path.to_owned(), id, run: OnceLock::new() })
    }

    /// Returns true if the name of the directory is not the run's own.
    pub(super) fn is_renamed(&self) -> bool {
        !self
            .path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(self.id.as_str().as_bytes()))
    }

    /// Returns the identifier of the run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns the path of the run's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the state of the run.
    pub fn state(&self) -> State {
        let is_partial = self
            .path
            .extension()
            .is_some_and(|end| format!(".{}", end.display()) == files::PARTIAL);
        if !is_partial {
            return State::Complete;
        }
        match untrusted::open(&self.path.join(files::LOCK)).map(|lock| lock.try_lock_shared()) {
            Ok(Err(TryLockError::WouldBlock)) => State::Running,
            _ => State::Abandoned,
        }
    }

    /// Returns the content of `run.json`. It is read only once.
    pub fn run(&self) -> Result<&Run, RunDirError> {
        if let Some(run) = self.run.get() {
            return Ok(run);
        }
        let text = self.text(files::RUN)?;
        let run = run::parse(&text).map_err(|error| RunDirError::Content {
            path: self.path.join(files::RUN),
            reason: error.to_string(),
        })?;
        Ok(self.run.get_or_init(|| run))
    }

    /// Reads `env.json`.
    pub fn environment(&self) -> Result<Environment, RunDirError> {
        self.json(files::ENV)
    }

    /// Reads `preflight.json`.
    pub fn preflight(&self) -> Result<serde_json::Value, RunDirError> {
        self.json(files::PREFLIGHT)
    }

    /// Reads `plan.toml`.
    pub fn plan(&self) -> Result<String, RunDirError> {
        self.text(files::PLAN)
    }

    /// Reads `events.jsonl`. An unfinished line of a killed run is skipped.
    pub fn events(&self) -> Result<Vec<Event>, RunDirError> {
        event::read(&self.path.join(files::EVENTS))
    }

    /// Reads the rows of `series.parquet`, or of the parts that a killed run left.
    pub fn series(&self) -> Result<series::Rows<IoRecord>, SeriesError> {
        series::read_run(&self.path)
    }

    /// Reads the rows of `actions.parquet`, or of the parts that a killed run left.
    pub fn actions(&self) -> Result<series::Rows<ActionRecord>, SeriesError> {
        series::read_run(&self.path)
    }

    /// Reads the rows of `calls.parquet`, or of the parts that a killed run left. A run without
    /// calls has none.
    pub fn calls(&self) -> Result<series::Rows<CallRecord>, SeriesError> {
        series::read_run(&self.path)
    }

    /// Reads the rows of `generator.parquet`, or of the parts that a killed run left.
    pub fn generator(&self) -> Result<series::Rows<GeneratorRecord>, SeriesError> {
        series::read_run(&self.path)
    }

    /// Reads the rows of `gauges.parquet`, or of the parts that a killed run left. Runs of earlier
    /// versions have none.
    pub fn gauges(&self) -> Result<series::Rows<GaugeRecord>, SeriesError> {
        series::read_run(&self.path)
    }

    /// Compares every file with `SHA256SUMS`. The result is empty if all files are unchanged.
    pub fn check(&self) -> Result<Vec<ChecksumProblem>, RunDirError> {
        checksum::check(&self.path)
    }

    /// Returns the content of `SHA256SUMS`. For an incomplete run, it is computed from the files.
    pub fn checksums(&self) -> Result<String, RunDirError> {
        match self.path.join(files::SUMS).exists() {
            true => self.text(files::SUMS),
            false => checksum::of_directory(&self.path),
        }
    }

    /// Returns the total size of all files, in bytes.
    pub fn size_bytes(&self) -> Result<u64, RunDirError> {
        size_of(&self.path).map_err(RunDirError::io("listing", &self.path))
    }

    fn text(&self, name: &str) -> Result<String, RunDirError> {
        let path = self.path.join(name);
        untrusted::read_text(&path).map_err(RunDirError::io("reading", &path))
    }

    fn json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, RunDirError> {
        serde_json::from_str(&self.text(name)?).map_err(|error| RunDirError::Content {
            path: self.path.join(name),
            reason: error.to_string(),
        })
    }
}

fn size_of(directory: &Path) -> std::io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() { size_of(&entry.path())? } else { metadata.len() };
    }
    Ok(total)
}
