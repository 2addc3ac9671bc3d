use cache::tier::{Access, Counters, Entry, Step, StepDevice};

/// Pages and logs of a tier, without timing. Warming fills them; plants with the same tiers can
/// copy them.
pub trait Content {
    /// Returns the counters since measured time began.
    fn counters(&self) -> Counters;

    /// Returns the capacity in bytes, including logs.
    fn capacity_bytes(&self) -> u64;

    /// Returns the bytes of resident pages.
    fn resident_bytes(&self) -> u64;

    /// Returns the dirty bytes, which are only in the tier.
    fn dirty_bytes(&self) -> u64;

    /// Prefetches into the CPU's caches the memory that accesses at these offsets will read.
    /// Changes nothing.
    fn look_ahead(&self, _offsets: &[u64]) {}

    /// Applies the change that an access would make to the tier in a timed run.
    fn feed(&mut self, access: &Access, entry: Entry, fed: &mut Fed);

    /// Begins measured time: sets counters to zero, and reduces the backlog to at most that of a
    /// tier under load.
    fn settle(&mut self);
}

/// Steps and backing accesses that one access causes. Reused, so that no access allocates memory.
#[derive(Debug, Default)]
pub struct Fed {
    steps: Vec<Step>,
    /// Accesses that reached the storage behind the tier.
    pub behind: Vec<Access>,
}

impl Content for cache::Tier {
    fn counters(&self) -> Counters {
        self.counters()
    }

    fn capacity_bytes(&self) -> u64 {
        self.config().capacity_bytes()
    }

    fn resident_bytes(&self) -> u64 {
        self.resident_bytes()
    }

    fn dirty_bytes(&self) -> u64 {
        self.dirty_bytes()
    }

    fn look_ahead(&self, offsets: &[u64]) {
        self.look_ahead(offsets);
    }

    fn feed(&mut self, access: &Access, entry: Entry, fed: &mut Fed) {
        let Fed { steps, behind } = fed;
        steps.clear();
        self.access_while(access, entry, steps);
        if self.config().log_percent > 0 {
            // Dirty pages are destaged at once, so that room for copies never ends.
            let host = self.settings_of(access.vm).host;
            self.clean(host, usize::MAX, steps);
        }
        let reaching = steps.iter().filter(|step| step.place == StepDevice::Backing);
        behind.extend(reaching.map(|step| {
            let Step { operation, offset, length, .. } = *step;
            Access { vm: access.vm, operation, offset, length }
        }));
    }

    fn settle(&mut self) {
        self.settle();
    }
}
