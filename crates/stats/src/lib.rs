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

mod hdr;
mod histogram;
mod layout;
mod percentile;

pub use hdr::HistogramError;
pub use histogram::{Compact, Histogram, RELATIVE_PRECISION};
pub use percentile::{
    PercentileEstimate, RankInterval, enough_samples, nearest_rank, percentile_ranks,
};
