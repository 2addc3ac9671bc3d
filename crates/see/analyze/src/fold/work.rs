use run_store::slice::{Direction, SizeClass};
use trace::{BATCH, Flags, IoRecord, Operation, Source, TraceError};
use units::Nanos;

use super::bursts::Bursts;
use super::flight::{Flight, InFlight};
use super::pages::Pages;
use super::slices::{Room, Sample, Slices};
use super::vm::Vm;

/// Filter of records. Excluded records count as if they were not in the trace. Unless devices are
/// named, I/Os that are parts of an I/O at a disk above are also excluded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only these VMs, by their positions in the trace's list, ascending; all if `None`.
    pub vms: Option<Vec<u16>>,
    /// Only these devices, in the same form.
    pub devices: Option<Vec<u16>>,
    /// Only this direction; discards count as writes.
    pub direction: Option<Direction>,
    /// Only I/Os issued at this time or later.
    pub from: Option<Nanos>,
    /// Only I/Os issued before this time.
    pub to: Option<Nanos>,
}

impl Filter {
    /// Returns true if every record passes.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    fn takes(&self, record: &IoRecord) -> bool {
        let is_among = |list: &Option<Vec<u16>>, index: u16| {
            list.as_ref().is_none_or(|list| list.binary_search(&index).is_ok())
        };
        let direction = match record.operation {
            Operation::Read => Direction::Read,
            Operation::Write | Operation::Discard => Direction::Write,
            Operation::Flush => Direction::Flush,
        };
        is_among(&self.vms, record.vm.0)
            && (self.devices.is_some() || counts_once(record))
            && is_among(&self.devices, record.device.0)
            && self.direction.is_none_or(|wanted| wanted == direction)
            && self.from.is_none_or(|from| record.issue >= from)
            && self.to.is_none_or(|to| record.issue < to)
    }
}

/// Returns true unless the I/O is a part of another I/O in the trace, at a disk above.
const fn counts_once(record: &IoRecord) -> bool {
    !record.flags.has(Flags::BELOW)
}

/// Settings of a fold. They must be the same for all parts of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Length of a time slice; doubled until the number of rows is within [`Settings::rows_max`].
    pub slice: Nanos,
    /// Maximum number of cells (slice, VM, direction, class), about 120 B each.
    pub rows_max: usize,
    /// Maximum number of page references for the working set, 16 B each; with more, pages are
    /// sampled.
    pub references_max: usize,
    /// Number of I/Os per device that are held back at the start of a part, because the I/Os in
    /// flight from the part before are unknown.
    pub hold: usize,
    /// Filter of records.
    pub filter: Filter,
    /// Time from the start of the recording to the start of this trace. All times, including the
    /// filter's, count from the start of the recording.
    pub after: Nanos,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slice: Nanos::SECOND,
            rows_max: 500_000,
            references_max: 1_000_000,
            hold: 1024,
            filter: Filter::default(),
            after: Nanos::ZERO,
        }
    }
}

/// Sums over the records of a trace, or of a part of it.
#[derive(Debug, Clone)]
pub struct Fold {
    filter: Option<Filter>,
    hold: usize,
    pub(crate) records: u64,
    pub(crate) filtered: u64,
    pub(crate) first: Option<Nanos>,
    pub(crate) last: Nanos,
    pub(crate) vms: Vec<Option<Box<Vm>>>,
    pub(crate) bursts: Bursts,
    pub(crate) slices: Slices,
    pub(crate) pages: Pages,
    flights: Vec<Option<Box<Flight>>>,
    /// Number of I/Os in flight across a border between parts that some counts missed.
    pub(crate) unseen: u64,
    /// True if rows of histograms were added. The order of their I/Os is unknown.
    pub(crate) is_summed: bool,
    /// True if sums of several hosts were added.
    pub(crate) is_beside: bool,
    after: Nanos,
}

impl Fold {
    /// Creates an empty fold.
    pub fn new(settings: &Settings) -> Self {
        let room = Room { rows: settings.rows_max, entries: settings.rows_max.saturating_mul(16) };
        Self {
            filter: (!settings.filter.is_open()).then(|| settings.filter.clone()),
            hold: settings.hold,
            records: 0,
            filtered: 0,
            first: None,
            last: Nanos::ZERO,
            vms: Vec::new(),
            bursts: Bursts::default(),
            slices: Slices::new(settings.slice, room),
            pages: Pages::new(settings.references_max),
            flights: Vec::new(),
            unseen: 0,
            is_summed: false,
            is_beside: false,
            after: settings.after,
        }
    }

    /// Records that passed the filter.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Changes the filter for later records. This is needed because names may become known only
    /// while a trace is read.
    pub fn set_filter(&mut self, filter: &Filter) {
        self.filter = (!filter.is_open()).then(|| filter.clone());
    }

    /// Adds all remaining records of a source.
    ///
    /// # Errors
    ///
    /// If the source cannot be read further.
    pub fn read(&mut self, source: &mut dyn Source) -> Result<(), TraceError> {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            source.read(&mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
            self.push(&batch);
        }
    }

    /// Adds the next records, in order of issue.
    pub fn push(&mut self, batch: &[IoRecord]) {
        if self.after == Nanos::ZERO {
            return self.push_all(batch);
        }
        let after = self.after;
        let later = |record: &IoRecord| {
            let issue = Nanos(record.issue.0.saturating_add(after.0));
            IoRecord { issue, ..*record }
        };
        self.push_all(&batch.iter().map(later).collect::<Vec<_>>());
    }

    fn push_all(&mut self, batch: &[IoRecord]) {
        match self.filter.take() {
            None => {
                for record in batch {
                    if counts_once(record) {
                        self.take(record);
                    } else {
                        self.filtered += 1;
                    }
                }
            }
            Some(filter) => {
                for record in batch {
                    if filter.takes(record) {
                        self.take(record);
                    } else {
                        self.filtered += 1;
                    }
                }
                self.filter = Some(filter);
            }
        }
    }

    #[inline]
    fn take(&mut self, record: &IoRecord) {
        self.seen(record.issue, 1);
        // The duration of a failed I/O tells nothing about the storage's speed.
        let latency = record.latency().filter(|_| !record.flags.has(Flags::ERROR));
        let way = match record.operation {
            Operation::Read => 0,
            Operation::Write => 1,
            Operation::Flush => return self.vm(record.vm.0).flushes.push(record, latency),
            Operation::Discard => return self.vm(record.vm.0).discards.push(record, latency),
        };
        let class = SizeClass::of(record.length);
        self.vm(record.vm.0).push(record, way, class, latency);
        self.bursts.push(record.issue, record.length);
        let (vm, bytes) = (record.vm.0, record.length);
        self.slices.push(record.issue, Sample { vm, way, class: class.index(), bytes, latency });
        self.pages.push(record);
        match (latency, record.outstanding) {
            (Some(latency), _) => self.fly(record, way, latency),
            (None, Some(outstanding)) => {
                self.vm(record.vm.0).push_outstanding(record, way, outstanding);
            }
            (None, None) => {}
        }
    }

    #[inline]
    fn fly(&mut self, record: &IoRecord, way: usize, latency: Nanos) {
        let hold = self.hold;
        let device = usize::from(record.device.0);
        if device >= self.flights.len() {
            self.flights.resize_with(device + 1, || None);
        }
        let flight = self.flights[device].get_or_insert_with(|| Box::new(Flight::new(hold)));
        if let Some(found) = flight.push(record, latency) {
            self.vm(record.vm.0).push_flight(record, way, latency, found);
        }
    }

    fn seen(&mut self, issue: Nanos, count: u64) {
        self.records += count;
        self.first.get_or_insert(issue);
        self.last = self.last.max(issue);
    }

    #[inline]
    fn vm(&mut self, vm: u16) -> &mut Vm {
        vm_of(&mut self.vms, vm)
    }

    /// Adds a row of a run's series: I/Os of which only a histogram is known.
    pub fn push_row(&mut self, vm: u16, row: &run_store::series::IoRecord) {
        self.is_summed = true;
        let count = row.service.count();
        let way = match row.direction {
            Direction::Read => 0,
            Direction::Write => 1,
            Direction::Flush => {
                self.seen(row.start, count);
                let flushes = &mut self.vm(vm).flushes;
                flushes.count += count;
                flushes.latency.get_or_insert_default().merge_compact(&row.service);
                return;
            }
        };
        self.seen(row.start, count + row.errors);
        let bytes = row.bytes.get();
        let class = &mut self.vm(vm).classes[way][usize::from(row.class.index())];
        class.count += count + row.errors;
        class.failed += row.errors;
        class.bytes += bytes;
        class.latency.get_or_insert_default().merge_compact(&row.service);
        let sample = Sample { vm, way, class: row.class.index(), bytes: 0, latency: None };
        self.slices.push_many(row.start, sample, bytes, &row.service);
    }

    /// Appends a later part of the same trace. The result equals a single fold over both parts,
    /// except for I/Os that are in flight for longer than a part holds back; they are counted in
    /// `unseen`.
    pub fn merge(&mut self, later: Self) {
        self.records += later.records;
        self.filtered += later.filtered;
        self.first = self.first.or(later.first);
        self.last = self.last.max(later.last);
        self.is_summed |= later.is_summed;
        self.unseen += later.unseen;
        if later.vms.len() > self.vms.len() {
            self.vms.resize_with(later.vms.len(), || None);
        }
        for (mine, more) in self.vms.iter_mut().zip(later.vms) {
            if let Some(more) = more {
                mine.get_or_insert_default().merge(*more);
            }
        }
        self.bursts.merge(later.bursts);
        self.slices.merge(later.slices);
        self.pages.merge(later.pages);
        if later.flights.len() > self.flights.len() {
            self.flights.resize_with(later.flights.len(), || None);
        }
        let (hold, vms) = (self.hold, &mut self.vms);
        for (mine, more) in self.flights.iter_mut().zip(later.flights) {
            if let Some(more) = more {
                let mine = mine.get_or_insert_with(|| Box::new(Flight::new(hold)));
                mine.merge(*more, &mut |record, found| flown(vms, record, found));
            }
        }
    }

    /// Resolves the I/Os that were held back, because there is no earlier part.
    pub(crate) fn settle(&mut self) {
        let vms = &mut self.vms;
        for flight in self.flights.iter_mut().flatten() {
            flight.settle(&mut |record, found| flown(vms, record, found));
            self.unseen += std::mem::take(&mut flight.unseen);
        }
        self.slices.finish();
    }
}

#[inline]
fn vm_of(vms: &mut Vec<Option<Box<Vm>>>, vm: u16) -> &mut Vm {
    let at = usize::from(vm);
    if at >= vms.len() {
        vms.resize_with(at + 1, || None);
    }
    vms[at].get_or_insert_default()
}

fn flown(vms: &mut Vec<Option<Box<Vm>>>, record: &IoRecord, found: InFlight) {
    let way = usize::from(record.operation == Operation::Write);
    let latency = record.latency().unwrap_or_default();
    vm_of(vms, record.vm.0).push_flight(record, way, latency, found);
}
