//! Results of a run: the slices that the driver reports during the run, the series made of them,
//! the run directory and the schemas of its files.
//!
//! Function: defines [`slice::Slice`] (one time slice of a running load, as engine and simulator
//! report it), stores slices as Parquet, writes and reads the run directory.
//!
//! Left out: judging (limits, verdicts and scores belong to `bench`), drawing, and deleting of
//! files that it did not create.
//!
//! Invariants: histograms are stored whole, so any two rows can be merged. A run directory is
//! `*.partial` until it is complete. A reader accepts every file of its major version.
#![forbid(unsafe_code)]

mod device_number;
pub mod env;
pub mod export;
pub mod files;
pub mod gauge;
mod hdr_v2;
pub mod metrics;
pub mod openmetrics;
mod quantile;
pub mod recorder;
pub mod rollup;
pub mod run;
pub mod rundir;
pub mod series;
pub mod slice;
