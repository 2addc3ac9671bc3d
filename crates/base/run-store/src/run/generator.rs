use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Figure;

/// State of the load generator during a step. It is evidence that the generator was not the
/// bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorHealth {
    /// 99th percentile of the lateness of due work, in nanoseconds; null if nothing was due.
    pub lateness_p99_ns: Option<u64>,
    /// Maximum lateness of due work, in nanoseconds; null if nothing was due.
    #[serde(default)]
    pub lateness_max_ns: Option<u64>,
    /// CPU time of the busiest worker thread as a share of the measured time, 0 to 1.
    pub worker_cpu_max: Figure,
    /// User-mode CPU time of the whole process per completed I/O, in microseconds, over the step
    /// including its warm-up.
    pub cpu_user_us_per_io: Figure,
    /// Kernel-mode CPU time per completed I/O, in microseconds, over the step including its
    /// warm-up. It covers the process and its kernel helper threads.
    pub cpu_system_us_per_io: Figure,
    /// Number of requests that waited for a free slot of the generator itself.
    pub queued: u64,
    /// Mean number of I/Os in flight.
    pub in_flight_mean: Figure,
    /// True if the generator, not the storage, was the bottleneck.
    pub saturated: bool,
    /// Evidence of the saturation; absent if it was not saturated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
