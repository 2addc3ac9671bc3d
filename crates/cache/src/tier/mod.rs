//! An acceleration tier: fast pages in front of a slow backing store, as a plain calculation.

mod config;
mod counters;
mod promotion;
mod scan;
mod step;
mod store;
mod vm;
mod work;

pub(crate) use scan::Scan;

pub use config::{Admission, Config, ConfigError, WriteMode};
pub use counters::Counters;
pub use step::{Access, Entry, Place, Step, VmId, Wait};
pub use vm::{Population, VmLimits};
pub use work::Tier;
