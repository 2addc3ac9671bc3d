//! Exports a run for pipelines: JUnit XML, a summary in Markdown, and figures over time.
//!
//! Limits are reported for the step behind the answer, because larger steps were run in order to
//! fail.

mod figures;
mod junit;
mod markdown;

use run_store::run::{PooledLimit, Run, Step, Verdict};

pub use figures::{bench_json, bench_json_times};
pub use junit::junit;
pub use markdown::markdown;

/// Returns the repeats of the step behind the answer: the steps with the answer's number of tiles,
/// or else of the last step.
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

/// A limit of a workload, with the step whose samples decide it.
#[derive(Clone, Copy)]
struct LimitInStep<'a> {
    pooled: &'a PooledLimit,
    step: &'a Step,
}

impl<'a> LimitInStep<'a> {
    /// Returns the verdict on the limit. A limit that broke in an undecided step is undecided too;
    /// such a step was disturbed by other work, or by the generator.
    fn verdict(self) -> Verdict {
        match (self.pooled.result.verdict, self.step.verdict) {
            (Verdict::Failed, open @ (Verdict::Inconclusive | Verdict::Interrupted)) => open,
            (own, _) => own,
        }
    }

    /// Returns the reason of the verdict; `None` if the numbers show it.
    fn reason(self) -> Option<&'a str> {
        let result = &self.pooled.result;
        match result.verdict == self.verdict() {
            true => result.reason.as_deref(),
            false => Some(&self.step.reason),
        }
    }
}

/// Returns the limits that decide, by workload, each in its worst repeat.
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
