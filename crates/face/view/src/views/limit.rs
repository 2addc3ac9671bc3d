use analyze::{USUAL_LIMIT, USUAL_LIMIT_SOURCE};
use run_store::run::{LimitOn, PooledLimit};
use units::Nanos;

use crate::source::Source;

/// Returns the limit for 99th percentiles of I/O, with its source: the tightest limit on I/O of the
/// run, otherwise the usual limit.
pub(super) fn of(source: &Source) -> (Nanos, String) {
    match tightest(source) {
        Some(limit) => {
            (Nanos(limit.result.limit_ns), format!("the run's limit on {}", limit.name()))
        }
        None => (USUAL_LIMIT, format!("{USUAL_LIMIT_SOURCE}{}", judged_by(source))),
    }
}

/// Describes the run's own limits. Limits on actions are longer than limits on single I/Os, because
/// an action has many I/Os.
fn judged_by(source: &Source) -> String {
    let limits = source.steps().iter().flat_map(|step| &step.limits);
    let tightest = limits.min_by_key(|limit| limit.result.limit_ns);
    tightest.map_or_else(String::new, |limit| {
        format!(
            ", a guide for single I/Os; this run is judged by whole actions, such as {}: {}",
            limit.name(),
            Nanos(limit.result.limit_ns)
        )
    })
}

/// Returns the tightest limit on I/O of the run, if there is one.
pub(super) fn own(source: &Source) -> Option<Nanos> {
    tightest(source).map(|limit| Nanos(limit.result.limit_ns))
}

fn tightest(source: &Source) -> Option<&PooledLimit> {
    let limits = source.steps().iter().flat_map(|step| &step.limits);
    let of_io = limits.filter(|limit| limit.result.on == LimitOn::Io);
    of_io.min_by_key(|limit| limit.result.limit_ns)
}
