//! A workload of our language that does what one VM was seen to do, and how near it comes.

mod assemble;
mod bursts;
mod compare;
mod document;
mod error;
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
pub use gather::{Observed, Wanted, gather};
pub use generate::{Storage, generate};
pub use text::fit_text;
