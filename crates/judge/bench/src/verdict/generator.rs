use bystanders::disturbance::PAUSE_SHARE_MAX;
use run_store::run::{Figure, GeneratorHealth};
use units::{Nanos, Ratio};

use crate::window::GeneratorTotals;

/// CPU share of a worker above which it cannot be punctual. Our choice: above 90 % utilisation,
/// waiting in any queue grows tenfold (M/M/1: 1/(1 - 0.9)).
pub const WORKER_CPU_MAX: f64 = 0.90;

/// Lateness at the 99th percentile that distorts a measurement, if it also exceeds a twentieth of
/// the tightest limit. Its cause does not matter. 1 ms is a tenth of the tightest limit in the
/// field (10 ms log writes). A twentieth is below the difference of repeats (3 %) plus the
/// histogram's precision.
pub const LATENESS_MAX: Nanos = Nanos::from_millis(1);

/// Maximum share of requests that may wait for a slot of the generator while the storage has few
/// outstanding requests. A larger share is a queue that the storage did not cause.
pub const QUEUED_SHARE_MAX: f64 = 0.01;

/// Returns the state of the generator in a window. It is saturated if it, and not the storage, was
/// the bottleneck.
pub fn generator_health(
    totals: &GeneratorTotals,
    duration: Nanos,
    tightest_limit: Option<Nanos>,
) -> GeneratorHealth {
    let seconds = duration.as_secs_f64();
    let lateness = totals.lateness.percentile(Ratio::new(0.99));
    let busiest = totals.busiest_worker(duration);
    let longest = totals.lateness.percentile(Ratio::ONE);
    let bound = bound(tightest_limit);
    let is_late = lateness.is_some_and(|lateness| lateness > bound);
    let full = is_late && busiest.is_some_and(|busiest| busiest > WORKER_CPU_MAX);
    let queueing = queueing(totals);
    let saturated = full || queueing.is_some();
    let late = || late(busiest, lateness, bound);
    let reason = queueing.or_else(|| paused(longest, bound, duration)).or_else(late);
    GeneratorHealth {
        lateness_p99_ns: lateness.map(|lateness| lateness.0),
        lateness_max_ns: longest.map(|longest| longest.0),
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
        saturated,
        reason,
    }
}

/// Minimum lateness of one in twenty starts that proves repeated stops of the generator. Our
/// choice: many times the delay by a busy host's scheduler. One in twenty is the share above a p95.
const STOPS_MIN: Nanos = Nanos::from_millis(10);

/// Minimum pause of the generator that counts in a passed step: 1 % of the shortest window of a
/// profile, 10 s. On a busy host the scheduler sometimes causes some 30 ms, which in a window of a
/// second is no sign of a stop.
const PAUSE_MIN: Nanos = Nanos::from_millis(100);

/// Returns a text about a pause of the generator: it was stopped, or the kernel did not run it.
/// Work that was due meanwhile was not submitted in time, so the latencies are too good.
pub(super) fn standstill(
    totals: &GeneratorTotals,
    duration: Nanos,
    tightest_limit: Option<Nanos>,
) -> Option<String> {
    let at = |share| totals.lateness.percentile(share);
    let least = bound(tightest_limit).max(PAUSE_MIN);
    let paused = paused(at(Ratio::ONE), least, duration).or_else(|| {
        let late =
            at(Ratio::new(0.95)).filter(|late| *late > STOPS_MIN.max(bound(tightest_limit)))?;
        Some(format!("one in twenty of its starts was {late} late or more (limit {STOPS_MIN})"))
    });
    paused.or_else(|| {
        let share = totals.away.as_secs_f64() / duration.as_secs_f64().max(f64::MIN_POSITIVE);
        (share > PAUSE_SHARE_MAX && totals.away >= PAUSE_MIN).then(|| {
            format!(
                "it was stopped, or not scheduled by the kernel, for {} in all, {:.0} % of the \
                 time measured (limit {:.0} %)",
                totals.away,
                share * 100.0,
                PAUSE_SHARE_MAX * 100.0
            )
        })
    })
}

fn bound(tightest_limit: Option<Nanos>) -> Nanos {
    tightest_limit.map_or(LATENESS_MAX, |limit| LATENESS_MAX.max(Nanos(limit.0 / 20)))
}

fn paused(longest: Option<Nanos>, bound: Nanos, duration: Nanos) -> Option<String> {
    let longest = longest?;
    let share = longest.as_secs_f64() / duration.as_secs_f64().max(f64::MIN_POSITIVE);
    (longest > bound && share > PAUSE_SHARE_MAX).then(|| {
        format!(
            "it did not run for {longest}, {:.0} % of the time measured (limit {:.0} %)",
            share * 100.0,
            PAUSE_SHARE_MAX * 100.0
        )
    })
}

fn late(busiest: Option<f64>, lateness: Option<Nanos>, bound: Nanos) -> Option<String> {
    let lateness = lateness.filter(|lateness| *lateness > bound)?;
    let cpu = busiest.map_or_else(String::new, |busiest| {
        format!("; its busiest worker used {:.0} % of a core", busiest * 100.0)
    });
    Some(format!("it was {lateness} late at p99 (limit {bound}){cpu}"))
}

fn queueing(totals: &GeneratorTotals) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let share = totals.queued_early as f64 / totals.submitted.max(1) as f64;
    (share > QUEUED_SHARE_MAX).then(|| {
        format!(
            "{:.1} % of its requests waited for one of its own slots while the storage had few \
             outstanding requests (limit {:.0} %)",
            share * 100.0,
            QUEUED_SHARE_MAX * 100.0
        )
    })
}
