use std::path::Path;

use record::gauge::Gauge;
use record::rollup::Rollup;
use record::run::TierFacts;
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

    fn tiers(&mut self, tiers: &[TierFacts]) {
        self.rollup.tiers_of_slice(tiers);
    }

    fn gauges(&mut self, key: StepKey, slice: &Slice, gauges: &[Gauge]) -> Result<(), BenchError> {
        Ok(self.series.gauges(key, slice, gauges)?)
    }
}
