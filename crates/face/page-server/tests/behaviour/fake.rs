use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use run_store::gauge::{Gauge, GaugeName, HOST};
use run_store::rundir::RunId;
use serde_json::json;
use server::{
    Current, Felt, FeltAction, FeltLimit, FeltStep, Provider, ProviderError, Server, StepFigures,
};
use view::Request;
use view::document::{
    ComparePage, EventList, HostRate, LivePhase, LiveState, RunKind, RunList, RunPage, RunRow,
    RunState, RunsTrend, StudyList, StudyPage,
};

/// Id of an existing run.
pub const RUN: &str = "20261121T184207Z-datacenter-k3f9qa";

/// Provider of one run, which runs until it is ended.
#[derive(Default)]
pub struct Fake {
    pub has_ended: AtomicBool,
    pub version: AtomicU64,
    pub asked_live: AtomicUsize,
}

impl Fake {
    /// Starts a server on a free port of this computer.
    pub fn serve(self: &Arc<Self>) -> (Server, u16) {
        self.serve_at("127.0.0.1:0")
    }

    pub fn serve_at(self: &Arc<Self>, listen: &str) -> (Server, u16) {
        let door = listen.parse::<server::Listen>().expect("an address").bind().expect("a port");
        let provider: Arc<dyn Provider> = self.clone();
        let server = Server::start(door, provider).expect("a server");
        let url = server.url("/");
        let port = url.split(':').nth(2).and_then(|rest| rest.split('/').next()?.parse().ok());
        (server, port.expect("a port"))
    }

    fn known(&self, run: &RunId) -> Result<(), ProviderError> {
        match run.as_str() {
            RUN => Ok(()),
            _ => Err(ProviderError::UnknownRun(run.clone())),
        }
    }
}

pub fn row() -> RunRow {
    RunRow {
        id: RUN.to_owned(),
        kind: RunKind::Measured,
        state: RunState::Running,
        status: None,
        started: "2026-11-21T18:42:07Z".to_owned(),
        duration_ns: 3_000_000_000,
        tile: "datacenter".to_owned(),
        target: "a \"disk\"".to_owned(),
        sentence: "It runs.".to_owned(),
        tiles_held: Some(3),
        tiles: None,
        profile: None,
        scale: None,
        disturbed_steps: 0,
        score: Some(2.5),
        size_bytes: 1,
        spark: vec![1.0; 60],
        error: None,
    }
}

pub fn state(version: u64) -> LiveState {
    LiveState {
        version,
        phase: LivePhase::Measured,
        headline: String::new(),
        sentence: "3 tiles run.".to_owned(),
        tiles: 3,
        elapsed_ns: 5_000_000_000,
        left_ns: None,
        run_left: None,
        prepared: None,
        operations_per_s: 1234.5,
        calls_per_s: Some(0.0),
        bytes_per_s: 1e6,
        p99_ns: Some(2_500_000),
        limits: Vec::new(),
        doubts: Vec::new(),
        hosts: Vec::new(),
        lost_slices: 7,
    }
}

impl Provider for Fake {
    fn runs(&self) -> Result<RunList, ProviderError> {
        Ok(RunList { base: "/runs".to_owned(), runs: vec![row()] })
    }

    fn page(&self, run: &RunId) -> Result<RunPage, ProviderError> {
        self.known(run)?;
        Err(ProviderError::NotYet("nothing has been measured yet".to_owned()))
    }

    fn answer(&self, run: &RunId, request: &Request) -> Result<serde_json::Value, ProviderError> {
        self.known(run)?;
        assert_ne!(request.lens.step, Some(666), "a question that answering panics at");
        Ok(json!({ "request": request.canonical() }))
    }

    fn events(&self, run: &RunId) -> Result<EventList, ProviderError> {
        self.known(run)?;
        Ok(EventList { events: Vec::new() })
    }

    fn compare(&self, a: &RunId, b: &RunId) -> Result<ComparePage, ProviderError> {
        self.known(a)?;
        self.known(b)?;
        Err(ProviderError::Request("a run is not compared with itself".to_owned()))
    }

    fn trend(&self, runs: &[RunId]) -> Result<RunsTrend, ProviderError> {
        runs.iter().try_for_each(|run| self.known(run))?;
        Err(ProviderError::NotYet(format!("run {RUN} is not complete")))
    }

    fn studies(&self) -> Result<StudyList, ProviderError> {
        Ok(StudyList { studies: Vec::new() })
    }

    fn study(&self, name: &str) -> Result<StudyPage, ProviderError> {
        Err(ProviderError::UnknownStudy(name.to_owned()))
    }

    fn live(&self, run: &RunId) -> Result<Option<LiveState>, ProviderError> {
        self.known(run)?;
        self.asked_live.fetch_add(1, Ordering::Relaxed);
        let version = self.version.fetch_add(1, Ordering::Relaxed);
        Ok((!self.has_ended.load(Ordering::Relaxed)).then(|| state(version)))
    }

    fn current(&self) -> Result<Vec<Current>, ProviderError> {
        let mut ended = row();
        ended.state = RunState::Complete;
        ended.id = "20261121T000000Z-datacenter-aaaaaa".to_owned();
        let rate = |host: &str, operations_per_s| {
            let bytes_per_s = 2.0 * operations_per_s;
            HostRate { host: host.to_owned(), operations_per_s, bytes_per_s }
        };
        let held = StepFigures {
            tiles: 3,
            operations_per_s: 10.0,
            calls_per_s: None,
            bytes_per_s: 20.0,
            hosts: vec![rate("a", 6.0), rate("b", 4.0)],
            read_p99_ns: Some(1_000_000),
            write_p99_ns: None,
        };
        let gauge = |name, scope: &str, value| Gauge { name, scope: scope.to_owned(), value };
        let gauges = vec![
            gauge(GaugeName::CpuOwn, HOST, 0.25),
            gauge(GaugeName::DeviceBusy, "sda", 1.0),
            gauge(GaugeName::TierReadBytes, "near", 4096.0),
        ];
        let running =
            Current { row: row(), live: Some(state(1)), held: None, gauges, felt: Felt::default() };
        let ended =
            Current { row: ended, live: None, held: Some(held), gauges: Vec::new(), felt: felt() };
        let is_running = !self.has_ended.load(Ordering::Relaxed);
        Ok(is_running.then_some(running).into_iter().chain([ended]).collect())
    }
}

/// Figures that users of the ended run felt.
fn felt() -> Felt {
    let action = |action: &str, per_s, p95_ns| FeltAction {
        workload: "shop".to_owned(),
        action: action.to_owned(),
        per_s,
        p95_ns,
    };
    Felt {
        actions: vec![action("order", 12.5, Some(250_000_000)), action("browse", 0.0, None)],
        limits: vec![FeltLimit {
            workload: "shop".to_owned(),
            on: "order".to_owned(),
            statistic: "p95".to_owned(),
            share: 0.5,
        }],
        steps: vec![FeltStep { step: 2, repeat: 1, tiles: 3, verdict: "passed" }],
    }
}
