use std::path::Path;

use run_store::gauge::Readings;
use run_store::rollup::Rollup;
use run_store::series::{StepKey, Writer};
use run_store::slice::{Slice, Topology};

use crate::error::BenchError;
use crate::step::sink::Sink;

/// Writer for the slices of a run: all of them in the series, and merged in the rollup.
#[derive(Debug)]
pub struct StoredSlices {
    series: Writer,
    rollup: Rollup,
}

impl StoredSlices {
    /// Creates an empty store.
    pub fn new(series: Writer) -> Self {
        Self { series, rollup: Rollup::new() }
    }

    /// Completes the series, and writes the rollup into the run's directory.
    pub fn finish(self, directory: &Path) -> Result<(), BenchError> {
        self.series.finish()?;
        Ok(self.rollup.write(directory)?)
    }
}

impl Sink for StoredSlices {
    fn append(
        &mut self,
        key: StepKey,
        topology: &Topology,
        slice: &Slice,
    ) -> Result<(), BenchError> {
        self.series.append(key, topology, slice)?;
        self.rollup.slice(key, topology, slice);
        Ok(())
    }

    fn readings(
        &mut self,
        key: StepKey,
        slice: &Slice,
        readings: &Readings,
    ) -> Result<(), BenchError> {
        self.series.gauges(key, slice, &readings.gauges)?;
        self.rollup.readings(slice.width, readings);
        Ok(())
    }
}
