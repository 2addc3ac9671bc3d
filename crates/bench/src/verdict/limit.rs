use record::run::{Figure, LimitOn, LimitResult, Verdict};
use spec::workload::Limit;
use stats::{Compact, Histogram};
use units::{Nanos, Ratio};

/// Confidence of the intervals beside measured percentiles.
pub const CONFIDENCE: f64 = 0.95;

/// A mean of fewer samples is not held against its limit: the usual rule of thirty, below
/// which a mean of skewed values is not nearly normal.
const MEAN_SAMPLES_MIN: u64 = 30;

/// What a limit is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    Percentile(f64),
    Mean,
    Max,
}

/// Holds samples against a limit.
///
/// A percentile needs `n >= 10 / (1 - p)` samples to be held against its limit as it is.
/// With fewer the interval must decide: wholly above the limit is broken, wholly at or
/// below it is kept, anything else is inconclusive. A latency in the same histogram bucket
/// as the limit (0.8 %) counts as kept.
pub fn judge_limit(limit: &Limit, samples: &Compact, confidence: f64) -> LimitResult {
    let (statistic, bound) = statistic_of(limit);
    let histogram = samples.expand();
    let mut result = empty_result(limit, statistic, bound, histogram.count());
    match statistic {
        _ if histogram.is_empty() => result.reason = Some("no samples".to_owned()),
        Statistic::Percentile(p) => judge_percentile(&mut result, &histogram, p, confidence),
        Statistic::Mean => judge_mean(&mut result, &histogram),
        Statistic::Max => {
            let max = histogram.max().unwrap_or(Nanos::ZERO);
            measured(&mut result, max);
            result.verdict = verdict(max <= bucket_top(bound));
        }
    }
    result
}

/// `p95`, `p99.9`, `mean` or `max`.
fn statistic_name(statistic: Statistic) -> String {
    match statistic {
        Statistic::Percentile(p) => format!("p{p}"),
        Statistic::Mean => "mean".to_owned(),
        Statistic::Max => "max".to_owned(),
    }
}

/// `order p95`.
pub fn limit_name(limit: &Limit) -> String {
    let (statistic, _) = statistic_of(limit);
    format!("{} {}", subject(limit).1, statistic_name(statistic))
}

/// The time a limit allows.
pub(crate) fn bound_of(limit: &Limit) -> Nanos {
    statistic_of(limit).1
}

fn subject(limit: &Limit) -> (LimitOn, &str) {
    match (&limit.action, &limit.io) {
        (Some(action), _) => (LimitOn::Action, action),
        (None, Some(kind)) => (LimitOn::Io, kind),
        (None, None) => unreachable!("a checked limit names an action or a kind of I/O"),
    }
}

fn statistic_of(limit: &Limit) -> (Statistic, Nanos) {
    match (limit.percentile, limit.limit, limit.mean, limit.max) {
        (Some(p), Some(bound), ..) => (Statistic::Percentile(p), bound),
        (_, _, Some(bound), _) => (Statistic::Mean, bound),
        (_, _, _, Some(bound)) => (Statistic::Max, bound),
        _ => unreachable!("a checked limit has exactly one statistic"),
    }
}

fn empty_result(limit: &Limit, statistic: Statistic, bound: Nanos, samples: u64) -> LimitResult {
    let (on, name) = subject(limit);
    LimitResult {
        on,
        name: name.to_owned(),
        statistic: statistic_name(statistic),
        limit_ns: bound.0,
        measured_ns: None,
        interval_low_ns: None,
        interval_high_ns: None,
        confidence: None,
        samples,
        verdict: Verdict::Inconclusive,
        margin: Figure::absent("nothing was measured"),
        reason: None,
    }
}

fn measured(result: &mut LimitResult, value: Nanos) {
    let limit = Nanos(result.limit_ns).as_secs_f64();
    result.measured_ns = Some(value.0);
    result.margin = Figure::of((limit - value.as_secs_f64()) / limit);
}

fn verdict(kept: bool) -> Verdict {
    if kept { Verdict::Passed } else { Verdict::Failed }
}

fn judge_percentile(result: &mut LimitResult, samples: &Histogram, p: f64, confidence: f64) {
    let share = Ratio::new(p / 100.0);
    let Some(found) = samples.percentile_estimate(share, Ratio::new(confidence)) else { return };
    let top = bucket_top(Nanos(result.limit_ns));
    measured(result, found.value);
    result.interval_low_ns = Some(found.low.0);
    result.interval_high_ns = found.high.map(|high| high.0);
    result.confidence = Some(confidence);
    if found.enough {
        result.verdict = verdict(found.value <= top);
        return;
    }
    let wanted = samples_wanted(share);
    let few = format!("{} samples, of which a p{p} wants {wanted:.0}", found.samples);
    let (verdict, reason) = if found.low > top {
        (Verdict::Failed, format!("{few}; the whole interval is above the limit"))
    } else if found.high.is_some_and(|high| high <= top) {
        (Verdict::Passed, format!("{few}; the whole interval is within the limit"))
    } else {
        (Verdict::Inconclusive, format!("too few samples: {few}"))
    };
    (result.verdict, result.reason) = (verdict, Some(reason));
}

/// `10 / (1 - p)`, see [`stats::enough_samples`].
fn samples_wanted(share: Ratio) -> f64 {
    (10.0 / (1.0 - share.get()) - 1e-6).ceil()
}

fn judge_mean(result: &mut LimitResult, samples: &Histogram) {
    let Some(mean) = samples.mean_ns() else { return };
    measured(result, Nanos::from_secs_f64(mean / 1e9));
    if samples.count() < MEAN_SAMPLES_MIN {
        let few = format!("too few samples: {}, of {MEAN_SAMPLES_MIN}", samples.count());
        result.reason = Some(few);
        return;
    }
    if let Some(deviation) = samples.stdev_ns() {
        // Normal interval of a mean of independent values: 1.96 standard errors at 95 %.
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let half = 1.96 * deviation / (samples.count() as f64).sqrt();
        result.interval_low_ns = Some(Nanos::from_secs_f64((mean - half) / 1e9).0);
        result.interval_high_ns = Some(Nanos::from_secs_f64((mean + half) / 1e9).0);
        result.confidence = Some(CONFIDENCE);
    }
    result.verdict = verdict(result.measured_ns <= Some(result.limit_ns));
}

/// The highest latency that shares the limit's histogram bucket.
fn bucket_top(limit: Nanos) -> Nanos {
    let mut one = Histogram::new();
    one.record(limit);
    one.percentile(Ratio::ONE).unwrap_or(limit).max(limit)
}
