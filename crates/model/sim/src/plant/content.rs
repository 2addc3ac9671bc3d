use cache::tier::{Access, Counters, Entry, Place, Step};

/// What a tier holds, apart from time: filled by warming, and taken over by plants with the same tiers.
pub trait Content {
    /// What it did since measured time began.
    fn counters(&self) -> Counters;

    /// Bytes that it has room for, logs included.
    fn capacity_bytes(&self) -> u64;

    /// Bytes of pages that are there.
    fn resident_bytes(&self) -> u64;

    /// Bytes that only the tier has.
    fn dirty_bytes(&self) -> u64;

    /// Reads from memory what accesses at these offsets will need. Changes nothing.
    fn look_ahead(&self, _offsets: &[u64]) {}

    /// Lets an access take its way as it would with time.
    fn feed(&mut self, access: &Access, entry: Entry, fed: &mut Fed);

    /// Measured time begins: counters are zero, and no more waits for the storage behind than under load.
    fn settle(&mut self);
}

/// What an access led to; kept for its memory.
#[derive(Debug, Default)]
pub struct Fed {
    steps: Vec<Step>,
    /// What reached the storage behind the tier.
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
            // What is dirty reaches the store at once, so that room for copies never ends.
            let host = self.settings_of(access.vm).host;
            self.clean(host, usize::MAX, steps);
        }
        let reaching = steps.iter().filter(|step| step.place == Place::Backing);
        behind.extend(reaching.map(|step| {
            let Step { operation, offset, length, .. } = *step;
            Access { vm: access.vm, operation, offset, length }
        }));
    }

    fn settle(&mut self) {
        self.settle();
    }
}
