//! Metrics of what a run's users notice: rate and response time of their actions, the share used of
//! limits, and verdicts of steps.

use run_store::rollup::Rollup;
use run_store::run::{Run, Step};
use units::{Nanos, Ratio};

/// Metrics of what users of one run notice; empty before the first step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Felt {
    /// Actions over all tiles.
    pub actions: Vec<FeltAction>,
    /// Limits over all tiles.
    pub limits: Vec<FeltLimit>,
    /// Judged steps.
    pub steps: Vec<FeltStep>,
}

/// Action over all tiles.
#[derive(Debug, Clone, PartialEq)]
pub struct FeltAction {
    /// Name of the workload.
    pub workload: String,
    /// Name of the action.
    pub action: String,
    /// Successful actions per second.
    pub per_s: f64,
    /// 95th percentile of response time; `None` without a completed action.
    pub p95_ns: Option<u64>,
}

/// Limit over all tiles.
#[derive(Debug, Clone, PartialEq)]
pub struct FeltLimit {
    /// Name of the workload.
    pub workload: String,
    /// Name of the action, or kind of I/O or call, that the limit is for.
    pub on: String,
    /// Statistic: `p95`, `mean` or `max`.
    pub statistic: String,
    /// Measured value as a share of the limit; above 1 the limit is broken.
    pub share: f64,
}

/// Judged step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeltStep {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Tiles in the step.
    pub tiles: u32,
    /// Verdict: `passed`, `failed`, `inconclusive` or `interrupted`.
    pub verdict: &'static str,
}

impl Felt {
    /// Returns the metrics of one step of a run, with the verdicts of all steps.
    pub fn of_step(run: &Run, step: &Step) -> Self {
        let seconds = Nanos(step.measured_ns).as_secs_f64();
        let action = |of: &run_store::run::PooledAction| FeltAction {
            workload: of.workload.clone(),
            action: of.result.action.clone(),
            per_s: if seconds > 0.0 { float(of.result.count) / seconds } else { 0.0 },
            p95_ns: of.result.response.p95_ns,
        };
        let actions = step.actions.iter().map(action).collect();
        Self { actions, limits: limits(step), steps: steps(run) }
    }

    /// Returns the metrics of a run in progress: the run's actions in the last seconds, and the
    /// limits of the last judged step.
    pub fn of_live(rollup: &Rollup, run: Option<&Run>) -> Self {
        let judged = run.and_then(|run| run.steps.last());
        Self {
            actions: last_seconds(rollup),
            limits: judged.map(limits).unwrap_or_default(),
            steps: run.map(steps).unwrap_or_default(),
        }
    }
}

fn limits(step: &Step) -> Vec<FeltLimit> {
    let limit = |of: &run_store::run::PooledLimit| {
        let share = float(of.result.measured_ns?) / float(of.result.limit_ns.max(1));
        Some(FeltLimit {
            workload: of.workload.clone(),
            on: of.result.name.clone(),
            statistic: of.result.statistic.to_string(),
            share,
        })
    };
    step.limits.iter().filter_map(limit).collect()
}

fn steps(run: &Run) -> Vec<FeltStep> {
    let step = |of: &Step| FeltStep {
        step: of.step,
        repeat: of.repeat,
        tiles: of.tiles,
        verdict: of.verdict.name(),
    };
    run.steps.iter().map(step).collect()
}

/// Returns the actions of the last time bucket.
fn last_seconds(rollup: &Rollup) -> Vec<FeltAction> {
    let Some(last) = rollup.slices().last() else { return Vec::new() };
    let seconds = last.time.as_secs_f64();
    let rows = rollup.actions().iter().rev();
    let rows = rows.take_while(|row| (row.span, row.bucket) == (last.span, last.bucket));
    let named = rows.filter_map(|row| Some((rollup.action_names().get(row.action as usize)?, row)));
    let action =
        |(name, row): (&run_store::rollup::ActionName, &run_store::rollup::ActionRow)| FeltAction {
            workload: name.workload.clone(),
            action: name.action.clone(),
            per_s: if seconds > 0.0 { float(row.response.count()) / seconds } else { 0.0 },
            p95_ns: row.response.percentile(Ratio::new(0.95)).map(|time| time.0),
        };
    let mut actions: Vec<FeltAction> = named.map(action).collect();
    actions.reverse();
    actions
}

#[expect(clippy::cast_precision_loss, reason = "counts and times of a step are far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_s_actions_limits_and_verdicts_are_felt() {
        let golden = include_str!("../../../base/run-store/tests/golden/run-1.0.json");
        let mut run = run_store::run::parse(golden).expect("a run");
        let mut step = run.steps[0].clone();
        let of = step.limits.first_mut().expect("the golden run has limits");
        (of.result.measured_ns, of.result.limit_ns) = (Some(600), 400);
        let felt = Felt::of_step(&run, &step);
        assert_eq!(felt.limits[0].share, 1.5, "measured by allowed");
        assert_eq!(felt.actions.len(), step.actions.len());
        assert_eq!(felt.steps.len(), run.steps.len());
        step.limits[0].result.measured_ns = None;
        assert_eq!(Felt::of_step(&run, &step).limits.len(), felt.limits.len() - 1, "not measured");
        run.steps.clear();
        assert_eq!(Felt::of_live(&Rollup::new(), Some(&run)), Felt::default(), "before its first");
    }
}
