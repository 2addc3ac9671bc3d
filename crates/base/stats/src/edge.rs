//! Finds the threshold of a yes-or-no answer: the maximum number of tiles, from passed and failed
//! steps in any order. Chance affects both results.
//!
//! The probability that a step fails is a rising curve of the tile count, a psychometric function.
//! The curve is logistic in the logarithm of the count. Its parameters are the edge (where it
//! crosses one half), a width, and a small rate of steps that pass or fail for other reasons
//! (Wichmann and Hill 2001, "The psychometric function: I", Perception & Psychophysics 63).
//!
//! Edge and width get a posterior on a grid, with a uniform prior of both on a logarithmic scale.
//! The interval is the posterior's (Watson and Pelli 1983, "QUEST", Perception & Psychophysics 33).
//! The next count to try is the one with the narrowest expected posterior (Kontsevich and Tyler
//! 1999, "Bayesian adaptive estimation of psychometric slope and threshold", Vision Research 39).

/// Result of one step at one tile count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Number of tiles in the step.
    pub tiles: u32,
    /// Probability that the step failed: 0 for passed, 1 for failed, values between if the samples
    /// are undecided. One half carries no information.
    pub failed: f64,
}

/// Estimate of the edge, as numbers of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeEstimate {
    /// Maximum number of tiles, at the lower end of the edge's interval.
    pub low: u32,
    /// Maximum number of tiles, at the median of the edge.
    pub most_likely: u32,
    /// Maximum number of tiles, at the upper end of the edge's interval; `None` if that end is
    /// beyond the range of the model.
    pub high: Option<u32>,
}

impl EdgeEstimate {
    /// Returns the number of tiles between both ends; `None` without an upper end.
    pub fn width(&self) -> Option<u32> {
        Some(self.high? - self.low)
    }
}

/// Rate of steps that pass or fail for other reasons: 1 in 50 either way, within the range that
/// Wichmann and Hill find (0 to 6 %). Without it, one unlucky step far below the edge would
/// outweigh all measurements above it.
const LAPSES: f64 = 0.02;

/// Minimum and maximum width of the curve. The width is the natural logarithm of a ratio: the tile
/// count at which 95 % of the steps fail, divided by the count at which 50 % fail. At 0.01 the two
/// counts differ by 1 %, which is less than one tile for up to 100 tiles. At 0.5 one count is 1.65
/// times the other.
const WIDTHS: (f64, f64) = (0.01, 0.5);
const WIDTH_STEPS: u32 = 10;
const EDGE_STEPS: u32 = 480;

/// Model of the edge: a grid over edge and width, with the posterior of each point.
#[derive(Debug, Clone)]
pub struct EdgeModel {
    /// Logarithm of the edge at each grid point, in ascending order.
    edges: Vec<f64>,
    widths: Vec<f64>,
    /// Posterior of each grid point, sorted by edge and then by width. The sum is 1.
    posterior: Vec<f64>,
    beyond: f64,
}

impl EdgeModel {
    /// Creates a model without trials. The edge may lie anywhere from below one tile to somewhat
    /// above `tiles_max`.
    pub fn new(tiles_max: u32) -> Self {
        let (first, last) = (0.5_f64.ln(), (f64::from(tiles_max.max(1)) + 1.0).ln() + 0.7);
        let part = |at: u32, of: u32| f64::from(at) / f64::from(of - 1);
        let edges = (0..EDGE_STEPS).map(|at| first + (last - first) * part(at, EDGE_STEPS));
        let widths =
            (0..WIDTH_STEPS).map(|at| WIDTHS.0 * (WIDTHS.1 / WIDTHS.0).powf(part(at, WIDTH_STEPS)));
        let points = EDGE_STEPS * WIDTH_STEPS;
        Self {
            edges: edges.collect(),
            widths: widths.collect(),
            posterior: vec![1.0 / f64::from(points); points as usize],
            beyond: (f64::from(tiles_max) + 1.0).ln(),
        }
    }

    /// Adds all of these trials, and returns the model.
    #[must_use]
    pub fn after(mut self, trials: impl IntoIterator<Item = Trial>) -> Self {
        trials.into_iter().for_each(|trial| self.add(trial));
        self
    }

    /// Updates the posterior with one more step.
    pub fn add(&mut self, trial: Trial) {
        let likelihood = self.failing(trial.tiles);
        let failed = trial.failed.clamp(0.0, 1.0);
        for (point, fails) in self.posterior.iter_mut().zip(likelihood) {
            *point *= failed * fails + (1.0 - failed) * (1.0 - fails);
        }
        let sum: f64 = self.posterior.iter().sum();
        self.posterior.iter_mut().for_each(|point| *point /= sum.max(f64::MIN_POSITIVE));
    }

    /// Returns the probability that a step of this many tiles fails, at every point of the grid.
    fn failing(&self, tiles: u32) -> Vec<f64> {
        let at = f64::from(tiles.max(1)).ln();
        let mut chances = Vec::with_capacity(self.posterior.len());
        for edge in &self.edges {
            for width in &self.widths {
                // A factor of ln 19 takes a logistic curve from one half to 95 %.
                let steepness = 19.0_f64.ln() / width;
                let curve = 1.0 / (1.0 + (-(at - edge) * steepness).exp());
                chances.push(LAPSES + (1.0 - 2.0 * LAPSES) * curve);
            }
        }
        chances
    }

    /// Returns the probability that a step of this many tiles fails, averaged over the posterior.
    pub fn chance_of_failing(&self, tiles: u32) -> f64 {
        self.failing(tiles).iter().zip(&self.posterior).map(|(fails, point)| fails * point).sum()
    }

    /// Returns the probability that all limits are met at this number of tiles.
    pub fn chance_of_holding(&self, tiles: u32) -> f64 {
        let at = f64::from(tiles).ln();
        let below = self.edges.partition_point(|edge| *edge < at);
        self.posterior[below * self.widths.len()..].iter().sum()
    }

    /// Returns the logarithm of the edge at a quantile of the posterior.
    fn quantile(&self, share: f64) -> f64 {
        let mut sum = 0.0;
        let mut masses = self.posterior.chunks_exact(self.widths.len());
        let found = masses.position(|widths| {
            sum += widths.iter().sum::<f64>();
            sum >= share
        });
        self.edges[found.unwrap_or(self.edges.len() - 1)]
    }

    /// Returns the edge with an interval of this confidence.
    pub fn estimate(&self, confidence: f64) -> EdgeEstimate {
        let tail = (1.0 - confidence) / 2.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let whole = |log: f64| log.exp().floor() as u32;
        let high = self.quantile(1.0 - tail);
        EdgeEstimate {
            low: whole(self.quantile(tail)),
            most_likely: whole(self.quantile(0.5)),
            high: (high < self.beyond).then(|| whole(high)),
        }
    }

    /// Returns the best count to try next, the one after which the expected uncertainty of the edge
    /// is smallest. `None` without counts.
    pub fn best(&self, counts: impl IntoIterator<Item = u32>) -> Option<u32> {
        let scored = counts.into_iter().map(|tiles| (tiles, self.expected_entropy(tiles)));
        scored.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(tiles, _)| tiles)
    }

    fn expected_entropy(&self, tiles: u32) -> f64 {
        let likelihood = self.failing(tiles);
        let outcome = |failed: bool| {
            let chance = |fails: &f64| if failed { *fails } else { 1.0 - fails };
            let joint = self.posterior.iter().zip(&likelihood).map(|(p, fails)| p * chance(fails));
            let joint: Vec<f64> = joint.collect();
            let total: f64 = joint.iter().sum();
            let of_edge = joint.chunks_exact(self.widths.len()).map(|w| w.iter().sum::<f64>());
            let entropy = |mass: f64| {
                let share = mass / total.max(f64::MIN_POSITIVE);
                if share > 0.0 { -share * share.ln() } else { 0.0 }
            };
            total * of_edge.map(entropy).sum::<f64>()
        };
        outcome(false) + outcome(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn passed(tiles: u32) -> Trial {
        Trial { tiles, failed: 0.0 }
    }

    fn failed(tiles: u32) -> Trial {
        Trial { tiles, failed: 1.0 }
    }

    #[test]
    fn neighbours_that_pass_and_fail_again_and_again_are_the_edge() {
        let trials = [passed(27), failed(28)].repeat(4);
        let found = EdgeModel::new(200).after(trials).estimate(0.95);
        assert_eq!(found.most_likely, 27);
        assert!(found.low >= 25 && found.high.is_some_and(|high| high <= 29), "{found:?}");
    }

    #[test]
    fn one_unlucky_step_far_below_does_not_become_the_answer() {
        let mut trials = vec![failed(8)];
        trials.extend([passed(16), passed(20), passed(24), failed(30), failed(28), passed(26)]);
        let found = EdgeModel::new(200).after(trials).estimate(0.95);
        assert!((24..=28).contains(&found.most_likely), "{found:?}");
    }

    #[test]
    fn nothing_that_failed_leaves_the_upper_end_open() {
        let found = EdgeModel::new(64).after([1, 4, 16, 64].map(passed)).estimate(0.95);
        assert_eq!(found.high, None);
        assert!((32..=64).contains(&found.low), "{found:?}");
        let model = EdgeModel::new(64).after([1, 4, 16, 64].map(passed));
        assert!(model.chance_of_holding(0) > 0.999 && model.chance_of_holding(100) > 0.3);
        let none = EdgeModel::new(64).after([failed(1), failed(1)]).estimate(0.95);
        assert_eq!((none.low, none.most_likely), (0, 0));
    }

    #[test]
    fn a_step_that_decides_nothing_changes_nothing() {
        let model = EdgeModel::new(64).after([passed(8), failed(32)]);
        let same = model.clone().after([Trial { tiles: 16, failed: 0.5 }]);
        assert_eq!(model.estimate(0.95), same.estimate(0.95));
    }

    /// Searches from one tile on storage whose curve is known, as a run does, and counts how often
    /// the interval contains the true edge. The storage deviates from the model: in each step, the
    /// logarithm of its edge is shifted by a normal deviate with this spread.
    #[test]
    fn the_interval_holds_the_edge_of_storage_that_wanders() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut uniform = move || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let (mut held, mut tries, mut widths) = (0, 0, 0.0);
        for spread in [0.003, 0.03, 0.1] {
            for _ in 0..16 {
                let truth = 3.0 + 60.0 * uniform();
                let mut model = EdgeModel::new(107);
                for step in 0..14_u32 {
                    let tiles = match step {
                        0..4 => 4_u32.pow(step),
                        _ => model.best(1..=107).expect("counts"),
                    };
                    let normal: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                    let fails = f64::from(tiles) > truth * (spread * normal).exp();
                    model.add(Trial { tiles, failed: f64::from(u8::from(fails)) });
                }
                let found = model.estimate(0.95);
                let high = found.high.unwrap_or(u32::MAX);
                tries += 1;
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let true_count = truth.floor() as u32;
                held += u32::from((found.low..=high).contains(&true_count));
                widths += f64::from(high - found.low) / truth;
            }
        }
        assert!(held * 100 >= tries * 92, "{held} of {tries}");
        let mean = widths / f64::from(tries);
        assert!(mean < 0.3, "an interval of {mean} of the edge says little");
    }
}
