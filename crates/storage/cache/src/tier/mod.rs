//! Acceleration tier: fast pages in front of a slow backing store, as a plain calculation.
//!
//! A tier belongs to one host, or is spread over hosts as in FVP: every host gives a share of fast
//! memory to the virtual machines that run on it, and peers keep copies of dirty data. The tier of
//! one host is the same with one share and no peers. This module models published designs, whose
//! dirty pages stay in the cache until they are destaged. The tier that Tilemark serves is a
//! separate state machine.

mod config;
mod copies;
mod counters;
mod destage;
mod failure;
mod promotion;
mod read;
mod scan;
mod share;
mod step;
mod vm;
mod work;
mod write;

pub use config::{Admission, Config, ConfigError};
pub use counters::Counters;
pub use promotion::Promotion;
pub use step::{Access, Data, Entry, HostId, Step, StepDevice, VmId, Wait};
pub use vm::{Population, VmSettings, WriteMode};
pub use work::Tier;
