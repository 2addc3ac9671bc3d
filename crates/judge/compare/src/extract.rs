//! Extraction of figures from runs: one value for each repeat.

use indexmap::IndexMap;
use run_store::gauge::GaugePreference;
use run_store::run::{
    Answer, Edge, IoTotal, LimitResult, PerKilowatt, PowerCategory, Run, Score, Statistic, Step,
    TilesInterval, Verdict as StepVerdict,
};

use crate::document::{Better, Unit};
use crate::names::{call_name, gauge_name, latency_name, limit_key, work_name};
use crate::subject::Subject;

/// Figure without its values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Metric {
    /// Number of tiles in its steps; `None` for figures of whole runs.
    pub tiles: Option<u32>,
    /// Name without the number of tiles: `read/p99`.
    pub name: String,
    /// Name for display: `read p99`.
    pub title: String,
    pub unit: Unit,
    pub better: Better,
    /// True if it only explains other figures.
    pub explains: bool,
}

impl std::hash::Hash for Unit {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
    }
}

impl std::hash::Hash for Better {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
    }
}

impl Metric {
    /// Returns the stable name with the number of tiles: `4-tiles/read/p99`.
    pub fn id(&self) -> String {
        match self.tiles {
            Some(tiles) => format!("{tiles}-tiles/{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Value of a figure in one repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// Position of its run in the group.
    pub run: usize,
    pub value: f64,
    /// Relative standard error, if the run itself shows it.
    pub error: Option<f64>,
    /// True if the value is a lower bound, because no completion was observed.
    pub at_least: bool,
    /// True if other work disturbed it. The true value is then equal or better.
    pub disturbed: bool,
}

/// Values of all figures of one group. Figures are in the order of their first appearance.
pub(crate) type Values = IndexMap<Metric, Vec<Sample>>;

/// Half-width of a 95 % interval, in standard errors.
const NORMAL_95: f64 = 1.959_964;

/// Choice of the score to compare. Whole scores are only comparable with the same operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scored {
    /// Score of applications and operations. Without operations, the application score is the whole
    /// score.
    Whole,
    /// Score of applications only.
    Applications,
}

impl Scored {
    /// Returns the score that all of these runs have: the whole score if all have the same
    /// operations, or none.
    pub fn of<'a>(subjects: impl Iterator<Item = &'a Subject<'a>>) -> Self {
        let mut operations =
            subjects.map(|own| own.run.tile.operations.as_ref().map(|facts| &facts.sha256));
        let first = operations.next().flatten();
        if operations.all(|own| own == first) { Self::Whole } else { Self::Applications }
    }

    /// Returns the score of a step, and true if its interval belongs to this score.
    fn of_step(self, score: &Score) -> Option<(f64, bool)> {
        let applications = score.applications.value?;
        match (self, score.total.value) {
            (Self::Whole, Some(total)) => Some((total, true)),
            (_, total) => Some((applications, total.is_none())),
        }
    }
}

/// Returns the figures of these runs. Steps that were interrupted or had a saturated generator have
/// no result about the storage and are left out; their number is the second result. Disturbed steps
/// only count if a group has no others.
pub(crate) fn values(subjects: &[Subject<'_>], scored: Scored) -> (Values, usize) {
    let mut values = Values::new();
    let mut left_out = 0;
    for (number, subject) in subjects.iter().enumerate() {
        of_run(subject.run, number, scored, &mut values);
        for step in &subject.run.steps {
            if step.generator.saturated || step.verdict == StepVerdict::Interrupted {
                left_out += 1;
            } else {
                of_step(step, (subject, number), scored, &mut values);
            }
        }
    }
    for samples in values.values_mut() {
        if samples.iter().any(|sample| !sample.disturbed) {
            samples.retain(|sample| !sample.disturbed);
        }
    }
    (values, left_out)
}

fn of_run(run: &Run, number: usize, scored: Scored, values: &mut Values) {
    let answer = &run.answer;
    let at_least = !matches!(answer.edge, Edge::LimitBroken | Edge::ThroughputFlat);
    let mut add = |name: &str, title: &str, unit, value: Option<f64>, error, disturbed| {
        let metric = Metric {
            tiles: None,
            name: name.to_owned(),
            title: title.to_owned(),
            unit,
            better: Better::Higher,
            explains: false,
        };
        let sample = |value| Sample { run: number, value, error, at_least, disturbed };
        push(values, metric, value.map(sample));
    };
    let tiles = answer.tiles_held.map(f64::from);
    // Disturbed steps never break a count, so the number of tiles is already a lower bound.
    add("tiles-held", "tiles held", Unit::Tiles, tiles, error_of_tiles(answer), false);
    let interval = answer.score_interval.as_ref().map(|interval| (interval.low, interval.high));
    let (score, interval) = match scored {
        Scored::Applications if run.tile.operations.is_some() => (applications(run), None),
        _ => (answer.score.value, interval),
    };
    let mut held = run.steps.iter().filter(|step| Some(step.tiles) == answer.tiles_held);
    let disturbed = held.any(|step| !step.disturbances.is_empty());
    let error = error_of_interval(score, interval);
    add("score", "score", Unit::TilesWorth, score, error, disturbed);
    for (metric, value) in per_kilowatt(&answer.per_kilowatt, None, scored) {
        let sample = Sample { run: number, value, error, at_least: false, disturbed };
        push(values, metric, Some(sample));
    }
}

/// Returns the scores per kilowatt. They only explain, because score and power decide. `None` if
/// only application scores are compared, because scores per kilowatt use the whole score.
fn per_kilowatt(
    all: &[PerKilowatt],
    tiles: Option<u32>,
    scored: Scored,
) -> impl Iterator<Item = (Metric, f64)> {
    let own = all.iter().filter(move |own| {
        scored == Scored::Whole && own.category != PowerCategory::PerformanceOnly
    });
    own.filter_map(move |own| {
        let metric = Metric {
            tiles,
            name: format!("per-kilowatt/{}", own.category.name()),
            title: format!("score per kilowatt of {}", own.category.words()),
            unit: Unit::TilesWorth,
            better: Better::Higher,
            explains: true,
        };
        Some((metric, own.score_per_kilowatt.value?))
    })
}

/// Returns the application score at the held number of tiles, as the mean of its repeats.
fn applications(run: &Run) -> Option<f64> {
    let held = run.steps.iter().filter(|step| Some(step.tiles) == run.answer.tiles_held);
    let passed = held.filter(|step| step.verdict == StepVerdict::Passed);
    let parts: Option<Vec<f64>> =
        passed.map(|step| step.score.as_ref()?.applications.value).collect();
    stats::mean(&parts?)
}

/// Converts the interval of the held tiles into a relative standard error. An unbounded end is
/// assumed to be as far away as the other end.
fn error_of_tiles(answer: &Answer) -> Option<f64> {
    let TilesInterval { low, high, .. } = answer.tiles_interval?;
    let held = f64::from(answer.tiles_held.filter(|held| *held > 0)?);
    let below = (held / f64::from(low.max(1))).ln();
    let above = high.map_or(below, |high| (f64::from(high) / held).ln());
    Some(below.max(above).max(0.0) / NORMAL_95)
}

fn error_of_interval(value: Option<f64>, interval: Option<(f64, f64)>) -> Option<f64> {
    let (value, (low, high)) = value.filter(|value| *value > 0.0).zip(interval)?;
    Some((high - low) / (2.0 * NORMAL_95 * value))
}

fn push(values: &mut Values, metric: Metric, sample: Option<Sample>) {
    if let Some(sample) = sample.filter(|sample| sample.value.is_finite()) {
        values.entry(metric).or_default().push(sample);
    }
}

fn of_step(
    step: &Step,
    (subject, number): (&Subject<'_>, usize),
    scored: Scored,
    values: &mut Values,
) {
    let within = |name: &str| subject.within.and_then(|within| within.error(step, name));
    let disturbed = !step.disturbances.is_empty();
    let sample = |value, error| Sample { run: number, value, error, at_least: false, disturbed };
    let score = step.score.as_ref().and_then(|score| {
        let (value, has_interval) = scored.of_step(score)?;
        let interval = score.interval.as_ref().filter(|_| has_interval);
        let interval = interval.map(|interval| (interval.low, interval.high));
        Some(sample(value, error_of_interval(Some(value), interval)))
    });
    let powers = step.power.iter().map(|power| power.per_kilowatt.as_slice());
    for (metric, value) in powers.flat_map(|all| per_kilowatt(all, Some(step.tiles), scored)) {
        push(values, metric, Some(sample(value, score.and_then(|own| own.error))));
    }
    let mut put = |name: String, title: String, (unit, better), sample| {
        let (tiles, explains) = (Some(step.tiles), false);
        push(values, Metric { tiles, name, title, unit, better, explains }, sample);
    };
    put("score".into(), "score".into(), (Unit::TilesWorth, Better::Higher), score);
    // A step with only calls gives no storage throughput.
    let throughput =
        Some(&step.throughput).filter(|_| !step.io.is_empty() || step.calls.is_empty());
    for (name, unit, value) in throughput.into_iter().flat_map(|throughput| {
        [
            ("iops", Unit::PerSecond, throughput.operations_per_s),
            ("bytes", Unit::BytesPerSecond, throughput.bytes_per_s),
        ]
    }) {
        let sample = Some(sample(value, within(name)));
        put(name.into(), name.into(), (unit, Better::Higher), sample);
    }
    for (name, title, value) in step.io.iter().flat_map(latencies) {
        let sample = value.map(|value| sample(value, within(&name)));
        put(name, title, (Unit::Nanoseconds, Better::Lower), sample);
    }
    for calls in &step.calls {
        let name = call_name(&calls.workload, &calls.kind);
        let title = format!("{} {}", calls.workload, calls.kind);
        let rate = Some(sample(calls.calls_per_s, within(&name)));
        put(name.clone(), format!("{title} calls"), (Unit::PerSecond, Better::Higher), rate);
        for (statistic, value) in [("p50", calls.service.p50_ns), ("p99", calls.service.p99_ns)] {
            let name = format!("{name}/{statistic}");
            let sample = value.map(|ns| sample(ns as f64, within(&name)));
            let title = format!("{title} {statistic}");
            put(name, title, (Unit::Nanoseconds, Better::Lower), sample);
        }
    }
    for (workload, value) in normalised(step) {
        let (name, title) = (work_name(&workload), format!("{workload} work"));
        let sample = Some(sample(value, within(&name)));
        put(name, title, (Unit::TilesWorth, Better::Higher), sample);
    }
    for pooled in &step.limits {
        let limit = &pooled.result;
        let (name, title) = (limit_key(pooled), pooled.name());
        let value = limit.measured_ns.map(|ns| Sample {
            at_least: is_lower_bound(limit),
            ..sample(ns as f64, within(&name))
        });
        put(name, title, (Unit::Nanoseconds, Better::Lower), value);
    }
    for gauge in step.levels() {
        let better = match gauge.name.wanted() {
            GaugePreference::More => Better::Higher,
            GaugePreference::Less => Better::Lower,
            GaugePreference::Neither => continue,
        };
        let name = gauge_name(&gauge);
        let sample = sample(gauge.value, within(&name));
        let metric = Metric {
            tiles: Some(step.tiles),
            name,
            title: format!("{} {}", gauge.name.name(), gauge.scope),
            unit: Unit::of_gauge(gauge.name.level_unit()),
            better,
            explains: true,
        };
        push(values, metric, Some(sample));
    }
}

/// Returns true if so many requests were unfinished that the measured value is an age.
fn is_lower_bound(limit: &LimitResult) -> bool {
    let beyond = match limit.statistic {
        Statistic::Percentile(p) => limit.samples as f64 * (1.0 - p / 100.0),
        Statistic::Mean | Statistic::Max => 0.0,
    };
    limit.unfinished as f64 > beyond
}

/// Returns the service time of one direction: the median and the 99th percentile.
fn latencies(io: &IoTotal) -> [(String, String, Option<f64>); 2] {
    let direction = io.direction;
    [("p50", io.service.p50_ns), ("p99", io.service.p99_ns)].map(|(statistic, value)| {
        let (name, title) =
            (latency_name(direction, statistic), format!("{} {statistic}", direction.name()));
        (name, title, value.map(|ns| ns as f64))
    })
}

/// Returns the normalised work of each workload: the geometric mean over its tiles and copies, as
/// in the score.
fn normalised(step: &Step) -> Vec<(String, f64)> {
    let mut parts: IndexMap<&str, Vec<f64>> = IndexMap::new();
    for result in &step.workloads {
        if let Some(value) = result.metric.normalised.value {
            parts.entry(&result.workload).or_default().push(value);
        }
    }
    parts
        .into_iter()
        .filter_map(|(name, values)| Some((name.to_owned(), stats::geometric_mean(&values)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects;
    use fixtures::{disturbed, run, step};
    use run_store::run::CallTotal;

    fn values_of(subjects: &[Subject<'_>]) -> (Values, usize) {
        values(subjects, Scored::of(subjects.iter()))
    }

    fn named(values: &Values, id: &str) -> Vec<f64> {
        let found = values.iter().find(|(metric, _)| metric.id() == id);
        let samples = found.into_iter().flat_map(|(_, samples)| samples);
        samples.map(|sample| sample.value).collect()
    }

    #[test]
    fn repeats_of_one_run_and_of_many_are_pooled_by_tile_count() {
        let first = run(1, vec![step(2, 1.0), step(2, 1.1), step(4, 2.0)]);
        let second = run(2, vec![step(2, 1.2)]);
        let (values, left_out) = values_of(&subjects(&[first, second]));
        assert_eq!(left_out, 0);
        assert_eq!(named(&values, "tiles-held"), [6.0, 6.0]);
        assert_eq!(named(&values, "2-tiles/iops").len(), 3);
        assert_eq!(named(&values, "4-tiles/iops"), [2000.0]);
    }

    #[test]
    fn limit_covers_all_tiles_and_work_is_their_geometric_mean() {
        let (values, _) = values_of(&subjects(&[run(1, vec![step(2, 1.0)])]));
        assert_eq!(named(&values, "2-tiles/limit/shop/order/p95"), [105_000_000.0]);
        let work = named(&values, "2-tiles/workload/shop");
        assert!((work[0] - (0.9_f64 * 0.8).sqrt()).abs() < 1e-12, "{work:?}");
    }

    #[test]
    fn a_saturated_generator_says_nothing_about_the_storage() {
        let mut saturated = step(2, 1.0);
        saturated.generator.saturated = true;
        let (values, left_out) = values_of(&subjects(&[run(1, vec![saturated])]));
        assert_eq!((left_out, named(&values, "2-tiles/iops").len()), (1, 0));
    }

    #[test]
    fn gauges_become_rates_independent_of_step_length() {
        use run_store::gauge::{Gauge, GaugeName};
        let mut of = step(2, 1.0);
        let gauge = |name, scope: &str, value| Gauge { name, scope: scope.to_owned(), value };
        of.gauges = vec![
            gauge(GaugeName::CpuOthers, "host", 0.5),
            gauge(GaugeName::Utilisation, "pool a disks", 0.75),
            gauge(GaugeName::TierReadHits, "near", 3000.0),
        ];
        let (values, _) = values_of(&subjects(&[run(1, vec![of])]));
        assert_eq!(named(&values, "2-tiles/gauge/cpu.others/host").len(), 0, "others' work");
        assert_eq!(named(&values, "2-tiles/gauge/part.utilisation/pool a disks"), [0.75]);
        assert_eq!(named(&values, "2-tiles/gauge/tier.read_hits/near"), [100.0], "in 30 s");
    }

    #[test]
    fn calls_are_figures_of_their_own_and_no_io_is_none() {
        let mut called = step(2, 1.0);
        let service = called.io[0].service.clone();
        called.calls = vec![CallTotal {
            workload: "web".to_owned(),
            kind: "get".to_owned(),
            count: 3000,
            errors: Vec::new(),
            bytes: 1,
            calls_per_s: 100.0,
            response: service.clone(),
            service,
        }];
        called.io.clear();
        let (values, _) = values_of(&subjects(&[run(1, vec![called, step(4, 1.0)])]));
        assert_eq!(named(&values, "2-tiles/call/web/get"), [100.0]);
        assert_eq!(named(&values, "2-tiles/call/web/get/p99").len(), 1);
        assert_eq!(named(&values, "2-tiles/iops").len(), 0);
        assert_eq!(named(&values, "4-tiles/iops"), [1000.0]);
    }

    #[test]
    fn scores_per_kilowatt_only_explain_and_need_equal_operations() {
        use run_store::run::{Figure, OperationsFacts, StepPower};
        let own = |category, score| PerKilowatt {
            category,
            mean_watts: Figure::of(250.0),
            score_per_kilowatt: score,
        };
        let all = vec![
            own(PowerCategory::PerformanceOnly, Figure::of(1.0)),
            own(PowerCategory::Server, Figure::of(4.0)),
            own(PowerCategory::ServerAndStorage, Figure::absent("no meter")),
        ];
        let mut metered = run(1, vec![step(2, 1.0)]);
        let power = StepPower { meters: Vec::new(), per_kilowatt: all.clone() };
        metered.steps[0].power = Some(power);
        metered.answer.per_kilowatt = all;
        let (values, _) = values_of(&subjects(std::slice::from_ref(&metered)));
        let ids = ["per-kilowatt/server-power", "2-tiles/per-kilowatt/server-power"];
        for id in ids {
            assert_eq!(named(&values, id), [4.0], "{id}");
        }
        let decide = values.keys().any(|own| own.id().contains("per-kilowatt") && !own.explains);
        assert!(!decide && named(&values, "per-kilowatt/performance-only").is_empty());
        let mut operated = metered.clone();
        let (name, sha256) = ("standard".to_owned(), "x".to_owned());
        operated.tile.operations = Some(OperationsFacts { name, sha256, disk_bytes: 1 });
        let (values, _) = values_of(&subjects(&[metered, operated]));
        assert!(ids.iter().all(|id| named(&values, id).is_empty()), "of other scores");
    }

    #[test]
    fn a_disturbed_step_counts_only_where_there_is_no_other() {
        let first = run(1, vec![disturbed(step(2, 0.5)), step(2, 1.0), disturbed(step(4, 1.0))]);
        let (values, left_out) = values_of(&subjects(&[first]));
        assert_eq!(left_out, 0);
        assert_eq!(named(&values, "2-tiles/iops"), [1000.0]);
        assert_eq!(named(&values, "4-tiles/iops"), [1000.0]);
    }

    #[test]
    fn percentile_within_unfinished_requests_is_a_lower_bound() {
        let mut hung = step(2, 1.0);
        let limit = |hung: &Step| is_lower_bound(&hung.limits[0].result);
        hung.limits[0].result.unfinished = 50;
        assert!(!limit(&hung), "5 % of 1000 samples are beyond the p95");
        hung.limits[0].result.unfinished = 51;
        assert!(limit(&hung));
    }
}
