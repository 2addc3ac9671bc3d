use stats::Histogram;
use units::print::count;
use units::{Nanos, Ratio};

use crate::document::{PercentileCurve, PercentilePoint, Percentiles};
use crate::request::Lens;
use crate::scope::{ENOUGH, Scope, Sum};
use crate::source::Source;
use crate::words;

/// Minimum number of I/Os above a percentile that is drawn, as in [`stats::enough_samples`].
const ABOVE: u64 = 10;

/// Makes view `percentiles`: one distribution for each line of the breakdown.
pub(crate) fn percentiles(source: &Source, lens: &Lens) -> Percentiles {
    let scope = Scope::summary(source, lens);
    let grouping = scope.grouping(lens.breakdown);
    let sums = scope.sums(&grouping);
    let curve = |((key, label), sum): (&(String, String), &Sum)| PercentileCurve {
        key: key.clone(),
        label: label.clone(),
        count: sum.count(),
        points: sum.times().map(points_of).unwrap_or_default(),
    };
    let curves: Vec<PercentileCurve> = grouping.groups.iter().zip(&sums).map(curve).collect();
    Percentiles { sentence: sentence(&grouping.groups, &sums), clock: "service".to_owned(), curves }
}

/// Returns the shares at which distributions have points: every 2 % up to 90 %, and then nine in
/// each remaining tenth, repeatedly.
fn shares() -> Vec<f64> {
    let coarse = (0..45_u32).map(|step| f64::from(step) / 50.0);
    let fine = (1..8).flat_map(|nines| {
        (0..9_u32).map(move |step| 1.0 - (1.0 - f64::from(step) / 10.0) * 10_f64.powi(-nines))
    });
    coarse.chain(fine).collect()
}

/// Returns the points of a distribution: every share with at least ten I/Os above it, and then the
/// longest time.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn points_of(histogram: &Histogram) -> Vec<PercentilePoint> {
    let count = histogram.count();
    let is_known = |share: f64| (1.0 - share) * count as f64 + 1e-6 >= ABOVE as f64;
    let point = |share: f64| {
        let value = histogram.percentile(Ratio::new(share))?;
        Some(PercentilePoint { share, value_ns: value.0 })
    };
    let mut wanted: Vec<f64> = shares().into_iter().filter(|share| is_known(*share)).collect();
    wanted.push(1.0);
    if count == 0 { Vec::new() } else { wanted.into_iter().filter_map(point).collect() }
}

/// Describes the slowest tail, and its distance from the median.
fn sentence(groups: &[(String, String)], sums: &[Sum]) -> String {
    let total: u64 = sums.iter().map(Sum::count).sum();
    let enough = groups.iter().zip(sums).filter(|(_, sum)| sum.count() >= ENOUGH);
    let slowest = enough.max_by_key(|(_, sum)| sum.percentile(0.99));
    let Some(((_, label), sum)) = slowest else { return words::too_few(total) };
    let (Some(p50), Some(p99)) = (sum.percentile(0.5), sum.percentile(0.99)) else {
        return words::NO_LATENCIES.to_owned();
    };
    let subject = if groups.len() > 1 { format!("Slowest, {label}") } else { label.clone() };
    format!(
        "{}: half take at most {}, one in a hundred longer than {} ({}).",
        words::capital(&subject),
        Nanos(p50),
        Nanos(p99),
        count(sum.count(), "I/O")
    )
}
