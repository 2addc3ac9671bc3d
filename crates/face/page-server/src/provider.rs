//! Interface between HTTP and the runs.

use run_store::gauge::Gauge;
use run_store::rundir::RunId;
use view::Request;
use view::document::{
    ComparePage, EventList, HostRate, LiveState, RunList, RunPage, RunRow, RunsTrend, StudyList,
    StudyPage,
};

use crate::felt::Felt;

/// Answers requests about runs. Called on blocking threads, never on the serving thread; several
/// calls may run at the same time.
pub trait Provider: Send + Sync + 'static {
    /// Returns all runs, newest first.
    fn runs(&self) -> Result<RunList, ProviderError>;
    /// Returns the parts of the page that do not depend on the lens (the filter of a view).
    fn page(&self, run: &RunId) -> Result<RunPage, ProviderError>;
    /// Answers a request for a view.
    fn answer(&self, run: &RunId, request: &Request) -> Result<serde_json::Value, ProviderError>;
    /// Returns the events of the run.
    fn events(&self, run: &RunId) -> Result<EventList, ProviderError>;
    /// Compares run `b` with run `a`.
    fn compare(&self, a: &RunId, b: &RunId) -> Result<ComparePage, ProviderError>;
    /// Puts complete runs side by side, oldest first, each compared with the first.
    fn trend(&self, runs: &[RunId]) -> Result<RunsTrend, ProviderError>;
    /// Returns the list of studies.
    fn studies(&self) -> Result<StudyList, ProviderError>;
    /// Returns the page of a study.
    fn study(&self, name: &str) -> Result<StudyPage, ProviderError>;
    /// Returns the live state of a run; `None` once it has ended. It is called once a second for
    /// each watched run, so it must be cheap.
    fn live(&self, run: &RunId) -> Result<Option<LiveState>, ProviderError>;
    /// Returns the running runs and the run that ended last, for metrics.
    fn current(&self) -> Result<Vec<Current>, ProviderError>;
}

/// Data of a run for metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Current {
    /// Row of the list.
    pub row: RunRow,
    /// Live state, while the run is running.
    pub live: Option<LiveState>,
    /// Metrics of the step behind the answer; `None` until the run has ended.
    pub held: Option<StepFigures>,
    /// Gauges sampled beside the I/O, as sums per second: the last ones, or after the end those of
    /// the step behind the answer.
    pub gauges: Vec<Gauge>,
    /// Metrics of what users notice.
    pub felt: Felt,
}

/// Metrics of a judged step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFigures {
    /// Tiles in the step.
    pub tiles: u32,
    /// I/Os per second.
    pub operations_per_s: f64,
    /// Successful calls per second; `None` without calls.
    pub calls_per_s: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Rates of each host.
    pub hosts: Vec<HostRate>,
    /// 99th percentile of reads' service time, nanoseconds.
    pub read_p99_ns: Option<u64>,
    /// 99th percentile of writes' service time, nanoseconds.
    pub write_p99_ns: Option<u64>,
}

/// Reason why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// No stored run has this id.
    #[error("there is no run {0}")]
    UnknownRun(RunId),
    /// No study has this name.
    #[error("there is no study `{0}`")]
    UnknownStudy(String),
    /// Request that is invalid for this run.
    #[error("{0}")]
    Request(String),
    /// Part of the run that does not exist yet.
    #[error("{0}")]
    NotYet(String),
    /// Unreadable files of the run.
    #[error("{0}")]
    Unreadable(String),
}
