//! From sums to rows.

mod build;
mod matrix;
mod rows;
mod storage;
mod time;

pub(crate) use build::{ALL, COARSE, Material};
pub use build::{Options, Subject, View, analyse};
pub(crate) use matrix::ENOUGH;
