//! Distances of a fitted workload from the observed I/O.

use analyze::{Buckets, Curve, Of, Shape};
use trace::{Flags, IoRecord, Operation};
use units::Nanos;

/// Smallest cache size in the comparison of curves. Sizes grow by a factor of the square root of
/// two.
const CACHE_MIN: f64 = 256.0 * 1024.0;

/// Comparison of two histograms.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    pub(crate) of: Of,
    pub(crate) name: &'static str,
    pub(crate) seen: u64,
    pub(crate) made: u64,
    pub(crate) distance: f64,
    /// Upper bound of the bucket with the largest difference.
    pub(crate) at: Option<i32>,
    pub(crate) unit: &'static str,
}

/// Whole comparison. In pairs, the observed value is first, and the value of the run is second.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    pub(crate) histograms: Vec<Pair>,
    /// Comparison of I/Os per second.
    pub(crate) rates: Pair,
    pub(crate) peak: (f64, f64),
    /// Comparison of the first sectors of I/Os, modulo 8.
    pub(crate) alignment: Pair,
    /// Shares by first sector modulo 8.
    pub(crate) sectors: [[f64; 8]; 2],
    /// Share of durable writes.
    pub(crate) durable: (f64, f64),
    pub(crate) count: (u64, u64),
    /// Sequential share of reads and of writes.
    pub(crate) sequential: [(f64, f64); 2],
    /// Number of distinct bytes.
    pub(crate) touched: (f64, f64),
    /// Comparisons of the miss-ratio curves with pages of 4 KiB and of 64 KiB.
    pub(crate) curves: [CurvePair; 2],
}

/// Comparison of two miss-ratio curves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CurvePair {
    pub(crate) page_bytes: u64,
    /// Largest difference of the miss ratio; the next field is its cache size.
    pub(crate) most: f64,
    pub(crate) at_bytes: f64,
    /// Area between the curves over the logarithm of the size, divided by the length of this axis.
    /// It is the earth mover's distance of the logarithms of stack distances.
    pub(crate) mean: f64,
}

impl Comparison {
    /// Returns the value that corrections minimise: the sum of differences of the curves, of the
    /// shares of sequential I/O, and of the alignment.
    pub(crate) fn score(&self) -> f64 {
        let sequential = self.sequential.iter().map(|(seen, made)| (seen - made).abs());
        let curves = self.curves.iter().map(|pair| pair.most);
        let lengths = self.histograms.iter().filter(|pair| pair.of == Of::Length);
        let lengths = lengths.map(|pair| pair.distance);
        curves.chain(sequential).chain(lengths).sum::<f64>() + self.alignment.distance
    }

    /// Returns the shares of I/Os that begin at a sector modulo 8: observed, and in the run.
    pub(crate) fn at_sector(&self, sector: u32) -> (f64, f64) {
        let at = sector as usize % 8;
        (self.sectors[0][at], self.sectors[1][at])
    }

    /// Returns the shares of I/Os that do not begin at a multiple of 4 KiB.
    pub(crate) fn misaligned(&self) -> (f64, f64) {
        let (seen, made) = self.at_sector(0);
        (1.0 - seen, 1.0 - made)
    }
}

/// One side of a comparison.
struct Side {
    shape: Shape,
    /// Number of I/Os in each second.
    rates: Vec<u64>,
}

impl Side {
    fn of(records: &[IoRecord], seconds: usize) -> Self {
        let mut rates = vec![0; seconds];
        for record in records.iter().filter(|record| record.operation.moves_data()) {
            let at = usize::try_from(record.issue.0 / Nanos::SECOND.0).unwrap_or(usize::MAX);
            if let Some(rate) = rates.get_mut(at) {
                *rate += 1;
            }
        }
        Self { shape: Shape::of(records), rates }
    }
}

/// Summarises both sides and computes their distances.
pub(crate) fn compare(seen: &[IoRecord], made: &[IoRecord]) -> Comparison {
    let last = seen.last().map_or(Nanos::ZERO, |record| record.issue);
    let seconds = usize::try_from(last.0 / Nanos::SECOND.0).unwrap_or(0) + 1;
    let both = (durable(seen), durable(made));
    let sectors = [first_sectors(seen), first_sectors(made)];
    // Flags of the source are left out, so that both sides are counted alike.
    let plain: Vec<IoRecord> = seen
        .iter()
        .map(|record| IoRecord { flags: Flags::NONE, outstanding: None, ..*record })
        .collect();
    let (seen, made) = (Side::of(&plain, seconds), Side::of(made, seconds));
    let pairs = seen.shape.histograms.iter().zip(&made.shape.histograms);
    let histograms = pairs
        .filter(|((of, ..), _)| *of != Of::Latency)
        .map(|((of, name, unit, seen), (.., made))| pair((*of, name, unit), seen, made))
        .collect();
    let most = |side: &Side| side.rates.iter().copied().max().unwrap_or(0) as f64;
    let rated = (rates(&seen.rates, &made.rates), (most(&seen), most(&made)));
    let (seen, made) = (&seen.shape, &made.shape);
    Comparison {
        histograms,
        rates: rated.0,
        peak: rated.1,
        alignment: alignment(&sectors[0], &sectors[1]),
        sectors: sectors.map(|counts| {
            let all: u64 = counts.iter().sum();
            counts.map(|count| count as f64 / all.max(1) as f64)
        }),
        durable: both,
        count: (seen.count, made.count),
        sequential: [0, 1].map(|way| (seen.sequential[way], made.sequential[way])),
        touched: (seen.touched, made.touched),
        curves: [
            curves(&seen.small, &made.small, seen.touched.max(made.touched)),
            curves(&seen.large, &made.large, seen.touched.max(made.touched)),
        ],
    }
}

/// Returns the Kolmogorov-Smirnov statistic of two samples at the bounds of the buckets: the
/// largest difference of their cumulative shares. 1 if only one of them has values.
fn pair(
    (of, name, unit): (Of, &'static str, &'static str),
    seen: &Buckets,
    made: &Buckets,
) -> Pair {
    let (a, b) = (seen.count(), made.count());
    let mut sums = (0.0_f64, 0.0_f64);
    let (mut distance, mut at) = (0.0, None);
    for (place, (x, y)) in seen.counts().iter().zip(made.counts()).enumerate() {
        sums.0 += *x as f64 / a.max(1) as f64;
        sums.1 += *y as f64 / b.max(1) as f64;
        let apart: f64 = (sums.0 - sums.1).abs();
        if apart > distance + 1e-12 {
            (distance, at) = (apart, seen.limits().get(place).copied());
        }
    }
    if (a == 0) != (b == 0) {
        (distance, at) = (1.0, None);
    }
    Pair { of, name, seen: a, made: b, distance, at, unit }
}

/// Counts the I/Os that transfer data, by their first sector modulo 8.
fn first_sectors(records: &[IoRecord]) -> [u64; 8] {
    let mut counts = [0; 8];
    for record in records.iter().filter(|record| record.operation.moves_data()) {
        counts[usize::try_from(record.offset / 512 % 8).unwrap_or(0)] += 1;
    }
    counts
}

/// Returns the share of writes that must be durable before they complete.
fn durable(records: &[IoRecord]) -> f64 {
    let writes = || records.iter().filter(|record| record.operation == Operation::Write);
    let durable = writes().filter(|record| record.flags.has(Flags::FUA)).count();
    durable as f64 / writes().count().max(1) as f64
}

/// Returns the statistic of the first sectors.
fn alignment(seen: &[u64; 8], made: &[u64; 8]) -> Pair {
    let (a, b) = (seen.iter().sum::<u64>(), made.iter().sum::<u64>());
    let (mut sums, mut distance, mut at) = ((0.0, 0.0), 0.0, None);
    for (sector, (x, y)) in (0_i32..).zip(seen.iter().zip(made)) {
        sums.0 += *x as f64 / a.max(1) as f64;
        sums.1 += *y as f64 / b.max(1) as f64;
        let apart = f64::abs(sums.0 - sums.1);
        if apart > distance + 1e-12 {
            (distance, at) = (apart, Some(sector));
        }
    }
    Pair {
        of: Of::Sector,
        name: "first sector modulo 8",
        seen: a,
        made: b,
        distance,
        at,
        unit: "sectors",
    }
}

/// Returns the exact statistic of I/Os per second.
fn rates(seen: &[u64], made: &[u64]) -> Pair {
    let (mut a, mut b) = (seen.to_vec(), made.to_vec());
    a.sort_unstable();
    b.sort_unstable();
    let mut values: Vec<u64> = a.iter().chain(&b).copied().collect();
    values.sort_unstable();
    values.dedup();
    let share = |list: &[u64], value: u64| {
        list.partition_point(|it| *it <= value) as f64 / list.len().max(1) as f64
    };
    let (mut distance, mut at) = (0.0, None);
    for value in values {
        let apart = (share(&a, value) - share(&b, value)).abs();
        if apart > distance {
            (distance, at) = (apart, i32::try_from(value).ok());
        }
    }
    let count = |list: &[u64]| list.len() as u64;
    Pair {
        of: Of::Rate,
        name: "I/Os per second",
        seen: count(&a),
        made: count(&b),
        distance,
        at,
        unit: "I/Os/s",
    }
}

fn curves(seen: &Curve, made: &Curve, largest: f64) -> CurvePair {
    let (mut most, mut at_bytes, mut sum, mut count) = (0.0, CACHE_MIN, 0.0, 0.0);
    let mut bytes = CACHE_MIN;
    while bytes <= (largest * 2.0).max(CACHE_MIN) {
        let apart = (seen.miss_ratio(bytes) - made.miss_ratio(bytes)).abs();
        if apart > most {
            (most, at_bytes) = (apart, bytes);
        }
        sum += apart;
        count += 1.0;
        bytes *= std::f64::consts::SQRT_2;
    }
    CurvePair { page_bytes: seen.page_bytes, most, at_bytes, mean: sum / count }
}
