//! Ratio of two groups of runs. Each run has repeats, and each repeat has blocks of time.
//!
//! Values are logarithms. The error of a group's mean has three levels: blocks within a repeat,
//! repeats within a run, and runs (Kalibera and Jones 2013, "Rigorous benchmarking in reasonable
//! time", ISMM, sections 5 and 6). These are the levels of a hierarchical bootstrap (Davison and
//! Hinkley 1997, section 3.8), which cannot resample one or two runs.
//!
//! The observed difference between few runs is combined with a prior, as variances are moderated in
//! Smyth 2004, "Linear models and empirical Bayes methods", SAGMB 3(1), section 4. The prior is a
//! stated minimum difference; it counts like [`PRIOR_FREEDOM`] degrees of freedom of observation.

use statrs::distribution::{ContinuousCDF, StudentsT};
use units::Ratio;

use crate::interval::Interval;
use crate::summary::mean;

/// Weight of the stated difference between runs, in degrees of freedom. We chose it with the
/// simulated pairs of `bench`. With a lower weight, single runs decide nothing. With a higher
/// weight, runs that differ by twice the stated difference are found significant too often.
pub const PRIOR_FREEDOM: f64 = 4.0;

/// Returns the standard deviation of single results, if pairs of them differ by at most `change` in
/// 95 % of cases. It is `change / (1.96 * sqrt(2))`, the repeatability limit of ISO 5725-6:1994,
/// section 4.1.
pub fn deviation_of_repeats(change: f64) -> f64 {
    change / (1.96 * std::f64::consts::SQRT_2)
}

/// One repeat of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeat {
    /// Logarithm of the measured value.
    pub value: f64,
    /// Standard error of `value`, from blocks within the repeat; `None` if unknown.
    pub error: Option<f64>,
}

/// Ratio of one group of runs to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioOfRuns {
    /// Difference of the logarithms, with its confidence interval.
    pub log: Interval,
    /// Two-sided probability that a difference this large arises by chance.
    pub p: f64,
}

/// Returns the sum of squared deviations from each group's mean, and the degrees of freedom.
fn squares<'a>(groups: impl Iterator<Item = &'a [f64]>) -> (f64, f64) {
    groups.fold((0.0, 0.0), |(sum, freedom), group| {
        let centre = mean(group).unwrap_or(0.0);
        let squares: f64 = group.iter().map(|value| (value - centre).powi(2)).sum();
        (sum + squares, freedom + group.len().saturating_sub(1) as f64)
    })
}

/// Returns the variance of a run's mean that blocks and repeats within runs explain, and the
/// degrees of freedom of the repeats. `None` if neither blocks nor repeats give a variance.
fn within(runs: &[&Vec<Repeat>]) -> Option<(f64, f64)> {
    let values: Vec<Vec<f64>> =
        runs.iter().map(|run| run.iter().map(|repeat| repeat.value).collect()).collect();
    let (sum, freedom) = squares(values.iter().map(Vec::as_slice));
    let repeats = (freedom > 0.0).then(|| sum / freedom);
    let errors: Option<Vec<f64>> =
        runs.iter().flat_map(|run| run.iter()).map(|repeat| repeat.error).collect();
    let blocks = errors.and_then(|all| mean(&all.iter().map(|e| e * e).collect::<Vec<_>>()));
    // Repeats that agree by chance are not more precise than their blocks.
    let each = match (repeats, blocks) {
        (Some(repeats), Some(blocks)) => repeats.max(blocks),
        (Some(known), None) | (None, Some(known)) => known,
        (None, None) => return None,
    };
    let shares: Vec<f64> = runs.iter().map(|run| 1.0 / run.len() as f64).collect();
    Some((each * mean(&shares)?, freedom))
}

/// Estimates the ratio of `second` to `first`; each is a list of runs with their repeats. Equal
/// runs are assumed to differ by a standard deviation of at least `between`. `None` if a group is
/// empty, at a confidence of 100 %, or if neither runs, nor repeats, nor blocks give a precision.
pub fn ratio_of_runs(
    first: &[Vec<Repeat>],
    second: &[Vec<Repeat>],
    between: f64,
    confidence: Ratio,
) -> Option<RatioOfRuns> {
    let means = |runs: &[Vec<Repeat>]| -> Option<Vec<f64>> {
        runs.iter().map(|run| mean(&run.iter().map(|r| r.value).collect::<Vec<_>>())).collect()
    };
    let (a, b) = (means(first)?, means(second)?);
    let value = mean(&b)? - mean(&a)?;
    let (sum, freedom) = squares([a.as_slice(), b.as_slice()].into_iter());
    let all: Vec<&Vec<Repeat>> = first.iter().chain(second).collect();
    let (inside, freedom_inside) = match within(&all) {
        Some(found) => found,
        None if freedom > 0.0 => (0.0, 0.0),
        None => return None,
    };
    let stated = between * between + inside;
    let run = (PRIOR_FREEDOM * stated + sum) / (PRIOR_FREEDOM + freedom);
    let error = (run.max(inside) * (1.0 / a.len() as f64 + 1.0 / b.len() as f64)).sqrt();
    if confidence >= Ratio::ONE || !error.is_finite() {
        return None;
    }
    let freedom = PRIOR_FREEDOM + freedom + freedom_inside;
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let half = student.inverse_cdf(1.0 - (1.0 - confidence.get()) / 2.0) * error;
    let p = if value == 0.0 { 1.0 } else { 2.0 * student.cdf(-value.abs() / error) };
    Some(RatioOfRuns { log: Interval { value, low: value - half, high: value + half }, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p95() -> Ratio {
        Ratio::new(0.95)
    }

    fn run(values: &[f64], error: Option<f64>) -> Vec<Repeat> {
        values.iter().map(|value| Repeat { value: *value, error }).collect()
    }

    fn half(found: &RatioOfRuns) -> f64 {
        found.log.high - found.log.value
    }

    #[test]
    fn single_runs_use_block_error_and_assumed_run_deviation() {
        let between = deviation_of_repeats(0.03);
        assert!((between - 0.010_82).abs() < 1e-5);
        let (a, b) = (run(&[0.0], Some(0.01)), run(&[0.2], Some(0.01)));
        let found = ratio_of_runs(&[a], &[b], between, p95()).expect("blocks");
        // t(4) at 97.5 % is 2.776.
        let error = (2.0 * (between * between + 1e-4)).sqrt();
        assert!((half(&found) - 2.7764 * error).abs() < 1e-5, "{found:?}");
        assert!((found.log.value - 0.2).abs() < 1e-12 && found.p < 0.01);
    }

    #[test]
    fn nothing_that_says_how_sure_a_value_is_is_no_interval() {
        let one = run(&[0.0], None);
        assert_eq!(
            ratio_of_runs(std::slice::from_ref(&one), std::slice::from_ref(&one), 0.01, p95()),
            None
        );
        assert_eq!(ratio_of_runs(&[], &[one], 0.01, p95()), None);
    }

    #[test]
    fn repeats_of_one_run_do_not_make_up_for_other_runs() {
        let many = run(&[0.0; 50], Some(0.0));
        let found =
            ratio_of_runs(std::slice::from_ref(&many), std::slice::from_ref(&many), 0.01, p95())
                .expect("repeats");
        assert!(half(&found) > 0.02, "{found:?}");
        let runs = vec![run(&[0.0], Some(0.0)); 50];
        let more = ratio_of_runs(&runs, &runs, 0.01, p95()).expect("runs");
        assert!(half(&more) < 0.002, "{more:?}");
    }

    #[test]
    fn repeats_that_agree_by_luck_are_not_surer_than_their_blocks() {
        let lucky = run(&[0.0, 0.0, 0.0], Some(0.3));
        let found =
            ratio_of_runs(std::slice::from_ref(&lucky), std::slice::from_ref(&lucky), 0.0, p95())
                .expect("repeats");
        assert!(half(&found) > 0.3, "{found:?}");
    }

    #[test]
    fn runs_that_differ_more_than_is_stated_say_so() {
        let apart: Vec<_> = [-0.5, 0.5, -0.5, 0.5].iter().map(|v| run(&[*v], None)).collect();
        let found = ratio_of_runs(&apart, &apart, 0.01, p95()).expect("runs");
        assert!(half(&found) > 0.5, "{found:?}");
    }
}
