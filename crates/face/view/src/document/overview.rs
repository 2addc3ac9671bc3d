use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// View `overview`: the answer, four numbers, findings, and the block sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overview {
    /// Summary of the run, and its effect on users.
    pub sentence: String,
    /// Cause of the limit or of the latency.
    pub cause: String,
    /// Verdict: `passed`, `failed`, `inconclusive`, `interrupted`, `running` or `observed`.
    pub verdict: String,
    /// Four main numbers.
    pub heroes: Vec<Hero>,
    /// Findings, at most three.
    pub findings: Vec<Finding>,
    /// I/O by direction and size class.
    pub sizes: Vec<SizeRow>,
    /// Flushes, which have no size (class 0). The shares of `sizes` and `flushes` add up to 1.
    pub flushes: Option<SizeRow>,
    /// Summary of the sizes.
    pub sizes_sentence: String,
}

/// A main number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hero {
    /// Name of the number.
    pub label: String,
    /// Number as it is printed, with its unit: `18,400 IOPS`, `0.9 ms`.
    pub text: String,
    /// Value of the number, unscaled.
    pub value: Option<f64>,
    /// Unit of `value`: `ns`, `io_per_s`, `call_per_s`, `bytes_per_s`, `tiles`, `share`.
    pub unit: String,
    /// Time that the number applies to, and the value that it is compared with.
    pub note: String,
    /// Number of samples.
    pub samples: Option<u64>,
    /// Values over the lens's time for the sparkline, at most 60 points.
    pub spark: Vec<Option<f64>>,
    /// Link to the proof: a page's path and query below the run, `latency?s=p99`.
    pub link: String,
}

/// A finding that is worth a closer look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Kind of the finding.
    pub id: String,
    /// Sentence with the number, the value that it is compared with, and the number of samples.
    pub text: String,
    /// Weight of the finding, 0 to 1; findings are sorted by it.
    pub effect: f64,
    /// Number of I/Os or actions of the finding.
    pub samples: u64,
    /// Link to the proof, as in [`Hero::link`].
    pub link: String,
}

/// I/O of one size class and direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRow {
    /// Direction: `read` or `write`; `flush` in [`Overview::flushes`].
    pub direction: String,
    /// Position of the size class, 0 to 7, smallest first.
    pub class: u8,
    /// Number of I/Os.
    pub count: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Share of all I/Os in the lens, 0 to 1.
    pub share_of_count: f64,
    /// Share of all bytes in the lens, 0 to 1.
    pub share_of_bytes: f64,
    /// Sum of all service times, nanoseconds.
    pub wait_ns: u64,
    /// Share of all waiting in the lens, 0 to 1: the contribution to slowness.
    pub share_of_wait: f64,
    /// Median service time, nanoseconds; none without I/O.
    pub p50_ns: Option<u64>,
    /// 95th percentile of the service time, nanoseconds.
    pub p95_ns: Option<u64>,
    /// 99th percentile of the service time, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Longest service time, nanoseconds.
    pub max_ns: Option<u64>,
}
