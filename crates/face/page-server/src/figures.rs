//! Metrics of the running runs and of the run that ended last, for scrapes and pushes.

mod felt;

use run_store::gauge::{Gauge, GaugeName};
use view::document::RunState;

use crate::provider::Current;

/// Kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    name: &'static str,
    dotted: &'static str,
    unit: Unit,
    help: &'static str,
}

/// Unit for Prometheus, which puts it into the metric's name, and for OpenTelemetry (UCUM).
type Unit = Option<(&'static str, &'static str)>;

/// Metrics of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Metric name for Prometheus.
    pub name: String,
    /// Metric name for OpenTelemetry.
    pub dotted: String,
    /// Unit; `None` for a count.
    pub unit: Unit,
    /// Description for people.
    pub help: String,
    /// Values with their labels, at least one.
    pub figures: Vec<Figure>,
}

/// Single number with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Labels that distinguish the number from others of the same kind.
    pub labels: Vec<(&'static str, String)>,
    /// Value, in the unit of its [`Family`].
    pub value: f64,
}

const fn kind(name: &'static str, dotted: &'static str, unit: Unit, help: &'static str) -> Kind {
    Kind { name, dotted, unit, help }
}

const SECONDS: Unit = Some(("seconds", "s"));
const OPERATIONS: Unit = Some(("operations_per_second", "{operation}/s"));
const CALLS_UNIT: Unit = Some(("calls_per_second", "{call}/s"));
const OPERATIONS_OF_ACTIONS: Unit = Some(("actions_per_second", "{action}/s"));
const BYTES: Unit = Some(("bytes_per_second", "By/s"));

/// Kinds in the order of output.
static KINDS: [Kind; 13] = [
    kind("run", "tilemark.run", None, "A run; always 1"),
    kind("run_running", "tilemark.run.running", None, "1 while the run is running, else 0"),
    kind(
        "tiles",
        "tilemark.tiles",
        None,
        "Tiles of the step under way, or of the largest step that passed",
    ),
    kind(
        "tiles_held",
        "tilemark.tiles.held",
        None,
        "Largest number of tiles at which all limits were met",
    ),
    kind("score", "tilemark.score", None, "Score: tiles' worth of work"),
    kind("load", "tilemark.load", SECONDS, "Time under load"),
    kind(
        "io_rate",
        "tilemark.io.rate",
        OPERATIONS,
        "I/Os per second: of the last second, or of the largest step that passed",
    ),
    kind(
        "io_throughput",
        "tilemark.io.throughput",
        BYTES,
        "Bytes per second: of the last second, or of the largest step that passed",
    ),
    kind(
        "io_service_p99",
        "tilemark.io.service.p99",
        SECONDS,
        "99th percentile of service time: of the last second, or of the largest step that passed",
    ),
    kind(
        "live_lost_slices",
        "tilemark.live.lost_slices",
        None,
        "Slices that the live view did not get; the run's own record has them",
    ),
    kind(
        "call_rate",
        "tilemark.call.rate",
        CALLS_UNIT,
        "Successful calls per second: of the last second, or of the largest step that passed; only \
        in runs with calls",
    ),
    kind(
        "host_io_rate",
        "tilemark.host.io.rate",
        OPERATIONS,
        "I/Os per second of each host, with several hosts: of the last second, or of the largest \
        step that passed",
    ),
    kind(
        "host_io_throughput",
        "tilemark.host.io.throughput",
        BYTES,
        "Bytes per second of each host, with several hosts: of the last second, or of the largest \
        step that passed",
    ),
];
const RUN: usize = 0;
const RUNNING: usize = 1;
const TILES: usize = 2;
const HELD: usize = 3;
const SCORE: usize = 4;
const LOAD: usize = 5;
const RATE: usize = 6;
const THROUGHPUT: usize = 7;
const SERVICE: usize = 8;
const LOST: usize = 9;
const CALLS: usize = 10;
const HOST_RATE: usize = 11;
const HOST_THROUGHPUT: usize = 12;

/// Returns the metric families of these runs, without empty ones.
pub fn families(runs: &[Current]) -> Vec<Family> {
    let mut figures: [Vec<Figure>; KINDS.len()] = Default::default();
    runs.iter().for_each(|run| add(&mut figures, run));
    let own = KINDS.iter().zip(figures).map(|(kind, figures)| Family {
        name: match kind.unit {
            Some((unit, _)) => format!("tilemark_{}_{unit}", kind.name),
            None => format!("tilemark_{}", kind.name),
        },
        dotted: kind.dotted.to_owned(),
        unit: kind.unit,
        help: kind.help.to_owned(),
        figures,
    });
    let gauges = GaugeName::ALL.iter().map(|name| gauge(*name, runs));
    own.chain(felt::families(runs))
        .chain(gauges)
        .filter(|family| !family.figures.is_empty())
        .collect()
}

/// Returns the metric family of a gauge that was sampled during these runs.
fn gauge(name: GaugeName, runs: &[Current]) -> Family {
    let of_run = |run: &Current| {
        let own = run.gauges.iter().filter(|gauge| gauge.name == name);
        let labels =
            |of: &Gauge| vec![("run", run.row.id.clone()), (name.scope().name(), of.scope.clone())];
        own.map(|of| Figure { labels: labels(of), value: of.value }).collect::<Vec<_>>()
    };
    let unit = name.level_unit();
    Family {
        name: name.metric(unit),
        dotted: format!("tilemark.{}", name.name()),
        unit: Some((unit.metric(), unit.ucum())),
        help: format!("{}: last reading, or of the largest step that passed", name.title()),
        figures: runs.iter().flat_map(of_run).collect(),
    }
}

fn add(figures: &mut [Vec<Figure>], current: &Current) {
    let row = &current.row;
    let id = || ("run", row.id.clone());
    let name = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let facts = vec![
        id(),
        ("tile", row.tile.clone()),
        ("target", row.target.clone()),
        ("kind", name(serde_json::to_value(row.kind))),
        ("state", name(serde_json::to_value(row.state))),
        ("status", row.status.clone().unwrap_or_default()),
    ];
    figures[RUN].push(Figure { labels: facts, value: 1.0 });
    let is_running = if row.state == RunState::Running { 1.0 } else { 0.0 };
    let (live, held) = (current.live.as_ref(), current.held.as_ref());
    let held = held.filter(|_| live.is_none());
    let load_ns = live.map_or(row.duration_ns, |live| live.elapsed_ns);
    let either = |live: Option<f64>, held: Option<f64>| live.or(held);
    let of_run = [
        (RUNNING, Some(is_running)),
        (TILES, either(live.map(|l| l.tiles.into()), held.map(|h| h.tiles.into()))),
        (HELD, row.tiles_held.map(f64::from)),
        (SCORE, row.score),
        (LOAD, Some(seconds(load_ns))),
        (RATE, either(live.map(|l| l.operations_per_s), held.map(|h| h.operations_per_s))),
        (THROUGHPUT, either(live.map(|l| l.bytes_per_s), held.map(|h| h.bytes_per_s))),
        (LOST, live.map(|live| count(live.lost_slices))),
        (CALLS, either(live.and_then(|l| l.calls_per_s), held.and_then(|h| h.calls_per_s))),
    ];
    for (kind, value) in of_run {
        figures[kind].extend(value.map(|value| Figure { labels: vec![id()], value }));
    }
    let hosts = live.map(|live| &live.hosts).or(held.map(|held| &held.hosts));
    for host in hosts.into_iter().flatten() {
        let labels = || vec![id(), ("host", host.host.clone())];
        figures[HOST_RATE].push(Figure { labels: labels(), value: host.operations_per_s });
        figures[HOST_THROUGHPUT].push(Figure { labels: labels(), value: host.bytes_per_s });
    }
    let service = [
        ("all", live.and_then(|live| live.p99_ns)),
        ("read", held.and_then(|held| held.read_p99_ns)),
        ("write", held.and_then(|held| held.write_p99_ns)),
    ];
    for (direction, p99) in service {
        let labels = vec![id(), ("direction", direction.to_owned())];
        figures[SERVICE].extend(p99.map(|p99| Figure { labels, value: seconds(p99) }));
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of days are below 2^53")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}
