//! Answer of an analysis, in the form of JSON and tables. Rows are flat, so that every list is a
//! table in CSV and Parquet.

use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};

/// Schema id of [`Analysis`]: a minor version only adds fields.
pub const SCHEMA: &str = "tilemark.analysis/1.1";

/// Analysis of a trace. Lists of views that were not requested are empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// Schema name and version: `tilemark.analysis/1.1`.
    pub schema: String,
    /// Program with its version.
    pub tool: String,
    /// Source of the I/O.
    pub source: SourceFacts,
    /// Filters of the request.
    pub filter: FilterFacts,
    /// Limit for latencies.
    pub limit: Limit,
    /// Most important findings, at most five, by effect.
    pub findings: Vec<Finding>,
    /// Questions that this source cannot answer, with the reason.
    pub cannot_say: Vec<Remark>,
    /// Sums: of all VMs first if there are several, then of each VM.
    pub overview: Vec<OverviewRow>,
    /// Busiest time windows, compared with the average.
    pub bursts: Vec<BurstRow>,
    /// Offsets of I/Os from a 4 KiB boundary.
    pub alignment: Vec<AlignmentRow>,
    /// Figures by direction and size class, with each class's part of the waiting.
    pub sizes: Vec<SizeRow>,
    /// Small I/Os with and without a large I/O in flight on the device.
    pub beside_large: Vec<BesideRow>,
    /// Counts by size class and latency.
    pub matrix_latency: Vec<LatencyCell>,
    /// Latencies by size class and outstanding I/Os.
    pub matrix_outstanding: Vec<OutstandingCell>,
    /// First size class that breaks the limit.
    pub breaks: Vec<BreakRow>,
    /// The histograms of vscsiStats, by VM and device.
    pub histograms: Vec<HistogramRow>,
    /// Length of a slice of `time`, nanoseconds.
    pub slice_ns: u64,
    /// I/O over time.
    pub time: Vec<TimeRow>,
    /// Distinct bytes over windows of time.
    pub working_set: Vec<WorkingSetRow>,
    /// Miss ratios of an LRU cache over its size.
    pub miss_ratio: Vec<MissRatioRow>,
    /// Cache sizes above which more cache brings less.
    pub knees: Vec<KneeRow>,
    /// I/Os that an acceleration tier would serve.
    pub tiers: Vec<TierRow>,
}

/// Source of the I/O.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceFacts {
    /// Name as given.
    pub name: String,
    /// Name of the format; `run` for a run directory.
    pub format: String,
    /// True if records have times; otherwise only their order is known.
    pub has_times: bool,
    /// Resolution of the clock, nanoseconds.
    pub resolution_ns: Option<u64>,
    /// True if records have latencies.
    pub has_latency: bool,
    /// Wall clock at time zero, nanoseconds since 1970.
    pub started_unix_ns: Option<i64>,
    /// I/Os that passed the filter.
    pub records: u64,
    /// I/Os that were filtered out.
    pub filtered: u64,
    /// Issue time of the first I/O that passed the filter, nanoseconds from the trace's start.
    pub first_ns: Option<u64>,
    /// Issue time of the last I/O that passed the filter, nanoseconds from the trace's start.
    pub last_ns: Option<u64>,
    /// Initiators of the I/O: VMs and other processes.
    pub vms: Vec<String>,
    /// Devices of the I/O.
    pub devices: Vec<String>,
    /// Unreadable records.
    pub bad: u64,
    /// Events that the source reports as lost.
    pub dropped: u64,
    /// Records that were too far out of order.
    pub disordered: u64,
    /// Rows that are not I/Os.
    pub skipped: u64,
    /// First unreadable records, each with its position and error.
    pub examples: Vec<String>,
}

/// Filters of the request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FilterFacts {
    /// Names of the VMs to include; all if empty.
    pub vms: Vec<String>,
    /// Names of the devices to include; all if empty.
    pub devices: Vec<String>,
    /// Direction to include; both if absent.
    pub direction: Option<String>,
    /// Begin of the included time, nanoseconds.
    pub from_ns: Option<u64>,
    /// End of the included time, nanoseconds.
    pub to_ns: Option<u64>,
}

/// Limit for latencies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Limit in nanoseconds. A 99th percentile above it breaks the limit.
    pub ns: u64,
    /// Source of the limit.
    pub source: String,
}

/// Finding as a sentence with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Kind of the finding.
    pub id: FindingKind,
    /// Text of the sentence.
    pub text: String,
    /// Number in the sentence.
    pub value: f64,
    /// Unit of value and limit.
    pub unit: String,
    /// Limit that the number is compared with.
    pub limit: f64,
    /// Source of the limit.
    pub limit_source: String,
    /// Number of I/Os behind the number.
    pub samples: u64,
    /// Lower end of the number's 95 % interval, in `unit`. None if the finding is not estimated
    /// from the whole time, or if too little time was recorded.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end of the interval.
    #[serde(default)]
    pub high: Option<f64>,
    /// Method by which the interval was computed.
    #[serde(default)]
    pub interval_by: Option<String>,
    /// Weight for sorting: the affected share of all waiting, otherwise of all I/Os, 0 to 1.
    pub effect: f64,
    /// Command that shows the evidence.
    pub command: String,
}

/// Subject of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Size classes with more waiting than their number of I/Os explains.
    Contribution,
    /// Size classes over the limit.
    Limit,
    /// Time span with much of the waiting.
    Moment,
    /// Small I/O that waits for large I/O.
    BesideLarge,
    /// I/O across pages of 4 KiB.
    Misaligned,
    /// Reads whose share of I/Os differs from their share of bytes.
    ReadShare,
    /// A second far busier than the busiest 20 s on average.
    Burst,
    /// Tier that would serve many I/Os.
    Tier,
}

/// Question without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// Subject of the question.
    pub what: String,
    /// Reason why there is no answer.
    pub why: String,
}

/// Totals of one VM, or of all. Shares are 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Read I/Os.
    pub reads: u64,
    /// Write I/Os.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// Failed I/Os; their latencies are left out.
    pub failed: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Share of reads among the I/Os that transfer data.
    pub read_share_of_count: Option<f64>,
    /// Share of bytes read among the transferred bytes.
    pub read_share_of_bytes: Option<f64>,
    /// Data transferring I/Os per second, over the whole time.
    pub iops: Option<f64>,
    /// Bytes per second, over the whole time.
    pub bytes_per_s: Option<f64>,
    /// Share of I/Os that begin at the end of the previous I/O of the same direction and device.
    pub sequential_share: Option<f64>,
    /// Share of I/Os that do not begin on a multiple of 4 KiB.
    pub misaligned_share: Option<f64>,
    /// Median latency of reads, nanoseconds.
    pub read_p50_ns: Option<u64>,
    /// 99th percentile of reads, nanoseconds.
    pub read_p99_ns: Option<u64>,
    /// Longest read, nanoseconds.
    pub read_max_ns: Option<u64>,
    /// Median latency of writes.
    pub write_p50_ns: Option<u64>,
    /// 99th percentile of writes, nanoseconds.
    pub write_p99_ns: Option<u64>,
    /// Longest write, nanoseconds.
    pub write_max_ns: Option<u64>,
    /// Median latency of flushes.
    pub flush_p50_ns: Option<u64>,
    /// 99th percentile of flushes, nanoseconds.
    pub flush_p99_ns: Option<u64>,
}

/// Busiest time window of one width.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurstRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Width of the window, nanoseconds.
    pub width_ns: u64,
    /// Begin of the window, nanoseconds from the trace's start.
    pub start_ns: u64,
    /// I/Os in the window.
    pub count: u64,
    /// Bytes in the window.
    pub bytes: u64,
    /// I/Os per second in the window.
    pub iops: f64,
    /// Ratio of `iops` to the average over the whole time.
    pub times_mean: Option<f64>,
}

/// I/Os by their offset from a 4 KiB boundary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlignmentRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Direction: `read` or `write`.
    pub direction: String,
    /// First sector (512 B) modulo 8; 0 is aligned.
    pub sector_mod_8: u64,
    /// Number of I/Os.
    pub count: u64,
    /// Share of the VM's I/Os of this direction.
    pub share: f64,
}

/// Figures of one size class and direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Direction: `read` or `write`.
    pub direction: String,
    /// Size class.
    pub class: String,
    /// Number of I/Os.
    pub count: u64,
    /// Bytes of the I/Os.
    pub bytes: u64,
    /// Share of the VM's I/Os: reads, writes and flushes.
    pub share_of_count: f64,
    /// Share of the VM's bytes.
    pub share_of_bytes: f64,
    /// Share of I/Os that begin at the end of the previous I/O of the same direction and device.
    pub sequential_share: f64,
    /// Mean latency, nanoseconds.
    pub mean_ns: Option<u64>,
    /// Median latency, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 95th percentile of latency, nanoseconds.
    pub p95_ns: Option<u64>,
    /// 99th percentile of latency, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Longest latency, nanoseconds.
    pub max_ns: Option<u64>,
    /// Sum of all latencies, nanoseconds.
    pub wait_ns: Option<u64>,
    /// Share of the VM's waiting: the contribution to slowness.
    pub share_of_wait: Option<f64>,
}

/// Small I/Os (below 32 KiB) without and with a large I/O (64 KiB and above) in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BesideRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Direction: `read` or `write`.
    pub direction: String,
    /// Small I/Os issued without a large I/O in flight.
    pub alone_count: u64,
    /// Median latency of the I/Os in `alone_count`, nanoseconds.
    pub alone_p50_ns: Option<u64>,
    /// 99th percentile of the I/Os in `alone_count`, nanoseconds.
    pub alone_p99_ns: Option<u64>,
    /// Small I/Os issued while a large I/O was in flight on the device.
    pub beside_count: u64,
    /// Median latency of the I/Os in `beside_count`, nanoseconds.
    pub beside_p50_ns: Option<u64>,
    /// 99th percentile of the I/Os in `beside_count`, nanoseconds.
    pub beside_p99_ns: Option<u64>,
}

/// Cell of the matrix of size class and latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyCell {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Direction: `read` or `write`.
    pub direction: String,
    /// Size class.
    pub class: String,
    /// Lower end of the latencies, exclusive, nanoseconds.
    pub from_ns: u64,
    /// Upper end, inclusive; none for the last row.
    pub to_ns: Option<u64>,
    /// Number of I/Os.
    pub count: u64,
}

/// Cell of the matrix of size class and outstanding I/Os.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutstandingCell {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Direction: `read` or `write`.
    pub direction: String,
    /// Size class.
    pub class: String,
    /// Smallest number of outstanding I/Os, including the I/O itself.
    pub outstanding_from: u32,
    /// Largest number of outstanding I/Os; none for the last column.
    pub outstanding_to: Option<u32>,
    /// Number of I/Os.
    pub count: u64,
    /// Median latency, nanoseconds, within 3.2 %.
    pub p50_ns: Option<u64>,
    /// 99th percentile of latency, nanoseconds, within 3.2 %.
    pub p99_ns: Option<u64>,
    /// True if there are at least 30 I/Os.
    pub is_enough: bool,
}

/// Smallest size class whose 99th percentile breaks the limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BreakRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Direction: `read` or `write`.
    pub direction: String,
    /// Size class; absent if none breaks the limit.
    pub class: Option<String>,
    /// 99th percentile of the class, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Number of I/Os in the class, at least 30.
    pub count: u64,
    /// Smallest number of outstanding I/Os at which the class breaks the limit.
    pub outstanding_from: Option<u32>,
}

/// Histogram of vscsiStats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistogramRow {
    /// Name of the VM.
    pub vm: String,
    /// Name of the device.
    pub device: String,
    /// Name of the histogram.
    pub histogram: String,
    /// Unit of the values.
    pub unit: String,
    /// Number of values.
    pub count: u64,
    /// Smallest value.
    pub min: Option<i64>,
    /// Largest value.
    pub max: Option<i64>,
    /// Mean, rounded towards zero.
    pub mean: Option<i64>,
    /// Largest value of each bucket, except of the last bucket, which has no limit.
    pub limits: Vec<i64>,
    /// Number of values in each bucket: one more than limits.
    pub counts: Vec<u64>,
}

/// Figures of one VM, direction and class in one time slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeRow {
    /// Start of the slice, nanoseconds from the trace's start.
    pub start_ns: u64,
    /// Name of the VM.
    pub vm: String,
    /// Direction: `read` or `write`.
    pub direction: String,
    /// Size class.
    pub class: String,
    /// Number of I/Os.
    pub count: u64,
    /// Bytes of the I/Os.
    pub bytes: u64,
    /// Sum of all latencies, nanoseconds.
    pub wait_ns: u64,
    /// Median latency, nanoseconds, within 3.2 %.
    pub p50_ns: Option<u64>,
    /// 99th percentile of latency, nanoseconds, within 3.2 %.
    pub p99_ns: Option<u64>,
    /// Longest latency, nanoseconds.
    pub max_ns: Option<u64>,
}

/// Distinct bytes accessed, in pages of 4 KiB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingSetRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Length of the windows, nanoseconds; none for the whole trace.
    pub window_ns: Option<u64>,
    /// Number of windows with I/O.
    pub windows: u64,
    /// Mean over the windows, bytes.
    pub mean_bytes: f64,
    /// Maximum over the windows, bytes.
    pub max_bytes: f64,
    /// Share of the pages that were sampled; 1 means exact.
    pub sampled_share: f64,
}

/// Point of a miss-ratio curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissRatioRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Page size, bytes.
    pub page_bytes: u64,
    /// Cache size, bytes.
    pub cache_bytes: u64,
    /// Share of page references, reads and writes alike, that miss in an LRU cache.
    pub miss_ratio: f64,
    /// Share of the pages that were sampled; 1 means exact.
    pub sampled_share: f64,
}

/// Cache size above which more cache brings less (Satopää and others 2011).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Page size, bytes.
    pub page_bytes: u64,
    /// Number of page references behind the curve.
    pub references: u64,
    /// Cache size, bytes.
    pub cache_bytes: u64,
    /// Share of references that miss at this size.
    pub miss_ratio: f64,
    /// Share of references that miss in a cache of any size, because they are first references.
    pub miss_ratio_least: f64,
}

/// I/Os that a tier of 64 KiB pages would serve: LRU, write-back, every page admitted, empty at
/// first. An I/O is served if all its pages are in the tier. In a sample of pages (`sampled_share`
/// below 1) each page of an I/O counts separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierRow {
    /// Name of the VM, or `all`.
    pub vm: String,
    /// Size of the tier, bytes.
    pub tier_bytes: u64,
    /// Share of reads that the tier serves without the storage behind it.
    pub reads_served: Option<f64>,
    /// Share of all I/Os that the tier serves without the storage behind it.
    pub io_served: Option<f64>,
    /// Lower end of the 95 % interval of `reads_served`, from its differences between blocks of
    /// time; none if too little time was recorded.
    #[serde(default)]
    pub reads_served_low: Option<f64>,
    /// Upper end of the interval of `reads_served`.
    #[serde(default)]
    pub reads_served_high: Option<f64>,
    /// Lower end of the 95 % interval of `io_served`.
    #[serde(default)]
    pub io_served_low: Option<f64>,
    /// Upper end of the interval of `io_served`.
    #[serde(default)]
    pub io_served_high: Option<f64>,
    /// Bytes written to the tier.
    pub tier_written_bytes: f64,
    /// Number of simulated page references.
    pub references: u64,
    /// Share of the pages that were sampled; 1 means exact.
    pub sampled_share: f64,
}

/// Returns the JSON Schema of [`Analysis`].
pub fn json_schema() -> serde_json::Value {
    schema_for!(Analysis).to_value()
}
