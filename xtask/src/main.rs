//! The project's own checks and benchmarks.
fn main() {}
