//! Resolved plans, in which every value is known, with its origin.

mod climb;
pub(crate) mod endpoints;
mod ladder;
mod layer;
mod output;
mod periods;
mod profile;
mod resolve;
#[cfg(test)]
mod settings_page;
#[cfg(test)]
mod tests;
mod traces;

pub(crate) use ladder::ladder_options;
pub use layer::{Layer, Origins};
pub(crate) use periods::longest_period;
pub use periods::{whole_periods, workloads_of};
pub use profile::{ProfileValues, profile_values, simulated_values};
pub use resolve::{
    ARRAY_PREFIX, ResolvedPlan, Surroundings, modelled_events, resolve, resolve_simulated,
};
pub use run_store::run::Origin;
pub(crate) use traces::{store_tile, with_traces};

pub use crate::error::PlanError;
