//! The answer, as it is written to JSON and as tables. Rows are flat, so that every list is a
//! table of its own in CSV and Parquet.

use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};

/// Schema id of [`Analysis`]: a minor version only adds fields.
pub const SCHEMA: &str = "tilemark.analysis/1.0";

/// What a trace says. Lists of views that were not asked for are empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// `tilemark.analysis/1.0`.
    pub schema: String,
    /// The program that made it, with its version.
    pub tool: String,
    /// What was read.
    pub source: SourceFacts,
    /// What was left out on request.
    pub filter: FilterFacts,
    /// What latencies are held against.
    pub limit: Limit,
    /// What matters most, at most five, by effect.
    pub findings: Vec<Finding>,
    /// What this source cannot answer, and why.
    pub cannot_say: Vec<Remark>,
    /// Sums: all VMs first if there are several, then each.
    pub overview: Vec<OverviewRow>,
    /// The busiest moments beside the average.
    pub bursts: Vec<BurstRow>,
    /// Where I/Os begin within 4 KiB.
    pub alignment: Vec<AlignmentRow>,
    /// By direction and class of sizes, with each class's part of the waiting.
    pub sizes: Vec<SizeRow>,
    /// Small I/Os with and without a large one in flight on the device.
    pub beside_large: Vec<BesideRow>,
    /// Counts by class of sizes and latency.
    pub matrix_latency: Vec<LatencyCell>,
    /// Latencies by class of sizes and I/Os outstanding.
    pub matrix_outstanding: Vec<OutstandingCell>,
    /// The first class of sizes that breaks the limit.
    pub breaks: Vec<BreakRow>,
    /// The histograms of vscsiStats, by VM and device.
    pub histograms: Vec<HistogramRow>,
    /// How long a slice of `time` is, nanoseconds.
    pub slice_ns: u64,
    /// What happened when.
    pub time: Vec<TimeRow>,
    /// Different bytes over windows of time.
    pub working_set: Vec<WorkingSetRow>,
    /// Miss ratios of an LRU cache over its size.
    pub miss_ratio: Vec<MissRatioRow>,
    /// Where more cache begins to bring less.
    pub knees: Vec<KneeRow>,
    /// What an acceleration tier would serve.
    pub tiers: Vec<TierRow>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceFacts {
    /// As it was named.
    pub name: String,
    /// The format's name; `run` for a run directory.
    pub format: String,
    /// Whether records have times; otherwise they are only in order.
    pub has_times: bool,
    /// The clock's step, nanoseconds.
    pub resolution_ns: Option<u64>,
    /// Whether records have latencies.
    pub has_latency: bool,
    /// The wall clock at time zero, nanoseconds since 1970.
    pub started_unix_ns: Option<i64>,
    /// I/Os that count.
    pub records: u64,
    /// I/Os that were filtered out.
    pub filtered: u64,
    /// Issue of the first I/O that counts, nanoseconds from the trace's start.
    pub first_ns: Option<u64>,
    /// Issue of the last.
    pub last_ns: Option<u64>,
    /// Who sent the I/O.
    pub vms: Vec<String>,
    /// Where it went.
    pub devices: Vec<String>,
    /// Records that could not be understood.
    pub bad: u64,
    /// Events that the source says it lost.
    pub dropped: u64,
    /// Records too far out of order.
    pub disordered: u64,
    /// Rows that are no I/O.
    pub skipped: u64,
    /// The first bad records: where, and why.
    pub examples: Vec<String>,
}

/// What was left out on request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FilterFacts {
    /// Names of the only VMs; all if empty.
    pub vms: Vec<String>,
    /// Names of the only devices; all if empty.
    pub devices: Vec<String>,
    /// The only direction.
    pub direction: Option<String>,
    /// From this moment, nanoseconds.
    pub from_ns: Option<u64>,
    /// Before this moment, nanoseconds.
    pub to_ns: Option<u64>,
}

/// What latencies are held against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Nanoseconds; a 99th percentile above it breaks it.
    pub ns: u64,
    /// Where it comes from.
    pub source: String,
}

/// A sentence with its proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What kind it is.
    pub id: FindingKind,
    /// The sentence.
    pub text: String,
    /// The number in it.
    pub value: f64,
    /// Unit of value and limit.
    pub unit: String,
    /// What the number is held against.
    pub limit: f64,
    /// Where that comes from.
    pub limit_source: String,
    /// I/Os behind the number.
    pub samples: u64,
    /// What it is ordered by: the share of all waiting, or else of all I/Os, that it is about,
    /// 0 to 1.
    pub effect: f64,
    /// The command that shows the proof.
    pub command: String,
}

/// What a sentence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Sizes that wait beyond their number.
    Contribution,
    /// Sizes over the limit.
    Limit,
    /// A time with much of the waiting.
    Moment,
    /// Small I/O that waits for large.
    BesideLarge,
    /// I/O across pages of 4 KiB.
    Misaligned,
    /// Reads that are another part of the I/Os than of the bytes.
    ReadShare,
    /// A second far above the busiest 20 s.
    Burst,
    /// What a tier would serve.
    Tier,
}

/// Something that cannot be said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// What about.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Sums of one VM, or of all. Shares are 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewRow {
    /// Whose.
    pub vm: String,
    /// Read I/Os.
    pub reads: u64,
    /// Write I/Os.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// I/Os that failed; they have no latency here.
    pub failed: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads among the I/Os that move data.
    pub read_share_of_count: Option<f64>,
    /// Bytes read among the bytes moved.
    pub read_share_of_bytes: Option<f64>,
    /// I/Os that move data a second, over the whole time.
    pub iops: Option<f64>,
    /// Bytes a second, over the whole time.
    pub bytes_per_s: Option<f64>,
    /// I/Os that begin where the one before of their direction and device ended.
    pub sequential_share: Option<f64>,
    /// I/Os that do not begin on a multiple of 4 KiB.
    pub misaligned_share: Option<f64>,
    /// Median latency of reads, nanoseconds.
    pub read_p50_ns: Option<u64>,
    /// 99th percentile of reads.
    pub read_p99_ns: Option<u64>,
    /// Longest read.
    pub read_max_ns: Option<u64>,
    /// Median latency of writes.
    pub write_p50_ns: Option<u64>,
    /// 99th percentile of writes.
    pub write_p99_ns: Option<u64>,
    /// Longest write.
    pub write_max_ns: Option<u64>,
    /// Median latency of flushes.
    pub flush_p50_ns: Option<u64>,
    /// 99th percentile of flushes.
    pub flush_p99_ns: Option<u64>,
}

/// The busiest window of a width.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurstRow {
    /// Whose.
    pub vm: String,
    /// Width, nanoseconds.
    pub width_ns: u64,
    /// Its begin, nanoseconds from the trace's start.
    pub start_ns: u64,
    /// I/Os in it.
    pub count: u64,
    /// Bytes in it.
    pub bytes: u64,
    /// I/Os a second in it.
    pub iops: f64,
    /// How many times the average over the whole time that is.
    pub times_mean: Option<f64>,
}

/// Where I/Os begin within 4 KiB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlignmentRow {
    /// Whose.
    pub vm: String,
    /// `read` or `write`.
    pub direction: String,
    /// First sector (512 B) modulo 8; 0 is aligned.
    pub sector_mod_8: u64,
    /// I/Os.
    pub count: u64,
    /// Of the VM's I/Os of this direction.
    pub share: f64,
}

/// One class of sizes in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRow {
    /// Whose.
    pub vm: String,
    /// `read` or `write`.
    pub direction: String,
    /// The class.
    pub class: String,
    /// I/Os.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Of the VM's reads, writes and flushes.
    pub share_of_count: f64,
    /// Of their bytes.
    pub share_of_bytes: f64,
    /// I/Os that begin where the one before of their direction and device ended.
    pub sequential_share: f64,
    /// Mean latency, nanoseconds.
    pub mean_ns: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Longest.
    pub max_ns: Option<u64>,
    /// All latencies added, nanoseconds.
    pub wait_ns: Option<u64>,
    /// Of the VM's waiting for them: what made it slow.
    pub share_of_wait: Option<f64>,
}

/// Small I/Os (below 32 KiB) without and with a large one (64 KiB and above) in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BesideRow {
    /// Whose.
    pub vm: String,
    /// `read` or `write`.
    pub direction: String,
    /// Small I/Os with no large one beside them.
    pub alone_count: u64,
    /// Their median, nanoseconds.
    pub alone_p50_ns: Option<u64>,
    /// Their 99th percentile.
    pub alone_p99_ns: Option<u64>,
    /// Small I/Os that were issued while a large one was in flight on the device.
    pub beside_count: u64,
    /// Their median.
    pub beside_p50_ns: Option<u64>,
    /// Their 99th percentile.
    pub beside_p99_ns: Option<u64>,
}

/// A cell of sizes by latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyCell {
    /// Whose.
    pub vm: String,
    /// `read` or `write`.
    pub direction: String,
    /// The class of sizes.
    pub class: String,
    /// Longer than this, nanoseconds.
    pub from_ns: u64,
    /// Up to this; none for the last row.
    pub to_ns: Option<u64>,
    /// I/Os.
    pub count: u64,
}

/// A cell of sizes by I/Os outstanding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutstandingCell {
    /// Whose.
    pub vm: String,
    /// `read` or `write`.
    pub direction: String,
    /// The class of sizes.
    pub class: String,
    /// Fewest outstanding, the I/O itself counted.
    pub outstanding_from: u32,
    /// Most; none for the last column.
    pub outstanding_to: Option<u32>,
    /// I/Os.
    pub count: u64,
    /// Median latency, nanoseconds, within 3.2 %.
    pub p50_ns: Option<u64>,
    /// 99th percentile, within 3.2 %.
    pub p99_ns: Option<u64>,
    /// Whether there are 30 I/Os or more.
    pub is_enough: bool,
}

/// The smallest class of sizes whose 99th percentile breaks the limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakRow {
    /// Whose.
    pub vm: String,
    /// `read` or `write`.
    pub direction: String,
    /// The class; none breaks it if absent.
    pub class: Option<String>,
    /// Its 99th percentile, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Its I/Os, 30 or more.
    pub count: u64,
    /// The fewest I/Os outstanding at which that class breaks it.
    pub outstanding_from: Option<u32>,
}

/// One histogram of vscsiStats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistogramRow {
    /// Whose.
    pub vm: String,
    /// Of which device.
    pub device: String,
    /// Of what.
    pub histogram: String,
    /// Unit of the values.
    pub unit: String,
    /// Values.
    pub count: u64,
    /// Smallest value.
    pub min: Option<i64>,
    /// Largest value.
    pub max: Option<i64>,
    /// Mean, towards zero.
    pub mean: Option<i64>,
    /// Largest value of each bucket but the last, which has none.
    pub limits: Vec<i64>,
    /// Values of each bucket: one more than limits.
    pub counts: Vec<u64>,
}

/// One VM, direction and class in one slice of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeRow {
    /// Begin of the slice, nanoseconds from the trace's start.
    pub start_ns: u64,
    /// Whose.
    pub vm: String,
    /// `read` or `write`.
    pub direction: String,
    /// The class of sizes.
    pub class: String,
    /// I/Os.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// All latencies added, nanoseconds.
    pub wait_ns: u64,
    /// Median latency, nanoseconds, within 3.2 %.
    pub p50_ns: Option<u64>,
    /// 99th percentile, within 3.2 %.
    pub p99_ns: Option<u64>,
    /// Longest.
    pub max_ns: Option<u64>,
}

/// Different bytes touched, in pages of 4 KiB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSetRow {
    /// Whose.
    pub vm: String,
    /// Length of the windows, nanoseconds; none for the whole trace.
    pub window_ns: Option<u64>,
    /// Windows with I/O.
    pub windows: u64,
    /// Mean over them.
    pub mean_bytes: f64,
    /// The largest.
    pub max_bytes: f64,
    /// Share of the pages that was looked at; 1 is exact.
    pub sampled_share: f64,
}

/// A point of a miss-ratio curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissRatioRow {
    /// Whose.
    pub vm: String,
    /// Page, bytes.
    pub page_bytes: u64,
    /// Cache, bytes.
    pub cache_bytes: u64,
    /// Share of references to pages, reads and writes alike, that miss an LRU cache.
    pub miss_ratio: f64,
    /// Share of the pages that was looked at; 1 is exact.
    pub sampled_share: f64,
}

/// Where more cache begins to bring less (Satopää and others 2011).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeRow {
    /// Whose.
    pub vm: String,
    /// Page, bytes.
    pub page_bytes: u64,
    /// References to pages behind the curve.
    pub references: u64,
    /// Cache, bytes.
    pub cache_bytes: u64,
    /// Share of references that miss there.
    pub miss_ratio: f64,
    /// Share that misses in a cache of any size: first references.
    pub miss_ratio_least: f64,
}

/// What a tier of pages of 64 KiB would serve: LRU, write-back, everything comes in, empty at
/// first. An I/O is served when all its pages are; of a sample of pages (`sampled_share` below
/// 1) each page of an I/O counts for itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierRow {
    /// Whose.
    pub vm: String,
    /// Size of the tier.
    pub tier_bytes: u64,
    /// Reads that the tier alone serves, of all reads.
    pub reads_served: Option<f64>,
    /// I/Os that the tier alone serves, of all.
    pub io_served: Option<f64>,
    /// Bytes written to the tier.
    pub tier_written_bytes: f64,
    /// References to pages that were simulated.
    pub references: u64,
    /// Share of the pages that was looked at; 1 is exact.
    pub sampled_share: f64,
}

/// The JSON Schema of [`Analysis`].
pub fn json_schema() -> serde_json::Value {
    schema_for!(Analysis).to_value()
}
