use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Run queues of threads. A virtual CPU prefers the thread on which it ran last. Virtual CPUs of a
/// VM that are too far ahead of a sibling wait for it. The defaults are those of ESXi 6.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ThreadQueues {
    /// Number of other threads that are examined before a virtual CPU moves (default 4).
    #[serde(default = "search")]
    pub search: u32,
    /// Interval at which a thread takes a virtual CPU from a longer queue (default 20 ms), above 0.
    #[serde(default = "rebalance")]
    pub rebalance: Nanos,
    /// Lead over the slowest sibling at which a virtual CPU stops (default 3 ms; 0 for never).
    #[serde(default = "co_stop")]
    pub co_stop: Nanos,
    /// Lead up to which a stopped virtual CPU runs again (default 2 ms), at most `co-stop`.
    #[serde(default = "co_start")]
    pub co_start: Nanos,
    /// Interval at which leads are compared (default 1 ms), above 0.
    #[serde(default = "check")]
    pub check: Nanos,
}

const fn search() -> u32 {
    4
}

const fn rebalance() -> Nanos {
    Nanos::from_millis(20)
}

const fn co_stop() -> Nanos {
    Nanos::from_millis(3)
}

const fn co_start() -> Nanos {
    Nanos::from_millis(2)
}

const fn check() -> Nanos {
    Nanos::from_millis(1)
}
