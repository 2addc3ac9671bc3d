use engine::prefill::RateStats;
use run_store::run::{Latency, Prefill, RateFacts};
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Figures of a prefill, with full histograms. Unlike percentiles, histograms of several prefills
/// can be added.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prefilled {
    /// Bytes that were written for the first time.
    pub bytes: u64,
    /// Speed of the first write; unknown if its number of bytes is 0.
    pub first_write: RateStats,
    /// Speed of rewriting a sample.
    pub rewrite: RateStats,
    /// Bytes of disks that had been filled earlier.
    pub prepared_before_bytes: u64,
    /// Reason why there is no figure of the first write.
    pub first_write_absent: Option<String>,
}

impl Prefilled {
    /// Adds a later prefill. The rewrite speed stays the one of the first prefill that has any.
    pub fn add(&mut self, more: Self) {
        self.bytes += more.bytes;
        self.first_write.add(&more.first_write);
        if self.rewrite.bytes == Bytes::ZERO {
            self.rewrite = more.rewrite;
        }
        self.prepared_before_bytes += more.prepared_before_bytes;
        self.first_write_absent = self.first_write_absent.take().or(more.first_write_absent);
    }

    /// Converts the figures to their form in `run.json`.
    pub fn document(&self) -> Prefill {
        let first_write = facts(&self.first_write);
        let absent = self.first_write_absent.clone().filter(|_| first_write.is_none());
        Prefill {
            bytes: self.bytes,
            first_write,
            rewrite: facts(&self.rewrite),
            prepared_before_bytes: self.prepared_before_bytes,
            first_write_absent: absent,
        }
    }
}

fn facts(stats: &RateStats) -> Option<RateFacts> {
    (stats.bytes > Bytes::ZERO).then(|| RateFacts {
        bytes: stats.bytes.get(),
        duration_ns: stats.elapsed.0,
        bytes_per_s: stats.bytes_per_second(),
        service: Some(Latency::from(&stats.latency)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Histogram;
    use units::Nanos;

    fn filled(writes: u64, each: Nanos) -> Prefilled {
        let mut latency = Histogram::new();
        (0..writes).for_each(|_| latency.record(each));
        let first_write = RateStats {
            bytes: Bytes::MIB * writes,
            elapsed: Nanos(each.0 * writes),
            latency: latency.compact(),
        };
        Prefilled { bytes: writes << 20, first_write, ..Prefilled::default() }
    }

    #[test]
    fn latency_of_two_prefills_is_that_of_all_their_writes() {
        let mut both = filled(60, Nanos::from_millis(1));
        both.add(filled(40, Nanos::from_millis(9)));
        let found = both.document().first_write.expect("written");
        assert_eq!((found.bytes, found.duration_ns), (100 << 20, 420_000_000));
        let service = found.service.expect("recorded");
        assert_eq!((service.samples, service.mean_ns), (100, Some(4_200_000)));
        assert!(service.p50_ns < Some(1_100_000), "{service:?}");
        assert!(service.p95_ns > Some(8_900_000), "{service:?}");
    }

    #[test]
    fn why_there_is_no_first_write_is_said_only_where_there_is_none() {
        let absent = Some("prepared before".to_owned());
        let mut both = Prefilled { first_write_absent: absent.clone(), ..Prefilled::default() };
        assert_eq!(both.document().first_write_absent, absent);
        both.add(filled(1, Nanos::from_millis(1)));
        assert_eq!(both.document().first_write_absent, None);
    }
}
