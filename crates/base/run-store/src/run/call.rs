use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state_machine::CallError;
use units::print::whole;

use super::Latency;

/// All calls of one kind of one workload in the measured time, over all tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallTotal {
    /// The workload.
    pub workload: String,
    /// The kind, as the workload names it; it has one endpoint.
    pub kind: String,
    /// Calls that were answered well.
    pub count: u64,
    /// Why calls failed, and how many; empty if none did. They have no latency.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<CallErrors>,
    /// Bytes of good answers.
    pub bytes: u64,
    /// Answered well, per second.
    pub calls_per_s: f64,
    /// Made to answered.
    pub service: Latency,
    /// Intended start to answered.
    pub response: Latency,
}

/// Calls that failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallErrors {
    /// `refused`, `timed-out`, `closed`, `status` or `protocol`.
    pub error: String,
    /// How many.
    pub count: u64,
}

impl CallErrors {
    /// `720 refused, 80 status`, or `none`.
    pub fn told(all: &[Self]) -> String {
        let each: Vec<String> =
            all.iter().map(|own| format!("{} {}", whole(own.count), own.error)).collect();
        if each.is_empty() { "none".to_owned() } else { each.join(", ") }
    }

    /// The classes that happened, in the order of `CallError::ALL`.
    pub fn of(counts: &[u64; CallError::ALL.len()]) -> Vec<Self> {
        let each = CallError::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
        each.map(|(error, count)| Self { error: error.name().to_owned(), count: *count }).collect()
    }
}
