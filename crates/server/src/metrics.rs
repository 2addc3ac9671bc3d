//! Figures of the running runs and of the last that ended, in the OpenMetrics text format.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use view::document::RunState;

use crate::provider::Current;

/// OpenMetrics 1.0, as Prometheus asks for it.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabel {
    run: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Facts {
    run: String,
    tile: String,
    target: String,
    kind: String,
    state: String,
    status: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Part {
    run: String,
    direction: String,
}

type Number = Gauge<f64, AtomicU64>;

/// What is known of these runs.
pub fn text(runs: &[Current]) -> Result<String, fmt::Error> {
    let mut table = Table::new();
    runs.iter().for_each(|run| table.add(run));
    let mut text = String::new();
    encode(&mut text, &table.registry)?;
    Ok(text)
}

struct Table {
    registry: Registry,
    facts: Family<Facts, Number>,
    running: Family<RunLabel, Number>,
    tiles: Family<RunLabel, Number>,
    tiles_held: Family<RunLabel, Number>,
    score: Family<RunLabel, Number>,
    load: Family<RunLabel, Number>,
    operations: Family<RunLabel, Number>,
    bytes: Family<RunLabel, Number>,
    service: Family<Part, Number>,
    lost: Family<RunLabel, Number>,
}

impl Table {
    fn new() -> Self {
        let mut registry = Registry::with_prefix("tilemark");
        Self {
            facts: family(&mut registry, "run", "A run; always 1", None),
            running: family(&mut registry, "run_running", "1 while the run goes on, else 0", None),
            tiles: family(&mut registry, "tiles", "Tiles of the step under way or held", None),
            tiles_held: family(&mut registry, "tiles_held", "Most tiles that were held", None),
            score: family(&mut registry, "score", "Score: tiles' worth of work", None),
            load: family(&mut registry, "load", "Time under load", Some(Unit::Seconds)),
            operations: family(
                &mut registry,
                "io_rate",
                "I/Os a second: of the last second, or of the step held",
                Some(Unit::Other("operations_per_second".to_owned())),
            ),
            bytes: family(
                &mut registry,
                "io_throughput",
                "Bytes a second: of the last second, or of the step held",
                Some(Unit::Other("bytes_per_second".to_owned())),
            ),
            service: family(
                &mut registry,
                "io_service_p99",
                "99th percentile of service time: of the last second, or of the step held",
                Some(Unit::Seconds),
            ),
            lost: family(
                &mut registry,
                "live_lost_slices",
                "Slices the live view did not get; the run's own record has them",
                None,
            ),
            registry,
        }
    }

    fn add(&mut self, current: &Current) {
        let row = &current.row;
        let run = RunLabel { run: row.id.clone() };
        let name = |value: serde_json::Result<serde_json::Value>| {
            value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let facts = Facts {
            run: row.id.clone(),
            tile: row.tile.clone(),
            target: row.target.clone(),
            kind: name(serde_json::to_value(row.kind)),
            state: name(serde_json::to_value(row.state)),
            status: row.status.clone().unwrap_or_default(),
        };
        self.facts.get_or_create(&facts).set(1.0);
        let is_running = row.state == RunState::Running;
        self.running.get_or_create(&run).set(if is_running { 1.0 } else { 0.0 });
        set(&self.tiles_held, &run, row.tiles_held.map(f64::from));
        set(&self.score, &run, row.score);
        set(&self.load, &run, Some(seconds(row.duration_ns)));
        if let Some(live) = &current.live {
            set(&self.load, &run, Some(seconds(live.elapsed_ns)));
            set(&self.tiles, &run, Some(f64::from(live.tiles)));
            set(&self.operations, &run, Some(live.operations_per_s));
            set(&self.bytes, &run, Some(live.bytes_per_s));
            set(&self.lost, &run, Some(count(live.lost_slices)));
            self.service(&row.id, "all", live.p99_ns);
        } else if let Some(held) = &current.held {
            set(&self.tiles, &run, Some(f64::from(held.tiles)));
            set(&self.operations, &run, Some(held.operations_per_s));
            set(&self.bytes, &run, Some(held.bytes_per_s));
            self.service(&row.id, "read", held.read_p99_ns);
            self.service(&row.id, "write", held.write_p99_ns);
        }
    }

    fn service(&self, run: &str, direction: &str, p99_ns: Option<u64>) {
        let part = Part { run: run.to_owned(), direction: direction.to_owned() };
        if let Some(p99) = p99_ns {
            self.service.get_or_create(&part).set(seconds(p99));
        }
    }
}

fn family<L>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    unit: Option<Unit>,
) -> Family<L, Number>
where
    L: EncodeLabelSet + Clone + std::hash::Hash + Eq + fmt::Debug + Send + Sync + 'static,
{
    let family = Family::<L, Number>::default();
    match unit {
        Some(unit) => registry.register_with_unit(name, help, unit, family.clone()),
        None => registry.register(name, help, family.clone()),
    }
    family
}

fn set(family: &Family<RunLabel, Number>, run: &RunLabel, value: Option<f64>) {
    if let Some(value) = value {
        family.get_or_create(run).set(value);
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
