use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Packed;

/// What a tier did. Requests and bytes of the measured time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TierFacts {
    /// Its name.
    pub name: String,
    /// Room for data.
    pub capacity_bytes: u64,
    /// What it did, and what it held at the end.
    #[serde(flatten)]
    pub counts: TierCounts,
    /// How long the storage behind it took to answer what the tier sent there; only in the
    /// rollup, and empty where it is not known.
    #[serde(skip)]
    pub behind: BehindTier,
    /// Share of all requests that the tier alone answered, 0 to 1; null without requests.
    pub acceleration_rate: Option<f64>,
}

/// Service times of what a tier sends to the storage behind it, for a request or by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BehindTier {
    /// Of reads.
    pub read: Packed,
    /// Of writes.
    pub write: Packed,
}

/// Counters of a tier over some time, and what it held at the end of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TierCounts {
    /// Bytes of resident pages at the end.
    pub resident_bytes: u64,
    /// Bytes that only the tier had at the end.
    pub dirty_bytes: u64,
    /// Largest backlog seen at the end of a second.
    pub dirty_bytes_max: u64,
    /// Read requests.
    pub reads: u64,
    /// Of those, all of whose pages were resident.
    pub read_hits: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Of those, from resident pages.
    pub read_hit_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Of those, all of whose pages were resident.
    pub write_hits: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Of those, to resident pages.
    pub write_hit_bytes: u64,
    /// Writes that the tier alone answered.
    pub writes_absorbed: u64,
    /// Read hits served by another host's tier.
    pub remote_hits: u64,
    /// Population by reads: bytes of pages that came in from the storage.
    pub filled_bytes: u64,
    /// Population by writes: bytes of pages that a write brought in whole.
    pub placed_bytes: u64,
    /// Bytes of pages that left to make room.
    pub evicted_bytes: u64,
    /// Bytes that reached the storage late.
    pub destaged_bytes: u64,
    /// All bytes written to the tier.
    pub tier_written_bytes: u64,
}

/// How a counter of some time and the same counter of the time after it make one.
#[derive(Debug, Clone, Copy)]
enum Merge {
    Sum,
    Later,
    Most,
}

/// The only list of the counters besides the type itself: their columns in the rollup, in the
/// order of the file, and how each merges.
macro_rules! columns {
    ($($merge:ident: $($counter:ident)+;)+) => {
        /// Names of the columns.
        pub(crate) const COLUMNS: [&str; 18] = [$($(stringify!($counter)),+),+];

        const fn merges() -> [Merge; Self::COLUMNS.len()] {
            [$($({ let _ = stringify!($counter); Merge::$merge }),+),+]
        }

        /// The counters in the order of [`TierCounts::COLUMNS`].
        pub(crate) const fn to_columns(self) -> [u64; Self::COLUMNS.len()] {
            [$($(self.$counter),+),+]
        }

        /// Back from [`TierCounts::to_columns`].
        pub(crate) const fn from_columns(columns: [u64; Self::COLUMNS.len()]) -> Self {
            let [$($($counter),+),+] = columns;
            Self { $($($counter),+),+ }
        }
    };
}

impl TierCounts {
    columns! {
        Sum: reads read_hits read_bytes read_hit_bytes writes write_hits write_bytes
            write_hit_bytes writes_absorbed remote_hits filled_bytes placed_bytes evicted_bytes
            destaged_bytes tier_written_bytes;
        Later: resident_bytes dirty_bytes;
        Most: dirty_bytes_max;
    }

    /// Both one after the other: what happened is added up, what is held is that of the later,
    /// and of the largest backlog the larger.
    #[must_use]
    pub fn and_then(self, later: Self) -> Self {
        let (first, later) = (self.to_columns(), later.to_columns());
        let merges = Self::merges();
        Self::from_columns(std::array::from_fn(|at| match merges[at] {
            Merge::Sum => first[at] + later[at],
            Merge::Later => later[at],
            Merge::Most => first[at].max(later[at]),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_counters_of_the_documents() {
        let columns: [u64; 18] = std::array::from_fn(|at| at as u64 + 1);
        let counts = TierCounts::from_columns(columns);
        assert_eq!(counts.to_columns(), columns);
        let document = serde_json::to_value(counts).expect("it is plain");
        let document = document.as_object().expect("it is an object");
        assert_eq!(document.len(), columns.len());
        for (name, value) in TierCounts::COLUMNS.iter().zip(columns) {
            assert_eq!(document[*name], value, "{name}");
        }
    }

    #[test]
    fn facts_are_one_object_whose_counters_come_back() {
        let facts = TierFacts {
            name: "near".to_owned(),
            capacity_bytes: u64::MAX,
            counts: TierCounts { reads: 7, tier_written_bytes: u64::MAX, ..Default::default() },
            behind: BehindTier::default(),
            acceleration_rate: Some(0.1),
        };
        let text = serde_json::to_string(&facts).expect("it is plain");
        assert!(text.starts_with(r#"{"name":"near","capacity_bytes":18446744073709551615,"#));
        assert!(!text.contains("counts"), "{text}");
        assert_eq!(serde_json::from_str::<TierFacts>(&text).expect("it reads"), facts);
    }
}
