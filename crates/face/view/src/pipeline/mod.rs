//! A run for pipelines: JUnit XML, a summary in Markdown, and figures over time.
//!
//! Limits are reported for the step behind the answer: the steps above it were run to fail.

mod figures;
mod junit;
mod markdown;

use run_store::run::{PooledLimit, Run, Step, Verdict};

pub use figures::{bench_json, bench_json_times};
pub use junit::junit;
pub use markdown::markdown;

/// Repeats of the step behind the answer: those with the held number of tiles, else those of the
/// last step.
fn stands_on(run: &Run) -> Vec<&Step> {
    let is_held = |step: &&Step| Some(step.tiles) == run.answer.tiles_held;
    let Some(step) = run.steps.iter().rev().find(is_held).or(run.steps.last()) else {
        return Vec::new();
    };
    let decided = |step: &&Step| matches!(step.verdict, Verdict::Passed | Verdict::Failed);
    let all: Vec<&Step> = run.steps.iter().filter(|own| own.tiles == step.tiles).collect();
    let fit: Vec<&Step> = all.iter().copied().filter(decided).collect();
    if fit.is_empty() { all } else { fit }
}

/// A limit of a workload in the step whose samples it was judged by.
#[derive(Clone, Copy)]
struct LimitInStep<'a> {
    pooled: &'a PooledLimit,
    step: &'a Step,
}

impl<'a> LimitInStep<'a> {
    /// Verdict on the limit. A limit that broke in a step without a decision (because of other
    /// work, or of the generator) decides nothing either.
    fn verdict(self) -> Verdict {
        match (self.pooled.result.verdict, self.step.verdict) {
            (Verdict::Failed, open @ (Verdict::Inconclusive | Verdict::Interrupted)) => open,
            (own, _) => own,
        }
    }

    /// Reason of the verdict, if the numbers do not show it.
    fn reason(self) -> Option<&'a str> {
        let result = &self.pooled.result;
        match result.verdict == self.verdict() {
            true => result.reason.as_deref(),
            false => Some(&self.step.reason),
        }
    }
}

/// Limits that decide, by workload, each in its worst repeat.
fn limits(run: &Run) -> Vec<LimitInStep<'_>> {
    let mut worst: Vec<LimitInStep<'_>> = Vec::new();
    let all = stands_on(run).into_iter().flat_map(|step| {
        let own = step.limits.iter();
        own.map(move |pooled| LimitInStep { pooled, step })
    });
    for found in all.filter(|own| own.pooled.result.decides()) {
        let is_same = |other: &&mut LimitInStep<'_>| other.pooled.name() == found.pooled.name();
        match worst.iter_mut().find(is_same) {
            Some(before) if found.pooled.result.room() < before.pooled.result.room() => {
                *before = found
            }
            Some(_) => {}
            None => worst.push(found),
        }
    }
    worst
}

#[cfg(test)]
mod tests;
