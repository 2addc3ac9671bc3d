//! Figures out of runs: for each, one value per repeat.

use indexmap::IndexMap;
use record::run::{IoTotal, Run, Step, Verdict as StepVerdict};

use super::document::{Better, Unit};

/// What a figure is, without its values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Metric {
    /// Tile count of its steps; nothing for figures of whole runs.
    pub tiles: Option<u32>,
    /// Name below the tile count: `read/p99`.
    pub name: String,
    /// The same for people: `read p99`.
    pub title: String,
    pub unit: Unit,
    pub better: Better,
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
    /// Stable name with the tile count: `4-tiles/read/p99`.
    pub fn id(&self) -> String {
        match self.tiles {
            Some(tiles) => format!("{tiles}-tiles/{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// All values of all figures of one group, figures in the order they were first met.
pub(super) type Values = IndexMap<Metric, Vec<f64>>;

/// Every figure of these runs. Steps that were interrupted or whose generator was saturated
/// say nothing about the storage and are left out; their number is the second answer.
pub(super) fn values<'a>(runs: impl IntoIterator<Item = &'a Run>) -> (Values, usize) {
    let mut values = Values::new();
    let mut left_out = 0;
    for run in runs {
        of_run(run, &mut values);
        for step in &run.steps {
            if step.generator.saturated || step.verdict == StepVerdict::Interrupted {
                left_out += 1;
            } else {
                of_step(step, &mut values);
            }
        }
    }
    (values, left_out)
}

fn of_run(run: &Run, values: &mut Values) {
    let mut add = |name: &str, title: &str, unit, value: Option<f64>| {
        let metric = Metric {
            tiles: None,
            name: name.to_owned(),
            title: title.to_owned(),
            unit,
            better: Better::Higher,
        };
        push(values, metric, value);
    };
    add("tiles-held", "tiles held", Unit::Tiles, run.answer.tiles_held.map(f64::from));
    add("score", "score", Unit::TilesWorth, run.answer.score.value);
}

fn push(values: &mut Values, metric: Metric, value: Option<f64>) {
    if let Some(value) = value.filter(|v| v.is_finite()) {
        values.entry(metric).or_default().push(value);
    }
}

fn of_step(step: &Step, values: &mut Values) {
    let mut add = |name: String, title: String, unit, better, value| {
        push(values, Metric { tiles: Some(step.tiles), name, title, unit, better }, value);
    };
    let score = step.score.as_ref().and_then(|score| score.total.value);
    add("score".into(), "score".into(), Unit::TilesWorth, Better::Higher, score);
    let throughput = &step.throughput;
    for (name, unit, value) in [
        ("iops", Unit::PerSecond, throughput.operations_per_s),
        ("bytes", Unit::BytesPerSecond, throughput.bytes_per_s),
    ] {
        add(name.into(), name.into(), unit, Better::Higher, Some(value));
    }
    for (name, title, value) in step.io.iter().flat_map(latencies) {
        add(name, title, Unit::Nanoseconds, Better::Lower, value);
    }
    for (workload, value) in normalised(step) {
        let (name, title) = (format!("workload/{workload}"), format!("{workload} work"));
        add(name, title, Unit::TilesWorth, Better::Higher, Some(value));
    }
    for ((workload, limit, statistic), measured) in limits(step) {
        let name = format!("limit/{workload}/{limit}/{statistic}");
        let title = format!("{workload} {limit} {statistic}");
        add(name, title, Unit::Nanoseconds, Better::Lower, Some(measured));
    }
}

/// Service time of one direction: the median and the 99th percentile.
fn latencies(io: &IoTotal) -> [(String, String, Option<f64>); 2] {
    let direction = serde_json::to_value(io.direction).ok();
    let direction =
        direction.as_ref().and_then(serde_json::Value::as_str).unwrap_or("io").to_owned();
    [("p50", io.service.p50_ns), ("p99", io.service.p99_ns)].map(|(statistic, value)| {
        let (name, title) =
            (format!("{direction}/{statistic}"), format!("{direction} {statistic}"));
        (name, title, value.map(|ns| ns as f64))
    })
}

/// Normalised work of each workload: the geometric mean over its tiles and copies, as in
/// the score.
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

/// What was measured against each limit over all tiles, which decided the step.
fn limits(step: &Step) -> impl Iterator<Item = ((&str, &str, String), f64)> {
    step.limits.iter().filter_map(|pooled| {
        let limit = &pooled.result;
        let key = (pooled.workload.as_str(), limit.name.as_str(), limit.statistic.to_string());
        Some((key, limit.measured_ns? as f64))
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{run, step};
    use super::*;

    fn named(values: &Values, id: &str) -> Vec<f64> {
        let found = values.iter().find(|(metric, _)| metric.id() == id);
        found.map(|(_, values)| values.clone()).unwrap_or_default()
    }

    #[test]
    fn repeats_of_one_run_and_of_many_are_pooled_by_tile_count() {
        let first = run(1, vec![step(2, 1.0), step(2, 1.1), step(4, 2.0)]);
        let second = run(2, vec![step(2, 1.2)]);
        let (values, left_out) = values([&first, &second]);
        assert_eq!(left_out, 0);
        assert_eq!(named(&values, "tiles-held"), [6.0, 6.0]);
        assert_eq!(named(&values, "2-tiles/iops").len(), 3);
        assert_eq!(named(&values, "4-tiles/iops"), [2000.0]);
    }

    #[test]
    fn a_limit_is_that_of_all_tiles_and_work_is_their_geometric_mean() {
        let (values, _) = values([&run(1, vec![step(2, 1.0)])]);
        assert_eq!(named(&values, "2-tiles/limit/shop/order/p95"), [105_000_000.0]);
        let work = named(&values, "2-tiles/workload/shop");
        assert!((work[0] - (0.9_f64 * 0.8).sqrt()).abs() < 1e-12, "{work:?}");
    }

    #[test]
    fn a_saturated_generator_says_nothing_about_the_storage() {
        let mut saturated = step(2, 1.0);
        saturated.generator.saturated = true;
        let (values, left_out) = values([&run(1, vec![saturated])]);
        assert_eq!((left_out, named(&values, "2-tiles/iops").len()), (1, 0));
    }
}
