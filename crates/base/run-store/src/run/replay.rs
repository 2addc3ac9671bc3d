use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Latency;

/// Replay of recorded loads in a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReplayFacts {
    /// Recorded loads of the tile.
    pub traces: Vec<PlayedTrace>,
    /// Number of replayed copies: one in each tile.
    pub copies: u32,
    /// Number of copies that were replayed up to the last answer.
    pub ended: u32,
    /// Time from the start to the last completion of the slowest copy, in nanoseconds; null if no
    /// copy was replayed to the end.
    pub elapsed_ns: Option<u64>,
    /// Number of submitted I/Os of all copies.
    pub submitted: u64,
    /// Delay of submissions after their due times, whatever the cause. Without samples in a
    /// simulation, which is never late.
    pub submission_error: Latency,
    /// Number of I/Os that were submitted more than 1 ms after their due time.
    pub late_1ms: u64,
}

/// One copy of a replayed load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlayedTrace {
    /// Workload that replays the trace.
    pub workload: String,
    /// Path of the trace's file or directory.
    pub trace: String,
    /// Format of the trace.
    pub format: String,
    /// VM whose I/O is replayed; absent for the I/O of all VMs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// Devices of the trace, in the order of the workload's disks.
    pub devices: Vec<String>,
    /// Condition for the start of an I/O. `open`: its time has come. `closed`: the last I/O of the
    /// same sender was answered. `one-at-a-time`: the previous I/O was answered.
    pub pace: String,
    /// Speed of the replay: `1x`, `2x`, `max`.
    pub speed: String,
    /// Number of I/Os in one copy.
    pub ios: u64,
    /// Bytes that the I/Os of one copy read and write.
    pub bytes: u64,
    /// Time from the first to the last I/O in the trace, in nanoseconds.
    pub trace_span_ns: u64,
    /// Memory that the trace occupies, shared by all copies, in bytes.
    pub memory_bytes: u64,
    /// Number of discards in the trace. They are never sent to storage.
    pub discards: u64,
    /// Number of reads and writes of zero bytes. They are left out.
    pub empty: u64,
    /// Alignment that the storage requires of requests, in bytes.
    pub unit_bytes: u64,
    /// Number of I/Os whose start or end was rounded outwards to that alignment.
    pub rounded: u64,
    /// Number of I/Os beyond the end of a smaller disk. Each was wrapped to an offset within the
    /// disk.
    pub folded: u64,
    /// Number of I/Os that were cut to the maximum size of a request.
    pub cut: u64,
}
