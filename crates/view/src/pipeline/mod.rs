//! A run as pipelines read it: JUnit XML, a summary in Markdown, figures to follow over time.
//!
//! What a step was held against is told of the step that the answer stands on: those above it
//! were run to fail.

mod figures;
mod junit;
mod markdown;

use record::run::{LimitResult, Run, Step, Verdict};

pub use figures::{bench_json, bench_json_times};
pub use junit::junit;
pub use markdown::markdown;

/// The repeats of the step that the answer stands on: those with the tiles that were held, else
/// with those of the last step.
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

/// Each limit that decides, by workload, with the repeat in which it fared worst.
fn limits(run: &Run) -> Vec<(&str, u32, &LimitResult)> {
    let mut worst: Vec<(&str, u32, &LimitResult)> = Vec::new();
    let all = stands_on(run).into_iter().flat_map(|step| {
        step.limits.iter().map(|own| (own.workload.as_str(), step.tiles, &own.result))
    });
    for (workload, tiles, limit) in all.filter(|(.., limit)| limit.decides()) {
        let is_same = |(own, _, other): &&mut (&str, u32, &LimitResult)| {
            *own == workload
                && (other.on, &other.name) == (limit.on, &limit.name)
                && other.statistic == limit.statistic
        };
        match worst.iter_mut().find(is_same) {
            Some(before) if limit.room() < before.2.room() => *before = (workload, tiles, limit),
            Some(_) => {}
            None => worst.push((workload, tiles, limit)),
        }
    }
    worst
}

#[cfg(test)]
mod tests;
