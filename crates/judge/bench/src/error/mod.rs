//! Errors of the parts of a run, and the error of a whole run.

mod absent;
mod bench;
mod failure;
mod plan;
mod reference;
mod replay;

pub(crate) use absent::Absent;
pub use bench::BenchError;
pub use failure::Failure;
pub use plan::PlanError;
pub use reference::ReferenceError;
pub use replay::ReplayError;
