use std::hash::{Hash, Hasher};
use std::sync::Arc;

use cache::PageId;
use cache::mrc::{SetSize, Use, WorkingSets};
use rustc_hash::{FxHashMap, FxHasher};
use trace::{Flags, IoRecord, Operation, TraceInfo};

use super::row::HOUR_S;
use super::{SetRow, SetSpan};

/// Maximum number of initiators with a set: enough for a hundred VMs and processes beside them.
pub(super) const VMS_MAX: usize = 256;
/// Maximum number of sampled pages of an initiator: 51 kB with their index, for an error of 3 to 6
/// %.
pub(super) const PAGES_MAX: usize = 1536;
/// Largest step back of the clock, in seconds, after which the open hour continues.
pub(super) const STEP_MAX_S: u64 = 600;

/// Estimates the working sets of all VMs, in addition to the fold. A VM is dropped a week after its
/// last I/O.
///
/// If the clock steps over an hour, in either direction, all sets begin anew, because it is unknown
/// which pages were used in the last day. Each row contains the begin of the data behind it. The
/// state can be restored after a restart of at most ten minutes.
#[derive(Debug)]
pub struct Sets {
    pub(super) vms: Vec<Vm>,
    /// Position in `vms`, by the records' index.
    places: Vec<VmSlot>,
    /// Number of the first page of a device, by the records' index.
    devices: Vec<u64>,
    /// Begin of the open hour, in seconds since 1970.
    pub(super) hour_s: u64,
    /// End of the last slice.
    pub(super) now_s: u64,
    /// Begin of the data of a VM that had no I/O so far, in seconds since 1970.
    pub(super) since_s: u64,
    /// Number of initiators without a set in the open hour.
    left_out: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VmSlot {
    Unknown,
    LeftOut,
    At(usize),
}

#[derive(Debug)]
pub(super) struct Vm {
    pub name: Arc<str>,
    pub since_s: u64,
    pub sets: WorkingSets,
    /// Number of last hours without I/O.
    pub idle_hours: u32,
}

impl Sets {
    /// Creates empty sets that begin at a time, in seconds since 1970.
    pub fn new(now_s: u64) -> Self {
        Self {
            vms: Vec::new(),
            places: Vec::new(),
            devices: Vec::new(),
            hour_s: now_s - now_s % HOUR_S,
            now_s,
            since_s: now_s,
            left_out: 0,
        }
    }

    /// Adds records of completed I/Os. `info` has the names of their initiators and devices.
    pub fn add(&mut self, records: &[IoRecord], info: &TraceInfo) {
        // The same pages, at other addresses, are in the set by the disk above.
        let once = records.iter().filter(|record| !record.flags.has(Flags::BELOW));
        for record in once.filter(|record| record.length > 0) {
            let of = match record.operation {
                Operation::Read => Use::Read,
                Operation::Write => Use::Write,
                Operation::Flush | Operation::Discard => continue,
            };
            let Some(at) = self.place(record.vm.0, info) else { continue };
            let device = self.device(record.device.0, info);
            let first = record.offset / SetRow::PAGE_BYTES;
            let last = (record.end_offset() - 1) / SetRow::PAGE_BYTES;
            let sets = &mut self.vms[at].sets;
            (first..=last).for_each(|page| sets.reference(PageId(device.wrapping_add(page)), of));
        }
    }

    /// Drops the indices of records, because the following records come from another capture.
    pub fn renumber(&mut self) {
        self.places.clear();
        self.devices.clear();
    }

    fn place(&mut self, vm: u16, info: &TraceInfo) -> Option<usize> {
        let index = usize::from(vm);
        if self.places.len() <= index {
            self.places.resize(index + 1, VmSlot::Unknown);
        }
        if self.places[index] == VmSlot::Unknown {
            let name = info.vms.get(index).map_or("", String::as_str);
            self.places[index] = self.find_or_add(name);
        }
        match self.places[index] {
            VmSlot::At(at) => Some(at),
            VmSlot::LeftOut | VmSlot::Unknown => None,
        }
    }

    fn find_or_add(&mut self, name: &str) -> VmSlot {
        if let Some(at) = self.vms.iter().position(|vm| &*vm.name == name) {
            return VmSlot::At(at);
        }
        if self.vms.len() >= VMS_MAX {
            self.left_out += 1;
            return VmSlot::LeftOut;
        }
        let sets = WorkingSets::new(&SetSpan::ALL.map(SetSpan::hours), PAGES_MAX);
        self.vms.push(Vm { name: name.into(), since_s: self.since_s, sets, idle_hours: 0 });
        VmSlot::At(self.vms.len() - 1)
    }

    fn device(&mut self, device: u16, info: &TraceInfo) -> u64 {
        for index in self.devices.len()..=usize::from(device) {
            // By name, which stays where the index of a capture does not. Ranges of two devices
            // would have to begin within 2^40 of 2^64 pages to meet.
            let mut hasher = FxHasher::default();
            info.devices.get(index).map_or("", |device| &device.name).hash(&mut hasher);
            self.devices.push(hasher.finish());
        }
        self.devices[usize::from(device)]
    }

    /// Ends a slice at a time, in seconds since 1970. If an hour ended with it, returns that hour's
    /// sets.
    pub fn pass(&mut self, now_s: u64) -> Vec<SetRow> {
        let hour_s = now_s - now_s % HOUR_S;
        let is_small_step = now_s < self.hour_s && self.hour_s - now_s <= STEP_MAX_S;
        if hour_s == self.hour_s || is_small_step {
            self.now_s = self.now_s.max(now_s);
            return Vec::new();
        }
        let rows = self.rows();
        if hour_s == self.hour_s + HOUR_S {
            self.next_hour(now_s);
        } else {
            *self = Self::new(now_s);
        }
        rows
    }

    /// Returns the sets including the open hour, at the end of watching.
    pub fn rows(&self) -> Vec<SetRow> {
        self.vms.iter().flat_map(|vm| vm.rows(self.hour_s)).collect()
    }

    fn next_hour(&mut self, now_s: u64) {
        (self.hour_s, self.now_s) = (self.hour_s + HOUR_S, now_s);
        for vm in &mut self.vms {
            let is_idle = vm.sets.sizes()[0].is_some_and(|size| size.used == 0.0);
            vm.idle_hours = if is_idle { vm.idle_hours + 1 } else { 0 };
            vm.sets.advance(1);
        }
        self.vms.retain(|vm| !vm.sets.is_empty());
        if self.left_out > 0 {
            // Whoever had no place, or loses it now, had I/O that its next set will not know.
            self.since_s = now_s;
            self.make_room();
        }
        self.left_out = 0;
        self.places.clear();
    }

    /// Makes room for initiators that were left out: drops VMs without I/O in the last hour,
    /// beginning with the longest idle.
    fn make_room(&mut self) {
        let room = VMS_MAX - self.vms.len();
        let mut idle: FxHashMap<u32, usize> = FxHashMap::default();
        self.vms.iter().for_each(|vm| *idle.entry(vm.idle_hours).or_default() += 1);
        let mut hours: Vec<(u32, usize)> = idle.into_iter().filter(|own| own.0 > 0).collect();
        hours.sort_unstable_by(|left, right| right.cmp(left));
        let mut wanted = self.left_out.saturating_sub(room);
        for (own, vms) in hours {
            if wanted == 0 {
                break;
            }
            self.vms.retain(|vm| vm.idle_hours != own);
            wanted = wanted.saturating_sub(vms);
        }
    }
}

impl Vm {
    fn rows(&self, hour_s: u64) -> impl Iterator<Item = SetRow> {
        let sizes = SetSpan::ALL.into_iter().zip(self.sets.sizes());
        sizes.filter_map(move |(span, size)| {
            let SetSize { read, written, used, share } = size?;
            let whole_s = (hour_s + HOUR_S).saturating_sub(u64::from(span.hours()) * HOUR_S);
            Some(SetRow {
                start_s: hour_s,
                vm: Arc::clone(&self.name),
                span,
                since_s: self.since_s.max(whole_s),
                used_bytes: bytes(used),
                read_bytes: bytes(read),
                written_bytes: bytes(written),
                share,
            })
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes, rounded")]
#[expect(clippy::cast_precision_loss, reason = "4096")]
fn bytes(pages: f64) -> u64 {
    (pages * SetRow::PAGE_BYTES as f64).round() as u64
}
