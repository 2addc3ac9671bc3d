//! Search for phases with clearly different rates.

use trace::{IoRecord, Operation};
use units::Nanos;

/// Maximum number of bins of a trace. A bin is at least one second long.
const BINS_MAX: u64 = 240;
/// Minimum number of bins of a phase.
const SHORTEST: usize = 4;
/// Maximum number of phases, so that a workload stays readable.
const MOST: usize = 8;
/// Maximum ratio of rates that count as similar.
const ALIKE: f64 = 2.0;
/// Minimum assumed noise, as the standard deviation of the logarithm of counts.
const NOISE: f64 = 0.25;

/// A phase of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
    /// Number of the kind. Phases of one kind have the same parameters.
    pub(crate) kind: usize,
}

impl Stretch {
    pub(crate) fn holds(&self, at: Nanos) -> bool {
        (self.from..self.to).contains(&at)
    }
}

/// Finds changes of the mean logarithm of reads and of writes per bin. It uses least squares over
/// all divisions (dynamic programming; Auger and Lawrence 1989), with a penalty for each change of
/// three parameters as in Schwarz's criterion (Yao 1988). The penalty is doubled because counts of
/// bursts are correlated. The noise is estimated as the median difference of neighbours.
pub(crate) fn find(records: &[IoRecord], span: Nanos) -> Vec<Stretch> {
    let bin = Nanos(span.0.div_ceil(BINS_MAX).next_multiple_of(1_000_000_000));
    let bins = usize::try_from(span.0 / bin.0 + 1).unwrap_or(1);
    let mut counts = vec![[0.0_f64; 2]; bins];
    for record in records {
        let way = match record.operation {
            Operation::Read => 0,
            Operation::Write => 1,
            Operation::Flush | Operation::Discard => continue,
        };
        let at = usize::try_from(record.issue.0 / bin.0).unwrap_or(0).min(bins - 1);
        counts[at][way] += 1.0;
    }
    let borders = merged(divide(&logarithms(&counts)), &counts);
    let time = |at: usize| Nanos(at as u64 * bin.0).min(Nanos(span.0 + 1));
    let kinds = kinds(&borders, &counts);
    let pairs = borders.windows(2).zip(kinds);
    pairs.map(|(pair, kind)| Stretch { from: time(pair[0]), to: time(pair[1]), kind }).collect()
}

/// Returns the logarithms of counts, in units of their noise.
fn logarithms(counts: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut logs: Vec<[f64; 2]> = counts.iter().map(|pair| pair.map(f64::ln_1p)).collect();
    for way in [0, 1] {
        let mut steps: Vec<f64> =
            logs.windows(2).map(|pair| (pair[1][way] - pair[0][way]).abs()).collect();
        steps.sort_by(f64::total_cmp);
        let median = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
        // The median of the absolute value of a normal difference is 0.6745 times the root of 2
        // sigma^2.
        let noise = (median / 0.6745 / std::f64::consts::SQRT_2).max(NOISE);
        logs.iter_mut().for_each(|pair| pair[way] /= noise);
    }
    logs
}

/// Returns the borders of the best division, including the first and the last.
fn divide(logs: &[[f64; 2]]) -> Vec<usize> {
    let count = logs.len();
    let mut sums = vec![[0.0_f64; 4]; count + 1];
    for (at, pair) in logs.iter().enumerate() {
        for way in [0, 1] {
            sums[at + 1][way] = sums[at][way] + pair[way];
            sums[at + 1][way + 2] = sums[at][way + 2] + pair[way] * pair[way];
        }
    }
    let cost = |from: usize, to: usize| -> f64 {
        let of = |part: usize| sums[to][part] - sums[from][part];
        [0, 1].iter().map(|way| of(way + 2) - of(*way) * of(*way) / (to - from) as f64).sum()
    };
    let penalty = 6.0 * (count as f64).ln();
    // Least cost of the first bins in so many stretches, and the start of the last one.
    let mut least = vec![vec![(f64::INFINITY, 0_usize); count + 1]; MOST + 1];
    least[0][0].0 = 0.0;
    for stretches in 1..=MOST {
        for to in SHORTEST.min(count)..=count {
            for from in 0..=to - SHORTEST.min(count) {
                let sum = least[stretches - 1][from].0 + cost(from, to);
                if sum < least[stretches][to].0 {
                    least[stretches][to] = (sum, from);
                }
            }
        }
    }
    let total = |stretches: &usize| least[*stretches][count].0 + penalty * *stretches as f64;
    let best = (1..=MOST).min_by(|a, b| total(a).total_cmp(&total(b))).unwrap_or(1);
    let mut borders = vec![count];
    let mut to = count;
    for stretches in (1..=best).rev() {
        to = least[stretches][to].1;
        borders.push(to);
    }
    borders.reverse();
    borders
}

/// Returns the reads and writes per bin.
fn rates(counts: &[[f64; 2]], from: usize, to: usize) -> [f64; 2] {
    let bins = (to - from) as f64;
    [0, 1].map(|way| counts[from..to].iter().map(|pair| pair[way]).sum::<f64>() / bins)
}

/// Returns true if two phases have similar rates and read shares.
fn are_alike(a: [f64; 2], b: [f64; 2]) -> bool {
    let total = |rates: [f64; 2]| (rates[0] + rates[1]).max(1e-9);
    let reads = |rates: [f64; 2]| rates[0] / total(rates);
    let ratio = total(a) / total(b);
    (1.0 / ALIKE..=ALIKE).contains(&ratio) && (reads(a) - reads(b)).abs() <= 0.25
}

/// Removes borders between similar phases.
fn merged(mut borders: Vec<usize>, counts: &[[f64; 2]]) -> Vec<usize> {
    let mut at = 1;
    while at + 1 < borders.len() {
        let before = rates(counts, borders[at - 1], borders[at]);
        if are_alike(before, rates(counts, borders[at], borders[at + 1])) {
            borders.remove(at);
            at = at.saturating_sub(1).max(1);
        } else {
            at += 1;
        }
    }
    borders
}

/// Returns the kind of each phase: the kind of the first similar phase.
fn kinds(borders: &[usize], counts: &[[f64; 2]]) -> Vec<usize> {
    let mut known: Vec<[f64; 2]> = Vec::new();
    let stretches = borders.windows(2).map(|pair| rates(counts, pair[0], pair[1]));
    stretches
        .map(|rates| {
            known.iter().position(|other| are_alike(*other, rates)).unwrap_or_else(|| {
                known.push(rates);
                known.len() - 1
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a trace with this many reads in each second.
    fn reads(per_second: &[u64]) -> (Vec<IoRecord>, Nanos) {
        let mut records = Vec::new();
        for (second, count) in (0_u64..).zip(per_second) {
            for number in 0..*count {
                let at = Nanos(second * 1_000_000_000 + number * 1_000_000_000 / count);
                records.push(IoRecord::new(at, Operation::Read, 0, 4096));
            }
        }
        (records, Nanos::from_secs(per_second.len() as u64))
    }

    fn found(per_second: &[u64]) -> Vec<(u64, u64, usize)> {
        let (records, span) = reads(per_second);
        let second = |time: Nanos| time.0 / 1_000_000_000;
        find(&records, span).iter().map(|s| (second(s.from), second(s.to), s.kind)).collect()
    }

    #[test]
    fn a_steady_load_is_one_stretch() {
        let load: Vec<u64> = (0..120).map(|at| 50 + at * 7919 % 11).collect();
        assert_eq!(found(&load), [(0, 120, 0)]);
    }

    #[test]
    fn busy_phase_is_found_and_quiet_phases_are_alike() {
        let load: Vec<u64> =
            (0..120).map(|at| if (40..60).contains(&at) { 500 } else { 20 + at % 3 }).collect();
        assert_eq!(found(&load), [(0, 40, 0), (40, 60, 1), (60, 120, 0)]);
    }

    #[test]
    fn a_second_of_nothing_is_no_stretch() {
        let load: Vec<u64> = (0..120).map(|at| if at == 50 { 0 } else { 100 + at % 5 }).collect();
        assert_eq!(found(&load), [(0, 120, 0)]);
    }
}
