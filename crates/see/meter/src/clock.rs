use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use units::Nanos;

/// Returns the present time on the monotonic clock, which loads and slices also use
/// (`CLOCK_MONOTONIC`).
pub fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    let whole = u64::try_from(now.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
    Nanos(whole.saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0)))
}

/// Converts a time of day to the monotonic clock. Also returns the distance from now, positive in
/// the past.
pub fn steady(wall_ns: i128) -> (Nanos, i128) {
    let (now, wall) = (monotonic(), Timestamp::now().as_nanosecond());
    let ago = wall - wall_ns;
    let at = i128::from(now.0) - ago;
    (Nanos(u64::try_from(at).unwrap_or(0)), ago)
}
