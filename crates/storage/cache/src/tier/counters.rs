/// Counters of a tier for one VM, or for all: sums of bytes and requests since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Number of read requests.
    pub reads: u64,
    /// Reads whose pages were all resident, in any host's share.
    pub read_hits: u64,
    /// Read hits that were answered at least in part from another host's share.
    pub remote_hits: u64,
    /// Bytes of all reads.
    pub read_bytes: u64,
    /// Bytes read from resident pages.
    pub read_hit_bytes: u64,
    /// Bytes read from another host's share.
    pub remote_hit_bytes: u64,
    /// Number of write requests.
    pub writes: u64,
    /// Writes whose pages were all resident in the own host's share.
    pub write_hits: u64,
    /// Bytes of all writes.
    pub write_bytes: u64,
    /// Bytes written to resident pages.
    pub write_hit_bytes: u64,
    /// Writes that were answered without the backing store.
    pub writes_absorbed: u64,
    /// Writes in a write-back mode that were written through, at least in part, because the host
    /// has no share or too few peers could take a copy.
    pub writes_fallen_back: u64,
    /// Bytes of pages that were admitted with data of the backing store or of another host.
    pub filled_bytes: u64,
    /// Bytes of pages that were admitted because a write covered the whole page.
    pub placed_bytes: u64,
    /// Bytes of pages that were evicted to make room.
    pub evicted_bytes: u64,
    /// Evicted bytes that were dirty and had to reach the backing store first.
    pub evicted_dirty_bytes: u64,
    /// Bytes written to the backing store late, by clean-up or eviction.
    pub destaged_bytes: u64,
    /// All bytes written to the tier, copies included; this is the wear of its flash.
    pub tier_written_bytes: u64,
    /// Bytes of copies sent to peers.
    pub copied_bytes: u64,
    /// Bytes of missing pages that were not admitted because they belong to a sequential run.
    pub sequential_bytes: u64,
    /// Bytes of missing pages that were not admitted because of suspension, write mode or
    /// admission.
    pub refused_bytes: u64,
    /// Dirty bytes that were lost with failed hosts.
    pub lost_bytes: u64,
}

impl Counters {
    /// Returns the share of all requests that were answered without the backing store, 0 to 1, as
    /// FVP shows it: read hits, and writes in a write-back mode. `None` before the first request.
    #[expect(clippy::cast_precision_loss, reason = "a share, not a count")]
    pub fn acceleration_rate(&self) -> Option<f64> {
        let all = self.reads + self.writes;
        (all > 0).then(|| (self.read_hits + self.writes_absorbed) as f64 / all as f64)
    }

    /// Adds the counters of another tier or another VM.
    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.read_hits += other.read_hits;
        self.remote_hits += other.remote_hits;
        self.read_bytes += other.read_bytes;
        self.read_hit_bytes += other.read_hit_bytes;
        self.remote_hit_bytes += other.remote_hit_bytes;
        self.writes += other.writes;
        self.write_hits += other.write_hits;
        self.write_bytes += other.write_bytes;
        self.write_hit_bytes += other.write_hit_bytes;
        self.writes_absorbed += other.writes_absorbed;
        self.writes_fallen_back += other.writes_fallen_back;
        self.filled_bytes += other.filled_bytes;
        self.placed_bytes += other.placed_bytes;
        self.evicted_bytes += other.evicted_bytes;
        self.evicted_dirty_bytes += other.evicted_dirty_bytes;
        self.destaged_bytes += other.destaged_bytes;
        self.tier_written_bytes += other.tier_written_bytes;
        self.copied_bytes += other.copied_bytes;
        self.sequential_bytes += other.sequential_bytes;
        self.refused_bytes += other.refused_bytes;
        self.lost_bytes += other.lost_bytes;
    }
}
