use serde::{Deserialize, Serialize};

/// Event counters since the set was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Reads that were answered without the backing store.
    pub hits: u64,
    /// Hits that were answered at once by the memory tier.
    #[serde(default)]
    pub memory_hits: u64,
    /// Reads for which a part came from the backing store.
    pub partial: u64,
    /// Reads for which all bytes came from the backing store.
    pub misses: u64,
    /// Bytes of all reads.
    pub read_bytes: u64,
    /// Bytes of reads that did not come from the backing store.
    pub hit_bytes: u64,
    /// Bytes of reads that came from the memory tier.
    #[serde(default)]
    pub memory_hit_bytes: u64,
    /// Number of writes.
    pub writes: u64,
    /// Writes whose pages were all resident.
    #[serde(default)]
    pub write_hits: u64,
    /// Writes that were answered from the log.
    pub absorbed: u64,
    /// Bytes of all writes.
    pub written_bytes: u64,
    /// Bytes of writes to resident pages.
    #[serde(default)]
    pub write_hit_bytes: u64,
    /// Flushes, and writes that had to be durable.
    pub flushes: u64,
    /// Bytes written from logs to the backing store.
    pub destaged_bytes: u64,
    /// Bytes that were written into pages.
    pub filled_bytes: u64,
    /// Bytes that were written into pages and came from clients' writes.
    pub placed_bytes: u64,
    /// Pages that were evicted.
    pub evicted: u64,
    /// Number of page blocks with a wrong checksum.
    pub checksum_errors: u64,
    /// Number of groups written to logs.
    pub groups: u64,
    /// Nanoseconds for which writes of a disk waited for room in its log.
    pub throttled_ns: u64,
}

impl Counters {
    /// Returns the sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            hits: self.hits + other.hits,
            memory_hits: self.memory_hits + other.memory_hits,
            partial: self.partial + other.partial,
            misses: self.misses + other.misses,
            read_bytes: self.read_bytes + other.read_bytes,
            hit_bytes: self.hit_bytes + other.hit_bytes,
            memory_hit_bytes: self.memory_hit_bytes + other.memory_hit_bytes,
            writes: self.writes + other.writes,
            write_hits: self.write_hits + other.write_hits,
            absorbed: self.absorbed + other.absorbed,
            written_bytes: self.written_bytes + other.written_bytes,
            write_hit_bytes: self.write_hit_bytes + other.write_hit_bytes,
            flushes: self.flushes + other.flushes,
            destaged_bytes: self.destaged_bytes + other.destaged_bytes,
            filled_bytes: self.filled_bytes + other.filled_bytes,
            placed_bytes: self.placed_bytes + other.placed_bytes,
            evicted: self.evicted + other.evicted,
            checksum_errors: self.checksum_errors + other.checksum_errors,
            groups: self.groups + other.groups,
            throttled_ns: self.throttled_ns + other.throttled_ns,
        }
    }
}
