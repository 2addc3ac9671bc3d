use units::Nanos;

use super::parameters::SlcCache;

/// Free bytes of an SLC cache, updated when needed.
#[derive(Debug)]
pub struct SlcSpace {
    parameters: SlcCache,
    free: f64,
    /// Time since which nothing was written.
    idle_since: Nanos,
}

impl SlcSpace {
    pub fn new(parameters: SlcCache) -> Self {
        Self { free: parameters.size.as_f64(), parameters, idle_since: Nanos::ZERO }
    }

    /// Takes room for a page and returns true; if there is too little room, takes none and returns
    /// false.
    pub fn take(&mut self, now: Nanos, page: f64) -> bool {
        let idle = now.saturating_sub(self.idle_since).as_secs_f64();
        let size = self.parameters.size.as_f64();
        self.free = (self.free + idle * self.parameters.fold_rate).min(size);
        self.idle_since = now;
        if self.free < page {
            return false;
        }
        self.free -= page;
        true
    }

    /// Records that writing continued until now, so the cache was not emptied meanwhile.
    pub fn busy(&mut self, now: Nanos) {
        self.idle_since = now;
    }
}
