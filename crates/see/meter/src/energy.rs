//! Calculates the energy of an exact time span from samples: as the difference of a counter, or by
//! integrating interpolated watts.

use run_store::run::EnergyBy;
use units::Nanos;

use crate::{Sample, Span};

/// Maximum gap between usable samples, in periods; from the requirements of this program ("gaps
/// over two periods void it").
pub const GAP_PERIODS: u64 = 2;

/// Maximum ratio of two counter steps to the counted energy, because one step may be missing at
/// either end. Our choice.
pub const COUNTER_ERROR_MAX: f64 = 0.01;

/// Properties of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Time between two samples.
    pub period: Nanos,
    /// Smallest step of the counter, in joules, if there is one.
    pub counter_step: Option<f64>,
}

/// Energy of a span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy {
    /// Energy of the span, in joules.
    pub joules: f64,
    /// Method by which the energy was calculated.
    pub by: EnergyBy,
}

/// Reason why the samples give no energy.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Void {
    /// Empty span.
    #[error("the measured time is 0 s")]
    NoTime,
    /// No sample before the span.
    #[error("there is no sample before the start of the measured time")]
    NoBegin,
    /// No sample after the span.
    #[error("there is no sample after the end of the measured time")]
    NoEnd,
    /// Gap between two samples.
    #[error("there was no sample for {gap} (limit {limit}, two periods)")]
    Gap {
        /// Length of the gap.
        gap: Nanos,
        /// Longest allowed gap.
        limit: Nanos,
    },
    /// Counter that is too coarse or too slow for the span, in samples without watts.
    #[error("its counter has steps of {step} J, too coarse for the {counted:.1} J of this time")]
    Coarse {
        /// Step of the counter.
        step: f64,
        /// Counted energy.
        counted: f64,
    },
}

/// Selects the samples needed for a span: from the last sample at or before its begin to the first
/// at or after its end.
///
/// # Errors
///
/// If either is missing.
pub fn around(samples: &[Sample], span: Span) -> Result<&[Sample], Void> {
    if span.to <= span.from {
        return Err(Void::NoTime);
    }
    let first = samples.partition_point(|sample| sample.at <= span.from);
    let last = samples.partition_point(|sample| sample.at < span.to);
    let first = first.checked_sub(1).ok_or(Void::NoBegin)?;
    if last >= samples.len() {
        return Err(Void::NoEnd);
    }
    Ok(&samples[first..=last])
}

/// Returns the longest time between two consecutive samples.
pub fn longest_gap(samples: &[Sample]) -> Nanos {
    let gaps = samples.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at));
    gaps.max().unwrap_or(Nanos::ZERO)
}

/// Calculates the energy of a span. Times of samples must strictly increase.
///
/// # Errors
///
/// If the samples do not cover the span; nothing is extrapolated.
pub fn energy(samples: &[Sample], span: Span, rules: Rules) -> Result<Energy, Void> {
    let own = around(samples, span)?;
    let (gap, limit) = (longest_gap(own), Nanos(rules.period.0.saturating_mul(GAP_PERIODS)));
    if gap > limit {
        return Err(Void::Gap { gap, limit });
    }
    let counted = rules.counter_step.and_then(|step| Some((step, counted(own, span)?)));
    if let Some((step, joules)) = counted
        && 2.0 * step <= COUNTER_ERROR_MAX * joules
        && moves_mostly(own)
    {
        return Ok(Energy { joules, by: EnergyBy::Counter });
    }
    match (trapezoid(own, span), counted) {
        (Some(joules), _) => Ok(Energy { joules, by: EnergyBy::Trapezoid }),
        (None, Some((step, counted))) => Err(Void::Coarse { step, counted }),
        (None, None) => Err(Void::NoBegin),
    }
}

/// Returns true if the counter increases between at least half of the samples. A slower counter is
/// updated less often than it is read, so its values at begin and end may be old.
fn moves_mostly(samples: &[Sample]) -> bool {
    let moves = samples.windows(2).filter(|pair| pair[1].joules > pair[0].joules).count();
    2 * moves >= samples.len().saturating_sub(1)
}

/// Returns the difference of the counter, interpolated at both ends.
fn counted(samples: &[Sample], span: Span) -> Option<f64> {
    let value = |sample: &Sample| sample.joules;
    let (first, last) = (samples.first_chunk::<2>()?, samples.last_chunk::<2>()?);
    Some(between(last, span.to, value)? - between(first, span.from, value)?)
}

/// Integrates the interpolated watts; `None` if a sample has no watts.
fn trapezoid(samples: &[Sample], span: Span) -> Option<f64> {
    let mut joules = 0.0;
    for pair in samples.windows(2) {
        let pair = [pair[0], pair[1]];
        let (from, to) = (pair[0].at.max(span.from), pair[1].at.min(span.to));
        let value = |sample: &Sample| sample.watts;
        let (begin, end) = (between(&pair, from, value)?, between(&pair, to, value)?);
        joules += 0.5 * (begin + end) * to.saturating_sub(from).as_secs_f64();
    }
    Some(joules)
}

/// Interpolates a value at a time between two samples.
fn between(
    [first, last]: &[Sample; 2],
    at: Nanos,
    value: impl Fn(&Sample) -> Option<f64>,
) -> Option<f64> {
    let (begin, end) = (value(first)?, value(last)?);
    let whole = last.at.saturating_sub(first.at).as_secs_f64().max(f64::MIN_POSITIVE);
    let share = at.saturating_sub(first.at).as_secs_f64() / whole;
    Some(begin + (end - begin) * share)
}

#[cfg(test)]
mod tests;
