//! An export of another server that is the datastore, watched while a load is driven on it.

use std::sync::Arc;
use std::time::Duration;

use over::{MountedExport, OverError};
use run_store::gauge::{Gauge, GaugeName, Readings};

/// Watch over an export's client.
#[derive(Debug)]
pub struct ExportLoad {
    export: Arc<MountedExport>,
    /// Processor time of the client at the last reading.
    cpu: Duration,
}

impl ExportLoad {
    /// Watch from now on.
    pub fn new(export: &Arc<MountedExport>) -> Self {
        Self { export: Arc::clone(export), cpu: export.cpu_time() }
    }

    /// Processor time of the client since the last call.
    pub fn readings(&mut self) -> Readings {
        let now = self.export.cpu_time();
        let then = std::mem::replace(&mut self.cpu, now);
        let own = now.saturating_sub(then).as_secs_f64();
        let gauges = vec![Gauge::of_host(GaugeName::OverInitiatorCpu, own)];
        Readings { gauges, ..Readings::default() }
    }

    /// Error of the client, if it has ended: the cause of failed I/O.
    pub fn trouble(&self) -> Option<Arc<OverError>> {
        self.export.trouble()
    }
}
