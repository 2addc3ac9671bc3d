//! From sums to rows.

mod build;
mod matrix;
mod rows;
mod storage;
mod time;

pub(crate) use build::{ALL, Material};
pub use build::{COARSE, Options, Subject, View, analyse};
