use run_store::gauge::Readings;
use run_store::series::{StepKey, Writer};
use run_store::slice::{Slice, Topology};

use crate::error::BenchError;

/// Receiver of a step's slices.
pub trait Sink {
    /// Receives a slice. Slices of one step arrive in order.
    fn append(
        &mut self,
        key: StepKey,
        topology: &Topology,
        slice: &Slice,
    ) -> Result<(), BenchError>;

    /// Receives the gauge readings that belong to the last slice.
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

/// A sink that drops everything, if only the step's result is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

impl Sink for Nowhere {
    fn append(&mut self, _: StepKey, _: &Topology, _: &Slice) -> Result<(), BenchError> {
        Ok(())
    }
}
