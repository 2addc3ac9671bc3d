use record::run::{LimitOn, LimitResult, Step, WorkloadResult};
use units::Nanos;

use super::number;

/// The limit with the least room left in a step, and whose it is.
pub fn tightest(step: &Step) -> Option<(&WorkloadResult, &LimitResult)> {
    let room = |limit: &LimitResult| limit.margin.value.unwrap_or(f64::INFINITY);
    step.workloads
        .iter()
        .flat_map(|workload| workload.limits.iter().map(move |limit| (workload, limit)))
        .filter(|(_, limit)| limit.measured_ns.is_some())
        .min_by(|(_, a), (_, b)| room(a).total_cmp(&room(b)))
}

/// `shop order p95 612 ms of 500 ms`.
fn limit_text(workload: &WorkloadResult, limit: &LimitResult) -> String {
    let what = match limit.on {
        LimitOn::Action => "",
        LimitOn::Io => " I/O",
    };
    let measured = limit.measured_ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string());
    format!(
        "{} {}{what} {} {measured} of {}",
        workload.workload,
        limit.name,
        limit.statistic,
        Nanos(limit.limit_ns)
    )
}

/// The cells of a step's row: tiles, VMs, repeat, verdict, IOPS, MiB/s, score, tightest limit.
pub fn step_line(step: &Step) -> Vec<String> {
    let score = step.score.as_ref().and_then(|score| score.applications.value);
    vec![
        step.tiles.to_string(),
        step.vms.to_string(),
        step.repeat.to_string(),
        step.verdict.name().to_owned(),
        number(step.throughput.operations_per_s),
        number(step.throughput.bytes_per_s / 1_048_576.0),
        score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}")),
        tightest(step)
            .map_or_else(|| "-".to_owned(), |(workload, limit)| limit_text(workload, limit)),
    ]
}
