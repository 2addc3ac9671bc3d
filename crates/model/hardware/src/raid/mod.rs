//! Models RAID sets: one job becomes child jobs on the members, and completes with the last of
//! them.

mod layout;
mod model;

pub use layout::{RaidLevel, RaidParameters};
pub use model::Raid;
