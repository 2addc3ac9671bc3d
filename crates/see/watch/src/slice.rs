use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use run_store::gauge::{Folded, GaugeName};
use run_store::slice::{Direction, SizeClass};
use units::Nanos;

use crate::Latencies;

/// Initiator and kind of an I/O.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Name of the VM, or of another initiator.
    pub vm: Arc<str>,
    /// Name of the disk or device.
    pub disk: Arc<str>,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Size class; `None` if the source does not report sizes (QEMU's own counters).
    pub class: Option<SizeClass>,
    /// True for parts of an I/O on an upper disk that is made of this one and is also watched.
    pub is_below: bool,
}

/// End of a disk name for QEMU's own counters, if the kernel's events also show the disk's I/O.
pub const IN_QEMU: &str = " in QEMU";

impl Key {
    /// Returns true for I/O that sums over disks include: at the uppermost disk that shows the VM's
    /// I/O.
    pub fn is_counted(&self) -> bool {
        !self.is_below && !self.is_guest_side()
    }

    /// Returns true for the guest's view of I/O that the kernel's events also show. Sums leave it
    /// out, because it is the same I/O.
    pub fn is_guest_side(&self) -> bool {
        self.class.is_none() && self.disk.ends_with(IN_QEMU)
    }
}

/// Sums over the I/Os of a key that completed in a slice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// I/Os that succeeded.
    pub count: u64,
    /// Number of I/Os that failed; they are in no other sum.
    pub errors: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sum of the latencies from submission to completion, in nanoseconds.
    pub latency_ns: u64,
    /// Part of `latency_ns` before the device had the I/O; `None` if the source does not report it.
    pub queue_ns: Option<u64>,
    /// Sum, over the I/Os, of the number of other I/Os outstanding at their begin; `None` if
    /// unknown.
    pub outstanding: Option<u64>,
    /// Largest number of outstanding I/Os.
    pub outstanding_max: Option<u32>,
    /// Histogram of the latencies.
    pub latencies: Latencies,
}

/// All data of one interval.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Slice {
    /// Begin, in seconds since 1970 (UTC): a multiple of the width.
    pub start_s: u64,
    /// Length, in seconds.
    pub width_s: u64,
    /// Part of the length that was watched. Rates are relative to this time.
    pub watched: Nanos,
    /// Events lost because the kernel's buffers were full.
    pub lost: u64,
    /// I/O by key, ascending.
    pub io: BTreeMap<Key, Cell>,
    /// Gauges by name and scope.
    pub gauges: BTreeMap<(GaugeName, Arc<str>), Folded>,
}

impl Cell {
    /// Adds the I/Os of another cell of the same key.
    pub fn merge(&mut self, other: &Self) {
        if *self == Self::default() {
            self.clone_from(other);
            return;
        }
        let both = |own: Option<u64>, more: Option<u64>| Some(own?.saturating_add(more?));
        self.count = self.count.saturating_add(other.count);
        self.errors = self.errors.saturating_add(other.errors);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.latency_ns = self.latency_ns.saturating_add(other.latency_ns);
        self.queue_ns = both(self.queue_ns, other.queue_ns);
        self.outstanding = both(self.outstanding, other.outstanding);
        self.outstanding_max = self.outstanding_max.max(other.outstanding_max);
        self.latencies.merge(&other.latencies);
    }
}

impl Slice {
    /// Creates a slice without I/O.
    pub fn new(start_s: u64, width_s: u64) -> Self {
        Self { start_s, width_s, ..Self::default() }
    }

    /// Adds a later slice, or a slice of the same time.
    pub fn merge(&mut self, other: &Self) {
        self.watched = self.watched.saturating_add(other.watched);
        self.lost = self.lost.saturating_add(other.lost);
        for (key, cell) in &other.io {
            self.io.entry(key.clone()).or_default().merge(cell);
        }
        for ((name, scope), folded) in &other.gauges {
            self.read(*name, scope, *folded);
        }
    }

    /// Adds I/Os of a key. A new key takes the cell without a copy.
    pub(crate) fn add(&mut self, key: Key, cell: Cell) {
        match self.io.entry(key) {
            Entry::Vacant(place) => {
                place.insert(cell);
            }
            Entry::Occupied(mut own) => own.get_mut().merge(&cell),
        }
    }

    /// Adds the value of a gauge over another interval.
    pub fn read(&mut self, name: GaugeName, scope: &Arc<str>, folded: Folded) {
        self.gauges
            .entry((name, Arc::clone(scope)))
            .and_modify(|known| *known = known.and_then(name.merging(), folded))
            .or_insert(folded);
    }
}

/// Names, each stored once, because a year of slices contains only few different names.
#[derive(Debug, Default)]
pub(crate) struct Names(pub(crate) HashSet<Arc<str>>);

impl Names {
    pub fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.0.insert(Arc::clone(&name));
        name
    }
}
