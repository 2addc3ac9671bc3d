use rustix::time::{ClockId, clock_gettime};
use units::Nanos;

/// Returns the time of this host's monotonic clock.
pub fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, nanos) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    Nanos(seconds.unwrap_or(0) * 1_000_000_000 + nanos.unwrap_or(0))
}

/// Offset of another host's monotonic clock, from the fastest of several probes. The other clock
/// reads this clock's time plus `ahead_ns`, with an error of at most half of that probe's round
/// trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// Other clock minus this clock, in nanoseconds.
    pub ahead_ns: i128,
    /// Round-trip time of the fastest probe.
    pub round_trip: Nanos,
}

impl ClockOffset {
    /// Computes the offset from a probe: this clock before and after, and the other clock in
    /// between.
    pub(crate) fn of(before: Nanos, theirs: Nanos, after: Nanos) -> Self {
        let middle = i128::midpoint(i128::from(before.0), i128::from(after.0));
        let ahead_ns = i128::from(theirs.0) - middle;
        Self { ahead_ns, round_trip: after.saturating_sub(before) }
    }

    /// Returns the maximum error of the offset.
    pub const fn uncertainty(self) -> Nanos {
        Nanos(self.round_trip.0.div_ceil(2))
    }

    /// Returns the time of the other clock when this clock has the given time.
    pub fn theirs(self, ours: Nanos) -> Nanos {
        let theirs = i128::from(ours.0) + self.ahead_ns;
        Nanos(u64::try_from(theirs.max(0)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_offset_error_stays_within_uncertainty() {
        for (there, back) in [(0, 900), (900, 0), (450, 450), (1, 2)] {
            for ahead in [-5_000_i128, 0, 1 << 40] {
                let before = Nanos(10_000);
                let theirs = i128::from(before.0) + there + ahead;
                let theirs = Nanos(u64::try_from(theirs).expect("positive"));
                let after = Nanos(before.0 + u64::try_from(there + back).expect("positive"));
                let found = ClockOffset::of(before, theirs, after);
                let error = (found.ahead_ns - ahead).unsigned_abs();
                assert!(error <= u128::from(found.uncertainty().0), "{found:?} of {ahead}");
            }
        }
    }
}
