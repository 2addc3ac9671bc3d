//! Live run of this process, as visitors see it.
//!
//! The run sends copies of its slices to a bounded queue and continues; a thread folds the slices.
//! If that thread lags, slices are dropped and counted. Dropped slices are missing in the view, but
//! not in the run's own record.

mod recording;
mod serving;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use run_store::gauge::Readings;
use run_store::rollup::Rollup;
use run_store::rundir::{RunId, StoredRun, files};
use run_store::series::StepKey;
use run_store::slice::{Slice, Topology};
use view::document::{HostRate, LiveLimit, LivePhase, LiveState, RunRow};
use view::{Source, TraceFacts};

pub use recording::{Recording, TraceFeed};
pub use serving::{ServedSecond, Serving};

/// Maximum number of queued slices: about a minute of a real run.
const WAITING: usize = 64;
/// Nice value of the folding thread.
const PRIORITY: i32 = 5;

/// Subject of a live page.
#[derive(Debug, Clone)]
pub enum Subject {
    /// Run, with the parent of its directory.
    Run {
        /// Id of the run.
        id: RunId,
        /// Parent of the run's directory.
        base: PathBuf,
        /// Name of the tile.
        tile: String,
        /// Target, as one line.
        target: String,
    },
    /// A recording of I/O.
    Trace(RunId, TraceFacts),
}

/// Live run or recording.
pub struct LiveRun {
    subject: Subject,
    rollup: Mutex<Arc<Rollup>>,
    state: Mutex<LiveState>,
    lost: AtomicU64,
    has_ended: AtomicBool,
}

/// Slice in the queue, with its step and topology.
struct Copy {
    key: StepKey,
    topology: Arc<Topology>,
    slice: Slice,
    readings: Readings,
}

/// Sender of the run's events; never waits.
pub struct Feed {
    run: Arc<LiveRun>,
    sender: SyncSender<Copy>,
    topology: Option<Arc<Topology>>,
    /// Rates of the hosts in the last slice.
    hosts: Vec<HostRate>,
}

impl LiveRun {
    /// Creates a live run, and the feed for its events.
    pub fn begin(subject: Subject) -> std::io::Result<(Arc<Self>, Feed)> {
        let run = Arc::new(Self::new(subject));
        let (sender, receiver) = sync_channel(WAITING);
        let folding = Arc::clone(&run);
        std::thread::Builder::new().name("fold".to_owned()).spawn(move || {
            let own = Some(rustix::thread::gettid());
            let _ = rustix::process::setpriority_process(own, PRIORITY);
            folding.fold(&receiver);
        })?;
        let feed = Feed { run: Arc::clone(&run), sender, topology: None, hosts: Vec::new() };
        Ok((run, feed))
    }

    fn new(subject: Subject) -> Self {
        let state = LiveState {
            version: 1,
            phase: LivePhase::Preparing,
            headline: String::new(),
            sentence: String::new(),
            tiles: 0,
            elapsed_ns: 0,
            left_ns: None,
            run_left: None,
            prepared: None,
            operations_per_s: 0.0,
            calls_per_s: None,
            bytes_per_s: 0.0,
            p99_ns: None,
            limits: Vec::new(),
            doubts: Vec::new(),
            hosts: Vec::new(),
            lost_slices: 0,
        };
        Self {
            subject,
            rollup: Mutex::default(),
            state: Mutex::new(state),
            lost: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
        }
    }

    fn fold(&self, receiver: &Receiver<Copy>) {
        for copy in receiver {
            let mut rollup = self.rollup.lock().unwrap_or_else(PoisonError::into_inner);
            // Copied only while a request is being answered.
            let folded = Arc::make_mut(&mut rollup);
            folded.slice(copy.key, &copy.topology, &copy.slice);
            folded.readings(copy.slice.width, &copy.readings);
            let end = folded.end().0;
            drop(rollup);
            self.change(|state| state.elapsed_ns = end);
        }
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut LiveState)) {
        let mut state = self.state();
        change(&mut state);
        state.version += 1;
    }

    /// Returns the id of the run.
    pub fn id(&self) -> &RunId {
        match &self.subject {
            Subject::Run { id, .. } | Subject::Trace(id, _) => id,
        }
    }

    /// Returns true after the end, when the stored run replaces the live run.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Returns the stored run, once its directory exists.
    pub fn stored(&self) -> Option<StoredRun> {
        let Subject::Run { id, base, .. } = &self.subject else { return None };
        let path = base.join(format!("{id}{}", files::PARTIAL));
        path.is_dir().then(|| StoredRun::at(&path)).flatten()
    }

    /// Returns the present content as a source for views.
    pub fn source(&self) -> Source {
        let rollup = Arc::clone(&self.rollup.lock().unwrap_or_else(PoisonError::into_inner));
        let mut state = self.state().clone();
        state.lost_slices = self.lost.load(Ordering::Relaxed);
        match &self.subject {
            Subject::Run { .. } => {
                let stored = self.stored();
                let run = stored.as_ref().and_then(|stored| stored.run().ok().cloned());
                Source::live(stored, run, rollup, state)
            }
            Subject::Trace(_, facts) => Source::trace(facts.clone(), rollup, Some(state)),
        }
    }

    /// Completes the row of the list with facts that are known before `run.json` exists.
    pub fn row(&self, mut row: RunRow) -> RunRow {
        if let Subject::Run { id, tile, target, .. } = &self.subject {
            for (field, known) in [(&mut row.tile, tile), (&mut row.target, target)] {
                if field.is_empty() {
                    field.clone_from(known);
                }
            }
            if row.started.is_empty() {
                row.started = id.started().to_string();
            }
        }
        row
    }

    /// Returns the rollup of the slices so far.
    pub fn rollup(&self) -> Arc<Rollup> {
        Arc::clone(&self.rollup.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// State in the last second.
#[derive(Debug, Clone, PartialEq)]
pub struct Second {
    /// True while measuring, false while warming up.
    pub is_measured: bool,
    /// Maximum time left of this phase, nanoseconds.
    pub left_ns: Option<u64>,
    /// Time left of the whole run, as text.
    pub run_left: Option<String>,
    /// I/Os per second.
    pub operations_per_s: f64,
    /// Successful calls per second; `None` without calls.
    pub calls_per_s: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// 99th percentile of the service time of I/Os, or of calls if there is no I/O, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Limits of the step so far, the one with the least room first.
    pub limits: Vec<LiveLimit>,
    /// Sentences about other work that disturbs the step.
    pub doubts: Vec<String>,
}

impl Feed {
    /// Returns the run of this feed.
    pub fn run(&self) -> &Arc<LiveRun> {
        &self.run
    }

    /// Reports progress of filling disks; `share` is the share done, 0 to 1.
    pub fn prepared(&self, share: f64, run_left: Option<String>) {
        self.run.change(|state| {
            state.phase = LivePhase::Preparing;
            (state.prepared, state.run_left) = (Some(share), run_left);
        });
    }

    /// Begins a step.
    pub fn step(&self, tiles: u32) {
        self.run.change(|state| {
            state.phase = LivePhase::WarmUp;
            (state.tiles, state.prepared, state.left_ns) = (tiles, None, None);
            // Limits of the step before do not apply to this one.
            (state.limits, state.doubts) = (Vec::new(), Vec::new());
        });
    }

    /// Adds a measured slice.
    pub fn slice(&mut self, key: StepKey, topology: &Topology, slice: &Slice, readings: &Readings) {
        let known = self.topology.take().filter(|known| **known == *topology);
        let topology = known.unwrap_or_else(|| Arc::new(topology.clone()));
        self.topology = Some(Arc::clone(&topology));
        self.hosts = of_hosts(&topology, slice);
        let copy = Copy { key, topology, slice: slice.clone(), readings: readings.clone() };
        if self.sender.try_send(copy).is_err() {
            self.run.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reports the last second.
    pub fn second(&self, second: &Second) {
        self.run.change(|state| {
            state.phase = if second.is_measured { LivePhase::Measured } else { LivePhase::WarmUp };
            state.left_ns = second.left_ns;
            state.run_left.clone_from(&second.run_left);
            state.operations_per_s = second.operations_per_s;
            state.calls_per_s = second.calls_per_s;
            state.bytes_per_s = second.bytes_per_s;
            state.p99_ns = second.p99_ns;
            state.limits.clone_from(&second.limits);
            state.doubts.clone_from(&second.doubts);
            state.hosts.clone_from(&self.hosts);
        });
    }

    /// Reports that the step is being judged, or the run's result assembled.
    pub fn judging(&self) {
        self.run.change(|state| {
            state.phase = LivePhase::Judging;
            (state.left_ns, state.p99_ns) = (None, None);
            (state.operations_per_s, state.bytes_per_s) = (0.0, 0.0);
            state.hosts.clear();
            state.doubts.clear();
            state.calls_per_s = state.calls_per_s.map(|_| 0.0);
        });
    }

    /// Ends the run: its directory is complete, or the run failed.
    pub fn end(&self) {
        self.run.change(|state| state.phase = LivePhase::Ended);
        self.run.has_ended.store(true, Ordering::Release);
    }
}

/// Returns the rates of each host in a slice, in the order of the step; empty without hosts.
fn of_hosts(topology: &Topology, slice: &Slice) -> Vec<HostRate> {
    let host_of = |instance: usize| topology.instances.get(instance)?.host.as_deref();
    let mut rates: Vec<HostRate> = Vec::new();
    for host in topology.instances.iter().filter_map(|instance| instance.host.as_ref()) {
        if rates.iter().all(|rate| rate.host != *host) {
            let host = host.clone();
            rates.push(HostRate { host, operations_per_s: 0.0, bytes_per_s: 0.0 });
        }
    }
    let seconds = slice.width.as_secs_f64();
    if rates.is_empty() || seconds <= 0.0 {
        return rates;
    }
    for row in &slice.io {
        let vm = topology.vms.get(row.vm.0 as usize);
        let host = vm.and_then(|vm| host_of(vm.instance.0 as usize));
        if let Some(rate) = rates.iter_mut().find(|rate| Some(rate.host.as_str()) == host) {
            rate.operations_per_s += float(row.service.count()) / seconds;
            rate.bytes_per_s += float(row.bytes.get()) / seconds;
        }
    }
    rates
}

#[expect(clippy::cast_precision_loss, reason = "what a slice counts is far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.end();
    }
}
