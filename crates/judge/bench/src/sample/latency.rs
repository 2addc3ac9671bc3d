use run_store::slice::{Direction, SizeClass};
use stats::{Compact, Histogram};
use units::Nanos;

/// Quantiles of a distribution that a row is made of.
const POINTS: usize = 64;

/// Spread of the logarithm of a latency: p95 is 2.8 times the median, p99 5 times.
const SPREAD: f64 = 0.6;

/// p95 by median, for [`SPREAD`].
pub const P95: f64 = 2.83;

/// Histograms of made-up latencies.
#[derive(Debug)]
pub struct Latencies {
    /// Each quantile by the median.
    shape: [f64; POINTS],
    scratch: Histogram,
}

impl Latencies {
    /// Log-logistic ones, whose quantiles are plain: median x (p / (1 - p))^(spread / 1.702),
    /// 1.702 being what makes a logistic distribution as wide as a normal one.
    pub fn new() -> Self {
        let quantile = |point: usize| {
            #[expect(clippy::cast_precision_loss, reason = "64 points")]
            let p = (point as f64 + 0.5) / POINTS as f64;
            (p / (1.0 - p)).powf(SPREAD / 1.702)
        };
        Self { shape: std::array::from_fn(quantile), scratch: Histogram::new() }
    }

    /// So many latencies around a median: evenly over the distribution, from a beginning that
    /// `chance` (0 up to 1) gives, so that many rows of few latencies are one distribution too.
    pub fn around(&mut self, median: Nanos, count: u64, chance: f64) -> Compact {
        self.scratch.clear();
        let points = POINTS as u64;
        let offset = below(points, chance);
        let mut before = 0;
        for (point, factor) in (1_u64..).zip(self.shape) {
            // What is up to this point, less what is up to the one before.
            let upto = (count * point + offset) / points;
            let here = u32::try_from(upto - before).unwrap_or(u32::MAX);
            before = upto;
            if here > 0 {
                self.scratch.record_n(median.scale(factor), here);
            }
        }
        self.scratch.compact()
    }
}

/// A whole number from 0 up to `most`, by chance.
fn below(most: u64, chance: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 up to 64"
    )]
    let number = (most as f64 * chance) as u64;
    number.min(most - 1)
}

/// A number from 0 up to 1 that these numbers give, always the same.
pub fn chance(parts: [u64; 4]) -> f64 {
    let mixed = parts.iter().fold(0, |mixed, part| state_machine::mix(mixed ^ part));
    #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
    let share = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
    share
}

/// How much longer everything takes, by the share of the tiles that hold: twofold at half of
/// them, and without bound soon after the edge.
pub fn slowdown(load: f64) -> f64 {
    if load <= 0.9 { 1.0 / (1.0 - load) } else { 10.0 * (1.0 + 20.0 * (load - 0.9)) }
}

/// Median of a kind of I/O on idle storage: a disk array with write memory. Larger ones take
/// longer, and every five minutes a checkpoint makes large writes wait for 20 s.
pub fn idle(direction: Direction, class: SizeClass, at: Nanos) -> Nanos {
    let base = match direction {
        Direction::Read => 600.0,
        Direction::Write => 350.0,
        Direction::Flush => 200.0,
    };
    let size = 1.0 + 0.4 * f64::from(class.index());
    let in_checkpoint = at.0 / 1_000_000_000 % 300 < 20;
    let is_large = direction == Direction::Write && class.index() >= 4;
    let checkpoint = if in_checkpoint && is_large { 6.0 } else { 1.0 };
    Nanos::from_secs_f64(base * size * checkpoint / 1e6)
}
