use run_store::run::TierFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Handling of writes by a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// The tier answers writes itself.
    WriteBack,
    /// The tier stores writes, and the storage behind it answers.
    WriteThrough,
    /// Writes bypass the tier.
    ReadOnly,
}

impl WritePolicy {
    /// Name: `write-back`, `write-through` or `read-only`.
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
    /// Four numbers: reads served, bytes kept off the backing store, writes accelerated, latency
    /// saved.
    pub heroes: Vec<TierHero>,
    /// Course of each tier over time.
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
    /// Time that the number is for, and the value that it is compared with.
    pub note: String,
    /// Course, at most 60 points.
    pub spark: Vec<Option<f64>>,
}

/// A tier over time. Each list has one entry per point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierSeries {
    /// Name of the tier.
    pub name: String,
    /// Capacity of the tier, bytes.
    pub capacity_bytes: u64,
    /// Handling of writes, if known.
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
    /// Number of served reads that another host's part of the tier served.
    pub remote_hits: Vec<u64>,
    /// Number of reads served by the own host that memory above the pages served.
    pub memory_hits: Vec<u64>,
    /// Number of page writes.
    pub writes: Vec<u64>,
    /// Number of writes that the tier answered before the backing store had them.
    pub writes_absorbed: Vec<u64>,
    /// Share of the writes that the tier answered before the backing store had them, 0 to 1; none
    /// without writes.
    pub writes_absorbed_share: Vec<Option<f64>>,
    /// Rates of these numbers per second.
    pub rates: TierRates,
    /// Bytes that reads brought in.
    pub filled_bytes: Vec<u64>,
    /// Bytes that writes brought in.
    pub placed_bytes: Vec<u64>,
    /// Bytes of pages that were evicted.
    pub evicted_bytes: Vec<u64>,
    /// Bytes written to the backing store.
    pub destaged_bytes: Vec<u64>,
    /// Bytes held at the end of the point.
    pub resident_bytes: Vec<u64>,
    /// Bytes of blocks in memory at the end of the point.
    pub memory_held_bytes: Vec<u64>,
    /// Memory that these blocks take, compressed or not, in bytes.
    pub memory_taken_bytes: Vec<u64>,
    /// Content of the memory at the end, and its size, in a sentence; empty without memory.
    pub memory_sentence: String,
    /// Content at the end, and evictions, in a sentence.
    pub held_sentence: String,
    /// Held bytes at the end of the point that are not yet on the backing store.
    pub dirty_bytes: Vec<u64>,
    /// Largest amount that waited to be written to the backing store, in a sentence.
    pub dirty_sentence: String,
    /// True if the bytes written to the backing store and to the tier differ by at most 5 % in
    /// total, so that there is no visible gap between the two.
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
    /// Number of page reads.
    pub reads_per_s: Vec<f64>,
    /// Reads served by the tier of the own host, from its pages or log.
    pub own_hits_per_s: Vec<f64>,
    /// Reads served by memory above the pages.
    pub memory_hits_per_s: Vec<f64>,
    /// Reads served by another host's part of the tier.
    pub remote_hits_per_s: Vec<f64>,
    /// Reads that the tier did not serve.
    pub misses_per_s: Vec<f64>,
    /// Number of page writes.
    pub writes_per_s: Vec<f64>,
    /// Bytes that reads brought in.
    pub filled_bytes_per_s: Vec<f64>,
    /// Bytes that writes brought in.
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
    /// Share of the writes that the tier alone answered; none without writes.
    pub writes_absorbed: Option<f64>,
}

/// Sums of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierSteps {
    /// Number of the step in the ladder, from 1.
    pub step: u32,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Number of tiles of the step.
    pub tiles: u32,
    /// Facts about each tier.
    pub tiers: Vec<TierFacts>,
    /// Shares of each tier, in the same order.
    pub shares: Vec<TierShares>,
}
