use hardware::{TableLoop, TableParameters};
use stats::Compact;
use units::{Bytes, Nanos};

use super::disk::time;
use super::matrix::Point;
use super::measure::{Answers, Measured};

/// Cumulative shares at which the bins of a table end. Our choice: twentieths up to 90 %, and finer
/// above, because the tail dominates a demerit.
const SHARES: [f64; 37] = [
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
    0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9965, 0.9975, 0.9985,
    0.999, 0.9994, 0.9997, 0.9999, 0.99997, 1.0,
];

/// Returns the latencies of all loops, from the fitted rounds.
pub fn table(points: &[Measured], capacity: Bytes) -> TableParameters {
    parameters(capacity, points.iter().filter_map(known).collect())
}

/// Returns the latencies without the unseen loops, which are interpolated from their neighbours in
/// the matrix.
pub fn foreseen(points: &[Measured], capacity: Bytes) -> TableParameters {
    let of_half = |training: bool| points.iter().filter(move |m| m.point.is_training == training);
    let mut loops: Vec<TableLoop> = of_half(true).filter_map(known).collect();
    let guessed: Vec<TableLoop> = of_half(false).filter_map(|m| guess(&m.point, &loops)).collect();
    loops.extend(guessed);
    parameters(capacity, loops)
}

fn parameters(capacity: Bytes, loops: Vec<TableLoop>) -> TableParameters {
    TableParameters { capacity, shares: SHARES.to_vec(), loops }
}

fn known(measured: &Measured) -> Option<TableLoop> {
    let Answers { reads, writes, .. } = measured.fitted();
    with(&measured.point, means(reads), means(writes))
}

fn with(point: &Point, read: Vec<Nanos>, write: Vec<Nanos>) -> Option<TableLoop> {
    let Point { block, depth, mix, .. } = *point;
    let is_any = !(read.is_empty() && write.is_empty());
    is_any.then_some(TableLoop { reads: mix.reads(), block, depth, read, write })
}

/// Returns the mean latency in each bin; empty without latencies.
fn means(latencies: &Compact) -> Vec<Nanos> {
    let whole = f64::from(u32::try_from(latencies.count()).unwrap_or(u32::MAX));
    let mut buckets = latencies.buckets();
    let Some((value, count)) = buckets.next() else { return Vec::new() };
    let (mut value, mut until, mut below) = (value, f64::from(count) / whole, 0.0);
    let mut mean = |end: &f64| {
        let (begin, mut sum) = (below, 0.0);
        loop {
            let step = end.min(until);
            sum += (step - below).max(0.0) * value.as_secs_f64();
            below = step.max(below);
            if until >= *end {
                break;
            }
            // Rounding may leave the last bucket's end below 1.
            let Some((next, count)) = buckets.next() else { break };
            (value, until) = (next, until + f64::from(count) / whole);
        }
        // The share lost by rounding gets the slowest latency.
        sum += (end - below).max(0.0) * value.as_secs_f64();
        below = *end;
        time(sum / (end - begin))
    };
    let mut means: Vec<Nanos> = SHARES.iter().map(&mut mean).collect();
    // Means of equal latencies may differ in their last digit.
    means.sort_unstable();
    means
}

/// Estimates an unseen loop from loops with the same block size and loops with the same depth.
fn guess(point: &Point, known: &[TableLoop]) -> Option<TableLoop> {
    let of_mix = || known.iter().filter(|l| l.reads.to_bits() == point.mix.reads().to_bits());
    let by_depth = of_mix().filter(|l| l.block == point.block);
    let by_depth = Line::new(f64::from(point.depth), by_depth.map(|l| (f64::from(l.depth), l)));
    let by_block = of_mix().filter(|l| l.depth == point.depth);
    let by_block = Line::new(point.block.as_f64(), by_block.map(|l| (l.block.as_f64(), l)));
    let list = |of: fn(&TableLoop) -> &Vec<Nanos>| {
        let mut list: Vec<Nanos> = (0..SHARES.len())
            .filter_map(|entry| {
                let lines = [&by_depth, &by_block];
                let is_between = lines.iter().any(|line| line.is_between());
                let used = lines.iter().filter(|line| line.is_between() || !is_between);
                let values: Vec<f64> = used.filter_map(|line| line.value(entry, of)).collect();
                stats::mean(&values).map(|mean| time(mean.exp()))
            })
            .collect();
        list.sort_unstable();
        list
    };
    with(point, list(|l| &l.read), list(|l| &l.write))
}

/// Loops along one of the two axes, and the position of the wanted value, all as logarithms.
struct Line<'a> {
    at: f64,
    loops: Vec<(f64, &'a TableLoop)>,
}

impl<'a> Line<'a> {
    fn new(at: f64, loops: impl Iterator<Item = (f64, &'a TableLoop)>) -> Self {
        let mut loops: Vec<_> = loops.map(|(x, each)| (x.ln(), each)).collect();
        loops.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { at: at.ln(), loops }
    }

    fn is_between(&self) -> bool {
        let is_in = |(first, last): (&(f64, _), &(f64, _))| first.0 < self.at && self.at < last.0;
        self.loops.first().zip(self.loops.last()).is_some_and(is_in)
    }

    /// Returns the logarithm of an entry, on the line through the two nearest loops. Outside the
    /// measured range, it changes at most in proportion.
    fn value(&self, entry: usize, of: fn(&TableLoop) -> &Vec<Nanos>) -> Option<f64> {
        let value = |each: &TableLoop| of(each).get(entry).map(|found| found.as_secs_f64().ln());
        let above = self.loops.partition_point(|(x, _)| *x < self.at);
        let from = above.saturating_sub(1).min(self.loops.len().saturating_sub(2));
        let (x0, low) = self.loops.get(from)?;
        let low = value(low)?;
        let Some((x1, high)) = self.loops.get(from + 1) else { return Some(low) };
        let high = value(high)?;
        let slope = (high - low) / (x1 - x0);
        if self.is_between() {
            return Some(low + slope * (self.at - x0));
        }
        let slope = slope.clamp(0.0, 1.0);
        let (x, nearest) = if self.at < *x0 { (x0, low) } else { (x1, high) };
        Some(nearest + slope * (self.at - x))
    }
}

#[cfg(test)]
mod tests {
    use stats::Histogram;

    use super::*;
    use crate::matrix::Mix;

    #[test]
    fn table_entries_are_share_means_and_keep_the_total_mean() {
        let mut latencies = Histogram::new();
        for us in 1..=1000 {
            latencies.record(Nanos::from_micros(us));
        }
        let found = means(&latencies.compact());
        assert_eq!(found.len(), SHARES.len());
        let mut begin = 0.0;
        let mut mean = 0.0;
        for (latency, end) in found.iter().zip(SHARES) {
            mean += latency.as_secs_f64() * (end - begin);
            begin = end;
        }
        assert!((mean / 500.5e-6 - 1.0).abs() < 0.01, "{mean}");
        assert!((found[0].as_secs_f64() / 25.5e-6 - 1.0).abs() < 0.02, "{}", found[0]);
        assert!(means(&Compact::default()).is_empty());
        // With one answer all shares have its latency.
        let mut one = Histogram::new();
        one.record(Nanos(100));
        assert!(means(&one.compact()).iter().all(|latency| *latency == Nanos(100)));
    }

    /// Checks that a power law of depth and block size, which is a plane in logarithms, is matched
    /// between loops and also in the corners.
    #[test]
    fn unseen_loops_of_a_plane_are_met() {
        let latency = |kib: u64, depth: u32| {
            1e-4 * f64::from(depth).powf(0.5) * f64::from(u32::try_from(kib).expect("small"))
        };
        let mut known = Vec::new();
        let kibs = [4, 16, 64];
        for (row, kib) in kibs.into_iter().enumerate() {
            for (column, depth) in [1, 4, 16].into_iter().enumerate() {
                if (row + column) % 2 == 0 {
                    let read = vec![time(latency(kib, depth)); SHARES.len()];
                    let block = Bytes::new(kib << 10);
                    known.push(TableLoop { reads: 1.0, block, depth, read, write: Vec::new() });
                }
            }
        }
        for (kib, depth) in [(4, 4), (16, 1), (16, 16), (64, 4)] {
            let block = Bytes::new(kib << 10);
            let point = Point { block, depth, mix: Mix::Read, is_training: false };
            let found = guess(&point, &known).expect("neighbours").read[0].as_secs_f64();
            let wanted = latency(kib, depth);
            assert!((found / wanted - 1.0).abs() < 1e-3, "{kib} KiB {depth}: {found}, {wanted}");
        }
    }
}
