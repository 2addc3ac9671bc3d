use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Figure;

/// How the load generator itself fared: the measurement's alibi.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorHealth {
    /// 99th percentile of how late due work was handled, in nanoseconds; null if nothing
    /// was due.
    pub lateness_p99_ns: Option<u64>,
    /// The longest lateness, in nanoseconds.
    #[serde(default)]
    pub lateness_max_ns: Option<u64>,
    /// Busiest worker thread's CPU time as a share of the measured time, 0 to 1.
    pub worker_cpu_max: Figure,
    /// User-mode CPU time of the whole process per finished I/O, in microseconds, over the
    /// step with its warm-up.
    pub cpu_user_us_per_io: Figure,
    /// The same in the kernel, its helper threads for this process included.
    pub cpu_system_us_per_io: Figure,
    /// Requests that waited for a free slot of the generator itself.
    pub queued: u64,
    /// Mean number of I/Os in flight.
    pub in_flight_mean: Figure,
    /// Whether the generator, not the storage, was the limit.
    pub saturated: bool,
    /// What showed that it was saturated; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
