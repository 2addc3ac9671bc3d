use std::path::Path;

use record::gauge::Readings;
use record::rollup::Rollup;
use record::series::{StepKey, Writer};
use record::slice::{Slice, Topology};

use crate::error::BenchError;
use crate::step::sink::Sink;

/// The slices of a run as they are stored: every one in the series, and folded in the rollup.
#[derive(Debug)]
pub struct Kept {
    series: Writer,
    rollup: Rollup,
}

impl Kept {
    /// Nothing yet.
    pub fn new(series: Writer) -> Self {
        Self { series, rollup: Rollup::new() }
    }

    /// Completes the series and writes the rollup into the run's directory.
    pub fn finish(self, directory: &Path) -> Result<(), BenchError> {
        self.series.finish()?;
        Ok(self.rollup.write(directory)?)
    }
}

impl Sink for Kept {
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
