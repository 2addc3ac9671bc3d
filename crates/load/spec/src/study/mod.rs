//! A study: configurations of modelled storage, the tiles they are tried with, and claims held
//! against what they do.
//!
//! What was fitted may never be counted as reproduced: each claim says of itself whether it
//! is an input, was calibrated to, or is predicted, and only the predicted ones are counted.

mod forms;
pub mod formula;
mod real;
mod types;

pub use forms::{Published, TileList};
pub use real::{Limits, RealConfiguration};
pub use types::{Claim, Configuration, Kind, Study, Table, Tolerance};

pub use crate::resolve::{
    File, Folder, ResolvedConfiguration, ResolvedReal, ResolvedStudy, resolve_study,
    resolve_study_text,
};
