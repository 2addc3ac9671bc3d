use run_store::run::TierFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a tier's writes are acknowledged, and where they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// Writes are acknowledged once the tier has them.
    WriteBack,
    /// The tier stores writes, but they are acknowledged once the storage behind the tier has them.
    WriteThrough,
    /// Writes bypass the tier.
    ReadOnly,
}

impl WritePolicy {
    /// Returns the name: `write-back`, `write-through` or `read-only`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteBack => "write-back",
            Self::WriteThrough => "write-through",
            Self::ReadOnly => "read-only",
        }
    }
}

/// View `tier`: activity of acceleration tiers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierPage {
    /// Summary of the tiers, or the reason why there is nothing to show.
    pub sentence: String,
    /// True if a tier took part.
    pub is_present: bool,
    /// True if the tiers are modelled.
    pub is_modelled: bool,
    /// Four numbers: reads served by the tier, bytes kept off the backing store, writes
    /// acknowledged early, latency saved.
    pub heroes: Vec<TierHero>,
    /// Values of each tier over time.
    pub tiers: Vec<TierSeries>,
    /// Sums of each step.
    pub steps: Vec<TierSteps>,
}

/// A main number, with its proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierHero {
    /// Name of the number.
    pub label: String,
    /// Number as it is printed, with its unit; or the reason why there is none.
    pub text: String,
    /// Value of the number, unscaled.
    pub value: Option<f64>,
    /// Unit of the number.
    pub unit: String,
    /// Number of samples.
    pub samples: Option<u64>,
    /// Time that the number applies to, and the value that it is compared with.
    pub note: String,
    /// Values over time for the sparkline, at most 60 points.
    pub spark: Vec<Option<f64>>,
}

/// A tier over time. Each list has one entry per point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierSeries {
    /// Name of the tier.
    pub name: String,
    /// Capacity of the tier, bytes.
    pub capacity_bytes: u64,
    /// Write policy of the tier, if known.
    pub policy: Option<WritePolicy>,
    /// Begin of each point, nanoseconds on the run's axis.
    pub at_ns: Vec<u64>,
    /// Length of each point, nanoseconds.
    pub width_ns: Vec<u64>,
    /// Number of page reads.
    pub reads: Vec<u64>,
    /// Number of reads that the tier served.
    pub read_hits: Vec<u64>,
    /// Share of the reads that the tier served, 0 to 1; none without reads.
    pub read_hit_share: Vec<Option<f64>>,
    /// Number of tier reads that were served by another host's part of the tier.
    pub remote_hits: Vec<u64>,
    /// Number of reads served by the own host's memory cache above the pages.
    pub memory_hits: Vec<u64>,
    /// Number of page writes.
    pub writes: Vec<u64>,
    /// Number of writes that the tier acknowledged before the backing store had them.
    pub writes_absorbed: Vec<u64>,
    /// Share of the writes that the tier acknowledged before the backing store had them, 0 to 1;
    /// none without writes.
    pub writes_absorbed_share: Vec<Option<f64>>,
    /// Rates of these numbers per second.
    pub rates: TierRates,
    /// Bytes brought in by reads.
    pub filled_bytes: Vec<u64>,
    /// Bytes brought in by writes.
    pub placed_bytes: Vec<u64>,
    /// Bytes of pages that were evicted.
    pub evicted_bytes: Vec<u64>,
    /// Bytes written to the backing store.
    pub destaged_bytes: Vec<u64>,
    /// Bytes in the tier at the end of the point.
    pub resident_bytes: Vec<u64>,
    /// Bytes of blocks in the memory cache at the end of the point, uncompressed.
    pub memory_held_bytes: Vec<u64>,
    /// Memory that these blocks occupy, compressed or not, in bytes.
    pub memory_taken_bytes: Vec<u64>,
    /// Sentence on content and size of the memory cache at the end; empty without such a cache.
    pub memory_sentence: String,
    /// Sentence on the tier's content at the end, and on evictions.
    pub held_sentence: String,
    /// Bytes in the tier at the end of the point that are not yet on the backing store.
    pub dirty_bytes: Vec<u64>,
    /// Sentence on the largest amount that waited to be written to the backing store.
    pub dirty_sentence: String,
    /// True if the bytes written to the backing store differ by less than 5 % in total from the
    /// bytes that writes brought in. There is then no visible gap between the two.
    pub is_destaged_at_once: bool,
    /// 99th percentile of the application's reads, nanoseconds.
    pub observed_read_p99_ns: Vec<Option<u64>>,
    /// 99th percentile of the application's writes, nanoseconds.
    pub observed_write_p99_ns: Vec<Option<u64>>,
    /// 99th percentile of the backing store's reads, nanoseconds; empty if the run does not have
    /// it.
    pub backing_read_p99_ns: Vec<Option<u64>>,
    /// 99th percentile of the backing store's writes, nanoseconds; empty if the run does not have
    /// it.
    pub backing_write_p99_ns: Vec<Option<u64>>,
}

/// Rates of a tier, per second of time under load. Each list has one entry per point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierRates {
    /// Page reads.
    pub reads_per_s: Vec<f64>,
    /// Reads served by the own host's part of the tier, from pages or log.
    pub own_hits_per_s: Vec<f64>,
    /// Reads served by the memory cache above the pages.
    pub memory_hits_per_s: Vec<f64>,
    /// Reads served by another host's part of the tier.
    pub remote_hits_per_s: Vec<f64>,
    /// Reads that the tier did not serve.
    pub misses_per_s: Vec<f64>,
    /// Page writes.
    pub writes_per_s: Vec<f64>,
    /// Bytes brought in by reads.
    pub filled_bytes_per_s: Vec<f64>,
    /// Bytes brought in by writes.
    pub placed_bytes_per_s: Vec<f64>,
    /// Bytes of pages that were evicted.
    pub evicted_bytes_per_s: Vec<f64>,
    /// Bytes written to the backing store.
    pub destaged_bytes_per_s: Vec<f64>,
}

/// Shares of a tier's requests in one step, 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierShares {
    /// Share of the reads that the tier served; none without reads.
    pub read_hit: Option<f64>,
    /// Share of the writes that the tier acknowledged before the backing store had them; none
    /// without writes.
    pub writes_absorbed: Option<f64>,
}

/// Tier activity in one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierSteps {
    /// Number of the step in the ladder, from 1.
    pub step: u32,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Number of tiles of the step.
    pub tiles: u32,
    /// Summed facts about each tier.
    pub tiers: Vec<TierFacts>,
    /// Shares of each tier, in the same order.
    pub shares: Vec<TierShares>,
}
