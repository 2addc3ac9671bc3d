use run_store::run::{Figure, LimitResult, Statistic, Verdict};
use spec::workload::Limit;
use stats::{Compact, Histogram, mean_of_blocks, percentile_of_blocks, probability_beyond};
use units::{Nanos, Ratio};

use crate::verdict::samples::Samples;
use crate::verdict::stated::{statistic_of, subject};

/// Confidence level of the intervals of measured percentiles.
pub const CONFIDENCE: f64 = 0.95;

/// Minimum number of blocks of a window, if it has as many slices. With fewer than five, Student's
/// t makes intervals several times wider than with many.
const BLOCKS_MIN: usize = 5;
/// Maximum number of blocks of a window. Batches should be longer than the correlation of
/// neighbours, and more than thirty make an interval no narrower (Schmeiser 1982, "Batch size
/// effects in the analysis of simulation output", Operations Research 30).
const BLOCKS_MAX: usize = 30;

/// Judges samples against a limit.
///
/// A percentile or mean meets its limit if the upper end of its interval is within the limit, and
/// breaks it if the lower end is above the limit. In between, the samples do not decide. Intervals
/// account for the similarity of samples within one block of time (`stats::percentile_of_blocks`).
/// Work that was unfinished at the end of the window counts as a sample of the last block, with its
/// age as a lower bound. If it alone breaks the limit, regardless of the other samples, the limit
/// is broken. A maximum is reported but does not decide. A latency in the same histogram bucket as
/// the limit (0.8 %) meets the limit.
pub fn judge_limit(limit: &Limit, samples: &Samples, confidence: f64) -> LimitResult {
    let (statistic, bound) = statistic_of(limit);
    let blocks = samples.blocks(BLOCKS_MIN, BLOCKS_MAX);
    let open = samples.open();
    let mut result = empty_result(limit, statistic, bound, samples.count());
    result.unfinished = samples.unfinished();
    let all = samples.all();
    match statistic {
        _ if all.is_empty() => result.reason = Some("no samples".to_owned()),
        Statistic::Percentile(p) => {
            let share = Ratio::new(p / 100.0);
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
            let alone = open.count() as f64 > (1.0 - share.get()) * all.count() as f64;
            judge_percentile(&mut result, (&blocks, &all, alone), share, confidence);
        }
        Statistic::Mean => {
            #[expect(clippy::cast_precision_loss, reason = "sums of a window of minutes")]
            let alone = open.sum_ns as f64 > bound.0 as f64 * all.count() as f64;
            judge_mean(&mut result, (&blocks, &all, alone), confidence);
        }
        Statistic::Max => {
            let max = all.max().unwrap_or(Nanos::ZERO);
            measured(&mut result, max);
            result.verdict = verdict(max <= bucket_top(bound));
            result.reason = Some("reported only; a maximum has no verdict".to_owned());
        }
    }
    result
}

fn empty_result(limit: &Limit, statistic: Statistic, bound: Nanos, samples: u64) -> LimitResult {
    let (on, name) = subject(limit);
    LimitResult {
        on,
        name: name.to_owned(),
        statistic,
        limit_ns: bound.0,
        measured_ns: None,
        interval_low_ns: None,
        interval_high_ns: None,
        confidence: None,
        samples,
        unfinished: 0,
        chance_of_break: None,
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

/// Blocks of samples, all samples together, and true if unfinished work alone breaks the limit.
type Evidence<'a> = (&'a [Compact], &'a Histogram, bool);

fn judge_percentile(
    result: &mut LimitResult,
    (blocks, all, alone): Evidence<'_>,
    share: Ratio,
    confidence: f64,
) {
    let top = bucket_top(Nanos(result.limit_ns));
    let Some(value) = all.percentile(share) else { return };
    measured(result, value);
    let found = percentile_of_blocks(blocks, share, Ratio::new(confidence));
    if let Some(found) = found {
        result.interval_low_ns = Some(found.low.0);
        result.interval_high_ns = found.high.map(|high| high.0.max(value.0));
        result.confidence = Some(confidence);
        result.chance_of_break = probability_beyond(blocks, share, top);
    }
    let low = found.map_or(Nanos::ZERO, |found| found.low);
    let high = found.and_then(|found| found.high);
    let kept = value <= top && high.is_some_and(|high| high <= top);
    decide(result, low > top, kept, alone);
}

fn judge_mean(result: &mut LimitResult, (blocks, all, alone): Evidence<'_>, confidence: f64) {
    let Some(mean) = all.mean_ns() else { return };
    let (value, bound) = (Nanos::from_secs_f64(mean / 1e9), result.limit_ns);
    measured(result, value);
    let Some(found) = mean_of_blocks(blocks, Ratio::new(confidence)) else {
        return decide(result, false, false, alone);
    };
    let time = |ns: f64| Nanos::from_secs_f64(ns.max(0.0) / 1e9).0;
    let (low, high) = (time(found.low), time(found.high));
    result.interval_low_ns = Some(low);
    result.interval_high_ns = Some(high.max(value.0));
    result.confidence = Some(confidence);
    decide(result, low > bound, value.0 <= bound && high <= bound, alone);
}

fn decide(result: &mut LimitResult, broken: bool, kept: bool, alone: bool) {
    let unfinished = result.unfinished;
    let (verdict, reason) = if broken {
        (Verdict::Failed, None)
    } else if alone {
        let count = format!("{unfinished} had not completed when the time ended");
        (Verdict::Failed, Some(format!("{count}, after waiting for longer than the limit")))
    } else if kept {
        (Verdict::Passed, None)
    } else {
        let reason =
            format!("{} samples are not enough: the interval spans the limit", result.samples);
        (Verdict::Inconclusive, Some(reason))
    };
    if verdict == Verdict::Failed {
        result.chance_of_break = Some(1.0);
    }
    (result.verdict, result.reason) = (verdict, reason);
}

/// Returns the highest latency in the limit's histogram bucket.
fn bucket_top(limit: Nanos) -> Nanos {
    let mut one = Histogram::new();
    one.record(limit);
    one.percentile(Ratio::ONE).unwrap_or(limit).max(limit)
}
