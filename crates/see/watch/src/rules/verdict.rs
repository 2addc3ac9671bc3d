use stats::{Compact, Histogram, PercentileEstimate, percentile_of_blocks, percentile_ranks};
use units::{Nanos, Ratio};

use super::{Limit, Percentile, Quantity, WindowValues};
use crate::latencies::lower_edge;
use crate::{Cell, Latencies};

/// Minimum number of I/Os for judging a percentile.
pub const IOS_MIN: u64 = 30;
/// Confidence of the intervals, in percent. Our choice: at 95 % a VM that is exactly at its limit
/// would break it by chance in one of forty windows, which is seven alarms a day; at 99.9 % in one
/// of two thousand.
pub const CONFIDENCE: f64 = 99.9;

/// Maximum number of blocks in a window. It bounds the memory of a rule with a window of a day.
const BLOCKS_MAX: u64 = 30;
/// Minimum number of blocks from which the variation between neighbouring slices is estimated. With
/// fewer blocks, Student's t of this confidence is over 6, and the interval is too wide to be
/// useful.
const BLOCKS_MIN: usize = 6;
/// Minimum share of a window's time in which the limit must be broken. Without it, a burst of a
/// minute that has most of the I/Os of a five-minute window breaks the limit: 11 alarms in ten
/// simulated quiet days.
const TIME_MIN: f64 = 0.5;
/// Minimum number of slow I/Os that the percentile must allow in a section of a window. Sections
/// are as short as possible, because each section that a burst touches counts as a whole. But for a
/// VM that is slow throughout, with twice the allowed share of slow I/Os, one in four sections has
/// no slow I/O at this number.
const ALLOWED_MIN: f64 = 0.7;
/// Ratio of slow I/Os to allowed slow I/Os up to which a section is surely within the limit. At one
/// half, a VM with twice the allowed share has at most a quarter of such sections at any number of
/// I/Os.
const WELL_MAX: f64 = 0.5;

/// Returns the number of slices in a block of a window.
pub(crate) fn slices_per_block(slices: u64) -> u64 {
    slices.div_ceil(BLOCKS_MAX).max(1)
}

/// I/Os of a VM on a disk in an open window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gathered {
    /// Latencies of each block, by the block's number in the window, ascending.
    blocks: Vec<(u64, Latencies)>,
    succeeded: u64,
    errors: u64,
}

/// Verdict on a VM on a disk in a whole window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The limit is surely broken.
    Broken(WindowValues),
    /// The limit is surely kept.
    Kept,
    /// The percentile was above the limit for at least half of the time, but the interval contains
    /// the limit.
    Leaning(WindowValues),
    /// The interval contains the limit.
    Undecided,
    /// There were too few I/Os, or errors may have been missed.
    Unjudged,
}

impl Limit {
    /// Returns the minimum number of I/Os in a window that can begin an alarm, and that can end
    /// one. From few I/Os a high percentile has no upper bound: of 100 I/Os none may be slower than
    /// p99.
    pub fn ios_needed(&self) -> (u64, u64) {
        let Quantity::Latency(percentile, _) = self.quantity else { return (1, 1) };
        let is_bounded =
            |count: u64| percentile_ranks(count, percentile.share(), confidence()).high.is_some();
        let (mut low, mut high) = (IOS_MIN, 1 << 20);
        // Smallest count by halving: more I/Os never bound less.
        while low < high {
            let middle = u64::midpoint(low, high);
            if is_bounded(middle) { high = middle } else { low = middle + 1 }
        }
        (IOS_MIN, low)
    }
}

fn confidence() -> Ratio {
    Ratio::new(CONFIDENCE / 100.0)
}

impl Gathered {
    pub fn add(&mut self, block: u64, cell: &Cell) {
        self.succeeded += cell.count;
        self.errors += cell.errors;
        match self.blocks.last_mut().filter(|(own, _)| *own == block) {
            Some((_, latencies)) => latencies.merge(&cell.latencies),
            None => self.blocks.push((block, cell.latencies.clone())),
        }
    }

    /// Adds other I/O of the same window.
    pub fn merge(&mut self, other: &Self) {
        self.succeeded += other.succeeded;
        self.errors += other.errors;
        for (block, latencies) in &other.blocks {
            match self.blocks.binary_search_by_key(block, |own| own.0) {
                Ok(at) => self.blocks[at].1.merge(latencies),
                Err(at) => self.blocks.insert(at, (*block, latencies.clone())),
            }
        }
    }

    const fn ios(&self) -> u64 {
        self.succeeded + self.errors
    }

    /// Judges the window. `is_complete` is true if no slice was left out.
    pub fn judge(&self, limit: &Limit, from_s: u64, is_complete: bool) -> Verdict {
        let seen = WindowValues {
            from_s,
            ios: self.ios(),
            errors: self.errors,
            low: Nanos::ZERO,
            high: None,
        };
        match limit.quantity {
            // A number of failed I/Os is a fact and no estimate, so few I/Os are enough.
            Quantity::Errors(most) if self.errors > most => Verdict::Broken(seen),
            Quantity::Errors(_) if is_complete && self.ios() > 0 => Verdict::Kept,
            Quantity::Errors(_) => Verdict::Unjudged,
            Quantity::Latency(..) if self.succeeded < IOS_MIN => Verdict::Unjudged,
            // The usual case, and cheap: without a slow I/O no block differs from another.
            Quantity::Latency(percentile, most) if self.is_well(percentile, most) => Verdict::Kept,
            Quantity::Latency(percentile, most) => {
                let Some(found) = self.interval(percentile) else { return Verdict::Unjudged };
                let seen = WindowValues { low: found.low, high: found.high, ..seen };
                let is_long = || self.time_above(percentile, most) >= TIME_MIN;
                if found.low >= most && is_long() {
                    Verdict::Broken(seen)
                } else if found.high.is_some_and(|high| high <= most) {
                    Verdict::Kept
                } else if lower_edge(found.value) >= most && is_long() {
                    Verdict::Leaning(seen)
                } else {
                    Verdict::Undecided
                }
            }
        }
    }

    /// Returns true if no I/O was slower than the limit, and there were enough I/Os to bound the
    /// percentile.
    fn is_well(&self, percentile: Percentile, most: Nanos) -> bool {
        let highest = self.blocks.iter().filter_map(|(_, own)| own.buckets().last());
        let tail = (1.0 - confidence().get()) / 2.0;
        // Probability that all I/Os are below the percentile of the population.
        let all_below = percentile.share().get().powf(self.succeeded as f64);
        all_below <= tail && highest.map(|(latency, _)| latency).max() <= Some(most)
    }

    /// Returns the share of the window's time that was not within the limit, because more than half
    /// of the allowed number of I/Os was slow. The window is divided into sections: neighbouring
    /// blocks with enough I/Os for this decision. A rest at the end belongs to the last section.
    fn time_above(&self, percentile: Percentile, most: Nanos) -> f64 {
        let allowed = 1.0 - percentile.share().get();
        let mut left = self.succeeded as f64;
        let (mut count, mut slow, mut blocks) = (0.0, 0.0, 0.0);
        let (mut above, mut all) = (0.0, 0.0);
        for (_, latencies) in &self.blocks {
            let own = latencies.count() as f64;
            (count, left, blocks) = (count + own, left - own, blocks + 1.0);
            slow += slow_ios(latencies, most);
            let is_enough = |count: f64| count * allowed >= ALLOWED_MIN;
            if is_enough(count) && (left == 0.0 || is_enough(left)) {
                above += if slow > WELL_MAX * allowed * count { blocks } else { 0.0 };
                all += blocks;
                (count, slow, blocks) = (0.0, 0.0, 0.0);
            }
        }
        above += if slow > WELL_MAX * allowed * count { blocks } else { 0.0 };
        above / (all + blocks)
    }

    /// Returns the interval of a percentile. With enough blocks it accounts for the variation
    /// between blocks, so that a short burst does not decide for the whole window; otherwise I/Os
    /// are taken as independent. The lower end is the lower edge of its bucket, because only the
    /// bucket of a latency is known.
    fn interval(&self, percentile: Percentile) -> Option<PercentileEstimate> {
        let blocks: Vec<Compact> = self.blocks.iter().map(|(_, own)| own.compact(0)).collect();
        let used = blocks.iter().filter(|block| !block.is_empty()).count();
        let found = if used >= BLOCKS_MIN {
            percentile_of_blocks(&blocks, percentile.share(), confidence())
        } else {
            let mut all = Histogram::new();
            blocks.iter().for_each(|block| all.merge_compact(block));
            all.percentile_estimate(percentile.share(), confidence())
        }?;
        Some(PercentileEstimate { low: lower_edge(found.low), ..found })
    }
}

/// Counts the I/Os that were surely slower than a limit.
fn slow_ios(latencies: &Latencies, most: Nanos) -> f64 {
    let slow = latencies.buckets().filter(|(highest, _)| lower_edge(*highest) >= most);
    slow.map(|(_, count)| f64::from(count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(latencies: &[(u64, u32)]) -> Cell {
        let mut cell = Cell::default();
        let latencies = latencies.iter().map(|(us, count)| (Nanos::from_micros(*us), *count));
        cell.latencies = latencies.collect();
        cell.count = cell.latencies.count();
        cell
    }

    fn judge(limit: &str, blocks: &[&[(u64, u32)]]) -> Verdict {
        let mut gathered = Gathered::default();
        (0..).zip(blocks).for_each(|(block, own)| gathered.add(block, &cell(own)));
        gathered.judge(&limit.parse().expect("a limit"), 0, true)
    }

    #[test]
    fn limit_is_broken_or_kept_only_beyond_the_interval() {
        let limit = "write p50 <= 10ms";
        let is_broken = |verdict| matches!(verdict, Verdict::Broken(_));
        assert!(is_broken(judge(limit, &[&[(15_000, 100)]])));
        assert_eq!(judge(limit, &[&[(5_000, 100)]]), Verdict::Kept);
        assert!(matches!(judge(limit, &[&[(5_000, 45), (15_000, 55)]]), Verdict::Leaning(_)));
        assert_eq!(judge(limit, &[&[(5_000, 55), (15_000, 45)]]), Verdict::Undecided);
        assert!(is_broken(judge(limit, &[&[(5_000, 4_500), (15_000, 5_500)]])), "more I/Os");
        assert_eq!(judge(limit, &[&[(15_000, 29)]]), Verdict::Unjudged);
        assert_eq!(judge(limit, &[]), Verdict::Unjudged);
    }

    #[test]
    fn bucket_that_holds_the_limit_decides_nothing() {
        assert_eq!(judge("any p50 <= 20ms", &[&[(20_500, 10_000)]]), Verdict::Undecided);
        assert_eq!(judge("any p50 <= 20ms", &[&[(19_500, 10_000)]]), Verdict::Undecided);
    }

    #[test]
    fn few_ios_never_keep_a_high_percentile() {
        assert_eq!(judge("any p99 <= 10ms", &[&[(5_000, 100)]]), Verdict::Undecided);
        assert_eq!(judge("any p99 <= 10ms", &[&[(5_000, 1_000)]]), Verdict::Kept);
    }

    #[test]
    fn needed_ios_are_those_that_bound_the_percentile() {
        let ends = |limit: &str| limit.parse::<Limit>().expect("a limit").ios_needed().1;
        // ln(0.0005) / ln(p), rounded up.
        assert_eq!(ends("any p50 <= 1ms"), IOS_MIN);
        assert_eq!([ends("any p95 <= 1ms"), ends("any p99 <= 1ms")], [149, 757]);
        assert_eq!([ends("any p999 <= 1ms"), ends("errors <= 0")], [7_598, 1]);
    }

    #[test]
    fn burst_does_not_speak_for_its_window() {
        let quiet: &[(u64, u32)] = &[(5_000, 100)];
        let burst: &[(u64, u32)] = &[(50_000, 1_000)];
        let window = [&[burst, burst][..], &[quiet; 28]].concat();
        assert_eq!(judge("any p95 <= 10ms", &window), Verdict::Undecided);
        // Most of the I/Os of the window, in less than half of its time.
        let window = [&[burst; 12][..], &[quiet; 18]].concat();
        assert_eq!(judge("any p95 <= 10ms", &window), Verdict::Undecided);
        let window = [&[burst; 16][..], &[quiet; 14]].concat();
        assert!(matches!(judge("any p95 <= 10ms", &window), Verdict::Broken(_)));
        let slow: &[(u64, u32)] = &[(5_000, 80), (50_000, 20)];
        assert!(matches!(judge("any p95 <= 10ms", &[slow; 30]), Verdict::Broken(_)));
    }

    #[test]
    fn slow_ios_of_a_vm_with_few_are_found_wherever_they_are() {
        let fast: &[(u64, u32)] = &[(5_000, 3)];
        let slow: &[(u64, u32)] = &[(5_000, 2), (50_000, 1)];
        let window: Vec<&[(u64, u32)]> =
            (0..30).map(|own| if own % 3 == 0 { slow } else { fast }).collect();
        assert!(matches!(judge("any p95 <= 10ms", &window), Verdict::Leaning(_)), "10 of 90");
        let window: Vec<&[(u64, u32)]> =
            (0..30).map(|own| if own % 3 > 0 { slow } else { fast }).collect();
        assert!(matches!(judge("any p95 <= 10ms", &window), Verdict::Broken(_)), "20 of 90");
    }

    #[test]
    fn errors_are_counted_and_not_estimated() {
        let judge = |errors, succeeded, is_complete| {
            let mut gathered = Gathered::default();
            let cell = Cell { errors, ..cell(&[(5_000, succeeded)]) };
            gathered.add(0, &cell);
            gathered.judge(&"errors <= 1".parse().expect("a limit"), 0, is_complete)
        };
        assert!(matches!(
            judge(2, 0, false),
            Verdict::Broken(WindowValues { errors: 2, ios: 2, .. })
        ));
        assert_eq!(judge(1, 0, true), Verdict::Kept);
        assert_eq!(judge(1, 500, false), Verdict::Unjudged);
    }
}
