//! Stable names of figures.

use run_store::gauge::Gauge;
use run_store::run::PooledLimit;
use run_store::slice::Direction;

/// `limit/shop/order/p95`.
pub(crate) fn limit_key(pooled: &PooledLimit) -> String {
    format!("limit/{}/{}/{}", pooled.workload, pooled.result.name, pooled.result.statistic)
}

/// `gauge/device.busy/sda`.
pub(crate) fn gauge_name(gauge: &Gauge) -> String {
    format!("gauge/{}/{}", gauge.name.name(), gauge.scope)
}

/// `workload/shop`.
pub(crate) fn work_name(workload: &str) -> String {
    format!("workload/{workload}")
}

/// `call/http-get/get`.
pub(crate) fn call_name(workload: &str, kind: &str) -> String {
    format!("call/{workload}/{kind}")
}

/// `read/p99`.
pub(crate) fn latency_name(direction: Direction, statistic: &str) -> String {
    format!("{}/{statistic}", direction.name())
}
