//! Live page of a run, and its handover when the run has ended.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::progress::{LimitSoFar, Overview, Progress, Tick};
use page_server::{
    Door, Feed, Left, Library, Listen, LiveRun, Recording, Second, Server, Shelf, Subject,
    TraceFeed,
};
use run_store::gauge::Gauge;
use run_store::rundir::RunId;
use trace::{IoRecord, TraceInfo};
use units::Nanos;
use view::document::LiveLimit;

use crate::push::Pushing;
use crate::time_left::TimeLeft;

/// Environment variable that passes the token to the new process, because process lists do not show
/// it.
pub const TOKEN: &str = "TILEMARK_PAGE_TOKEN";
/// A visitor within this time before the end of the run may want to stay.
const RECENT: Duration = Duration::from_secs(60);

/// Live page of a run.
pub struct Page {
    server: Server,
    library: Arc<Library>,
    _pushing: Pushing,
    base: PathBuf,
    feed: Option<Feed>,
    recording: Option<TraceFeed>,
    trace: Option<PathBuf>,
    run: Option<RunId>,
    left: TimeLeft,
}

impl Page {
    /// Serves the runs stored in a directory, and later the live run.
    pub fn open(base: &Path) -> std::io::Result<Self> {
        Self::at(Listen::default().bind()?, base)
    }

    /// Serves the runs at an open address.
    pub fn at(door: Door, base: &Path) -> std::io::Result<Self> {
        let base = std::path::absolute(base)?;
        let library = Arc::new(Library::new(Shelf::All(base.clone())));
        let server = Server::start(door, library.clone())?;
        let pushing = Pushing::begin(&library);
        Ok(Self {
            server,
            library,
            _pushing: pushing,
            base,
            feed: None,
            recording: None,
            trace: None,
            run: None,
            left: TimeLeft::default(),
        })
    }

    /// Returns the address of the page; [`url_of`] makes the address of a run from it.
    pub fn address(&self) -> String {
        self.server.url("")
    }

    /// Prints the address before a run exists, and the purpose of the token.
    pub fn say(&self) {
        crate::say!("page       {}", self.server.url("/"));
        say_token(&self.server);
    }

    /// Begins to show a run.
    pub fn begin(&mut self, subject: Subject) {
        // Without a thread that folds the slices, the stored slices are shown, a little later.
        self.feed = self.show(LiveRun::begin(subject), "the page will lag behind");
    }

    /// Begins to show a recording.
    pub fn record(&mut self, recording: Recording) {
        let otherwise = "the page shows the recording when it ends";
        self.recording = self.show(LiveRun::record(recording), otherwise);
    }

    /// Shows a run or recording and returns its feed. A failure is only printed: it must not stop
    /// the run.
    fn show<F>(&mut self, begun: std::io::Result<(Arc<LiveRun>, F)>, otherwise: &str) -> Option<F> {
        let (run, feed) = begun.inspect_err(|error| crate::say!("{otherwise}: {error}")).ok()?;
        self.run = Some(run.id().clone());
        self.library.set_live(run);
        self.server.wake();
        Some(feed)
    }

    /// Shows the records since the last call; never waits.
    pub fn seen(&mut self, info: Option<&TraceInfo>, records: &Arc<Vec<IoRecord>>, elapsed: Nanos) {
        if let Some(feed) = &mut self.recording {
            feed.seen(info.cloned(), records, elapsed);
        }
    }

    /// Shows gauges, each with begin and length of its interval.
    pub fn gauges(&mut self, gauges: impl IntoIterator<Item = (Nanos, Nanos, Gauge)>) {
        if let Some(feed) = &mut self.recording {
            feed.gauges(gauges);
        }
    }

    /// Adds the complete recording in this directory to the page.
    pub fn recorded(&mut self, trace: &Path) {
        let added =
            std::path::absolute(trace).map_err(|error| error.to_string()).and_then(|path| {
                let id = self.library.add_trace(&path).map_err(|error| error.to_string())?;
                Ok((path, id))
            });
        match added {
            Ok((path, id)) => (self.trace, self.run) = (Some(path), Some(id)),
            Err(error) => crate::say!("the page does not show the finished recording: {error}"),
        }
        self.recording = None;
        self.server.wake();
    }

    /// Shows an event.
    pub fn event(&mut self, event: &Progress<'_>) {
        if let Progress::Planned(overview) = event {
            self.planned(overview);
        }
        let now = Instant::now();
        self.left.hear(event, now);
        let Some(feed) = &mut self.feed else { return };
        match event {
            Progress::Prefill { done, total, .. } => {
                feed.prepared(done.as_f64() / total.as_f64().max(1.0), self.left.told(now));
            }
            Progress::StepBegins { tiles, .. } => feed.step(*tiles),
            Progress::Slice { key, topology, slice, readings } => {
                feed.slice(*key, topology, slice, readings);
            }
            Progress::Tick(tick) => feed.second(&second(tick, self.left.told(now))),
            Progress::StepEnds(_) => feed.judging(),
            Progress::Finished { .. } => feed.end(),
            Progress::Planned(_) | Progress::LargerDisks { .. } | Progress::Warning(_) => {}
        }
    }

    fn planned(&mut self, overview: &Overview) {
        if let Some(id) = RunId::parse(&overview.id) {
            let (base, tile) = (self.base.clone(), overview.tile.clone());
            let target = overview.target_summary.clone();
            self.begin(Subject::Run { id, base, tile, target });
        }
    }

    /// Returns the address of the run's page.
    pub fn url(&self) -> String {
        let path = self.run.as_ref().map_or_else(String::new, |run| format!("/run/{run}"));
        self.server.url(&path)
    }

    /// Hands the page over to a new process, without waiting, if there are visitors. That process
    /// ends after ten minutes without a visit.
    pub fn leave(mut self) {
        drop((self.feed.take(), self.recording.take()));
        let again = match &self.trace {
            Some(path) => format!("tilemark serve {} shows it again", path.display()),
            None => "tilemark serve latest shows it again".to_owned(),
        };
        if self.server.idle().is_none_or(|idle| idle >= RECENT) {
            crate::say!("page: closed, because no browser shows it; {again}");
            return;
        }
        let url = self.url();
        let base = Some(&self.base).filter(|base| self.trace.is_none() || base.is_dir());
        let places: Vec<&Path> = self.trace.iter().chain(base).map(PathBuf::as_path).collect();
        match self.server.stop().and_then(|left| hand_over(left, &places)) {
            Ok(pid) => crate::say!(
                "page: {url} stays open until no browser has shown it for ten minutes (kill {pid} \
                ends it)"
            ),
            Err(error) => {
                crate::say!("page: closed ({error}); {again}");
            }
        }
    }

    /// Continues to serve in this process until `is_over`.
    pub fn stay(mut self, is_over: impl Fn() -> bool) {
        drop(self.feed.take());
        self.server.wake();
        crate::say!("page: {}; Ctrl-C ends it", self.url());
        while !is_over() {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn second(tick: &Tick, run_left: Option<String>) -> Second {
    Second {
        is_measured: tick.is_measured,
        left_ns: Some(tick.left.0),
        run_left,
        operations_per_s: tick.operations_per_s,
        calls_per_s: tick.calls_per_s,
        bytes_per_s: tick.bytes_per_s,
        p99_ns: tick.service_p99.map(|time| time.0),
        limits: limits(tick),
        doubts: tick.disturbances.iter().map(|own| format!("Disturbed now by: {own}.")).collect(),
    }
}

/// Returns the limits of the step so far, the one with the least room first.
fn limits(tick: &Tick) -> Vec<LiveLimit> {
    let limit = |own: &LimitSoFar| LiveLimit {
        name: own.name.clone(),
        measured_ns: own.measured.map(|time| time.0),
        limit_ns: own.limit.0,
        share: own.measured.map(|_| own.share()),
    };
    let mut limits: Vec<LiveLimit> = tick.limits.iter().map(limit).collect();
    let share = |limit: &LiveLimit| limit.share.unwrap_or(-1.0);
    limits.sort_by(|a, b| share(b).total_cmp(&share(a)));
    limits
}

/// Starts another process of this program that serves at the address, and returns its process id.
fn hand_over(left: Left, places: &[&Path]) -> std::io::Result<u32> {
    let Left { listener, host, token } = left;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", "--inherited", &host]).args(places);
    if let Some(token) = token {
        command.env(TOKEN, token);
    }
    // The process must not keep pipes of this one open: a reader of the output waits for their end.
    command.current_dir("/").stdin(address(listener)).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?.id())
}

fn address(listener: TcpListener) -> Stdio {
    Stdio::from(OwnedFd::from(listener))
}

/// Returns the address of a run, made from the page's address, which may end with a token.
pub fn url_of(address: &str, run: &str) -> String {
    match address.split_once('?') {
        Some((address, token)) => format!("{address}/run/{run}?{token}"),
        None => format!("{address}/run/{run}"),
    }
}

/// Prints the purpose of the token, if there is one.
pub fn say_token(server: &Server) {
    if server.url("").contains("?token=") {
        crate::say!(
            "anybody who has this address with its token can read these runs; the connection is \
            not encrypted"
        );
    }
}
