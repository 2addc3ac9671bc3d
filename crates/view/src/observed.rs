//! Observed I/O as a rollup: a recorded trace, or one that is being recorded, in the shape in
//! which runs are looked at.

use std::collections::BTreeMap;

use record::rollup::{ObservedRow, Rollup};
use record::slice::{Direction, SizeClass};
use stats::Histogram;
use trace::{Flags, IoRecord, Operation, Source, TraceError, TraceInfo, VmIndex};
use units::Nanos;

/// Width of a slice: what the least and largest rates are of.
pub const WIDTH: Nanos = Nanos::SECOND;

/// Folds a trace. Its VMs are the workloads, without tiles; where nobody is told apart, there
/// is one of them.
///
/// # Errors
///
/// Where the trace cannot be read on.
pub fn observe(source: &mut dyn Source) -> Result<Rollup, TraceError> {
    let mut observation = Observation::new(WIDTH);
    let mut batch = Vec::new();
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        for record in &batch {
            observation.add(record, source.info());
        }
    }
    Ok(observation.finish(source.info()))
}

/// A trace as it is folded: records come in order of issue, and belong to the slice in which
/// they were issued. Service time is queue and device together; I/Os of a source without
/// latencies have 0. Discards move no data and are left out.
#[derive(Debug)]
pub struct Observation {
    rollup: Rollup,
    width: Nanos,
    /// Number of the slice that is open.
    open: u64,
    cells: BTreeMap<(VmIndex, Direction, SizeClass), Cell>,
}

#[derive(Debug, Default)]
struct Cell {
    bytes: u64,
    errors: u64,
    service: Histogram,
}

impl Observation {
    /// Nothing yet; slices have this width.
    pub fn new(width: Nanos) -> Self {
        let width = width.max(Nanos(1));
        Self { rollup: Rollup::new(), width, open: 0, cells: BTreeMap::new() }
    }

    /// What is folded so far: whole slices.
    pub fn rollup(&self) -> &Rollup {
        &self.rollup
    }

    /// Adds a record.
    pub fn add(&mut self, record: &IoRecord, info: &TraceInfo) {
        let direction = match record.operation {
            Operation::Read => Direction::Read,
            Operation::Write => Direction::Write,
            Operation::Flush => Direction::Flush,
            Operation::Discard => return,
        };
        self.advance(record.issue.0 / self.width.0, info);
        let length = if record.operation.moves_data() { record.length } else { 0 };
        let key = (record.vm, direction, SizeClass::of(length));
        let cell = self.cells.entry(key).or_default();
        if record.flags.has(Flags::ERROR) {
            cell.errors += 1;
            return;
        }
        cell.bytes += u64::from(length);
        cell.service.record(record.latency().unwrap_or(Nanos::ZERO));
    }

    /// Adds the slices up to this one, also those without any I/O.
    pub fn advance(&mut self, slice: u64, info: &TraceInfo) {
        while self.open < slice {
            self.close(info);
        }
    }

    /// The whole trace; its last slice counts in full.
    pub fn finish(mut self, info: &TraceInfo) -> Rollup {
        if !self.cells.is_empty() {
            self.close(info);
        }
        self.rollup
    }

    fn close(&mut self, info: &TraceInfo) {
        let used = self.cells.iter().filter(|(_, cell)| !cell.is_empty());
        let packed: Vec<_> = used
            .map(|((vm, direction, class), cell)| {
                let name = info.vms.get(usize::from(vm.0)).map_or("all", String::as_str);
                (name, *direction, *class, cell.bytes, cell.errors, cell.service.compact())
            })
            .collect();
        let rows = packed.iter().map(|(name, direction, class, bytes, errors, service)| {
            let (direction, class) = (*direction, *class);
            ObservedRow { name, direction, class, bytes: *bytes, errors: *errors, service }
        });
        self.rollup.observed(Nanos(self.open * self.width.0), self.width, rows);
        self.cells.values_mut().for_each(Cell::clear);
        self.open += 1;
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
    use trace::{Clock, Losses, Memory};

    fn record(issue_ms: u64, vm: u16, operation: Operation, length: u32) -> IoRecord {
        IoRecord {
            queue: Some(Nanos::from_micros(100)),
            device_time: Some(Nanos::from_micros(900)),
            vm: VmIndex(vm),
            ..IoRecord::new(Nanos::from_millis(issue_ms), operation, 0, length)
        }
    }

    #[test]
    fn a_trace_is_looked_at_like_a_run_of_its_vms() {
        let info = TraceInfo {
            format: "test",
            clock: Clock::Real { resolution: Nanos(1) },
            started_unix_ns: None,
            has_latency: true,
            vms: vec!["db".into(), "web".into()],
            devices: Vec::new(),
            losses: Losses::default(),
        };
        let failed = IoRecord { flags: Flags::ERROR, ..record(5_200, 1, Operation::Write, 4096) };
        let records = vec![
            record(100, 0, Operation::Read, 4096),
            record(900, 0, Operation::Read, 4096),
            record(950, 1, Operation::Discard, 1 << 20),
            record(5_100, 1, Operation::Write, 65_536),
            failed,
        ];
        let rollup = observe(&mut Memory::new(info, records)).expect("reads");
        assert_eq!(rollup.end(), Nanos::from_secs(6));
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
