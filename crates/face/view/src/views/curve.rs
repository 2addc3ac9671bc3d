use run_store::run::{BrokenLimit, Edge, LimitResult, PooledLimit, Step, Verdict};

use crate::document::{CurveLimit, CurvePoint, TileCurve};
use crate::scope::ratio;
use crate::source::Source;

/// Makes view `curve`, from `run.json` alone.
pub(crate) fn curve(source: &Source) -> TileCurve {
    let steps = source.steps();
    let names = names(steps);
    let mut points: Vec<CurvePoint> = steps.iter().map(|step| point(step, &names)).collect();
    points.sort_by_key(|point| (point.tiles, point.repeat, point.step));
    let failed = steps.iter().filter(|step| step.verdict == Verdict::Failed);
    let broken = source.run().and_then(|run| run.answer.first_broken.as_ref());
    TileCurve {
        sentence: sentence(source),
        tiles_held: source.run().and_then(|run| run.answer.tiles_held),
        tiles_failed: failed.map(|step| step.tiles).min(),
        broken: broken.map(BrokenLimit::name),
        limits: names,
        points,
    }
}

fn sentence(source: &Source) -> String {
    let Some(run) = source.run() else {
        return match source.is_observed() {
            true => "A watched host has no tiles.".to_owned(),
            false => "No step is complete yet.".to_owned(),
        };
    };
    if source.is_running() {
        let done = units::print::count(run.steps.len() as u64, "step");
        return format!("{done} done so far; the breaking point is not known yet.");
    }
    let first = run.steps.first().map(|step| step.tiles);
    if first.is_some_and(|tiles| run.steps.iter().all(|step| step.tiles == tiles)) {
        return "With one number of tiles there is no curve.".to_owned();
    }
    let gain = (run.answer.edge == Edge::LimitBroken).then(|| gain(source)).flatten();
    gain.unwrap_or_else(|| format!("{} different numbers of tiles were run.", tried(&run.steps)))
}

/// Counts the distinct numbers of tiles that ran.
fn tried(steps: &[Step]) -> u64 {
    let tiles: std::collections::BTreeSet<u32> = steps.iter().map(|step| step.tiles).collect();
    tiles.len() as u64
}

/// Compares the throughput of the step that broke a limit with the throughput of the step behind
/// the answer.
fn gain(source: &Source) -> Option<String> {
    let answer = &source.run()?.answer;
    let (held, broken) = (answer.tiles_held?, answer.first_broken.as_ref()?.tiles);
    let rate = |tiles: u32| {
        let step = source.steps().iter().find(|step| step.tiles == tiles)?;
        Some(step.throughput.operations_per_s)
    };
    let (before, after) = (rate(held)?, rate(broken)?);
    (before > 0.0).then(|| {
        format!(
            "From {held} to {broken} tiles throughput goes from {} to {}.",
            units::print::iops(before),
            units::print::iops(after)
        )
    })
}

/// Returns the names of all limits, in the order of the steps.
fn names(steps: &[Step]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in steps.iter().flat_map(|step| step.limits.iter().map(PooledLimit::name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn point(step: &Step, names: &[String]) -> CurvePoint {
    let throughput = &step.throughput;
    let limit = |name: &String| step.limits.iter().find(|limit| limit.name() == *name);
    CurvePoint {
        step: step.step,
        repeat: step.repeat,
        tiles: step.tiles,
        vms: step.vms,
        verdict: step.verdict.name().to_owned(),
        reason: step.reason.clone(),
        operations_per_s: throughput.operations_per_s,
        bytes_per_s: throughput.bytes_per_s,
        actions_per_s: throughput.actions_per_s,
        score: step.score.as_ref().and_then(|score| score.applications.value),
        ideal_score: step.tiles.into(),
        limits: names.iter().map(|name| limit(name).map(held)).collect(),
    }
}

fn held(limit: &PooledLimit) -> CurveLimit {
    let result: &LimitResult = &limit.result;
    CurveLimit {
        limit_ns: result.limit_ns,
        measured_ns: result.measured_ns,
        ratio: result.measured_ns.map(|measured| ratio(measured, result.limit_ns)),
        low_ns: result.interval_low_ns,
        high_ns: result.interval_high_ns,
        samples: result.samples,
        verdict: result.verdict.name().to_owned(),
        worst_tile: limit.worst_tile.map(|tile| tile.saturating_add(1)),
    }
}
