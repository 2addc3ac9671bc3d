//! A study: configurations of modelled storage, the tiles that run on them, and claims that are
//! compared with their results.
//!
//! A fitted value must never count as reproduced. Each claim states if it is an input, was used for
//! calibration, or is predicted. Only predicted claims count.

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
