use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Latency;

/// How recorded loads were played in a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReplayFacts {
    /// Each recorded load of the tile.
    pub traces: Vec<PlayedTrace>,
    /// How many copies of them were played: one in each tile.
    pub copies: u32,
    /// Copies that were played to the last answer.
    pub ended: u32,
    /// From the start to the last answer of the copy that took longest, in nanoseconds; null if
    /// none came to its end.
    pub elapsed_ns: Option<u64>,
    /// I/Os handed to the storage, all copies.
    pub submitted: u64,
    /// By how much I/Os were handed to the storage after they were due, whoever was the cause;
    /// without samples in a simulation, which is never late.
    pub submission_error: Latency,
    /// I/Os that were handed over more than 1 ms after they were due.
    pub late_1ms: u64,
}

/// One copy of a recorded load as it is played.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlayedTrace {
    /// The workload that plays it.
    pub workload: String,
    /// The trace's file or directory.
    pub trace: String,
    /// Its format.
    pub format: String,
    /// The VM whose I/O is played; absent for everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// Devices of the trace, in the order of the workload's disks.
    pub devices: Vec<String>,
    /// What an I/O waits for: `open` (its time), `closed` (the answer that its sender had last)
    /// or `one-at-a-time` (the I/O before it).
    pub pace: String,
    /// `1x`, `2x`, `max`.
    pub speed: String,
    /// I/Os of one copy.
    pub ios: u64,
    /// Bytes that they read and write.
    pub bytes: u64,
    /// From the first to the last I/O in the trace, in nanoseconds.
    pub trace_span_ns: u64,
    /// Memory that holds it, for all copies together.
    pub memory_bytes: u64,
    /// Discards of the trace, which are never sent to storage.
    pub discards: u64,
    /// Reads and writes of no bytes, which are left out.
    pub empty: u64,
    /// Unit in which the storage takes requests, in bytes.
    pub unit_bytes: u64,
    /// I/Os whose begin or end was rounded outwards to that unit.
    pub rounded: u64,
    /// I/Os that lay beyond the end of a smaller disk and were folded into it.
    pub folded: u64,
    /// I/Os that were cut to the longest request there is.
    pub cut: u64,
}
