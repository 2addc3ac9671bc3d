//! The page of a run while it goes on, and what becomes of it when the run has ended.

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
use run_store::rundir::RunId;
use trace::{IoRecord, TraceInfo};
use units::Nanos;
use view::document::LiveLimit;

use crate::push::Pushing;
use crate::time_left::TimeLeft;

/// The environment variable that hands the token on: it is not shown in lists of processes.
pub const TOKEN: &str = "TILEMARK_PAGE_TOKEN";
/// Who looked this recently may want to go on looking.
const RECENT: Duration = Duration::from_secs(60);

/// The page of a run.
pub struct Page {
    server: Server,
    library: Arc<Library>,
    _pushing: Pushing,
    base: PathBuf,
    feed: Option<Feed>,
    recording: Option<TraceFeed>,
    /// A finished recording.
    trace: Option<PathBuf>,
    run: Option<RunId>,
    left: TimeLeft,
}

impl Page {
    /// Serves what is stored in a directory, and soon the run.
    pub fn open(base: &Path) -> std::io::Result<Self> {
        Self::at(Listen::default().bind()?, base)
    }

    /// The same, at an address that is open.
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

    /// Its address, of which [`url_of`] makes that of a run.
    pub fn address(&self) -> String {
        self.server.url("")
    }

    /// Says where it is before there is a run, and what a token is for.
    pub fn say(&self) {
        crate::say!("page       {}", self.server.url("/"));
        say_token(&self.server);
    }

    /// A run begins.
    pub fn begin(&mut self, subject: Subject) {
        // Without a thread to fold them the stored slices are shown, a little later.
        self.feed = self.show(LiveRun::begin(subject), "the page will be behind");
    }

    /// A recording begins.
    pub fn record(&mut self, recording: Recording) {
        let otherwise = "the page shows the recording when it ends";
        self.recording = self.show(LiveRun::record(recording), otherwise);
    }

    /// Shows what begins, and returns its feed. What cannot be shown live is no reason to stop.
    fn show<F>(&mut self, begun: std::io::Result<(Arc<LiveRun>, F)>, otherwise: &str) -> Option<F> {
        let (run, feed) = begun.inspect_err(|error| crate::say!("{otherwise}: {error}")).ok()?;
        self.run = Some(run.id().clone());
        self.library.set_live(run);
        self.server.wake();
        Some(feed)
    }

    /// Shows what was recorded since the last time; never waits.
    pub fn seen(&mut self, info: Option<&TraceInfo>, records: &Arc<Vec<IoRecord>>, elapsed: Nanos) {
        if let Some(feed) = &mut self.recording {
            feed.seen(info.cloned(), records, elapsed);
        }
    }

    /// The recording is complete, in this directory.
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

    /// Shows what happens.
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

    /// The address of the run's page.
    pub fn url(&self) -> String {
        let path = self.run.as_ref().map_or_else(String::new, |run| format!("/run/{run}"));
        self.server.url(&path)
    }

    /// The run has ended: those who look are left with a process of their own, which ends when
    /// nobody has looked for ten minutes. Does not wait for anybody.
    pub fn leave(mut self) {
        drop((self.feed.take(), self.recording.take()));
        let again = match &self.trace {
            Some(path) => format!("tilemark serve {} shows it again", path.display()),
            None => "tilemark serve latest shows it again".to_owned(),
        };
        if self.server.idle().is_none_or(|idle| idle >= RECENT) {
            crate::say!("page: closed, as nobody looks; {again}");
            return;
        }
        let url = self.url();
        let base = Some(&self.base).filter(|base| self.trace.is_none() || base.is_dir());
        let places: Vec<&Path> = self.trace.iter().chain(base).map(PathBuf::as_path).collect();
        match self.server.stop().and_then(|left| hand_over(left, &places)) {
            Ok(pid) => crate::say!(
                "page: {url} stays until nobody has looked for ten minutes (kill {pid} ends it)"
            ),
            Err(error) => {
                crate::say!("page: closed ({error}); {again}");
            }
        }
    }

    /// Goes on serving here until something is asked for.
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
        doubts: tick.disturbances.iter().map(|own| format!("In the way now: {own}.")).collect(),
    }
}

/// The limits of the step so far, the one with the least room first.
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

/// Has another process of this program answer at the address, and returns its id.
fn hand_over(left: Left, places: &[&Path]) -> std::io::Result<u32> {
    let Left { listener, host, token } = left;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", "--inherited", &host]).args(places);
    if let Some(token) = token {
        command.env(TOKEN, token);
    }
    // Nothing of ours is held open by it: whoever reads our output sees its end.
    command.current_dir("/").stdin(address(listener)).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?.id())
}

fn address(listener: TcpListener) -> Stdio {
    Stdio::from(OwnedFd::from(listener))
}

/// The address of a run, where the page's may end with a token.
pub fn url_of(address: &str, run: &str) -> String {
    match address.split_once('?') {
        Some((address, token)) => format!("{address}/run/{run}?{token}"),
        None => format!("{address}/run/{run}"),
    }
}

/// Says what a token is for, where there is one.
pub fn say_token(server: &Server) {
    if server.url("").contains("?token=") {
        crate::say!(
            "whoever has this address with its token can read these runs; it is not encrypted"
        );
    }
}
