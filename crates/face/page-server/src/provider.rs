//! Where the answers come from: between HTTP and the runs.

use run_store::gauge::Gauge;
use run_store::rundir::RunId;
use view::Request;
use view::document::{
    ComparePage, EventList, HostRate, LiveState, RunList, RunPage, RunRow, StudyList, StudyPage,
};

use crate::felt::Felt;

/// Knows runs and answers about them. Called on threads that may wait, never on the one that
/// serves; several calls may run at the same time.
pub trait Provider: Send + Sync + 'static {
    /// All runs, newest first.
    fn runs(&self) -> Result<RunList, ProviderError>;
    /// What does not depend on the lens.
    fn page(&self, run: &RunId) -> Result<RunPage, ProviderError>;
    /// A view through a lens.
    fn answer(&self, run: &RunId, request: &Request) -> Result<serde_json::Value, ProviderError>;
    /// What happened.
    fn events(&self, run: &RunId) -> Result<EventList, ProviderError>;
    /// Run `b` against run `a`.
    fn compare(&self, a: &RunId, b: &RunId) -> Result<ComparePage, ProviderError>;
    /// Studies.
    fn studies(&self) -> Result<StudyList, ProviderError>;
    /// One study.
    fn study(&self, name: &str) -> Result<StudyPage, ProviderError>;
    /// How a run goes; none once it has ended. Asked about once a second for each run that
    /// somebody watches, so it must be cheap.
    fn live(&self, run: &RunId) -> Result<Option<LiveState>, ProviderError>;
    /// The running runs and the last one that ended, for metrics.
    fn current(&self) -> Result<Vec<Current>, ProviderError>;
}

/// A run as metrics show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    /// Its line in the list.
    pub row: RunRow,
    /// How it goes, while it does.
    pub live: Option<LiveState>,
    /// Of the step that its answer stands on, once it has ended.
    pub held: Option<Held>,
    /// What was read beside its I/O, sums by the second: when it was last read, or in the step
    /// held.
    pub gauges: Vec<Gauge>,
    /// What its users feel.
    pub felt: Felt,
}

/// Figures of a judged step.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// Tiles in it.
    pub tiles: u32,
    /// I/Os a second.
    pub operations_per_s: f64,
    /// Calls answered well a second; none where no calls were made.
    pub calls_per_s: Option<f64>,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// What each of several hosts did.
    pub hosts: Vec<HostRate>,
    /// 99th percentile of reads' service time, nanoseconds.
    pub read_p99_ns: Option<u64>,
    /// Of writes'.
    pub write_p99_ns: Option<u64>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// No such run.
    #[error("there is no run {0}")]
    UnknownRun(RunId),
    /// No such study.
    #[error("there is no study `{0}`")]
    UnknownStudy(String),
    /// The request makes no sense for this run.
    #[error("{0}")]
    Request(String),
    /// The run has not come so far.
    #[error("{0}")]
    NotYet(String),
    /// The run's files cannot be read.
    #[error("{0}")]
    Unreadable(String),
}
