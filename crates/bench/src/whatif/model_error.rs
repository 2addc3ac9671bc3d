use std::collections::BTreeMap;

use record::run::{Edge, PooledLimit, Run, Step, Verdict};
use units::Nanos;

use super::document::{LimitGap, ModelError, SeedEdge, StepGap};
use super::fit::is_finished;

/// Most measured tile counts that are simulated again: the edge's two and those below.
const COUNTS_MAX: usize = 6;

/// The measured tile counts to simulate on the unchanged array: up to the first that did not
/// pass.
pub(super) fn counts(run: &Run) -> Vec<u32> {
    let finished = run.steps.iter().filter(|step| is_finished(step));
    let mut tiles: Vec<u32> = finished.clone().map(|step| step.tiles).collect();
    tiles.sort_unstable();
    tiles.dedup();
    let failed = finished.filter(|step| step.verdict == Verdict::Failed);
    let edge = failed.map(|step| step.tiles).min().unwrap_or(u32::MAX);
    tiles.retain(|tiles| *tiles <= edge);
    let first = tiles.len().saturating_sub(COUNTS_MAX);
    tiles.split_off(first)
}

/// How far the model's steps and edges are from those that were measured.
pub(super) fn model_error(
    run: &Run,
    modelled: &BTreeMap<u32, Step>,
    edges: &[SeedEdge],
) -> ModelError {
    let steps: Vec<StepGap> =
        modelled.iter().filter_map(|(tiles, step)| gap(run, *tiles, step)).collect();
    let measured = run.answer.tiles_held;
    let at_least = run.answer.edge != Edge::LimitBroken && run.answer.edge != Edge::ThroughputFlat;
    let low = edges.iter().map(|edge| edge.tiles).min().unwrap_or(0);
    let high = edges.iter().map(|edge| edge.tiles).max().unwrap_or(0);
    let (low_factor, high_factor) =
        measured.map_or((1.0, 1.0), |held| factors(held, at_least, (low, high)));
    let reproduced = measured.is_some() && low_factor >= 1.0 && high_factor <= 1.0;
    let sentence = sentence(measured, at_least, (low, high), reproduced, &steps);
    ModelError {
        measured_tiles: measured,
        measured_at_least: at_least,
        reproduced,
        low_factor,
        high_factor,
        steps,
        sentence,
    }
}

/// What the ends of an interval are multiplied by: the measured edge in parts of the nearest
/// edge that the model gives the unchanged array, where that is outside its own.
fn factors(measured: u32, at_least: bool, (low, high): (u32, u32)) -> (f64, f64) {
    let part = |of: u32| f64::from(measured) / f64::from(of.max(1));
    if measured < low && !at_least {
        (part(low), 1.0)
    } else if measured > high {
        (1.0, part(high))
    } else {
        (1.0, 1.0)
    }
}

fn gap(run: &Run, tiles: u32, step: &Step) -> Option<StepGap> {
    let measured: Vec<&Step> =
        run.steps.iter().filter(|step| step.tiles == tiles && is_finished(step)).collect();
    let rates: Vec<f64> = measured.iter().map(|step| step.throughput.operations_per_s).collect();
    let failed = measured.iter().find(|step| step.verdict != Verdict::Passed);
    Some(StepGap {
        tiles,
        measured_operations_per_s: stats::mean(&rates)?,
        modelled_operations_per_s: step.throughput.operations_per_s,
        measured: failed.map_or(Verdict::Passed, |step| step.verdict),
        modelled: step.verdict,
        limits: step.limits.iter().filter_map(|limit| limit_gap(&measured, limit)).collect(),
    })
}

fn limit_gap(measured: &[&Step], modelled: &PooledLimit) -> Option<LimitGap> {
    let result = &modelled.result;
    let is_same = |other: &&PooledLimit| {
        other.workload == modelled.workload
            && other.result.name == result.name
            && other.result.statistic == result.statistic
    };
    let values: Vec<f64> = measured
        .iter()
        .filter_map(|step| step.limits.iter().find(is_same)?.result.measured_ns)
        .map(|ns| Nanos(ns).as_secs_f64())
        .collect();
    Some(LimitGap {
        workload: modelled.workload.clone(),
        name: result.name.clone(),
        statistic: result.statistic,
        limit_ns: result.limit_ns,
        measured_ns: Nanos::from_secs_f64(stats::mean(&values)?).0,
        modelled_ns: result.measured_ns?,
    })
}

fn sentence(
    measured: Option<u32>,
    at_least: bool,
    (low, high): (u32, u32),
    reproduced: bool,
    steps: &[StepGap],
) -> String {
    let model = if low == high { low.to_string() } else { format!("{low} to {high}") };
    let edge = match measured {
        None => format!("the run does not say how many tiles it held, the model holds {model}"),
        Some(held) => {
            let least = if at_least { "at least " } else { "" };
            let sign = if reproduced { "and" } else { "but" };
            format!("measured {least}{held}, {sign} the model of the same storage holds {model}")
        }
    };
    let furthest = |gaps: Vec<f64>| {
        gaps.into_iter()
            .max_by(|one, other| one.ln().abs().total_cmp(&other.ln().abs()))
            .map_or_else(|| "not known".to_owned(), |ratio| units::print::change(ratio - 1.0))
    };
    let ratio =
        |(model, measured): (f64, f64)| (model > 0.0 && measured > 0.0).then(|| model / measured);
    let rates = steps
        .iter()
        .filter_map(|step| ratio((step.modelled_operations_per_s, step.measured_operations_per_s)));
    let limits = steps.iter().flat_map(|step| &step.limits).filter_map(|limit| {
        let seconds = |ns| Nanos(ns).as_secs_f64();
        ratio((seconds(limit.modelled_ns), seconds(limit.measured_ns)))
    });
    format!(
        "{edge}; against what was measured the model is off by {} in I/Os per second and {} in \
         what the limits are on, at most",
        furthest(rates.collect()),
        furthest(limits.collect())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured edge, whether at least, edges of the model over the seeds.
    #[test]
    fn an_interval_is_widened_on_the_side_on_which_the_model_is_off() {
        let cases = [
            ((2, false), (2, 3), (1.0, 1.0)),
            ((2, false), (4, 5), (0.5, 1.0)),
            ((2, true), (4, 5), (1.0, 1.0)),
            ((6, true), (2, 4), (1.0, 1.5)),
            ((3, false), (0, 0), (1.0, 3.0)),
            ((0, false), (0, 0), (1.0, 1.0)),
        ];
        for ((measured, at_least), edges, expected) in cases {
            assert_eq!(factors(measured, at_least, edges), expected, "{measured} {edges:?}");
        }
    }
}
