//! An acceleration tier: fast pages in front of a slow backing store, as a plain calculation.
//!
//! One host's tier, or one spread over hosts as FVP has it: every host gives a share of fast
//! memory to the virtual machines that run on it, and peers keep copies of what is not yet in
//! the store. The tier of one host is the same thing with one share and no peers. It is the published
//! kind, whose dirty pages wait where they are; the tier that Tilemark serves is a state machine of its own.

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
