//! Fits a workload to the observed I/O of one VM, and measures its distances from the trace.
//!
//! It keeps one VM's I/O, and derives disks, streams, places, sizes and arrivals from it. It writes
//! them as a workload, runs the workload in virtual time and compares its I/O with the observed
//! I/O.
//!
//! It refuses more than one VM, and fewer than 1,000 I/Os. It never calls a distance small without
//! computing it.
//!
//! Invariants: the same records and seed give the same file; at most the first two million records
//! are kept.
#![forbid(unsafe_code)]

mod arrival;
mod assemble;
mod bursts;
mod compare;
mod dependence;
mod dialogue;
mod document;
mod error;
mod fio;
mod gaps;
mod gather;
mod generate;
mod load;
mod model;
mod phases;
mod place;
mod sizes;
mod text;
mod toml;
mod waits;

pub use assemble::{Fitted, fit};
pub use dependence::{Dependence, DependenceRow};
pub use document::{
    CurveDistance, Decision, Distance, FIT_SCHEMA, FitReport, PhaseRow, Share, fit_json_schema,
};
pub use error::FitError;
pub use fio::{FioError, FromFio, LeftOut, Note, workload_of};
pub use gather::{IoSelection, Observed, gather};
pub use generate::{Storage, generate};
pub use text::fit_text;
