//! Statistics of runs: histograms, percentiles with intervals, steady state, rank tests and the
//! bootstrap.
//!
//! It has everything that a verdict needs, as plain functions and one histogram type.
//!
//! It has no I/O, clocks or global randomness (resampling takes a seed). It never averages
//! percentiles: histograms can be merged, percentiles cannot.
//!
//! Invariants:
//! - A query on merged histograms gives the same result as if everything had been recorded in one.
//! - Every estimate that has an interval returns it.
//! - Too few samples give a result of their own, not a number.
#![forbid(unsafe_code)]

mod blocks;
mod bootstrap;
mod compact;
mod edge;
mod histogram;
mod interval;
mod layout;
mod levels;
mod minimise;
mod nearest;
mod percentile;
mod rank;
mod saturation;
mod steady;
mod summary;

pub use blocks::{
    error_of_rate, mean_of_blocks, percentile_of_blocks, probability_beyond, share_of_blocks,
};
pub use bootstrap::{Resampling, bootstrap};
pub use compact::Compact;
pub use edge::{EdgeEstimate, EdgeModel, Trial};
pub use histogram::{Histogram, RELATIVE_PRECISION};
pub use interval::{Interval, mean_interval};
pub use levels::{PRIOR_FREEDOM, RatioOfRuns, Repeat, deviation_of_repeats, ratio_of_runs};
pub use minimise::{Minimum, minimise};
pub use nearest::nearest_rank;
pub use percentile::{PercentileEstimate, RankInterval, enough_samples, percentile_ranks};
pub use rank::{MannWhitney, Shift, mann_whitney, ratio_shift, shift};
pub use saturation::{Saturation, Work};
pub use steady::{Agreement, REPEAT_CHANGE_MAX, SteadyRule, WindowCheck, repeats_agree};
pub use summary::{geometric_mean, mean, median, stdev};
