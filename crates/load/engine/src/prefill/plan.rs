use datastore::VirtualDisk;
use serde::{Deserialize, Serialize};
use stats::Compact;
use units::{Bytes, Nanos};

use crate::payload::Freshness;
use crate::verify::Setup;

/// Disk to fill, and its content.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Open disk.
    pub disk: VirtualDisk,
    /// True if an earlier call filled the disk, so that it is left unchanged.
    pub filled: bool,
    /// Share of each 4 KiB that a compressor can remove, 0 to 100 percent.
    pub compressible_percent: u8,
    /// Share of the 1 MiB pieces that repeat one of 16 contents, 0 to 100 percent.
    pub dedupable_percent: u8,
    /// Seed of the payload. Disks with different seeds get different payloads.
    pub seed: u64,
}

/// Settings of a fill.
#[derive(Debug, Clone)]
pub struct Options {
    /// Setup of verification, which stamps every block so that later reads can be verified. If
    /// absent, nothing is verified.
    pub verify: Option<Setup>,
    /// Part of each piece that is generated anew.
    pub freshness: Freshness,
    /// Number of disks written at the same time; at least 1.
    pub disks_at_once: usize,
    /// Writes outstanding per disk; at least 1.
    pub outstanding: usize,
    /// Maximum amount of data to rewrite for the rewrite figure; zero omits the figure.
    pub rewrite_max: Bytes,
    /// Maximum duration of the rewrite.
    pub rewrite_time_max: Nanos,
}

impl Default for Options {
    /// Returns 4 disks at once with 4 writes outstanding each; 256 MiB or 5 s of rewriting. Our
    /// choice: 16 MiB in flight fill the queue of an array, and 5 s are short compared with any
    /// fill.
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

/// Progress of the first write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written and acknowledged.
    pub done: Bytes,
    /// Total bytes to write.
    pub total: Bytes,
}

/// Amounts written, and their speed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrefillReport {
    /// Names of the disks that this call filled.
    pub filled: Vec<String>,
    /// First write of every block; the elapsed time includes the closing fsync.
    pub first_write: RateStats,
    /// Rewrite of a sample of the same blocks; empty if none was done.
    pub rewrite: RateStats,
}

/// Speed and latencies of writes of 1 MiB (the last piece of a disk may be smaller).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RateStats {
    /// Bytes acknowledged.
    pub bytes: Bytes,
    /// Time from the first submission to the end of the closing fsync.
    pub elapsed: Nanos,
    /// Service time of each write.
    pub latency: Compact,
}

impl RateStats {
    /// Adds the figures of a later pass.
    pub fn add(&mut self, more: &Self) {
        self.bytes = self.bytes + more.bytes;
        self.elapsed += more.elapsed;
        self.latency.merge(&more.latency);
    }

    /// Returns the bytes per second over the elapsed time; zero if nothing was written.
    pub fn bytes_per_second(&self) -> f64 {
        if self.bytes == Bytes::ZERO {
            return 0.0;
        }
        self.bytes.as_f64() / self.elapsed.as_secs_f64()
    }
}
