//! Intervals of shares, from their differences between blocks of time.

use run_store::slice::SizeClass;
use units::Ratio;

use crate::cause::Band;
use crate::material::{Material, Scope};

/// Number of blocks of time. With ten to thirty, a block is long compared with the correlation of
/// neighbours (Schmeiser 1982, "Batch size effects in the analysis of simulation output",
/// Operations Research 30).
pub(crate) const BLOCKS: usize = 10;
/// Minimum number of blocks with I/O. Fewer say too little about the differences. Our choice.
const BLOCKS_MIN: usize = 5;
const CONFIDENCE: f64 = 0.95;
/// Half-width of a 95 % interval, in standard errors.
const NORMAL_95: f64 = 1.959_964;

/// Method of the intervals, as documents name it.
pub(crate) const METHOD: &str = "95 %, ratio of sums over at most 10 blocks of time";

/// Confidence interval of a share, at 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareInterval {
    /// Lower end, 0 to 1.
    pub low: f64,
    /// Upper end, 0 to 1.
    pub high: f64,
}

impl From<(f64, f64)> for ShareInterval {
    fn from((low, high): (f64, f64)) -> Self {
        Self { low, high }
    }
}

/// Formats the ends of a share's interval, to stand after the share; empty without an interval.
pub(crate) fn text(low: Option<f64>, high: Option<f64>) -> String {
    // A share that cannot differ, such as that of the reads of a load without writes, has no interval.
    let ends = low.zip(high).filter(|(low, high)| low < high);
    ends.map_or_else(String::new, |(low, high)| {
        format!(" ({:.1} % to {:.1} %)", low * 100.0, high * 100.0)
    })
}

/// Parts and totals of a share, by block of time.
#[derive(Debug, Clone)]
pub struct Blocks {
    rows: [(f64, f64); BLOCKS],
    /// Length of the whole time, in the caller's unit.
    length: u64,
}

impl Blocks {
    /// Creates blocks of a time of this length.
    pub fn new(length: u64) -> Self {
        Self { rows: [(0.0, 0.0); BLOCKS], length: length.max(1) }
    }

    /// Adds a part and a total at a time since the beginning.
    pub fn add(&mut self, at: u64, part: f64, all: f64) {
        let block = u128::from(at) * BLOCKS as u128 / u128::from(self.length);
        let block = usize::try_from(block).unwrap_or(BLOCKS).min(BLOCKS - 1);
        self.rows[block].0 += part;
        self.rows[block].1 += all;
    }

    /// Returns the interval of the share; `None` with too few blocks.
    pub fn interval(&self) -> Option<ShareInterval> {
        let rows: Vec<(f64, f64)> = self.rows.into_iter().filter(|row| row.1 > 0.0).collect();
        if rows.len() < BLOCKS_MIN {
            return None;
        }
        let found = stats::share_of_blocks(&rows, Ratio::new(CONFIDENCE))?;
        Some(ShareInterval { low: found.low.clamp(0.0, 1.0), high: found.high.clamp(0.0, 1.0) })
    }

    /// Returns the interval of a share of I/Os, of which each block has counts. It is at least as
    /// wide as for independent I/Os (Wilson 1927): if all I/Os are alike, blocks do not differ, but
    /// few I/Os still say little.
    pub(crate) fn interval_of_counts(&self) -> Option<ShareInterval> {
        let found = self.interval()?;
        let (part, all) =
            self.rows.iter().fold((0.0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
        let (share, square) = (part / all, NORMAL_95 * NORMAL_95);
        let middle = (share + square / (2.0 * all)) / (1.0 + square / all);
        let spread = (share * (1.0 - share) / all + square / (4.0 * all * all)).max(0.0).sqrt();
        let half = NORMAL_95 * spread / (1.0 + square / all);
        Some(ShareInterval {
            low: found.low.min((middle - half).max(0.0)),
            high: found.high.max((middle + half).min(1.0)),
        })
    }
}

/// Returns the interval of a band's share of all waiting. Flushes are not known by time: they keep
/// their share of the waiting in every block, and have no interval of their own.
pub(crate) fn of_wait(material: &Material, scope: &Scope<'_>, band: Band) -> Option<ShareInterval> {
    material.span?;
    let (fold, slices) = (&material.fold, &material.fold.slices);
    // Slices are counted from the start of the trace, blocks from the first I/O that was chosen.
    let [first, last] = [fold.first?, fold.last].map(|at| at.0 / slices.width().0);
    let is_own = |vm: usize| scope.index.is_none_or(|index| vm == usize::from(index));
    let mut blocks = Blocks::new(last.saturating_sub(first) + 1);
    let mut known = 0.0;
    for row in slices.rows().iter().filter(|row| is_own(row.vm())) {
        let slot = row.way() * SizeClass::COUNT + usize::from(row.class());
        let wait = row.wait_ns as f64;
        known += wait;
        let at = row.slice.saturating_sub(first);
        blocks.add(at, if band.slots().contains(&slot) { wait } else { 0.0 }, wait);
    }
    let all: f64 = scope.vm.parts().map(|part| part.wait_ns() as f64).sum();
    let scale = (known / all).min(1.0);
    let found = blocks.interval().filter(|_| band != Band::FLUSHES && all > 0.0)?;
    Some(ShareInterval { low: found.low * scale, high: found.high * scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_wide_if_blocks_differ() {
        let of = |share: fn(u64) -> f64| {
            let mut blocks = Blocks::new(1000);
            (0..1000).for_each(|at| blocks.add(at, share(at), 1.0));
            blocks.interval().expect("ten blocks")
        };
        let steady = of(|at| if at % 2 == 0 { 1.0 } else { 0.0 });
        assert!((steady.low, steady.high) == (0.5, 0.5), "{steady:?}");
        let halves = of(|at| if at < 500 { 1.0 } else { 0.0 });
        // Ten blocks of 0 or 1: 2.262 standard errors of 1/6.
        assert!((halves.low - 0.123).abs() < 0.001, "{halves:?}");
        assert!((halves.high - 0.877).abs() < 0.001, "{halves:?}");
    }

    #[test]
    fn interval_of_few_equal_ios_is_not_empty() {
        let mut blocks = Blocks::new(40);
        (0..40).for_each(|at| blocks.add(at, 1.0, 1.0));
        let found = blocks.interval_of_counts().expect("ten blocks");
        // Wilson's interval of 40 of 40: 40 / (40 + 3.84).
        assert!((found.low - 0.9124).abs() < 1e-4 && found.high == 1.0, "{found:?}");
    }

    #[test]
    fn few_blocks_have_no_interval() {
        let mut blocks = Blocks::new(1000);
        (0..400).for_each(|at| blocks.add(at, 1.0, 1.0));
        assert_eq!(blocks.interval(), None);
    }

    #[test]
    fn interval_covers_the_share_of_a_correlated_load() {
        // A load whose share keeps for 20 of 2,000 units, drawn from 0.2 to 0.8: the mean is 0.5.
        let covers = (0..200_u64).filter(|seed| {
            let mut blocks = Blocks::new(2000);
            for piece in 0..100_u64 {
                let hash =
                    (seed * 1000 + piece).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31);
                let share = 0.2
                    + 0.6 * (hash.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64
                        / f64::from(1 << 24);
                (0..20).for_each(|at| blocks.add(piece * 20 + at, share, 1.0));
            }
            blocks.interval().is_some_and(|own| (own.low..=own.high).contains(&0.5))
        });
        let covered = covers.count();
        // 95 % of 200 are 190; three standard errors are 9.
        assert!((181..=199).contains(&covered), "{covered} of 200");
    }
}
