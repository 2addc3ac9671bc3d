//! Live page of a served tier, updated each second.

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

/// Time limit for the tier's report. After a timeout the next attempt is a second later.
const PATIENCE: Duration = Duration::from_secs(1);
const SECOND: Duration = Duration::from_secs(1);

/// Opens the page's address before anything is served; `None` if no page is wanted.
pub fn open(args: &TierServeArgs) -> Result<Option<Door>, Failure> {
    let Some(listen) = &args.page else { return Ok(None) };
    let listen = listen.clone().unwrap_or_default();
    door::open(&listen, args.token.token_file.as_deref()).map(Some)
}

/// Page of a tier.
pub struct TierPage {
    _server: Server,
    _pushing: Pushing,
    serving: Serving,
    control: Control,
    times: Times,
    begun: Instant,
    /// Last report, and the number of the second in which it was made.
    last: (Report, u64),
}

impl TierPage {
    /// Serves the page and prints its address.
    pub fn begin(
        door: Door,
        file: &Path,
        (control, times): &(Control, Times),
        running: &Running,
    ) -> Result<Self, Failure> {
        let failed =
            |what: String| Failure::new(Exit::Failure, format!("starting the web page: {what}"));
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
        // Drops the times from before the first second.
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

    /// Returns the time left of the current second.
    pub fn left(&self) -> Duration {
        (SECOND * u32::try_from(self.last.1 + 1).unwrap_or(u32::MAX))
            .saturating_sub(self.begun.elapsed())
    }

    /// Shows the changes since the last report, if a second has passed.
    pub fn look(&mut self, running: &Running) {
        let second = self.begun.elapsed().as_secs();
        let (before, since) = &self.last;
        if second <= *since {
            return;
        }
        // A tier that is too busy to report is asked a second later, and the row then covers
        // several seconds.
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
                is_below: false,
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
