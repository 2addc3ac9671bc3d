use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Latency;

/// Replay of recorded loads in a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReplayFacts {
    /// Recorded loads of the tile.
    pub traces: Vec<PlayedTrace>,
    /// Number of copies that were replayed: one in each tile.
    pub copies: u32,
    /// Copies that were replayed to the last answer.
    pub ended: u32,
    /// Time from the start to the last answer of the slowest copy, in nanoseconds; null if no copy
    /// came to its end.
    pub elapsed_ns: Option<u64>,
    /// I/Os submitted, all copies.
    pub submitted: u64,
    /// Delay of submissions behind their due times, whatever the cause; without samples in a
    /// simulation, which is never late.
    pub submission_error: Latency,
    /// I/Os that were submitted more than 1 ms after they were due.
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
    /// Condition for the start of an I/O: `open` (its time has come), `closed` (its sender's last
    /// I/O was answered) or `one-at-a-time` (the I/O before was answered).
    pub pace: String,
    /// Speed of the replay: `1x`, `2x`, `max`.
    pub speed: String,
    /// I/Os of one copy.
    pub ios: u64,
    /// Bytes that these I/Os read and write.
    pub bytes: u64,
    /// Time from the first to the last I/O in the trace, in nanoseconds.
    pub trace_span_ns: u64,
    /// Memory of the trace, for all copies together, in bytes.
    pub memory_bytes: u64,
    /// Discards of the trace, which are never sent to storage.
    pub discards: u64,
    /// Reads and writes of zero bytes, which are left out.
    pub empty: u64,
    /// Alignment of requests of the storage, in bytes.
    pub unit_bytes: u64,
    /// I/Os whose begin or end was rounded outwards to that alignment.
    pub rounded: u64,
    /// I/Os beyond the end of a smaller disk, which were folded into it.
    pub folded: u64,
    /// I/Os that were cut to the longest possible request.
    pub cut: u64,
}
