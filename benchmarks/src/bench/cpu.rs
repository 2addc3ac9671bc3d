//! CPU time of this thread, so that other work on the host changes a figure less.

use std::sync::OnceLock;
use std::time::Instant;

/// Returns the CPU time of this thread so far: the first number of its `schedstat`, in nanoseconds.
/// If the kernel does not provide it, returns the wall-clock time since an arbitrary start.
pub(super) fn cpu_seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match account.split(' ').next().map(str::parse::<f64>) {
        Some(Ok(nanoseconds)) if nanoseconds > 0.0 => nanoseconds / 1e9,
        _ => START.get_or_init(Instant::now).elapsed().as_secs_f64(),
    }
}
