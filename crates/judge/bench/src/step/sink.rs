use run_store::gauge::Readings;
use run_store::series::{StepKey, Writer};
use run_store::slice::{Slice, Topology};

use crate::error::BenchError;

/// Where the slices of a step go.
pub trait Sink {
    /// Takes a slice; slices of one step come in order.
    fn append(
        &mut self,
        key: StepKey,
        topology: &Topology,
        slice: &Slice,
    ) -> Result<(), BenchError>;

    /// Takes what else was read in the slice that was taken last.
    fn readings(&mut self, _: StepKey, _: &Slice, _: &Readings) -> Result<(), BenchError> {
        Ok(())
    }
}

impl Sink for Writer {
    fn append(
        &mut self,
        key: StepKey,
        topology: &Topology,
        slice: &Slice,
    ) -> Result<(), BenchError> {
        Ok(Self::append(self, key, topology, slice)?)
    }
}

/// Keeps nothing: only what a step came to is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

impl Sink for Nowhere {
    fn append(&mut self, _: StepKey, _: &Topology, _: &Slice) -> Result<(), BenchError> {
        Ok(())
    }
}
