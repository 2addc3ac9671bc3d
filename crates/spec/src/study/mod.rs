//! A study: configurations of modelled storage, the tiles they are tried with, and claims held
//! against what they do.
//!
//! What was fitted may never be counted as reproduced: each claim says of itself whether it
//! is an input, was calibrated to, or is predicted, and only the predicted ones are counted.

mod change;
mod folder;
mod forms;
pub mod formula;
mod real;
mod resolve;
mod types;

pub use folder::{File, Folder};
pub use forms::{Published, TileList};
pub use real::{Limits, RealConfiguration};
pub use resolve::{
    ResolvedConfiguration, ResolvedReal, ResolvedStudy, resolve_study, resolve_study_text,
};
pub use types::{Claim, Configuration, Kind, Study, Table, Tolerance};
