//! Makes rows from sums.

mod build;
mod matrix;
mod rows;
mod storage;
mod time;

pub use build::{Options, analyse};
