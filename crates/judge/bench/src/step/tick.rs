use run_store::run::{Phase, limit_name};
use run_store::slice::{Direction, Slice};
use stats::Histogram;
use units::{Nanos, Ratio};

use crate::plan::ResolvedPlan;
use crate::progress::{LimitSoFar, Tick};
use crate::step::course::Course;
use crate::verdict::{CONFIDENCE, judge_limit};

/// Returns the figures of a slice for a live view.
pub fn tick(plan: &ResolvedPlan, course: &mut Course<'_>, slice: &Slice) -> Tick {
    let seconds = slice.width.as_secs_f64().max(f64::MIN_POSITIVE);
    let (mut service, mut reads, mut count, mut bytes) = (Histogram::new(), 0, 0, 0);
    for row in &slice.io {
        let operations = row.service.count();
        count += operations;
        bytes += row.bytes.get();
        reads += if row.direction == Direction::Read { operations } else { 0 };
        service.merge_compact(&row.service);
    }
    let mut called = Histogram::new();
    slice.calls.iter().for_each(|row| called.merge_compact(&row.service));
    let felt = if count > 0 { &service } else { &called };
    #[expect(clippy::cast_precision_loss, reason = "only shown")]
    let [reads, count, bytes, calls] =
        [reads as f64, count as f64, bytes as f64, called.count() as f64];
    Tick {
        elapsed: course.elapsed,
        is_measured: course.phase() == Phase::Measured && course.window.duration > Nanos::ZERO,
        left: course.left(),
        is_longer: course.is_longer(),
        operations_per_s: count / seconds,
        read_share: if count > 0.0 { reads / count } else { 0.0 },
        calls_per_s: (!plan.settings.endpoints.is_empty()).then_some(calls / seconds),
        bytes_per_s: bytes / seconds,
        service_p99: felt.percentile(Ratio::new(0.99)),
        worker_cpu: slice.generator.worker_cpu.iter().copied().fold(0.0, f64::max),
        limits: limits_so_far(course),
        disturbances: course.disturbances_so_far(),
    }
}

fn limits_so_far(course: &Course<'_>) -> Vec<LimitSoFar> {
    let judge = &course.judge;
    judge
        .limits()
        .map(|(position, workload, row, limit)| {
            let samples = course.samples.together(judge, (position, row));
            let result = judge_limit(limit, &samples, CONFIDENCE);
            LimitSoFar {
                name: limit_name(&workload.name, result.on, &result.name, result.statistic),
                measured: result.measured_ns.map(Nanos),
                limit: Nanos(result.limit_ns),
            }
        })
        .collect()
}
