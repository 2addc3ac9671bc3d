//! What a run leaves behind: the slices the driver reports while it runs, the series they
//! become, the run directory and the schemas of its files.
//!
//! What it does: defines [`slice::Slice`] (one time slice of a running load, as engine and
//! simulator report it), stores slices as Parquet, writes and reads the run directory.
//!
//! What it refuses: judging (limits, verdicts and scores are `bench`'s), drawing, deleting
//! anything it did not create.
//!
//! Invariants: histograms are stored whole, so any two rows merge; a run directory is
//! `*.partial` until it is complete; a reader accepts every file of its major version.
#![forbid(unsafe_code)]

mod device_number;
pub mod env;
pub mod export;
pub mod files;
pub mod gauge;
mod hdr_v2;
pub mod openmetrics;
mod quantile;
pub mod recorder;
pub mod rollup;
pub mod run;
pub mod rundir;
pub mod series;
pub mod slice;
