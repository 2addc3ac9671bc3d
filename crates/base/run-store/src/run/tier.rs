use crate::gauge::{BehindTier, Folded, Gauge, GaugeName, Merging, Readings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state_machine::Operation;

/// State of a tier: requests and bytes of the measured time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TierFacts {
    /// Name of the tier.
    pub name: String,
    /// Room for data, in bytes.
    pub capacity_bytes: u64,
    /// Counters of the measured time, and levels at its end.
    #[serde(flatten)]
    pub counts: TierCounts,
    /// Requests among them that copied whole disks (deployments, migrations); null without any, and
    /// of a served tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<CopyCounts>,
    /// Service times of the storage behind the tier, for the I/O that the tier sent there. Only in
    /// the rollup; empty if unknown.
    #[serde(skip)]
    pub behind: BehindTier,
    /// Share of all requests that the tier alone answered, 0 to 1; null without requests.
    pub acceleration_rate: Option<f64>,
}

/// Requests of a tier that copied whole disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CopyCounts {
    /// Read requests.
    pub reads: u64,
    /// Read requests all of whose pages were resident.
    pub read_hits: u64,
    /// Write requests.
    pub writes: u64,
    /// Write requests all of whose pages were resident.
    pub write_hits: u64,
}

impl CopyCounts {
    /// Counts a request; a flush does not count.
    pub fn count(&mut self, operation: Operation, is_hit: bool) {
        let (all, hits) = match operation {
            Operation::Read => (&mut self.reads, &mut self.read_hits),
            Operation::Write => (&mut self.writes, &mut self.write_hits),
            Operation::Flush => return,
        };
        *all += 1;
        *hits += u64::from(is_hit);
    }

    /// Adds what another tier counted.
    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.read_hits += other.read_hits;
        self.writes += other.writes;
        self.write_hits += other.write_hits;
    }
}

/// Counters of a tier over some time, and levels at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TierCounts {
    /// Bytes of resident pages at the end.
    pub resident_bytes: u64,
    /// Bytes at the end that only the tier had.
    pub dirty_bytes: u64,
    /// Largest `dirty_bytes` at the end of a second.
    pub dirty_bytes_max: u64,
    /// Number of read requests.
    pub reads: u64,
    /// Read requests whose pages were all resident.
    pub read_hits: u64,
    /// Bytes of read requests.
    pub read_bytes: u64,
    /// Bytes read from resident pages.
    pub read_hit_bytes: u64,
    /// Number of write requests.
    pub writes: u64,
    /// Write requests whose pages were all resident.
    pub write_hits: u64,
    /// Bytes of write requests.
    pub write_bytes: u64,
    /// Bytes written to resident pages.
    pub write_hit_bytes: u64,
    /// Writes that the tier alone answered.
    pub writes_absorbed: u64,
    /// Read hits served by another host's tier.
    pub remote_hits: u64,
    /// Read hits in the memory above the pages; only for a served tier.
    #[serde(default)]
    pub memory_hits: u64,
    /// Bytes of blocks in that memory at the end, uncompressed.
    #[serde(default)]
    pub memory_held_bytes: u64,
    /// Memory that these blocks took, in bytes.
    #[serde(default)]
    pub memory_taken_bytes: u64,
    /// Bytes of pages that reads brought in from the storage.
    pub filled_bytes: u64,
    /// Bytes of pages that writes brought in whole.
    pub placed_bytes: u64,
    /// Bytes of pages that were evicted.
    pub evicted_bytes: u64,
    /// Bytes that were destaged to the storage.
    pub destaged_bytes: u64,
    /// All bytes written to the tier.
    pub tier_written_bytes: u64,
}

/// Pairs each counter with its gauge. [`TierCounts::dirty_bytes_max`] has none: it is the maximum
/// of the gauge of `dirty_bytes`.
macro_rules! gauges {
    ($($counter:ident $gauge:ident;)+) => {
        /// Counters with the names of their gauges.
        fn values(&self) -> impl Iterator<Item = (GaugeName, u64)> {
            [$((GaugeName::$gauge, self.$counter)),+].into_iter()
        }

        /// Counter of a gauge; `None` for other gauges.
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

    /// Stores the value of a gauge in its counter; other gauges are ignored.
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

    /// Merges two consecutive times: counters are added, levels are those of the later, and of the
    /// maxima the larger is taken.
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
    /// Makes gauges of the tiers' counters in a slice, and of their levels at its end.
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
