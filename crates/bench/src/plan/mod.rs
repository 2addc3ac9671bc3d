//! Plans, resolved: every value known, and where it came from.

mod climb;
pub(crate) mod endpoints;
mod error;
mod layer;
mod output;
mod periods;
mod profile;
mod resolve;
mod setting;
#[cfg(test)]
mod tests;

pub use error::PlanError;
pub use layer::{Layer, Values};
pub(crate) use periods::longest_period;
pub use periods::{whole_periods, workloads_of};
pub use profile::{ProfileValues, profile_values, simulated_values};
pub use record::run::Origin;
pub use resolve::{ResolvedPlan, Surroundings, resolve, resolve_simulated};
pub use setting::Setting;
