use units::Bytes;

/// Speed over at least the last half second, or since the beginning if that is shorter ago.
pub(super) struct Speed {
    since_ns: i128,
    bytes: Bytes,
    last: f64,
    is_known: bool,
}

impl Speed {
    /// Starts to measure speed at this time of the monotonic clock.
    pub(super) const fn new(now_ns: i128) -> Self {
        Self { since_ns: now_ns, bytes: Bytes::ZERO, last: 0.0, is_known: false }
    }

    /// Returns the speed in bytes per second, if `done` bytes are done at this time.
    pub(super) fn at(&mut self, now_ns: i128, done: Bytes) -> f64 {
        let elapsed = now_ns - self.since_ns;
        if elapsed >= 500_000_000 {
            #[expect(clippy::cast_precision_loss, reason = "only shown")]
            let seconds = elapsed as f64 / 1e9;
            self.last = done.saturating_sub(self.bytes).as_f64() / seconds;
            (self.since_ns, self.bytes, self.is_known) = (now_ns, done, true);
        } else if !self.is_known && elapsed > 0 {
            #[expect(clippy::cast_precision_loss, reason = "only shown")]
            let seconds = elapsed as f64 / 1e9;
            return done.as_f64() / seconds;
        }
        self.last
    }
}
