//! Finds where work stops growing with load: a saturation curve fitted to scattered steps, with the
//! uncertainty of the scatter.
//!
//! The work of `n` tiles is `a n (1 + (n/k)^p)^(-q/p)`. `a` is the work of each tile while there
//! are few. The curve turns at `k`, more sharply for a larger `p`. With `q = 1` it ends at `a k`:
//! `p = 1` is the hyperbola of a closed system without pauses, a large `p` the two lines of the
//! asymptotic bounds (Lazowska, Zahorjan, Graham and Sevcik 1984, "Quantitative System
//! Performance", chapter 5). With `q > 1` it falls again, as under contention (Gunther 2007,
//! "Guerrilla Capacity Planning", chapter 4). With `q < 1` it continues to grow slowly, as when
//! more load is sorted or merged better. The formula is our choice: the simplest with both bounds
//! and everything between them.
//!
//! The scatter of steps is proportional to their work, so residuals are of logarithms. The
//! posterior lies on a grid of `k`, `p` and `q`, with a uniform prior. `a` and the scatter are
//! integrated out in closed form. The scatter is combined with a stated one that counts like
//! [`PRIOR_FREEDOM`] degrees of freedom (Gelman and others 2013, "Bayesian Data Analysis", section
//! 14.2). A larger scatter than stated, or a poor fit of the curve, therefore widens the
//! uncertainty automatically.

use crate::levels::PRIOR_FREEDOM;

/// Number of grid points for the turn `k`, equally spaced on a logarithmic scale.
const TURN_STEPS: u32 = 160;
/// Factor by which the grid of turns extends below the smallest and above the largest tile count.
const BEYOND: f64 = 4.0;
/// Grid of the sharpness `p` of the turn.
const SHARPNESS: [f64; 9] = [1.0, 1.25, 1.6, 2.0, 2.5, 3.5, 5.0, 10.0, f64::INFINITY];
/// Grid of the decline `q` after the turn: slow growth, constant, or fall.
const DECLINE: [f64; 4] = [0.8, 1.0, 1.25, 2.0];
/// Minimum work that is used, as a share of the largest work. Smaller values are raised to it,
/// because zero has no logarithm.
const LEAST: f64 = 1e-3;

/// Likelihood, as a share of the highest, below which a curve is ignored.
const NEGLIGIBLE: f64 = 1e-6;

/// Work of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Number of tiles in the step, at least 1.
    pub tiles: u32,
    /// Amount of work, in any unit that is the same for all steps.
    pub work: f64,
}

/// Curves that are possible, given the steps.
#[derive(Debug, Clone)]
pub struct Saturation {
    curves: Vec<Curve>,
}

#[derive(Debug, Clone, Copy)]
struct Curve {
    shape: Shape,
    /// Logarithm of the work of each tile while there are few.
    each: f64,
    /// Last tile that adds enough work.
    flat: f64,
    weight: f64,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    turn: f64,
    sharpness: f64,
    decline: f64,
}

impl Shape {
    /// Returns the logarithm of the work of `tiles` tiles, if the work of each tile alone is 1.
    fn log_work(self, tiles: f64) -> f64 {
        let log = tiles.ln();
        let over = log - self.turn.ln();
        if self.sharpness.is_infinite() {
            return log - self.decline * over.max(0.0);
        }
        log - self.decline / self.sharpness * (over * self.sharpness).exp().ln_1p()
    }

    /// Returns the work that the last of `tiles` tiles adds, as a share of a single tile's work.
    fn gain(self, tiles: f64) -> f64 {
        let others = if tiles > 1.0 { self.log_work(tiles - 1.0).exp() } else { 0.0 };
        (self.log_work(tiles).exp() - others) / self.log_work(1.0).exp()
    }

    /// Returns the tile count from which the last tile adds less than `gain_min`. The added work
    /// falls monotonically to zero.
    fn flat_from(self, gain_min: f64) -> f64 {
        let (mut low, mut high) = (1.0, (1e4 * self.turn).max(2.0));
        for _ in 0..32 {
            let middle = (low * high).sqrt();
            if self.gain(middle) >= gain_min { low = middle } else { high = middle }
        }
        low
    }
}

impl Saturation {
    /// Fits curves to these steps; `None` without work. A further tile is worthwhile while it adds
    /// `gain_min` of a single tile's work. `scatter` is the expected standard deviation of a step's
    /// work, as a share of this work.
    pub fn of(steps: &[Work], scatter: f64, gain_min: f64) -> Option<Self> {
        let greatest = steps.iter().map(|step| step.work).fold(0.0, f64::max);
        let fewest = f64::from(steps.iter().map(|step| step.tiles).min()?.max(1));
        let most = f64::from(steps.iter().map(|step| step.tiles).max()?.max(1));
        if !(greatest > 0.0 && greatest.is_finite()) {
            return None;
        }
        let logs: Vec<(f64, f64)> = steps
            .iter()
            .map(|step| (f64::from(step.tiles.max(1)), step.work.max(greatest * LEAST).ln()))
            .collect();
        // First coarse, with a scatter as wide as the grid; then fine where that is possible.
        let wide = ((fewest / BEYOND).ln(), (most * BEYOND).ln());
        let step = (wide.1 - wide.0) / f64::from(TURN_STEPS - 1);
        let coarse = curves(wide, &logs, scatter.max(step));
        let turns = || coarse.iter().map(|curve| curve.shape.turn.ln());
        let narrow = (
            turns().fold(f64::INFINITY, f64::min) - step,
            turns().fold(f64::NEG_INFINITY, f64::max) + step,
        );
        let mut curves = curves(narrow, &logs, scatter);
        for curve in &mut curves {
            // The smallest count did its measured work, whatever the curve gives below it.
            curve.flat = curve.shape.flat_from(gain_min).max(fewest);
        }
        Some(Self { curves })
    }

    /// Returns the probability that the last of `tiles` tiles still adds enough work.
    pub fn chance_of_adding(&self, tiles: u32) -> f64 {
        let tiles = f64::from(tiles);
        // A turn within a two-hundredth of a count belongs to that count.
        let adding = self.curves.iter().filter(|curve| curve.flat * 1.005 >= tiles);
        adding.map(|curve| curve.weight).sum()
    }

    /// Returns the work that the last of `tiles` tiles adds, as a share of a single tile's work,
    /// averaged over the curves.
    pub fn gain(&self, tiles: u32) -> f64 {
        let tiles = f64::from(tiles.max(1));
        self.curves.iter().map(|curve| curve.weight * curve.shape.gain(tiles)).sum()
    }

    /// Returns the standard deviation of the logarithm of the work at this tile count, between the
    /// curves. The larger it is, the more information a step there gives.
    pub fn disagreement(&self, tiles: u32) -> f64 {
        let said = |curve: &Curve| curve.each + curve.shape.log_work(f64::from(tiles.max(1)));
        let mean: f64 = self.curves.iter().map(|curve| curve.weight * said(curve)).sum();
        let square = |curve: &Curve| curve.weight * (said(curve) - mean).powi(2);
        self.curves.iter().map(square).sum::<f64>().sqrt()
    }
}

/// Returns the curves that turn between these logarithms, without the ones of negligible weight.
fn curves((first, last): (f64, f64), logs: &[(f64, f64)], scatter: f64) -> Vec<Curve> {
    let part = |at: u32| f64::from(at) / f64::from(TURN_STEPS - 1);
    let turns = (0..TURN_STEPS).map(|at| (first + (last - first) * part(at)).exp());
    let shapes = turns.flat_map(|turn| {
        SHARPNESS.into_iter().flat_map(move |sharpness| {
            DECLINE.into_iter().map(move |decline| Shape { turn, sharpness, decline })
        })
    });
    let mut curves: Vec<Curve> = shapes.map(|shape| Curve::fitted(shape, logs, scatter)).collect();
    // Weights are logarithms up to here.
    let likeliest = curves.iter().map(|curve| curve.weight).fold(f64::NEG_INFINITY, f64::max);
    curves.iter_mut().for_each(|curve| curve.weight = (curve.weight - likeliest).exp());
    curves.retain(|curve| curve.weight > NEGLIGIBLE);
    let sum: f64 = curves.iter().map(|curve| curve.weight).sum();
    curves.iter_mut().for_each(|curve| curve.weight /= sum);
    curves
}

impl Curve {
    fn fitted(shape: Shape, logs: &[(f64, f64)], scatter: f64) -> Self {
        let count = logs.len() as f64;
        let left: Vec<f64> = logs.iter().map(|(tiles, log)| log - shape.log_work(*tiles)).collect();
        let each = left.iter().sum::<f64>() / count;
        let squares: f64 = left.iter().map(|left| (left - each).powi(2)).sum();
        let freedom = PRIOR_FREEDOM + count - 1.0;
        let spread = PRIOR_FREEDOM * scatter * scatter + squares;
        Self { shape, each, flat: 0.0, weight: -0.5 * freedom * spread.max(1e-12).ln() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(work: impl Fn(f64) -> f64, counts: &[u32]) -> Vec<Work> {
        counts.iter().map(|tiles| Work { tiles: *tiles, work: work(f64::from(*tiles)) }).collect()
    }

    /// Returns the tile counts up to which a further tile certainly, and possibly, adds enough
    /// work.
    fn ends(found: &Saturation) -> (u32, u32) {
        let most = |share: f64| {
            let adding = (1..1000).take_while(|tiles| found.chance_of_adding(*tiles) >= share);
            adding.last().unwrap_or(0)
        };
        (most(0.975), most(0.025))
    }

    #[test]
    fn two_lines_turn_where_they_meet() {
        let counts = [1, 2, 4, 8, 16, 20, 21, 24, 32, 64];
        let found = Saturation::of(&steps(|n| 7.0 * n.min(20.0), &counts), 0.005, 0.02);
        let (low, high) = ends(&found.expect("work"));
        assert!(low >= 19 && high <= 21, "{low} to {high}");
    }

    #[test]
    fn exponential_curve_is_flat_where_gain_drops_below_two_percent() {
        // 95 (1 - e^(-n/3)): one tile does 26.9, the twelfth adds 0.69, the thirteenth 0.49.
        let work = |n: f64| 95.0 * (1.0 - (-n / 3.0).exp());
        let counts = [1, 2, 4, 8, 10, 12, 14, 16, 32, 64];
        let found = Saturation::of(&steps(work, &counts), 0.01, 0.02).expect("work");
        let (low, high) = ends(&found);
        assert!(found.gain(8) > 0.02 && found.gain(20) < 0.02, "{}", found.gain(20));
        assert!(low <= 12 && (12..=20).contains(&high), "{low} to {high}");
    }

    #[test]
    fn work_that_falls_again_goes_flat_before_its_peak() {
        let work = |n: f64| n / (1.0 + n / 10.0).powi(2);
        let counts = [1, 2, 4, 6, 8, 10, 12, 16, 32];
        let (low, high) = ends(&Saturation::of(&steps(work, &counts), 0.01, 0.02).expect("work"));
        assert!(low >= 6 && high <= 11, "{low} to {high}");
    }

    #[test]
    fn work_that_only_grows_is_flat_nowhere_it_was_seen() {
        let found = Saturation::of(&steps(|n| n, &[1, 2, 4, 8, 16]), 0.03, 0.02).expect("work");
        assert!(found.chance_of_adding(16) > 0.9, "{}", found.chance_of_adding(16));
        assert!(found.disagreement(64) > 10.0 * found.disagreement(4));
    }

    #[test]
    fn no_work_is_no_curve() {
        assert!(Saturation::of(&[], 0.03, 0.02).is_none());
        assert!(Saturation::of(&[Work { tiles: 3, work: 0.0 }], 0.03, 0.02).is_none());
    }
}
