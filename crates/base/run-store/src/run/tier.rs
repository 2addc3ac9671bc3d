use crate::gauge::{BehindTier, Folded, Gauge, GaugeName, Merging, Readings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state_machine::Operation;

/// State of a tier, with its requests and bytes in the measured time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TierFacts {
    /// Name of the tier.
    pub name: String,
    /// Capacity for data, in bytes.
    pub capacity_bytes: u64,
    /// Counters of the measured time, and levels at its end.
    #[serde(flatten)]
    pub counts: TierCounts,
    /// The part of the requests that copied whole disks (deployments, migrations). Null if there
    /// were none, and for a served tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<CopyCounts>,
    /// Service times of the I/O that the tier sent to the storage behind it. Only in the rollup;
    /// empty if unknown.
    #[serde(skip)]
    pub behind: BehindTier,
    /// Share of all requests that the tier answered alone, 0 to 1; null without requests.
    pub acceleration_rate: Option<f64>,
}

/// Number of requests to a tier that copied whole disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CopyCounts {
    /// Number of read requests.
    pub reads: u64,
    /// Number of read requests whose pages were all resident.
    pub read_hits: u64,
    /// Number of write requests.
    pub writes: u64,
    /// Number of write requests whose pages were all resident.
    pub write_hits: u64,
}

impl CopyCounts {
    /// Counts a request; flushes are not counted.
    pub fn count(&mut self, operation: Operation, is_hit: bool) {
        let (all, hits) = match operation {
            Operation::Read => (&mut self.reads, &mut self.read_hits),
            Operation::Write => (&mut self.writes, &mut self.write_hits),
            Operation::Flush => return,
        };
        *all += 1;
        *hits += u64::from(is_hit);
    }

    /// Adds the counts of another tier.
    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.read_hits += other.read_hits;
        self.writes += other.writes;
        self.write_hits += other.write_hits;
    }
}

/// Counters of a tier over an interval, and levels at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TierCounts {
    /// Bytes of resident pages at the end.
    pub resident_bytes: u64,
    /// Bytes that only the tier had at the end.
    pub dirty_bytes: u64,
    /// Largest value of `dirty_bytes` at the end of any second.
    pub dirty_bytes_max: u64,
    /// Number of read requests.
    pub reads: u64,
    /// Number of read requests whose pages were all resident.
    pub read_hits: u64,
    /// Bytes of read requests.
    pub read_bytes: u64,
    /// Bytes read from resident pages.
    pub read_hit_bytes: u64,
    /// Number of write requests.
    pub writes: u64,
    /// Number of write requests whose pages were all resident.
    pub write_hits: u64,
    /// Bytes of write requests.
    pub write_bytes: u64,
    /// Bytes written to resident pages.
    pub write_hit_bytes: u64,
    /// Number of writes that the tier answered alone.
    pub writes_absorbed: u64,
    /// Number of read hits that another host's tier served.
    pub remote_hits: u64,
    /// Number of read hits in the memory cache above the pages; only for a served tier.
    #[serde(default)]
    pub memory_hits: u64,
    /// Bytes of the blocks in that memory cache at the end, uncompressed.
    #[serde(default)]
    pub memory_held_bytes: u64,
    /// Memory that these blocks occupied, in bytes.
    #[serde(default)]
    pub memory_taken_bytes: u64,
    /// Bytes of pages that were filled from the storage on reads.
    pub filled_bytes: u64,
    /// Bytes of pages that writes filled completely.
    pub placed_bytes: u64,
    /// Bytes of pages that were evicted.
    pub evicted_bytes: u64,
    /// Bytes that were destaged to the storage.
    pub destaged_bytes: u64,
    /// Bytes written to the tier's own storage, for whatever reason.
    pub tier_written_bytes: u64,
}

/// Pairs each counter with its gauge. [`TierCounts::dirty_bytes_max`] has no gauge of its own: it
/// is the maximum of the gauge of `dirty_bytes`.
macro_rules! gauges {
    ($($counter:ident $gauge:ident;)+) => {
        /// Iterates over the counters with the names of their gauges.
        fn values(&self) -> impl Iterator<Item = (GaugeName, u64)> {
            [$((GaugeName::$gauge, self.$counter)),+].into_iter()
        }

        /// Returns the counter that belongs to a gauge; `None` for other gauges.
        const fn counter(&mut self, gauge: GaugeName) -> Option<&mut u64> {
            match gauge {
                $(GaugeName::$gauge => Some(&mut self.$counter),)+
                _ => None,
            }
        }
    };
}

impl TierCounts {
    gauges! {
        reads TierReads;
        read_hits TierReadHits;
        read_bytes TierReadBytes;
        read_hit_bytes TierReadHitBytes;
        writes TierWrites;
        write_hits TierWriteHits;
        write_bytes TierWriteBytes;
        write_hit_bytes TierWriteHitBytes;
        writes_absorbed TierWritesAbsorbed;
        remote_hits TierRemoteHits;
        memory_hits TierMemoryHits;
        memory_held_bytes TierMemoryHeld;
        memory_taken_bytes TierMemoryTaken;
        filled_bytes TierFilled;
        placed_bytes TierPlaced;
        evicted_bytes TierEvicted;
        destaged_bytes TierDestaged;
        tier_written_bytes TierWritten;
        resident_bytes TierResident;
        dirty_bytes TierDirty;
    }

    /// Stores the value of a gauge in its counter. Other gauges are ignored.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "gauges of tiers are whole and not negative"
    )]
    pub fn put(&mut self, gauge: GaugeName, folded: Folded) {
        if let Some(counter) = self.counter(gauge) {
            *counter = folded.value as u64;
        }
        if gauge == GaugeName::TierDirty {
            self.dirty_bytes_max = folded.most as u64;
        }
    }

    /// Merges the counts of two consecutive intervals. Counters are added, levels are taken from
    /// the later interval, and of the maxima the larger is kept.
    #[must_use]
    pub fn and_then(self, later: Self) -> Self {
        let mut both = later;
        for (gauge, before) in self.values() {
            if let (Merging::Sum, Some(counter)) = (gauge.merging(), both.counter(gauge)) {
                *counter += before;
            }
        }
        both.dirty_bytes_max = self.dirty_bytes_max.max(later.dirty_bytes_max);
        both
    }
}

impl Readings {
    /// Converts the tiers' counters in a slice, and their levels at its end, to gauges.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a slice are far below 2^53")]
    pub fn of_tiers(tiers: Vec<TierFacts>) -> Self {
        let mut all = Self::default();
        for TierFacts { name, capacity_bytes, counts, behind, .. } in tiers {
            let capacity = (GaugeName::TierCapacity, capacity_bytes);
            let values = std::iter::once(capacity).chain(counts.values());
            all.gauges.extend(values.map(|(gauge, value)| Gauge {
                name: gauge,
                scope: name.clone(),
                value: value as f64,
            }));
            if behind != BehindTier::default() {
                all.behind.push((name, behind));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_converts_to_its_gauge_and_back() {
        let document = serde_json::to_value(TierCounts::default()).expect("it is plain");
        let document = document.as_object().expect("it is an object");
        let names = document.keys().filter(|name| *name != "dirty_bytes_max");
        let numbered = names.zip(1_u64..).map(|(name, value)| (name.clone(), value));
        let mut numbered: serde_json::Map<_, serde_json::Value> =
            numbered.map(|(name, value)| (name, value.into())).collect();
        numbered.insert("dirty_bytes_max".to_owned(), numbered["dirty_bytes"].clone());
        let counts: TierCounts = serde_json::from_value(numbered.clone().into()).expect("reads");
        let facts = TierFacts { counts, ..TierFacts::default() };
        let gauges = Readings::of_tiers(vec![facts]).gauges;
        assert_eq!(gauges.len(), document.len(), "and the capacity");
        let mut back = TierCounts::default();
        for gauge in &gauges {
            let column = gauge.name.name().strip_prefix("tier.").expect("of a tier");
            if column != "capacity_bytes" {
                assert_eq!(numbered[column].as_f64(), Some(gauge.value), "{column}");
            }
            back.put(gauge.name, Folded::of(units::Nanos::SECOND, gauge.value));
        }
        assert_eq!(back, counts);
    }

    #[test]
    fn facts_are_one_object_whose_counters_come_back() {
        let facts = TierFacts {
            name: "near".to_owned(),
            capacity_bytes: u64::MAX,
            counts: TierCounts { reads: 7, tier_written_bytes: u64::MAX, ..Default::default() },
            copies: None,
            behind: BehindTier::default(),
            acceleration_rate: Some(0.1),
        };
        let text = serde_json::to_string(&facts).expect("it is plain");
        assert!(text.starts_with(r#"{"name":"near","capacity_bytes":18446744073709551615,"#));
        assert!(!text.contains("counts"), "{text}");
        assert_eq!(serde_json::from_str::<TierFacts>(&text).expect("it reads"), facts);
    }
}
