use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MapItem, SizeRow};

/// `moment`: what happened at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// A sentence about it.
    pub sentence: String,
    /// Its begin, nanoseconds on the run's axis.
    pub at_ns: u64,
    /// Its length.
    pub width_ns: u64,
    /// By direction and class of sizes.
    pub sizes: Vec<SizeRow>,
    /// At most ten, the longest waiting first.
    pub top: Vec<MapItem>,
    /// Edges of the buckets below, nanoseconds, one more than buckets.
    pub edges_ns: Vec<u64>,
    /// I/Os by service time in this moment.
    pub counts: Vec<u64>,
    /// The same as shares of all I/Os of the moment, 0 to 1.
    pub shares: Vec<f64>,
    /// I/Os by service time in the whole lens.
    pub counts_of_all: Vec<u64>,
    /// The same as shares of all I/Os in the lens, 0 to 1.
    pub shares_of_all: Vec<f64>,
    /// What happened around it.
    pub events: Vec<MomentEvent>,
    /// The next spike before it: a local maximum of p99.
    pub previous_spike_ns: Option<u64>,
    /// The next spike after it.
    pub next_spike_ns: Option<u64>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MomentEvent {
    /// When, nanoseconds on the run's axis.
    pub at_ns: u64,
    /// What kind.
    pub kind: String,
    /// In words.
    pub text: String,
}
