use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use record::rundir::RunId;
use trace::TraceError;
use view::document::RunRow;
use view::{Source, TraceFacts};

use super::unreadable;
use crate::provider::ProviderError;

/// Recorded traces that are shown beside the runs.
#[derive(Default)]
pub struct Traces(Mutex<Vec<Arc<Trace>>>);

/// One of them; its I/O is read when somebody asks.
pub struct Trace {
    path: PathBuf,
    facts: TraceFacts,
    records: u64,
    opened: OnceLock<Result<Arc<Source>, ProviderError>>,
}

impl Traces {
    /// Adds one that is stored here, and returns its id.
    pub fn add(&self, path: &Path) -> Result<RunId, TraceError> {
        let (facts, records) = TraceFacts::of_stored(path)?;
        let id = RunId::parse(&facts.id).expect("ids of traces are made as ids");
        let path = path.to_owned();
        let trace = Arc::new(Trace { path, facts, records, opened: OnceLock::new() });
        let mut traces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.retain(|known| known.facts.id != trace.facts.id);
        traces.push(trace);
        Ok(id)
    }

    /// The one of this id.
    pub fn find(&self, id: &RunId) -> Option<Arc<Trace>> {
        let traces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.iter().find(|trace| trace.facts.id == id.as_str()).cloned()
    }

    /// Their lines in the list.
    pub fn rows(&self) -> Vec<RunRow> {
        let traces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        traces.iter().map(|trace| trace.row()).collect()
    }
}

impl Trace {
    /// All of it. Reading takes a while, and is done once.
    pub fn source(&self) -> Result<Arc<Source>, ProviderError> {
        let open = || Source::open_trace(&self.path).map(Arc::new).map_err(unreadable);
        self.opened.get_or_init(open).clone()
    }

    fn row(&self) -> RunRow {
        match self.opened.get() {
            Some(Ok(source)) => source.row(),
            Some(Err(error)) => {
                RunRow { error: Some(error.to_string()), ..self.facts.row(self.records) }
            }
            None => self.facts.row(self.records),
        }
    }
}
