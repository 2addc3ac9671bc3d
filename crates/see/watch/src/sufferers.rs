use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run_store::slice::Direction;
use units::{Nanos, Ratio};

use crate::{Cell, Key, Latencies, Slice};

/// I/O of a VM or other initiator, or of a disk, over some time.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Name of the initiator or disk.
    pub name: Arc<str>,
    /// Number of initiators on a disk, or of disks of an initiator.
    pub others: usize,
    /// I/Os that succeeded.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub failed: u64,
    /// Number of I/Os that were surely slower than the limit. I/Os up to a quarter above the limit
    /// are not counted.
    pub slow: u64,
    /// Latencies by direction.
    pub directions: [Latencies; Direction::ALL.len()],
    latency_ns: u64,
    queue_ns: Option<u64>,
}

/// Sums while they are being added up.
#[derive(Default)]
struct Sum {
    directions: [Latencies; Direction::ALL.len()],
    others: BTreeSet<Arc<str>>,
    bytes: u64,
    failed: u64,
    latency_ns: u64,
    /// True once there was an I/O with an unknown queue time.
    knows_no_queue: bool,
    queue_ns: u64,
}

impl Load {
    /// Returns VMs and other initiators, sorted by their number of I/Os slower than `limit`,
    /// highest first. I/O that passes several disks counts once, at the uppermost disk.
    pub fn by_vm(slices: &[Slice], limit: Nanos) -> Vec<Self> {
        by(slices, limit, |key| key.is_counted().then_some((&key.vm, &key.disk)))
    }

    /// Returns disks with all I/O of each, in the same order.
    pub fn by_disk(slices: &[Slice], limit: Nanos) -> Vec<Self> {
        // Rows of the guest's side measure the same I/O a second time.
        by(slices, limit, |key| (!key.is_guest_side()).then_some((&key.disk, &key.vm)))
    }

    /// Returns the share of the I/Os that were slower than the limit.
    pub fn slow_share(&self) -> f64 {
        share(self.slow, self.ios)
    }

    /// Returns the share of the latency that passed before the device had the I/O; `None` if
    /// unknown.
    pub fn queue_share(&self) -> Option<f64> {
        self.queue_ns.map(|queue| share(queue, self.latency_ns))
    }

    /// Returns a percentile of the latencies of a direction; `None` without I/O.
    pub fn percentile(&self, direction: Direction, of: Ratio) -> Option<Nanos> {
        self.directions[direction as usize].compact(0).percentile(of)
    }
}

fn by<'a>(
    slices: &'a [Slice],
    limit: Nanos,
    name: impl Fn(&'a Key) -> Option<(&'a Arc<str>, &'a Arc<str>)>,
) -> Vec<Load> {
    let mut sums: BTreeMap<&Arc<str>, Sum> = BTreeMap::new();
    for (key, cell) in slices.iter().flat_map(|slice| &slice.io) {
        let Some((own, other)) = name(key) else { continue };
        let sum = sums.entry(own).or_default();
        if !sum.others.contains(other) {
            sum.others.insert(Arc::clone(other));
        }
        sum.add(key.direction, cell);
    }
    let mut loads: Vec<Load> =
        sums.into_iter().map(|(name, sum)| sum.finish(Arc::clone(name), limit)).collect();
    loads.sort_by(|left, right| right.slow.cmp(&left.slow).then(right.ios.cmp(&left.ios)));
    loads
}

impl Sum {
    fn add(&mut self, direction: Direction, cell: &Cell) {
        self.directions[direction as usize].merge(&cell.latencies);
        self.bytes = self.bytes.saturating_add(cell.bytes);
        self.failed = self.failed.saturating_add(cell.errors);
        self.latency_ns = self.latency_ns.saturating_add(cell.latency_ns);
        self.knows_no_queue |= cell.queue_ns.is_none();
        self.queue_ns = self.queue_ns.saturating_add(cell.queue_ns.unwrap_or(0));
    }

    fn finish(self, name: Arc<str>, limit: Nanos) -> Load {
        Load {
            name,
            others: self.others.len(),
            ios: self.directions.iter().map(Latencies::count).sum(),
            bytes: self.bytes,
            failed: self.failed,
            slow: self.directions.iter().map(|own| own.surely_over(limit)).sum(),
            directions: self.directions,
            latency_ns: self.latency_ns,
            queue_ns: (!self.knows_no_queue).then_some(self.queue_ns),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share is read to a few digits")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
