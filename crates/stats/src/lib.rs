//! Statistics of runs: histograms, percentiles with intervals, steady state, rank tests,
//! bootstrap and capacity laws.
//!
//! What it does: everything a verdict needs, as plain functions and one histogram type.
//!
//! What it refuses: I/O, clocks, global randomness (resampling takes a seed), averaging
//! percentiles (histograms merge, percentiles do not).
//!
//! Invariants: merging histograms and then asking is the same as recording everything into
//! one; every estimate that has an interval returns it; too few samples is an answer of
//! its own, not a number.
#![forbid(unsafe_code)]

mod blocks;
mod bootstrap;
mod capacity;
mod edge;
mod hdr;
mod histogram;
mod interval;
mod layout;
mod levels;
mod nearest;
mod packed;
mod percentile;
pub mod queueing;
mod rank;
mod saturation;
mod steady;
mod summary;
mod usl;

pub use blocks::{error_of_rate, mean_of_blocks, percentile_of_blocks, probability_beyond};
pub use bootstrap::{Method, Resampling, bootstrap, bootstrap_two};
pub use capacity::{ClosedSystem, LITTLE_TOLERANCE, LittleCheck, Operation, Solution, utilisation};
pub use edge::{EdgeEstimate, EdgeModel, Trial};
pub use hdr::HistogramError;
pub use histogram::{Compact, Histogram, RELATIVE_PRECISION};
pub use interval::{Interval, Tally, mean_interval, pass_probability};
pub use levels::{PRIOR_FREEDOM, RatioOfRuns, Repeat, deviation_of_repeats, ratio_of_runs};
pub use nearest::nearest_rank;
pub use packed::Packed;
pub use percentile::{PercentileEstimate, RankInterval, enough_samples, percentile_ranks};
pub use rank::{MannWhitney, Shift, mann_whitney, ratio_shift, shift};
pub use saturation::{Saturation, Work};
pub use steady::{
    Agreement, REPEAT_CHANGE_MAX, SteadyRule, WindowCheck, first_steady_of_all,
    least_squares_slope, mser5, mser5_of_all, repeats_agree,
};
pub use summary::{
    OUTLIER_SCORE, geometric_mean, mean, median, median_absolute_deviation, modified_z_scores,
    outliers, stdev,
};
pub use usl::{LoadPoint, ScalabilityLaw};
