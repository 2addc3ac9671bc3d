//! Traces made by rule, for benchmarks and tests: any length, the same for the same seed.

mod source;
mod vm;

pub use source::{Generator, Recipe};
