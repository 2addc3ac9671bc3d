//! The page of a tier while it serves: what it did, second by second.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use block_server::Running;
use page_server::{Door, Library, LiveRun, ServedSecond, Server, Serving, Shelf};
use run_store::rollup::ObservedRow;
use run_store::rundir::RunId;
use run_store::slice::{Direction, SizeClass};
use stats::Compact;
use tier_service::{Command, Control, Refusal, Report, Requests, Times};
use units::Nanos;
use view::TraceFacts;

use crate::args::TierServeArgs;
use crate::door;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::page::say_token;
use crate::push::Pushing;

/// How long the tier may take to say how it is doing; it is asked again a second later.
const PATIENCE: Duration = Duration::from_secs(1);
const SECOND: Duration = Duration::from_secs(1);

/// Opens its address, if there is to be one: before anything is served.
pub fn open(args: &TierServeArgs) -> Result<Option<Door>, Failure> {
    let Some(listen) = &args.page else { return Ok(None) };
    let listen = listen.clone().unwrap_or_default();
    door::open(&listen, args.token.token_file.as_deref()).map(Some)
}

/// The page of a tier.
pub struct TierPage {
    _server: Server,
    _pushing: Pushing,
    serving: Serving,
    control: Control,
    times: Times,
    begun: Instant,
    /// What it said last, and at which second.
    last: (Report, u64),
}

impl TierPage {
    /// Shows it from now on, and says where.
    pub fn begin(
        door: Door,
        file: &Path,
        (control, times): &(Control, Times),
        running: &Running,
    ) -> Result<Self, Failure> {
        let failed =
            |what: String| Failure::new(Exit::Failure, format!("starting the page: {what}"));
        let library = Arc::new(Library::new(Shelf::Some(Vec::new())));
        let server = Server::start(door, library.clone()).map_err(|e| failed(e.to_string()))?;
        let now = jiff::Timestamp::now();
        let id = RunId::following("tier", i64::try_from(now.as_nanosecond()).unwrap_or(0));
        let facts = TraceFacts {
            started: id.started().to_string(),
            id: id.to_string(),
            name: "tier".to_owned(),
            target: file.display().to_string(),
            ..TraceFacts::default()
        };
        let (run, serving) = LiveRun::serve(facts).map_err(|e| failed(e.to_string()))?;
        library.set_live(run);
        crate::say!("page at {}", server.url(&format!("/run/{id}/tier")));
        say_token(&server);
        let report = asked(control, running).map_err(|e| failed(e.to_string()))?;
        // What was before is no part of the first second.
        let _ = times.take();
        Ok(Self {
            _server: server,
            _pushing: Pushing::begin(&library),
            serving,
            control: control.clone(),
            times: times.clone(),
            begun: Instant::now(),
            last: (report, 0),
        })
    }

    /// How long the second that goes on still takes.
    pub fn left(&self) -> Duration {
        (SECOND * u32::try_from(self.last.1 + 1).unwrap_or(u32::MAX))
            .saturating_sub(self.begun.elapsed())
    }

    /// Shows what was since the last time, if a second is over.
    pub fn look(&mut self, running: &Running) {
        let second = self.begun.elapsed().as_secs();
        let (before, since) = &self.last;
        if second <= *since {
            return;
        }
        // One that is too busy to say it is asked again, and then about more seconds.
        let Ok(report) = asked(&self.control, running) else { return };
        let taken = self.times.take();
        let readings = report.by_disk(before, &taken);
        let seen: Vec<(&str, Direction, SizeClass, &Requests, Compact)> = report
            .disks
            .iter()
            .filter_map(|disk| Some((&disk.name, taken.disks.get(usize::from(disk.index))?)))
            .flat_map(|(name, times)| times.requests().map(move |of| (name.as_str(), of)))
            .map(|(name, (direction, class, of))| (name, direction, class, of, of.times.compact()))
            .collect();
        let rows: Vec<ObservedRow<'_>> = seen
            .iter()
            .map(|(name, direction, class, of, service)| ObservedRow {
                name,
                direction: *direction,
                class: *class,
                bytes: of.bytes,
                errors: of.errors,
                service,
            })
            .collect();
        let (start, width) = (Nanos::from_secs(*since), Nanos::from_secs(second - since));
        self.serving.seen(&ServedSecond { start, width, rows: &rows, readings: &readings });
        self.last = (report, second);
    }
}

fn asked(control: &Control, running: &Running) -> Result<Report, Refusal> {
    control.ask(Command::Pulse, running, PATIENCE)?.ok_or_else(|| Refusal::new("it says nothing"))
}
