//! Figures of the running runs and of the last that ended: what metrics show and push.

use view::document::RunState;

use crate::provider::Current;

/// What a figure is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// Its name for Prometheus, without `tilemark_` and without the unit.
    pub name: &'static str,
    /// Its name for OpenTelemetry.
    pub dotted: &'static str,
    /// What it is, for people.
    pub help: &'static str,
    /// Its unit for Prometheus, which is a part of the name, and for OpenTelemetry (UCUM).
    pub unit: Option<(&'static str, &'static str)>,
}

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it is of.
    pub kind: &'static Kind,
    /// What tells it apart from others of its kind.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: f64,
}

const fn kind(
    name: &'static str,
    dotted: &'static str,
    unit: Option<(&'static str, &'static str)>,
    help: &'static str,
) -> Kind {
    Kind { name, dotted, help, unit }
}

const SECONDS: Option<(&str, &str)> = Some(("seconds", "s"));
const OPERATIONS: Option<(&str, &str)> = Some(("operations_per_second", "{operation}/s"));
const BYTES: Option<(&str, &str)> = Some(("bytes_per_second", "By/s"));

/// Every kind, in the order in which they are told.
pub static KINDS: [Kind; 10] = [
    kind("run", "tilemark.run", None, "A run; always 1"),
    kind("run_running", "tilemark.run.running", None, "1 while the run goes on, else 0"),
    kind("tiles", "tilemark.tiles", None, "Tiles of the step under way or held"),
    kind("tiles_held", "tilemark.tiles.held", None, "Most tiles that were held"),
    kind("score", "tilemark.score", None, "Score: tiles' worth of work"),
    kind("load", "tilemark.load", SECONDS, "Time under load"),
    kind(
        "io_rate",
        "tilemark.io.rate",
        OPERATIONS,
        "I/Os a second: of the last second, or of the step held",
    ),
    kind(
        "io_throughput",
        "tilemark.io.throughput",
        BYTES,
        "Bytes a second: of the last second, or of the step held",
    ),
    kind(
        "io_service_p99",
        "tilemark.io.service.p99",
        SECONDS,
        "99th percentile of service time: of the last second, or of the step held",
    ),
    kind(
        "live_lost_slices",
        "tilemark.live.lost_slices",
        None,
        "Slices the live view did not get; the run's own record has them",
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

/// What is known of these runs.
pub fn figures(runs: &[Current]) -> Vec<Figure> {
    let mut figures = Vec::new();
    runs.iter().for_each(|run| add(&mut figures, run));
    figures
}

fn add(figures: &mut Vec<Figure>, current: &Current) {
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
    figures.push(Figure { kind: &KINDS[RUN], labels: facts, value: 1.0 });
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
    ];
    let known = of_run.into_iter().filter_map(|(kind, value)| Some((kind, value?)));
    figures.extend(known.map(|(kind, value)| Figure {
        kind: &KINDS[kind],
        labels: vec![id()],
        value,
    }));
    let service = [
        ("all", live.and_then(|live| live.p99_ns)),
        ("read", held.and_then(|held| held.read_p99_ns)),
        ("write", held.and_then(|held| held.write_p99_ns)),
    ];
    let known = service.into_iter().filter_map(|(direction, p99)| Some((direction, p99?)));
    figures.extend(known.map(|(direction, p99)| Figure {
        kind: &KINDS[SERVICE],
        labels: vec![id(), ("direction", direction.to_owned())],
        value: seconds(p99),
    }));
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of days are below 2^53")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}
