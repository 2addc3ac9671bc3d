use run_store::slice::{Direction, SizeClass};
use stats::{Compact, Histogram};
use units::Nanos;

/// Number of quantiles of the distribution that a row is built from.
const POINTS: usize = 64;

/// Spread of the logarithm of a latency. p95 is 2.8 times the median, and p99 5 times.
const SPREAD: f64 = 0.6;

/// Ratio of p95 to the median, for [`SPREAD`].
pub const P95: f64 = 2.83;

/// Generator of histograms of artificial latencies.
#[derive(Debug)]
pub struct Latencies {
    /// Quantiles, as multiples of the median.
    shape: [f64; POINTS],
    scratch: Histogram,
}

impl Latencies {
    /// Creates a log-logistic distribution, whose quantiles are simple: median x (p / (1 -
    /// p))^(spread / 1.702). The factor 1.702 makes a logistic distribution as wide as a normal
    /// one.
    pub fn new() -> Self {
        let quantile = |point: usize| {
            #[expect(clippy::cast_precision_loss, reason = "64 points")]
            let p = (point as f64 + 0.5) / POINTS as f64;
            (p / (1.0 - p)).powf(SPREAD / 1.702)
        };
        Self { shape: std::array::from_fn(quantile), scratch: Histogram::new() }
    }

    /// Returns latencies around a median. They are evenly spaced over the distribution, from an
    /// offset given by `chance` (0 up to 1). So many rows of few latencies together also have this
    /// distribution.
    pub fn around(&mut self, median: Nanos, count: u64, chance: f64) -> Compact {
        self.scratch.clear();
        let points = POINTS as u64;
        let offset = below(points, chance);
        let mut before = 0;
        for (point, factor) in (1_u64..).zip(self.shape) {
            // Latencies up to this point, minus those up to the point before.
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

/// Returns a whole number from 0 up to `most`, chosen by `chance`.
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

/// Returns a pseudo-random number from 0 up to 1 that only depends on these numbers.
pub fn chance(parts: [u64; 4]) -> f64 {
    let mixed = parts.iter().fold(0, |mixed, part| state_machine::mix(mixed ^ part));
    #[expect(clippy::cast_precision_loss, reason = "53 bits are kept")]
    let share = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
    share
}

/// Returns the factor of all latencies. `load` is the number of tiles divided by the edge. The
/// factor is 2 at half the edge, and rises steeply from 0.9 of it on.
pub fn slowdown(load: f64) -> f64 {
    if load <= 0.9 { 1.0 / (1.0 - load) } else { 10.0 * (1.0 + 20.0 * (load - 0.9)) }
}

/// Returns the median latency of a kind of I/O on idle storage: a disk array with write memory.
/// Larger I/Os take longer, and every five minutes a checkpoint delays large writes for 20 s.
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
