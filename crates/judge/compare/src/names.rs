//! Stable names of figures.

use run_store::gauge::Gauge;
use run_store::run::PooledLimit;
use run_store::slice::Direction;

/// Returns the key of a limit: `limit/shop/order/p95`.
pub(crate) fn limit_key(pooled: &PooledLimit) -> String {
    format!("limit/{}/{}/{}", pooled.workload, pooled.result.name, pooled.result.statistic)
}

/// Returns the name of a gauge: `gauge/device.busy/sda`.
pub(crate) fn gauge_name(gauge: &Gauge) -> String {
    format!("gauge/{}/{}", gauge.name.name(), gauge.scope)
}

/// Returns the name of a workload's work: `workload/shop`.
pub(crate) fn work_name(workload: &str) -> String {
    format!("workload/{workload}")
}

/// Returns the name of a kind of call: `call/http-get/get`.
pub(crate) fn call_name(workload: &str, kind: &str) -> String {
    format!("call/{workload}/{kind}")
}

/// Returns the name of a latency: `read/p99`.
pub(crate) fn latency_name(direction: Direction, statistic: &str) -> String {
    format!("{}/{statistic}", direction.name())
}
