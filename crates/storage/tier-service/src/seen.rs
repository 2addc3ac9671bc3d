use run_store::gauge::{BehindTier, Gauge, GaugeName, Readings};
use stats::Histogram;
use tier::Counters;

use crate::inbox::{DiskReport, Report};
use crate::times::Taken;

/// Capacity and use of a tier, or of a disk's share of it.
struct Levels {
    capacity: u64,
    held: u64,
    dirty: u64,
    /// Memory tier: bytes of stored blocks, and bytes that they take.
    memory: (u64, u64),
}

impl Report {
    /// Returns the readings since an earlier report, with all disks together as one tier of this
    /// name.
    #[must_use]
    pub fn as_one(&self, before: &Self, taken: &Taken, name: &str) -> Readings {
        let dirty = self.disks.iter().map(|disk| disk.dirty_bytes).sum();
        let memory = self.memory.map_or((0, 0), |memory| (memory.held_bytes, memory.taken_bytes));
        let levels = Levels { capacity: self.page_bytes, held: self.held_bytes, dirty, memory };
        let counters = (&self.counters, &before.counters);
        let behind = behind(&taken.backing_reads(), &taken.backing_writes());
        Readings {
            gauges: self.gauges(name, &levels, counters),
            behind: vec![(name.to_owned(), behind)],
        }
    }

    /// Returns the readings since an earlier report, with each disk as a separate tier: its share
    /// of the room, and its pages.
    #[must_use]
    pub fn by_disk(&self, before: &Self, taken: &Taken) -> Readings {
        let mut readings = Readings::default();
        // A disk that was detached and attached again has new counters, so it has no earlier
        // report.
        let is_it = |was: &&DiskReport, disk: &DiskReport| {
            (was.index, was.generation) == (disk.index, disk.generation) && was.name == disk.name
        };
        let was = |disk: &DiskReport| before.disks.iter().find(|was| is_it(was, disk));
        for (disk, was) in self.disks.iter().filter_map(|disk| Some((disk, was(disk)?))) {
            let levels = Levels {
                capacity: self.page_bytes * u64::from(disk.share_percent) / 100,
                held: disk.page_bytes,
                dirty: disk.dirty_bytes,
                memory: (disk.memory_held_bytes, disk.memory_taken_bytes),
            };
            let counters = (&disk.counters, &was.counters);
            readings.gauges.extend(self.gauges(&disk.name, &levels, counters));
            if let Some(times) = taken.disks.get(usize::from(disk.index)) {
                let behind = behind(&times.backing_reads, &times.backing_writes);
                readings.behind.push((disk.name.clone(), behind));
            }
        }
        readings
    }

    fn gauges(&self, of: &str, now: &Levels, (is, was): (&Counters, &Counters)) -> Vec<Gauge> {
        let reads = |c: &Counters| c.hits + c.partial + c.misses;
        let filled = |c: &Counters| c.filled_bytes - c.placed_bytes;
        let values = [
            (GaugeName::TierCapacity, now.capacity),
            (GaugeName::TierResident, now.held),
            (GaugeName::TierDirty, now.dirty),
            (GaugeName::TierReads, reads(is) - reads(was)),
            (GaugeName::TierReadHits, is.hits - was.hits),
            (GaugeName::TierMemoryHits, is.memory_hits - was.memory_hits),
            (GaugeName::TierMemoryHeld, now.memory.0),
            (GaugeName::TierMemoryTaken, now.memory.1),
            (GaugeName::TierReadBytes, is.read_bytes - was.read_bytes),
            (GaugeName::TierReadHitBytes, is.hit_bytes - was.hit_bytes),
            (GaugeName::TierWrites, is.writes - was.writes),
            (GaugeName::TierWriteHits, is.write_hits - was.write_hits),
            (GaugeName::TierWriteBytes, is.written_bytes - was.written_bytes),
            (GaugeName::TierWriteHitBytes, is.write_hit_bytes - was.write_hit_bytes),
            (GaugeName::TierWritesAbsorbed, is.absorbed - was.absorbed),
            (GaugeName::TierFilled, filled(is) - filled(was)),
            (GaugeName::TierPlaced, is.placed_bytes - was.placed_bytes),
            (GaugeName::TierEvicted, (is.evicted - was.evicted) * u64::from(self.page_size_bytes)),
            (GaugeName::TierDestaged, is.destaged_bytes - was.destaged_bytes),
        ];
        #[expect(clippy::cast_precision_loss, reason = "gauges are exact up to 2^53")]
        let gauge = |(name, value): (GaugeName, u64)| Gauge {
            name,
            scope: of.to_owned(),
            value: value as f64,
        };
        values.into_iter().map(gauge).collect()
    }
}

fn behind(reads: &Histogram, writes: &Histogram) -> BehindTier {
    BehindTier { read: reads.compact(), write: writes.compact() }
}
