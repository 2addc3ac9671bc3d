/// What a cluster has done for one virtual machine, or for all. Sums since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClusterCounters {
    /// Read requests.
    pub reads: u64,
    /// Of those, answered by the own host's share alone.
    pub reads_local: u64,
    /// Of those, answered by shares, at least in part another host's.
    pub reads_remote: u64,
    /// Bytes read from the own host's share.
    pub read_local_bytes: u64,
    /// Bytes read from another host's share.
    pub read_remote_bytes: u64,
    /// Bytes read from the backing store.
    pub read_backing_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Of those, all of whose pages were in the own host's share.
    pub write_hits: u64,
    /// Of those, answered without the backing store.
    pub writes_absorbed: u64,
    /// Of those that should have been written back, written through, at least in part, because
    /// the host has no share or too few peers could take a copy.
    pub writes_fallen_back: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Of those, to pages in the own host's share.
    pub write_hit_bytes: u64,
    /// Bytes written to shares, copies and fills included: what their flash wears by.
    pub share_written_bytes: u64,
    /// Bytes of copies sent to peers.
    pub replica_bytes: u64,
    /// Population: bytes of pages that came in from the backing store or another host.
    pub filled_bytes: u64,
    /// Population: bytes of pages that a write brought in whole.
    pub placed_bytes: u64,
    /// Bytes of pages that left to make room; they count for whoever needs the room.
    pub evicted_bytes: u64,
    /// Bytes that reached the backing store late; they count for whoever wrote them.
    pub destaged_bytes: u64,
    /// Answered bytes that failures have lost.
    pub lost_bytes: u64,
}

impl ClusterCounters {
    /// Share of all requests answered without the backing store, 0 to 1: the "acceleration
    /// rate" of FVP 3.0. `None` before the first request.
    #[expect(clippy::cast_precision_loss, reason = "a share, not a count")]
    pub fn acceleration_rate(&self) -> Option<f64> {
        let all = self.reads + self.writes;
        let fast = self.reads_local + self.reads_remote + self.writes_absorbed;
        (all > 0).then(|| fast as f64 / all as f64)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.reads_local += other.reads_local;
        self.reads_remote += other.reads_remote;
        self.read_local_bytes += other.read_local_bytes;
        self.read_remote_bytes += other.read_remote_bytes;
        self.read_backing_bytes += other.read_backing_bytes;
        self.writes += other.writes;
        self.write_hits += other.write_hits;
        self.writes_absorbed += other.writes_absorbed;
        self.writes_fallen_back += other.writes_fallen_back;
        self.write_bytes += other.write_bytes;
        self.write_hit_bytes += other.write_hit_bytes;
        self.share_written_bytes += other.share_written_bytes;
        self.replica_bytes += other.replica_bytes;
        self.filled_bytes += other.filled_bytes;
        self.placed_bytes += other.placed_bytes;
        self.evicted_bytes += other.evicted_bytes;
        self.destaged_bytes += other.destaged_bytes;
        self.lost_bytes += other.lost_bytes;
    }
}
