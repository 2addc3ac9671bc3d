use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `overview`: the answer, four numbers, what to look at next, and the block sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overview {
    /// What ran, and whether users would feel it.
    pub sentence: String,
    /// What causes it.
    pub cause: String,
    /// `passed`, `failed`, `inconclusive`, `interrupted`, `running` or `observed`.
    pub verdict: String,
    /// Four numbers.
    pub heroes: Vec<Hero>,
    /// At most three.
    pub findings: Vec<Finding>,
    /// By direction and class of sizes.
    pub sizes: Vec<SizeRow>,
    /// Flushes, which have no size (class 0); shares of `sizes` and these add up to 1.
    pub flushes: Option<SizeRow>,
    /// A sentence about the sizes.
    pub sizes_sentence: String,
}

/// A number that matters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hero {
    /// What it is.
    pub label: String,
    /// The number as it is printed, with its unit: `18,400 IOPS`, `0.9 ms`.
    pub text: String,
    /// The number, unscaled.
    pub value: Option<f64>,
    /// Unit of `value`: `ns`, `io_per_s`, `call_per_s`, `bytes_per_s`, `tiles`, `share`.
    pub unit: String,
    /// Over which time, and what it is held against.
    pub note: String,
    /// Samples behind it.
    pub samples: Option<u64>,
    /// Its course over the lens's time, at most 60 points.
    pub spark: Vec<Option<f64>>,
    /// Where it is proven: a page's path and query below the run, `latency?s=p99`.
    pub link: String,
}

/// Something to look at next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What kind.
    pub id: String,
    /// The sentence, with its number, the limit it is held against and its samples.
    pub text: String,
    /// What findings are ordered by, 0 to 1.
    pub effect: f64,
    /// I/Os or actions behind it.
    pub samples: u64,
    /// Where it is proven, as in [`Hero::link`].
    pub link: String,
}

/// One class of sizes in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRow {
    /// `read` or `write`; `flush` in [`Overview::flushes`].
    pub direction: String,
    /// Position of the class, 0 to 7, smallest first.
    pub class: u8,
    /// I/Os.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Of all I/Os in the lens, 0 to 1.
    pub share_of_count: f64,
    /// Of all bytes in the lens.
    pub share_of_bytes: f64,
    /// All service times added, nanoseconds.
    pub wait_ns: u64,
    /// Of all waiting in the lens: what made it slow.
    pub share_of_wait: f64,
    /// Median service time, nanoseconds; none without I/O.
    pub p50_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Longest.
    pub max_ns: Option<u64>,
}
