use stats::Compact;
use units::Nanos;

use super::Rollup;
use super::rows::{Span, observed_name};
use super::slot::{Io, Sums};
use crate::gauge::Readings;
use crate::run::Phase;
use crate::rundir::{StoredRun, files};
use crate::series::{IoRecord, SeriesError, Slices, StepKey, Stretch, count_between};
use crate::slice::{Direction, GeneratorRow, SizeClass, Slice, Topology};

impl Rollup {
    /// Adds a slice. Slices must be added in the order in which [`crate::series::Writer::append`]
    /// stores them. Rows with a name that the topology lacks are left out; the writer refuses such
    /// rows.
    pub fn slice(&mut self, key: StepKey, topology: &Topology, slice: &Slice) {
        let mut sums = Sums::default();
        // All workloads get their numbers at the first slice, even those without I/O, so that
        // numbers do not depend on timing.
        let instances = topology.instances.iter();
        let entities: Vec<(u32, u32)> =
            instances.map(|own| self.entity(own.tile, &own.workload, own.copy)).collect();
        for row in &slice.io {
            let vm = topology.vms.get(row.vm.0 as usize);
            let Some(entity) = vm.and_then(|vm| entities.get(vm.instance.0 as usize)) else {
                continue;
            };
            sums.io(&Io {
                entity: *entity,
                is_below: false,
                direction: row.direction,
                class: row.class,
                bytes: row.bytes.get(),
                errors: row.errors,
                service: &row.service,
                response_sum_ns: row.response.sum().0,
            });
        }
        for row in &slice.actions {
            let own = topology.instances.get(row.instance.0 as usize);
            let name = own.and_then(|own| own.actions.get(usize::from(row.action)));
            let (Some(own), Some(name)) = (own, name) else { continue };
            let action = self.action(&own.workload, name);
            sums.action(action, row.errors, row.dropped, &row.response);
        }
        for row in &slice.calls {
            let own = topology.instances.get(row.instance.0 as usize);
            let kind = own.and_then(|own| own.kinds.get(usize::from(row.kind)));
            let (Some(own), Some(kind)) = (own, kind) else { continue };
            let call = self.call(&own.workload, kind);
            sums.call(call, row.bytes.get(), row.failed(), &row.service);
        }
        sums.generator(slice.generator.clone());
        self.add(key, slice.start, slice.width, sums);
    }

    /// Returns the rollup of a stored run. It is read from its file, or computed from the series if
    /// there is no file, also from the parts of a killed run. The series do not have latencies
    /// behind tiers.
    pub fn of_run(run: &StoredRun) -> Result<Self, SeriesError> {
        if run.path().join(files::ROLLUP).exists() {
            return Self::read(run.path());
        }
        Self::of_series(run)
    }

    /// Computes the rollup from a run's series.
    pub fn of_series(run: &StoredRun) -> Result<Self, SeriesError> {
        Self::new().folding(Slices::of(run.path())?)
    }

    /// Returns the intervals of the series between two times of the run's time axis.
    pub fn stretches(&self, from: Nanos, to: Nanos) -> Vec<Stretch> {
        let overlapping = self.spans.iter().filter(|span| span.from < to && from < span.to);
        let stretch = |span: &Span| Stretch {
            step: span.step,
            repeat: span.repeat,
            from: from.max(span.from).saturating_sub(span.zero),
            to: to.min(span.to).saturating_sub(span.zero),
        };
        overlapping.map(stretch).collect()
    }

    /// Computes a rollup of the part of this run between two times, in finer buckets, from the
    /// series. It has the same spans, but only rows of that time, and no latencies behind tiers.
    /// `None` if the buckets would not be finer, or if more than `rows_max` rows of the series
    /// would have to be read.
    pub fn zoomed(
        &self,
        run: &StoredRun,
        (from, to): (Nanos, Nanos),
        rows_max: u64,
    ) -> Result<Option<Self>, SeriesError> {
        let stretches = self.stretches(from, to);
        let path = run.path();
        let is_fine = self.slices.iter().all(|row| row.slices <= 1);
        if is_fine || count_between::<IoRecord>(path, &stretches)? > rows_max {
            return Ok(None);
        }
        let empty = self.part((from, to), Nanos::ZERO);
        let zoomed = empty.folding(Slices::between(path, &stretches)?)?;
        Ok((zoomed.wide.width < self.wide.width).then_some(zoomed))
    }

    fn folding(mut self, slices: Slices) -> Result<Self, SeriesError> {
        for slice in slices {
            let slice = slice?;
            let mut sums = Sums::default();
            sums.generator(slice.generator.unwrap_or_default());
            for record in &slice.io {
                sums.io(&Io {
                    entity: self.entity(record.tile, &record.workload, record.copy),
                    is_below: false,
                    direction: record.direction,
                    class: record.class,
                    bytes: record.bytes.get(),
                    errors: record.errors,
                    service: &record.service,
                    response_sum_ns: record.response.sum().0,
                });
            }
            for record in &slice.actions {
                let action = self.action(&record.workload, &record.action);
                sums.action(action, record.errors, record.dropped, &record.response);
            }
            for record in &slice.calls {
                let call = self.call(&record.workload, &record.kind);
                let errors = record.errors.iter().sum();
                sums.call(call, record.bytes.get(), errors, &record.service);
            }
            self.add(slice.key, slice.start, slice.width, sums);
            let gauges = Readings { gauges: slice.gauges, ..Readings::default() };
            self.readings(slice.width, &gauges);
        }
        Ok(self)
    }
}

/// Observed I/O of one initiator, direction and size class in one slice.
#[derive(Debug, Clone, Copy)]
pub struct ObservedRow<'a> {
    /// Name of the VM that sent the I/O.
    pub name: &'a str,
    /// True for parts of I/Os whose whole was observed at a disk above. Sums leave these rows out.
    pub is_below: bool,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Size class of the I/O.
    pub class: SizeClass,
    /// Bytes moved by successful I/Os.
    pub bytes: u64,
    /// Number of failed I/Os, which are not in the histogram.
    pub errors: u64,
    /// Service times: from submission to completion.
    pub service: &'a Compact,
}

impl Rollup {
    /// Adds a slice of observed I/O: one step without tiles, all of it measured. Slices must be
    /// added in order, including empty ones.
    pub fn observed<'a>(
        &mut self,
        start: Nanos,
        width: Nanos,
        rows: impl Iterator<Item = ObservedRow<'a>>,
    ) {
        let mut sums = Sums::default();
        let mut generator = GeneratorRow::default();
        for row in rows {
            let is_below = row.is_below;
            let response_sum_ns = row.service.sum().0;
            if !is_below {
                let ended = row.service.count().saturating_add(row.errors);
                generator.completed = generator.completed.saturating_add(ended);
                #[expect(clippy::cast_precision_loss, reason = "a mean is read to a few digits")]
                let seconds = response_sum_ns as f64 / 1e9;
                generator.in_flight_seconds += seconds;
            }
            sums.io(&Io {
                entity: self.entity(None, &observed_name(row.name, is_below), 0),
                is_below,
                direction: row.direction,
                class: row.class,
                bytes: row.bytes,
                errors: row.errors,
                service: row.service,
                response_sum_ns,
            });
        }
        generator.submitted = generator.completed;
        sums.generator(generator);
        let key = StepKey { step: 1, tiles: 0, repeat: 1, phase: Phase::Measured };
        self.add(key, start, width, sums);
    }
}
