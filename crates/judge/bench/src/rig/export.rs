//! Watch over the client of an export of another server, which is the datastore, while a load runs
//! on it.

use std::sync::Arc;
use std::time::Duration;

use over::{MountedExport, OverError};
use run_store::gauge::{Gauge, GaugeName, Readings};

/// Watch over an export's client during a load.
#[derive(Debug)]
pub struct ExportLoad {
    export: Arc<MountedExport>,
    /// CPU time of the client at the last reading.
    cpu: Duration,
}

impl ExportLoad {
    /// Starts to watch the client.
    pub fn new(export: &Arc<MountedExport>) -> Self {
        Self { export: Arc::clone(export), cpu: export.cpu_time() }
    }

    /// Returns the CPU time of the client since the last call.
    pub fn readings(&mut self) -> Readings {
        let now = self.export.cpu_time();
        let then = std::mem::replace(&mut self.cpu, now);
        let own = now.saturating_sub(then).as_secs_f64();
        let gauges = vec![Gauge::of_host(GaugeName::OverInitiatorCpu, own)];
        Readings { gauges, ..Readings::default() }
    }

    /// Returns the error of the client if it has ended. It is the cause of failed I/O.
    pub fn trouble(&self) -> Option<Arc<OverError>> {
        self.export.trouble()
    }
}
