use units::Nanos;

/// Counters of a component since the start, in the form that the operational laws need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Jobs answered or handed on.
    pub completed: u64,
    /// Bytes of the completed jobs.
    pub bytes: u64,
    /// Time for which servers were busy, summed over servers, in nanoseconds.
    pub busy_ns: u128,
    /// Time integral of the number of jobs inside, including waiting ones, in nanoseconds.
    pub inside_ns: u128,
    /// Number of servers of the component; zero for a component that only routes.
    pub servers: u32,
}

impl Usage {
    /// Returns the share of the servers' time that was busy, 0 to 1, over a run of this length.
    pub fn utilisation(&self, elapsed: Nanos) -> f64 {
        ratio(self.busy_ns, u128::from(elapsed.0) * u128::from(self.servers))
    }

    /// Returns the mean number of jobs inside over a run of this length.
    pub fn inside(&self, elapsed: Nanos) -> f64 {
        ratio(self.inside_ns, u128::from(elapsed.0))
    }

    /// Returns the mean time that a job spends inside, in seconds, by Little's law; zero without
    /// jobs.
    pub fn response(&self) -> f64 {
        ratio(self.inside_ns, u128::from(self.completed)) / 1e9
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of 10^-15 is lost")]
fn ratio(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Updates the counters of [`Usage`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Meter {
    usage: Usage,
    inside: u32,
    busy: u32,
    since: Nanos,
}

impl Meter {
    /// Makes an empty meter for this number of servers.
    pub fn new(servers: u32) -> Self {
        Self { usage: Usage { servers, ..Usage::default() }, ..Self::default() }
    }

    /// Counts a job that enters.
    #[inline]
    pub fn enter(&mut self, now: Nanos) {
        self.advance(now);
        self.inside += 1;
    }

    /// Counts a job that leaves, because it was answered or handed on.
    #[inline]
    pub fn leave(&mut self, now: Nanos, bytes: u32) {
        self.advance(now);
        self.inside -= 1;
        self.usage.completed += 1;
        self.usage.bytes += u64::from(bytes);
    }

    /// Counts a server as busy from now on.
    #[inline]
    pub fn start(&mut self, now: Nanos) {
        self.advance(now);
        self.busy += 1;
    }

    /// Counts a server as idle from now on.
    #[inline]
    pub fn stop(&mut self, now: Nanos) {
        self.advance(now);
        self.busy -= 1;
    }

    /// Returns the counters up to `now`.
    pub fn usage(&self, now: Nanos) -> Usage {
        let mut meter = *self;
        meter.advance(now);
        meter.usage
    }

    #[inline]
    fn advance(&mut self, now: Nanos) {
        let span = u128::from(now.saturating_sub(self.since).0);
        self.usage.inside_ns += span * u128::from(self.inside);
        self.usage.busy_ns += span * u128::from(self.busy);
        self.since = self.since.max(now);
    }
}
