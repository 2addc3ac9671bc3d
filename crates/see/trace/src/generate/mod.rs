//! Generates traces by rules, for benchmarks and tests. They can have any length, and are the same
//! for the same seed.

mod source;
mod vm;

pub use source::{Generator, Recipe};
