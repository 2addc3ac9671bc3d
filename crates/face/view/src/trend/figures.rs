use std::collections::BTreeMap;

use compare::{Comparison, RunFigure, Unit};
use run_store::run::Run;

use super::change_text;
use crate::document::{TrendFigure, TrendPoint};

/// Returns work and latencies of all runs by number of tiles. `comparisons` are those with the
/// first run, by run.
pub(super) fn figures(runs: &[&Run], comparisons: &[Option<&Comparison>]) -> Vec<TrendFigure> {
    let all: Vec<Vec<RunFigure>> = runs.iter().map(|run| compare::figures(run)).collect();
    let mut titles: Vec<(&str, Unit)> = Vec::new();
    for own in all.iter().flatten().filter(|own| is_shown(own)) {
        if !titles.iter().any(|(title, _)| *title == own.title) {
            titles.push((&own.title, own.unit));
        }
    }
    let figure = |(title, unit): (&str, Unit)| TrendFigure {
        title: if title == "iops" { "IOPS".to_owned() } else { title.to_owned() },
        unit: if unit == Unit::Nanoseconds { "ns" } else { "io_per_s" }.to_owned(),
        limit_ns: limit(runs, title),
        lines: all.iter().zip(comparisons).map(|(own, found)| line(own, *found, title)).collect(),
    };
    titles.into_iter().map(figure).collect()
}

/// Returns true for the work of a step, and for its latencies. Medians are left out: what a limit
/// judges and a user notices are the slow I/Os.
fn is_shown(figure: &RunFigure) -> bool {
    let is_slow = figure.unit == Unit::Nanoseconds && !figure.title.ends_with(" p50");
    figure.tiles.is_some() && !figure.explains && (is_slow || figure.title == "iops")
}

fn line(own: &[RunFigure], comparison: Option<&Comparison>, title: &str) -> Vec<TrendPoint> {
    let points = own.iter().filter(|own| own.title == title);
    let by_tiles: BTreeMap<u32, f64> =
        points.filter_map(|own| Some((own.tiles?, own.median))).collect();
    let point = |(tiles, value)| {
        let mut metrics = comparison.into_iter().flat_map(|own| own.metrics.iter());
        let metric = metrics.find(|own| own.tiles == Some(tiles) && own.title == title);
        TrendPoint {
            tiles,
            value,
            against_first: metric.map(|own| own.verdict.name().to_owned()),
            change: metric.and_then(change_text),
        }
    };
    by_tiles.into_iter().map(point).collect()
}

/// Returns the limit with this name, if all steps with it allow the same.
fn limit(runs: &[&Run], title: &str) -> Option<u64> {
    let steps = runs.iter().flat_map(|run| &run.steps);
    let mut limits = steps.flat_map(|step| &step.limits).filter(|own| own.name() == title);
    let first = limits.next()?.result.limit_ns;
    limits.all(|own| own.result.limit_ns == first).then_some(first)
}
