use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state_machine::CallError;
use units::print::whole;

use super::Latency;

/// All calls of one kind of one workload in the measured time, summed over all tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallTotal {
    /// Name of the workload.
    pub workload: String,
    /// Kind of call, as the workload names it. A kind has one endpoint.
    pub kind: String,
    /// Number of successful calls.
    pub count: u64,
    /// Failed calls by reason; empty if none failed. Failed calls have no latency.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<CallErrors>,
    /// Bytes of successful answers.
    pub bytes: u64,
    /// Successful calls per second.
    pub calls_per_s: f64,
    /// Service time: from the call to its answer.
    pub service: Latency,
    /// Response time: from the intended start to the answer.
    pub response: Latency,
}

/// Calls that failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallErrors {
    /// Reason: `refused`, `timed-out`, `closed`, `status` or `protocol`.
    pub error: String,
    /// Number of failed calls.
    pub count: u64,
}

impl CallErrors {
    /// Returns a text such as `720 refused, 80 status`, or `none`.
    pub fn told(all: &[Self]) -> String {
        let each: Vec<String> =
            all.iter().map(|own| format!("{} {}", whole(own.count), own.error)).collect();
        if each.is_empty() { "none".to_owned() } else { each.join(", ") }
    }

    /// Converts error counters to entries, in the order of `CallError::ALL`. Classes without errors
    /// are left out.
    pub fn of(counts: &[u64; CallError::ALL.len()]) -> Vec<Self> {
        let each = CallError::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
        each.map(|(error, count)| Self { error: error.name().to_owned(), count: *count }).collect()
    }
}
