use record::run::{Figure, GeneratorHealth};
use units::{Nanos, Ratio};

use crate::step::GeneratorTotals;

/// A worker busier than this share of its core has no time to be punctual. Our choice:
/// beyond 90 % utilisation waiting in any queue grows tenfold (M/M/1: 1/(1 - 0.9)).
pub const WORKER_CPU_MAX: f64 = 0.90;

/// A busy worker whose 99th percentile of lateness is above this, and above a twentieth of
/// the tightest limit, moves what it measures. 1 ms is a tenth of the tightest limit the
/// field uses (10 ms log writes); a twentieth is below what repeats agree to (3 %) plus the
/// histogram's precision.
pub const LATENESS_MAX: Nanos = Nanos::from_millis(1);

/// More requests than this share waiting for a slot of the generator's own, while the storage
/// had few to answer, are a queue that the storage did not make.
pub const QUEUED_SHARE_MAX: f64 = 0.01;

/// How the generator fared in a window, and whether it, not the storage, was the limit.
pub fn generator_health(
    totals: &GeneratorTotals,
    duration: Nanos,
    tightest_limit: Option<Nanos>,
) -> GeneratorHealth {
    let seconds = duration.as_secs_f64();
    let lateness = totals.lateness.percentile(Ratio::new(0.99));
    let busiest = totals.busiest_worker(duration);
    let reason = busy_and_late(busiest, lateness, tightest_limit).or_else(|| queueing(totals));
    GeneratorHealth {
        lateness_p99_ns: lateness.map(|lateness| lateness.0),
        worker_cpu_max: busiest
            .map_or_else(|| Figure::absent("the driver reported no workers"), Figure::of),
        cpu_user_us_per_io: Figure::absent("the step has not ended"),
        cpu_system_us_per_io: Figure::absent("the step has not ended"),
        queued: totals.queued,
        in_flight_mean: if seconds > 0.0 {
            Figure::of(totals.in_flight_seconds / seconds)
        } else {
            Figure::absent("nothing was measured")
        },
        saturated: reason.is_some(),
        reason,
    }
}

fn busy_and_late(
    busiest: Option<f64>,
    lateness: Option<Nanos>,
    tightest_limit: Option<Nanos>,
) -> Option<String> {
    let (busiest, lateness) = (busiest?, lateness?);
    let bound = tightest_limit.map_or(LATENESS_MAX, |limit| LATENESS_MAX.max(Nanos(limit.0 / 20)));
    (busiest > WORKER_CPU_MAX && lateness > bound).then(|| {
        format!(
            "its busiest worker used {:.0} % of a core (limit {:.0} %) and was {lateness} late at \
             p99 (limit {bound})",
            busiest * 100.0,
            WORKER_CPU_MAX * 100.0
        )
    })
}

fn queueing(totals: &GeneratorTotals) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let share = totals.queued_early as f64 / totals.submitted.max(1) as f64;
    (share > QUEUED_SHARE_MAX).then(|| {
        format!(
            "{:.1} % of its requests waited for one of its own slots while the storage had few to \
             answer (limit {:.0} %)",
            share * 100.0,
            QUEUED_SHARE_MAX * 100.0
        )
    })
}
