//! A workload of our language that does what one VM was seen to do, and how near it comes.
//!
//! What it does: keeps one VM's I/O, finds in it disks, streams, places, sizes and how work arrives,
//! writes that as a workload, runs the workload in virtual time and holds what it did against what
//! was seen.
//!
//! What it refuses: more than one VM; fewer than 1,000 I/Os; naming a distance small that was not
//! computed.
//!
//! Invariants: the same records and seed give the same file; at most the first two million records
//! are kept.
#![forbid(unsafe_code)]

mod arrival;
mod assemble;
mod bursts;
mod compare;
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

pub use assemble::{Fitted, fit};
pub use document::{
    CurveDistance, Decision, Distance, FIT_SCHEMA, FitReport, PhaseRow, Share, fit_json_schema,
};
pub use error::FitError;
pub use fio::{FioError, FromFio, LeftOut, Note, workload_of};
pub use gather::{Observed, Wanted, gather};
pub use generate::{Storage, generate};
pub use text::fit_text;
