use run_store::slice::GeneratorRow;
use units::Nanos;

/// Counters since the start, and counters of the current slice.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) submitted: u64,
    pub(crate) completed: u64,
    pub(crate) slice_submitted: u64,
    pub(crate) slice_completed: u64,
    pub(crate) queued: u64,
    pub(crate) away: Nanos,
    /// Sum over time of the requests in flight, in request-nanoseconds of this slice, up to
    /// `counted_until`.
    pub(crate) in_flight_ns: u128,
    counted_until: Nanos,
    pub(crate) in_flight: u64,
}

/// Minimum delay that counts as an absence: the worker was stopped, or blocked in the kernel. Our
/// choice: many times the time slice of other threads on a busy processor, and longer than a
/// submission waits for a full queue of a slow disk. The percentiles of lateness show shorter
/// delays.
const AWAY_MIN: Nanos = Nanos::from_millis(50);

impl Counts {
    /// Counts the time from `from` to `to` as an absence of the worker if it is at least
    /// [`AWAY_MIN`].
    #[inline]
    pub(crate) fn note_absence(&mut self, from: Nanos, to: Nanos) {
        let absent = to.saturating_sub(from);
        if absent >= AWAY_MIN {
            self.away = self.away.saturating_add(absent);
        }
    }

    #[inline]
    pub(crate) fn pass_time(&mut self, until: Nanos) {
        let span = until.saturating_sub(self.counted_until);
        self.in_flight_ns += u128::from(self.in_flight) * u128::from(span.0);
        self.counted_until = self.counted_until.max(until);
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio for Little's law")]
    pub(crate) fn row(&mut self, worker_cpu: f64) -> GeneratorRow {
        GeneratorRow {
            submitted: std::mem::take(&mut self.slice_submitted),
            completed: std::mem::take(&mut self.slice_completed),
            in_flight: self.in_flight,
            in_flight_seconds: std::mem::take(&mut self.in_flight_ns) as f64 / 1e9,
            queued: std::mem::take(&mut self.queued),
            worker_cpu: vec![worker_cpu],
            away: std::mem::take(&mut self.away),
            ..GeneratorRow::default()
        }
    }
}
