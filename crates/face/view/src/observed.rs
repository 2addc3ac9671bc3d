//! Converts observed I/O to a rollup, in the form of a run. The I/O is a recorded trace, or a
//! recording in progress.

use std::borrow::Cow;
use std::collections::BTreeMap;

use run_store::rollup::{ObservedRow, Rollup};
use run_store::slice::{Direction, SizeClass};
use stats::Histogram;
use trace::{DeviceIndex, Flags, IoRecord, Operation, Source, TraceError, TraceInfo, VmIndex};
use units::{Nanos, Ratio};

/// Width of a slice. Smallest and largest rates are rates of slices.
pub const WIDTH: Nanos = Nanos::SECOND;

/// Converts a trace to a rollup. Each initiator of I/O is a workload, without tiles. Initiators are
/// the VMs, by device if there are several devices (`web01 on vda`). If initiators are unknown, the
/// workloads are the devices, or `all`.
///
/// # Errors
///
/// The trace cannot be read further.
pub fn observe(source: &mut dyn Source) -> Result<Rollup, TraceError> {
    let mut observation = Observation::new(WIDTH);
    let mut rollup = Rollup::new();
    let mut fold = |slice: ObservedSlice<'_>| slice.fold_into(&mut rollup);
    let mut batch = Vec::new();
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        for record in &batch {
            observation.add(record, source.info(), &mut fold);
        }
    }
    observation.finish(source.info(), &mut fold);
    Ok(rollup)
}

/// Converts a trace slice by slice. Records come in order of issue, and belong to the slice in
/// which they were issued; a late record belongs to the open slice. Service time is the time in
/// queue and device; I/Os of a source without latencies have 0. Discards move no data, and are left
/// out.
#[derive(Debug)]
pub struct Observation {
    width: Nanos,
    /// Number of the open slice.
    open: u64,
    /// Time of the last issued I/O.
    last: Nanos,
    cells: BTreeMap<(VmIndex, DeviceIndex, Direction, SizeClass, bool), Cell>,
}

/// A closed slice.
#[derive(Debug, Clone, Copy)]
pub struct ObservedSlice<'a> {
    /// Begin, from the start of the trace.
    pub start: Nanos,
    /// Length of the slice.
    pub width: Nanos,
    /// I/O of the slice.
    pub rows: &'a [ObservedRow<'a>],
}

/// Sums over all I/O of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObservedSums {
    /// Number of successful I/Os.
    pub count: u64,
    /// Bytes of the successful I/Os.
    pub bytes: u64,
    /// 99th percentile of the service times; `None` without I/Os.
    pub service_p99: Option<Nanos>,
}

#[derive(Debug, Default)]
struct Cell {
    bytes: u64,
    errors: u64,
    service: Histogram,
}

impl ObservedSlice<'_> {
    /// Adds the slice to a rollup; slices must be added in order.
    pub fn fold_into(&self, rollup: &mut Rollup) {
        rollup.observed(self.start, self.width, self.rows.iter().copied());
    }

    /// Sums all I/O of the slice.
    pub fn sums(&self) -> ObservedSums {
        let mut service = Histogram::new();
        let rows = self.rows.iter().filter(|row| !row.is_below);
        rows.clone().for_each(|row| service.merge_compact(row.service));
        ObservedSums {
            count: service.count(),
            bytes: rows.map(|row| row.bytes).sum(),
            service_p99: service.percentile(Ratio::new(0.99)).filter(|_| service.sum_ns() > 0),
        }
    }
}

impl Observation {
    /// Makes an observation with slices of this width.
    pub fn new(width: Nanos) -> Self {
        Self { width: width.max(Nanos(1)), open: 0, last: Nanos::ZERO, cells: BTreeMap::new() }
    }

    /// Adds a record, and closes the slices before the record, including empty slices.
    pub fn add(
        &mut self,
        record: &IoRecord,
        info: &TraceInfo,
        over: &mut impl FnMut(ObservedSlice<'_>),
    ) {
        let direction = match record.operation {
            Operation::Read => Direction::Read,
            Operation::Write => Direction::Write,
            Operation::Flush => Direction::Flush,
            Operation::Discard => return,
        };
        self.advance(record.issue, info, over);
        self.last = self.last.max(record.issue);
        let length = if record.operation.moves_data() { record.length } else { 0 };
        let is_below = record.flags.has(Flags::BELOW);
        let key = (record.vm, record.device, direction, SizeClass::of(length), is_below);
        let cell = self.cells.entry(key).or_default();
        if record.flags.has(Flags::ERROR) {
            cell.errors += 1;
            return;
        }
        cell.bytes += u64::from(length);
        cell.service.record(record.latency().unwrap_or(Nanos::ZERO));
    }

    /// Closes the slices before this time.
    pub fn advance(
        &mut self,
        now: Nanos,
        info: &TraceInfo,
        over: &mut impl FnMut(ObservedSlice<'_>),
    ) {
        while self.open < now.0 / self.width.0 {
            self.close(info, over);
        }
    }

    /// Ends the trace. The last slice ends with the last issued I/O, so that rates cover the same
    /// time as rates of `tilemark analyze`.
    pub fn finish(mut self, info: &TraceInfo, over: &mut impl FnMut(ObservedSlice<'_>)) {
        if self.cells.values().any(|cell| !cell.is_empty()) {
            let used = self.last.saturating_sub(Nanos(self.open * self.width.0));
            // A trace with a single time gets a slice of the usual width.
            let is_all_at_once = self.open == 0 && used == Nanos::ZERO;
            let width = if is_all_at_once { self.width } else { used.min(self.width) };
            self.close_after(width.max(Nanos(1)), info, over);
        }
    }

    fn close(&mut self, info: &TraceInfo, over: &mut impl FnMut(ObservedSlice<'_>)) {
        self.close_after(self.width, info, over);
    }

    fn close_after(
        &mut self,
        width: Nanos,
        info: &TraceInfo,
        over: &mut impl FnMut(ObservedSlice<'_>),
    ) {
        let used = self.cells.iter().filter(|(_, cell)| !cell.is_empty());
        let packed: Vec<_> = used
            .map(|((vm, device, direction, class, is_below), cell)| {
                let name = name(info, *vm, *device);
                (name, *is_below, *direction, *class, cell, cell.service.compact())
            })
            .collect();
        let rows = packed.iter().map(|(name, is_below, direction, class, cell, service)| {
            let (direction, class) = (*direction, *class);
            let (bytes, errors) = (cell.bytes, cell.errors);
            ObservedRow { name, is_below: *is_below, direction, class, bytes, errors, service }
        });
        let rows: Vec<ObservedRow<'_>> = rows.collect();
        over(ObservedSlice { start: Nanos(self.open * self.width.0), width, rows: &rows });
        self.cells.values_mut().for_each(Cell::clear);
        self.open += 1;
    }
}

/// Returns the workload name for the I/O of an initiator on a device.
fn name(info: &TraceInfo, vm: VmIndex, device: DeviceIndex) -> Cow<'_, str> {
    let vm = info.vms.get(usize::from(vm.0)).map(String::as_str);
    let is_one = info.devices.len() <= 1;
    let device = info.devices.get(usize::from(device.0)).filter(|_| !is_one);
    match (vm, device.map(|device| device.name.as_str())) {
        (Some(vm), Some(device)) => Cow::Owned(format!("{vm} on {device}")),
        (Some(name), None) | (None, Some(name)) => Cow::Borrowed(name),
        (None, None) => Cow::Borrowed("all"),
    }
}

impl Cell {
    fn is_empty(&self) -> bool {
        self.errors == 0 && self.service.is_empty()
    }

    fn clear(&mut self) {
        (self.bytes, self.errors) = (0, 0);
        self.service.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_store::rollup::observed_name;
    use trace::{Clock, Device, Losses, Memory};

    fn record(issue_ms: u64, vm: u16, operation: Operation, length: u32) -> IoRecord {
        IoRecord {
            queue: Some(Nanos::from_micros(100)),
            device_time: Some(Nanos::from_micros(900)),
            vm: VmIndex(vm),
            ..IoRecord::new(Nanos::from_millis(issue_ms), operation, 0, length)
        }
    }

    fn info(devices: &[&str]) -> TraceInfo {
        let device = |name: &&str| Device { name: (*name).to_owned(), size: None };
        TraceInfo {
            format: "test",
            clock: Clock::Real { resolution: Nanos(1) },
            started_unix_ns: None,
            has_latency: true,
            vms: vec!["db".into(), "web".into()],
            devices: devices.iter().map(device).collect(),
            losses: Losses::default(),
        }
    }

    #[test]
    fn senders_are_told_apart_by_device_where_there_are_several() {
        let on_second =
            IoRecord { device: DeviceIndex(1), ..record(20, 0, Operation::Write, 8192) };
        let records = vec![record(10, 0, Operation::Read, 4096), on_second];
        let named = |info: TraceInfo| {
            let rollup = observe(&mut Memory::new(info, records.clone())).expect("reads");
            let names = rollup.wide().entities.iter().map(|own| own.workload.clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(named(info(&["vda"])), ["db"]);
        assert_eq!(named(info(&["vda", "vdb"])), ["db on vda", "db on vdb"]);
        let nobody = TraceInfo { vms: Vec::new(), ..info(&["vda", "vdb"]) };
        assert_eq!(named(nobody), ["vda", "vdb"]);
        assert_eq!(named(TraceInfo { vms: Vec::new(), ..info(&[]) }), ["all"]);
    }

    #[test]
    fn part_of_an_io_at_a_disk_above_is_in_no_sum() {
        let below = IoRecord {
            device: DeviceIndex(1),
            flags: Flags::BELOW,
            ..record(10, 0, Operation::Read, 4096)
        };
        let (mut observation, info) = (Observation::new(WIDTH), info(&["dm-3", "sda"]));
        let mut seen = Vec::new();
        let mut over = |slice: ObservedSlice<'_>| {
            let names =
                slice.rows.iter().map(|row| observed_name(row.name, row.is_below).into_owned());
            seen.push((slice.sums().count, names.collect::<Vec<_>>()));
        };
        observation.add(&record(9, 0, Operation::Read, 4096), &info, &mut over);
        observation.add(&below, &info, &mut over);
        observation.finish(&info, &mut over);
        let names = ["db on dm-3", "db on sda (below)"].map(str::to_owned);
        assert_eq!(seen, [(1, names.to_vec())]);
    }

    #[test]
    fn vm_named_like_io_below_counts() {
        let info = TraceInfo { vms: vec!["db (below)".into()], ..info(&["vda"]) };
        let records = vec![record(10, 0, Operation::Read, 4096)];
        let rollup = observe(&mut Memory::new(info, records)).expect("reads");
        let [entity] = rollup.wide().entities.as_slice() else { panic!("one sender") };
        assert_eq!(entity.workload, "db (below) (top)");
        assert!(!entity.is_below());
    }

    #[test]
    fn late_record_is_in_the_open_slice_and_its_sums() {
        let (mut observation, info) = (Observation::new(WIDTH), info(&["vda"]));
        let mut sums = Vec::new();
        let mut over = |slice: ObservedSlice<'_>| sums.push((slice.start, slice.sums()));
        observation.add(&record(10, 0, Operation::Read, 4096), &info, &mut over);
        observation.advance(Nanos::from_secs(2), &info, &mut over);
        observation.add(&record(20, 1, Operation::Write, 512), &info, &mut over);
        observation.finish(&info, &mut over);
        let counted: Vec<_> =
            sums.iter().map(|(at, sums)| (at.0, sums.count, sums.bytes)).collect();
        let second = 1_000_000_000;
        assert_eq!(counted, [(0, 1, 4096), (second, 0, 0), (2 * second, 1, 512)]);
        let p99 = sums[0].1.service_p99.expect("one I/O").0;
        assert!((1_000_000..1_010_000).contains(&p99), "{p99}");
        assert_eq!(sums[1].1.service_p99, None);
    }

    #[test]
    fn a_trace_without_latencies_has_counts_and_no_p99() {
        let (mut observation, info) = (Observation::new(WIDTH), info(&["vda"]));
        let bare = IoRecord::new(Nanos(10), Operation::Read, 0, 4096);
        let mut sums = Vec::new();
        let mut over = |slice: ObservedSlice<'_>| sums.push(slice.sums());
        observation.add(&bare, &info, &mut over);
        observation.finish(&info, &mut over);
        assert_eq!(sums, [ObservedSums { count: 1, bytes: 4096, service_p99: None }]);
    }

    #[test]
    fn a_trace_is_looked_at_like_a_run_of_its_vms() {
        let info = info(&[]);
        let failed = IoRecord { flags: Flags::ERROR, ..record(5_200, 1, Operation::Write, 4096) };
        let records = vec![
            record(100, 0, Operation::Read, 4096),
            record(900, 0, Operation::Read, 4096),
            record(950, 1, Operation::Discard, 1 << 20),
            record(5_100, 1, Operation::Write, 65_536),
            failed,
        ];
        let rollup = observe(&mut Memory::new(info, records)).expect("reads");
        assert_eq!(rollup.end(), Nanos::from_millis(5_200), "it ends with its last I/O");
        assert_eq!(rollup.slices().len(), 6, "idle slices are slices");
        let names: Vec<_> =
            rollup.wide().entities.iter().map(|own| own.workload.as_str()).collect();
        assert_eq!(names, ["db", "web"]);
        assert!(rollup.narrow().entities.iter().all(|own| own.tile.is_none()));
        let rows = &rollup.wide().rows;
        assert_eq!((rows[0].count(), rows[0].bytes, rows[0].service.sum_ns), (2, 8192, 2_000_000));
        assert_eq!(rows.iter().map(|row| row.errors).sum::<u64>(), 1);
        assert_eq!(rows.iter().map(|row| row.count()).sum::<u64>(), 3);
    }
}
