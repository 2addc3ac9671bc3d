//! CPU time of this thread, so that other work on the host takes less from a figure.

use std::sync::OnceLock;
use std::time::Instant;

/// CPU time of this thread so far: the first number of its `schedstat`, nanoseconds. Where the
/// kernel does not keep it, the time of day's distance from an arbitrary start.
pub(super) fn cpu_seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match account.split(' ').next().map(str::parse::<f64>) {
        Some(Ok(nanoseconds)) if nanoseconds > 0.0 => nanoseconds / 1e9,
        _ => START.get_or_init(Instant::now).elapsed().as_secs_f64(),
    }
}
