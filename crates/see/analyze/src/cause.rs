//! Finds the cause of slowness: the part of the I/O whose share of waiting exceeds its share of
//! I/Os most.

use run_store::slice::SizeClass;

use crate::classes::{ClassShare, ENOUGH, SLOTS, ratio};

/// Minimum excess of a band's share of waiting over its share of I/Os. Our choice.
const GAIN_MIN: f64 = 0.1;
/// Minimum share of waiting of a named band. Our choice.
const SHARE_MIN: f64 = 0.3;
/// Minimum ratio of a band's share of waiting to its share of I/Os, to be out of proportion. Our
/// choice.
const TIMES_MIN: f64 = 2.0;
/// Minimum excess of the share of waiting, to be out of proportion. Our choice.
const TIMES_GAIN_MIN: f64 = 0.02;
/// Minimum share of a band's waiting for a workload to be named with the band. Our choice.
const WORKLOAD_MIN: f64 = 0.6;
/// Slot of flushes, the last one.
const FLUSHES: usize = SLOTS - 1;
/// Edges of the size classes, as text.
const EDGES: [&str; SizeClass::COUNT] =
    ["0", "4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB"];

/// Names the reads or writes of the classes `from..=to`: `writes of 64 KiB and above`.
pub fn sizes(direction: &str, from: usize, to: usize) -> String {
    match (from, to) {
        (0, 7) => format!("{direction}s"),
        (from, 7) => format!("{direction}s of {} and above", EDGES[from]),
        (0, to) => format!("{direction}s below {}", EDGES[to + 1]),
        (from, to) => format!("{direction}s of {} to below {}", EDGES[from], EDGES[to + 1]),
    }
}

/// Waiting and number of I/Os, by workload and size.
#[derive(Debug, Clone, Default)]
pub struct Waits {
    names: Vec<String>,
    wait: Vec<[u64; SLOTS]>,
    count: Vec<[u64; SLOTS]>,
}

/// Size classes of one direction, or the flushes: slots from `from` to `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Band {
    from: usize,
    to: usize,
}

/// Band with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// I/Os of the cause.
    pub band: Band,
    /// Share of all waiting, 0 to 1.
    pub share_of_wait: f64,
    /// Share of all I/Os, 0 to 1.
    pub share_of_count: f64,
    /// Number of I/Os in the band.
    pub count: u64,
    /// Workload with the largest share of the band's waiting, and that share, if there are several
    /// workloads.
    pub workload: Option<(String, f64)>,
}

impl Band {
    /// All reads.
    pub const READS: Self = Self { from: 0, to: 7 };
    /// All writes.
    pub const WRITES: Self = Self { from: 8, to: 15 };
    /// All flushes.
    pub(crate) const FLUSHES: Self = Self { from: FLUSHES, to: FLUSHES };

    /// Returns the name, such as `writes of 64 KiB and above`.
    pub fn name(self) -> String {
        match self.from {
            FLUSHES => "flushes".to_owned(),
            from if from < 8 => sizes("read", from, self.to),
            from => sizes("write", from - 8, self.to - 8),
        }
    }

    /// Returns the slots of the band, as numbered by [`crate::slot`].
    pub fn slots(self) -> std::ops::RangeInclusive<usize> {
        self.from..=self.to
    }

    fn all() -> Vec<Self> {
        let mut bands = vec![Self::FLUSHES];
        for whole in [Self::READS, Self::WRITES] {
            bands.push(whole);
            for at in whole.slots() {
                bands.push(Self { from: at, to: at });
                bands.push(Self { to: at, ..whole });
                bands.push(Self { from: at, ..whole });
            }
        }
        bands
    }
}

impl Waits {
    /// Sums the waits of one initiator, by slot.
    pub fn of_one<'a>(name: &str, parts: impl IntoIterator<Item = ClassShare<'a>>) -> Self {
        let mut found = Self::default();
        let place = found.place(name);
        for (slot, part) in parts.into_iter().enumerate().take(SLOTS) {
            found.add(place, slot, part.count, part.wait_ns());
        }
        found
    }

    /// Adds I/Os to a slot of the workload at position `place`, from [`Waits::place`].
    pub fn add(&mut self, place: usize, slot: usize, count: u64, wait_ns: u64) {
        let wait = &mut self.wait[place][slot];
        *wait = wait.saturating_add(wait_ns);
        self.count[place][slot] += count;
    }

    /// Returns the index of a workload, which is added if new.
    pub fn place(&mut self, name: &str) -> usize {
        if let Some(known) = self.names.iter().position(|known| known == name) {
            return known;
        }
        self.names.push(name.to_owned());
        self.wait.push([0; SLOTS]);
        self.count.push([0; SLOTS]);
        self.names.len() - 1
    }

    /// Returns the number of all I/Os.
    pub fn count(&self) -> u64 {
        self.count.iter().flatten().sum()
    }

    /// Returns the waiting of all I/Os in nanoseconds; 0 without latencies.
    pub fn wait(&self) -> u64 {
        self.wait.iter().flatten().fold(0, |sum, wait| sum.saturating_add(*wait))
    }

    /// Calculates the figures of a band.
    pub fn cause(&self, band: Band) -> Cause {
        let within = |row: &[u64; SLOTS]| row[band.slots()].iter().sum::<u64>();
        let wait: u64 = self.wait.iter().map(within).fold(0, u64::saturating_add);
        let count: u64 = self.count.iter().map(within).sum();
        let most = self.wait.iter().map(within).enumerate().max_by_key(|(_, wait)| *wait);
        let workload = most
            .filter(|_| self.names.len() > 1)
            .map(|(place, most)| (self.names[place].clone(), ratio(most, wait)));
        Cause {
            band,
            share_of_wait: ratio(wait, self.wait()),
            share_of_count: ratio(count, self.count()),
            count,
            workload: workload.filter(|(_, share)| *share >= WORKLOAD_MIN),
        }
    }

    /// Returns the band that stands out, if there is one.
    pub fn worst(&self) -> Option<Cause> {
        self.furthest(|cause| {
            cause.count >= ENOUGH && cause.gain() >= GAIN_MIN && cause.share_of_wait >= SHARE_MIN
        })
    }

    /// Returns the band whose waiting is most out of proportion to its number of I/Os, even if it
    /// has few I/Os or a small part of all waiting. `None` if waiting is distributed as I/Os are.
    pub fn out_of_proportion(&self) -> Option<Cause> {
        self.furthest(|cause| {
            let times = cause.share_of_wait >= TIMES_MIN * cause.share_of_count;
            cause.gain() >= GAIN_MIN || (times && cause.gain() >= TIMES_GAIN_MIN)
        })
    }

    /// Returns the band with the largest excess of waiting, among the bands that `is_wanted`
    /// accepts.
    fn furthest(&self, is_wanted: impl Fn(&Cause) -> bool) -> Option<Cause> {
        if self.count() < ENOUGH {
            return None;
        }
        // Among bands with the same I/Os: the whole direction, which has a short name, otherwise
        // the narrowest.
        let plain = |cause: &Cause| match cause.band.to - cause.band.from {
            7 => 8,
            width => 7 - width,
        };
        let wanted = Band::all().into_iter().map(|band| self.cause(band)).filter(is_wanted);
        wanted.max_by(|a, b| {
            let by_gain = (a.gain() * 1e6).round().total_cmp(&(b.gain() * 1e6).round());
            by_gain.then_with(|| plain(a).cmp(&plain(b)))
        })
    }
}

impl Cause {
    /// Returns the excess of the share of waiting over the share of I/Os.
    fn gain(&self) -> f64 {
        self.share_of_wait - self.share_of_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns reads of 4 KiB with 1 ms each, and some writes of 256 KiB.
    fn waits(writes: u64, each_ms: u64) -> Waits {
        let mut waits = Waits::default();
        let place = waits.place("db");
        waits.add(place, 1, 1_000, 1_000 * 1_000_000);
        waits.add(place, 15, writes, writes * each_ms * 1_000_000);
        waits
    }

    /// 28 % of the waiting of 1 % of the I/Os was once "not out of proportion".
    #[test]
    fn small_share_far_out_of_proportion_is_named() {
        let found = waits(40, 10);
        assert_eq!(found.worst(), None, "it is below 30 % of all waiting");
        let cause = found.out_of_proportion().expect("40 writes wait for 29 %");
        assert_eq!((cause.band.name().as_str(), cause.count), ("writes", 40));
        let few = waits(12, 200).out_of_proportion().expect("12 writes wait for 71 %");
        assert_eq!(few.count, 12);
        assert_eq!(waits(500, 1).out_of_proportion(), None, "each waits alike");
    }
}
