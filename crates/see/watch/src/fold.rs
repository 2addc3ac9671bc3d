use std::sync::Arc;

use run_store::slice::{Direction, SizeClass};
use rustc_hash::FxHashMap;
use trace::{Flags, IoRecord, Operation, TraceInfo};
use units::Nanos;

use crate::latencies::bucket_of;
use crate::slice::Names;
use crate::{Cell, Key, Latencies, Slice};

/// Maximum number of cells in a slice, some 20 MB; further initiators share the name [`OTHERS`].
const CELLS_MAX: usize = 16_384;
/// Name of initiators beyond the limit.
const OTHERS: &str = "others";

/// Folds I/O records into one open slice, with a few additions for each I/O.
///
/// An I/O belongs to the slice in which its record arrives, which is when the I/O completed.
/// Discards are left out, because they transfer no data.
#[derive(Debug, Default)]
pub struct Fold {
    places: FxHashMap<CellKey, u32>,
    cells: Vec<Open>,
    /// Cell of the last record, because consecutive records often have the same key.
    last: Option<(CellKey, u32)>,
    names: Names,
}

/// Initiator, device, direction and class of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CellKey {
    vm: u16,
    device: u16,
    direction: Direction,
    class: SizeClass,
    is_below: bool,
}

/// Sums of the open slice.
#[derive(Debug)]
struct Open {
    place: CellKey,
    is_others: bool,
    count: u64,
    errors: u64,
    bytes: u64,
    latency_ns: u64,
    queue_ns: u64,
    /// True if the queue time of all I/Os so far is known. Otherwise the sum would be too small.
    knows_queue: bool,
    outstanding: u64,
    outstanding_max: u32,
    knows_outstanding: bool,
    buckets: Box<[u32; 256]>,
}

impl Open {
    fn new(place: CellKey, is_others: bool) -> Self {
        Self {
            place,
            is_others,
            count: 0,
            errors: 0,
            bytes: 0,
            latency_ns: 0,
            queue_ns: 0,
            knows_queue: true,
            outstanding: 0,
            outstanding_max: 0,
            knows_outstanding: true,
            buckets: Box::new([0; 256]),
        }
    }

    fn add(&mut self, record: &IoRecord) {
        if record.flags.has(Flags::ERROR) {
            self.errors += 1;
            return;
        }
        let latency = record.latency().unwrap_or(Nanos::ZERO);
        self.count += 1;
        self.bytes += if record.operation.moves_data() { record.length.into() } else { 0 };
        self.latency_ns = self.latency_ns.saturating_add(latency.0);
        match record.queue {
            Some(queue) => self.queue_ns = self.queue_ns.saturating_add(queue.0),
            None => self.knows_queue = false,
        }
        match record.outstanding {
            Some(others) => {
                self.outstanding += u64::from(others);
                self.outstanding_max = self.outstanding_max.max(others.into());
            }
            None => self.knows_outstanding = false,
        }
        let count = &mut self.buckets[usize::from(bucket_of(latency))];
        *count = count.saturating_add(1);
    }

    fn cell(&self) -> Cell {
        Cell {
            count: self.count,
            errors: self.errors,
            bytes: self.bytes,
            latency_ns: self.latency_ns,
            queue_ns: self.knows_queue.then_some(self.queue_ns),
            outstanding: self.knows_outstanding.then_some(self.outstanding),
            outstanding_max: self.knows_outstanding.then_some(self.outstanding_max),
            latencies: Latencies::of_counts(&self.buckets),
        }
    }
}

impl Fold {
    /// Adds records of completed I/Os.
    pub fn add(&mut self, records: &[IoRecord]) {
        for record in records {
            let direction = match record.operation {
                Operation::Read => Direction::Read,
                Operation::Write => Direction::Write,
                Operation::Flush => Direction::Flush,
                Operation::Discard => continue,
            };
            let length = if record.operation.moves_data() { record.length } else { 0 };
            let class = SizeClass::of(length);
            let is_below = record.flags.has(Flags::BELOW);
            let (vm, device) = (record.vm.0, record.device.0);
            let place = CellKey { vm, device, direction, class, is_below };
            let index = match self.last {
                Some((known, index)) if known == place => index,
                _ => self.index(place),
            };
            self.cells[index as usize].add(record);
        }
    }

    fn index(&mut self, place: CellKey) -> u32 {
        let index = match self.places.get(&place) {
            Some(index) => *index,
            None => {
                let is_others = self.places.len() >= CELLS_MAX;
                let place = CellKey { vm: if is_others { u16::MAX } else { place.vm }, ..place };
                let (cells, next) = (&mut self.cells, u32::try_from(self.places.len()));
                let next = next.expect("keys are limited");
                *self.places.entry(place).or_insert_with(|| {
                    cells.push(Open::new(place, is_others));
                    next
                })
            }
        };
        self.last = Some((place, index));
        index
    }

    /// Ends the slice and begins the next. `info` has the names of the records' initiators and
    /// devices.
    pub fn close(&mut self, start_s: u64, width_s: u64, watched: Nanos, info: &TraceInfo) -> Slice {
        let mut slice = Slice { watched, ..Slice::new(start_s, width_s) };
        for open in self.cells.drain(..) {
            let vm = info.vms.get(usize::from(open.place.vm)).filter(|_| !open.is_others);
            let device = info.devices.get(usize::from(open.place.device));
            let key = Key {
                vm: self.names.get(vm.map_or(OTHERS, String::as_str)),
                disk: self.names.get(device.map_or("", |device| &device.name)),
                direction: open.place.direction,
                class: Some(open.place.class),
                is_below: open.place.is_below,
            };
            slice.add(key, open.cell());
        }
        self.places.clear();
        self.last = None;
        self.names.drop_unused();
        slice
    }
}

impl Names {
    /// Drops names that are no longer used, because VMs come and go.
    fn drop_unused(&mut self) {
        self.0.retain(|name| Arc::strong_count(name) > 1);
    }
}
