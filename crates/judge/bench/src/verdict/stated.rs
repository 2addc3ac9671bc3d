//! Statistic and bound of a limit, from its definition.

use run_store::run::{LimitOn, Statistic};
use spec::workload::Limit;
use units::Nanos;

/// Returns the time that a limit allows.
pub(super) fn bound_of(limit: &Limit) -> Nanos {
    statistic_of(limit).1
}

pub(super) fn subject(limit: &Limit) -> (LimitOn, &str) {
    match (&limit.action, &limit.io, &limit.call) {
        (Some(action), ..) => (LimitOn::Action, action),
        (_, Some(kind), _) => (LimitOn::Io, kind),
        (.., Some(kind)) => (LimitOn::Call, kind),
        _ => unreachable!("a checked limit names an action or a kind of I/O or call"),
    }
}

pub(super) fn statistic_of(limit: &Limit) -> (Statistic, Nanos) {
    match (limit.percentile, limit.limit, limit.mean, limit.max) {
        (Some(p), Some(bound), ..) => (Statistic::Percentile(p), bound),
        (_, _, Some(bound), _) => (Statistic::Mean, bound),
        (_, _, _, Some(bound)) => (Statistic::Max, bound),
        _ => unreachable!("a checked limit has exactly one statistic"),
    }
}
