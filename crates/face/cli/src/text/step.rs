use run_store::run::{PooledLimit, Score, Step};
use units::Nanos;

use super::{latency, number};

/// Returns the limit with the least room left in a step, over all the step's tiles.
pub(super) fn tightest(step: &Step) -> Option<&PooledLimit> {
    step.limits
        .iter()
        .filter(|limit| limit.result.measured_ns.is_some())
        .min_by(|a, b| a.result.room().total_cmp(&b.result.room()))
}

/// Describes a limit: `shop order p95 612 ms of 500 ms`.
fn limit_text(pooled: &PooledLimit) -> String {
    let limit = &pooled.result;
    format!("{} {} of {}", pooled.name(), latency(limit.measured_ns), Nanos(limit.limit_ns))
}

/// Returns the number of successful calls per second, of all kinds.
pub(super) fn calls_per_s(step: &Step) -> f64 {
    step.calls.iter().map(|calls| calls.calls_per_s).sum()
}

/// Formats the cells of a step's row: tiles, VMs, repeat, verdict, IOPS, MiB/s, score, tightest
/// limit.
pub fn step_line(step: &Step) -> Vec<String> {
    let score = step.score.as_ref().and_then(Score::value);
    vec![
        step.tiles.to_string(),
        step.vms.to_string(),
        step.repeat.to_string(),
        step.verdict.name().to_owned(),
        number(step.throughput.operations_per_s),
        number(step.throughput.bytes_per_s / 1_048_576.0),
        score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}")),
        closest(step).unwrap_or_else(|| "-".to_owned()),
    ]
}

/// Formats the limit with the least room, with its measured value.
pub fn closest(step: &Step) -> Option<String> {
    tightest(step).map(limit_text)
}
