use run_store::run::TierFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a tier does with writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// It answers them itself.
    WriteBack,
    /// It keeps them, and the storage behind it answers.
    WriteThrough,
    /// They go past it.
    ReadOnly,
}

impl WritePolicy {
    /// `write-back`, `write-through` or `read-only`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WriteBack => "write-back",
            Self::WriteThrough => "write-through",
            Self::ReadOnly => "read-only",
        }
    }
}

/// `tier`: what acceleration tiers did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierPage {
    /// What it did in one sentence, or why there is nothing to see.
    pub sentence: String,
    /// Whether a tier took part.
    pub is_present: bool,
    /// Whether tiers are modelled.
    pub is_modelled: bool,
    /// Four numbers: reads served, bytes kept off the backing store, writes accelerated, latency
    /// saved.
    pub heroes: Vec<TierHero>,
    /// Over time, each tier.
    pub tiers: Vec<TierSeries>,
    /// Sums of each step.
    pub steps: Vec<TierSteps>,
}

/// A number that matters, with its proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierHero {
    /// What it is.
    pub label: String,
    /// The number as it is printed, with its unit; or why there is none.
    pub text: String,
    /// The number, unscaled.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// Samples behind it.
    pub samples: Option<u64>,
    /// Over which time, and what it is held against.
    pub note: String,
    /// Its course, at most 60 points.
    pub spark: Vec<Option<f64>>,
}

/// One tier over time. Each list has one entry a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierSeries {
    /// Its name.
    pub name: String,
    /// Its capacity, bytes.
    pub capacity_bytes: u64,
    /// What it does with writes, if known.
    pub policy: Option<WritePolicy>,
    /// Begin of each point, nanoseconds on the run's axis.
    pub at_ns: Vec<u64>,
    /// Length of each point.
    pub width_ns: Vec<u64>,
    /// Reads of pages.
    pub reads: Vec<u64>,
    /// Served by the tier.
    pub read_hits: Vec<u64>,
    /// Served by the tier, as a share of reads, 0 to 1; none without reads.
    pub read_hit_share: Vec<Option<f64>>,
    /// Of these, by another host's share.
    pub remote_hits: Vec<u64>,
    /// Of those of the own host, by memory above the pages.
    pub memory_hits: Vec<u64>,
    /// Writes of pages.
    pub writes: Vec<u64>,
    /// Answered by the tier before the backing store has them.
    pub writes_absorbed: Vec<u64>,
    /// The same as a share of writes, 0 to 1; none without writes.
    pub writes_absorbed_share: Vec<Option<f64>>,
    /// The same numbers a second.
    pub rates: TierRates,
    /// Bytes that came in because of a read.
    pub filled_bytes: Vec<u64>,
    /// Bytes that came in because of a write.
    pub placed_bytes: Vec<u64>,
    /// Bytes evicted.
    pub evicted_bytes: Vec<u64>,
    /// Bytes written to the backing store.
    pub destaged_bytes: Vec<u64>,
    /// Bytes held at the end of the point.
    pub resident_bytes: Vec<u64>,
    /// Bytes of blocks in memory at the end of the point.
    pub memory_held_bytes: Vec<u64>,
    /// Bytes that these take there, compressed or not.
    pub memory_taken_bytes: Vec<u64>,
    /// What memory holds at the end, and in how much, in a sentence; empty where there is none.
    pub memory_sentence: String,
    /// How much it holds at the end, and what was evicted, in a sentence.
    pub held_sentence: String,
    /// Of these, not yet on the backing store.
    pub dirty_bytes: Vec<u64>,
    /// How much waited at most to be written to the backing store, in a sentence.
    pub dirty_sentence: String,
    /// Whether what is written to the backing store follows what is written to the tier within
    /// 5 % in all, so that there is no gap between the two to see.
    pub is_destaged_at_once: bool,
    /// What the application sees: reads, 99th percentile, nanoseconds.
    pub observed_read_p99_ns: Vec<Option<u64>>,
    /// What the application sees: writes.
    pub observed_write_p99_ns: Vec<Option<u64>>,
    /// What the backing store answers, reads; empty if the run does not have it.
    pub backing_read_p99_ns: Vec<Option<u64>>,
    /// What the backing store answers, writes; empty if the run does not have it.
    pub backing_write_p99_ns: Vec<Option<u64>>,
}

/// What a tier did, a second of time under load. Each list has one entry a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierRates {
    /// Reads of pages.
    pub reads_per_s: Vec<f64>,
    /// Served by the tier of the own host, out of its pages or log.
    pub own_hits_per_s: Vec<f64>,
    /// Served by memory above them.
    pub memory_hits_per_s: Vec<f64>,
    /// Served by another host's share.
    pub remote_hits_per_s: Vec<f64>,
    /// Not served by the tier.
    pub misses_per_s: Vec<f64>,
    /// Writes of pages.
    pub writes_per_s: Vec<f64>,
    /// Bytes that came in because of a read.
    pub filled_bytes_per_s: Vec<f64>,
    /// Bytes that came in because of a write.
    pub placed_bytes_per_s: Vec<f64>,
    /// Bytes evicted.
    pub evicted_bytes_per_s: Vec<f64>,
    /// Bytes written to the backing store.
    pub destaged_bytes_per_s: Vec<f64>,
}

/// Shares of what a tier did in one step, 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierShares {
    /// Reads served by the tier, of reads; none without reads.
    pub read_hit: Option<f64>,
    /// Writes that it alone answered, of writes; none without writes.
    pub writes_absorbed: Option<f64>,
}

/// Sums of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierSteps {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Tiles in it.
    pub tiles: u32,
    /// Each tier.
    pub tiers: Vec<TierFacts>,
    /// Shares of each tier, in the same order.
    pub shares: Vec<TierShares>,
}
