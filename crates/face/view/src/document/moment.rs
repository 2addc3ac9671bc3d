use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MapItem, SizeRow};

/// View `moment`: the run at one point in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// Summary in one sentence.
    pub sentence: String,
    /// Begin on the run's axis, nanoseconds.
    pub at_ns: u64,
    /// Length of the moment, nanoseconds.
    pub width_ns: u64,
    /// I/O by direction and size class.
    pub sizes: Vec<SizeRow>,
    /// Workloads that wait most, sorted by waiting time, at most ten.
    pub top: Vec<MapItem>,
    /// Boundaries of the buckets below, nanoseconds; one more than buckets.
    pub edges_ns: Vec<u64>,
    /// Number of I/Os by service time in this moment.
    pub counts: Vec<u64>,
    /// Share of the moment's I/Os by service time, 0 to 1.
    pub shares: Vec<f64>,
    /// Number of I/Os by service time in the whole lens.
    pub counts_of_all: Vec<u64>,
    /// Share of the lens's I/Os by service time, 0 to 1.
    pub shares_of_all: Vec<f64>,
    /// Events around the moment.
    pub events: Vec<MomentEvent>,
    /// Time of the previous spike: a local maximum of p99 before the moment.
    pub previous_spike_ns: Option<u64>,
    /// Time of the next spike: a local maximum of p99 after the moment.
    pub next_spike_ns: Option<u64>,
}

/// Event of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MomentEvent {
    /// Time on the run's axis, nanoseconds.
    pub at_ns: u64,
    /// Kind of the event.
    pub kind: String,
    /// Event in words.
    pub text: String,
}
