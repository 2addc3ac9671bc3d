use datastore::VirtualDisk;
use serde::{Deserialize, Serialize};
use stats::Compact;
use units::{Bytes, Nanos};

use crate::payload::Freshness;
use crate::verify::Setup;

/// One disk and what to fill it with.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The open disk.
    pub disk: VirtualDisk,
    /// Leave it as it is: it was filled by an earlier call.
    pub filled: bool,
    /// How much of each 4 KiB a compressor could remove, 0 to 100 percent.
    pub compressible_percent: u8,
    /// How many of the 1 MiB pieces repeat one of 16 contents, 0 to 100 percent.
    pub dedupable_percent: u8,
    /// Payloads differ between disks whose seeds differ.
    pub seed: u64,
}

/// How to fill.
#[derive(Debug, Clone)]
pub struct Options {
    /// Stamp every block, so that reads of it can be judged.
    pub verify: Option<Setup>,
    /// How much of each piece is new.
    pub freshness: Freshness,
    /// Disks written at the same time; at least 1.
    pub disks_at_once: usize,
    /// Writes outstanding per disk; at least 1.
    pub outstanding: usize,
    /// At most so much is written again for the rewrite figure; zero leaves it out.
    pub rewrite_max: Bytes,
    /// The rewrite stops after this time.
    pub rewrite_time_max: Nanos,
}

impl Default for Options {
    /// 4 disks at once with 4 writes outstanding each; 256 MiB or 5 s of rewriting. Our choice:
    /// 16 MiB in flight fill the queue of an array, and 5 s are short beside any fill.
    fn default() -> Self {
        Self {
            verify: None,
            freshness: Freshness::default(),
            disks_at_once: 4,
            outstanding: 4,
            rewrite_max: Bytes::MIB * 256,
            rewrite_time_max: Nanos::from_secs(5),
        }
    }
}

/// How far the first write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written and acknowledged.
    pub done: Bytes,
    /// Bytes to write in all.
    pub total: Bytes,
}

/// What was written, and how fast.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrefillReport {
    /// Names of the disks that this call has filled.
    pub filled: Vec<String>,
    /// The first write of every block, the closing fsync included in the elapsed time.
    pub first_write: RateStats,
    /// A sample of the same blocks, written a second time; empty if there was none.
    pub rewrite: RateStats,
}

/// Speed and latencies of writes of 1 MiB (the last piece of a disk may be smaller).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RateStats {
    /// Bytes acknowledged.
    pub bytes: Bytes,
    /// From the first submit to the end of the closing fsync.
    pub elapsed: Nanos,
    /// Service time of each write.
    pub latency: Compact,
}

impl RateStats {
    /// Adds what was written after it.
    pub fn add(&mut self, more: &Self) {
        self.bytes = self.bytes + more.bytes;
        self.elapsed += more.elapsed;
        self.latency.merge(&more.latency);
    }

    /// Bytes per second over the elapsed time; zero if nothing was written.
    pub fn bytes_per_second(&self) -> f64 {
        if self.bytes == Bytes::ZERO {
            return 0.0;
        }
        self.bytes.as_f64() / self.elapsed.as_secs_f64()
    }
}
