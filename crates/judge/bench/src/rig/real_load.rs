use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use engine::{Orders, Running};
use run_store::gauge::{GaugeSource, Readings};
use run_store::run::Warning;
use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::rig::export::ExportLoad;
use crate::rig::machines::MachineSet;
use crate::rig::over::OverLoad;
use crate::rig::through::ServedLoad;
use crate::rig::tile_servers::ServersWatch;
use crate::rig::{Failure, Load, LoadOutcome, Received};

/// A load of the engine.
#[derive(Debug)]
pub struct RealLoad {
    pub(super) running: Running,
    pub(super) depth: u32,
    pub(super) unit: Bytes,
    /// Start of the workers' clock, by the monotonic clock. It is set when all is ready,
    /// microseconds before the workers start.
    pub(super) began: Nanos,
    /// Real virtual machines for infrastructure operations.
    pub(super) machines: Vec<Arc<MachineSet>>,
    /// Tier through which the disks are served.
    pub(super) tier: Option<ServedLoad>,
    /// Real servers of the tiles.
    pub(super) servers: Option<ServersWatch>,
    /// Protocol through which the disks are served.
    pub(super) over: Option<OverLoad>,
    /// Watch over the export of another server that is the datastore.
    pub(super) export: Option<ExportLoad>,
}

impl RealLoad {
    /// Returns a handle for orders to the instances.
    pub fn orders(&self) -> Orders {
        self.running.orders()
    }

    /// Returns the delay of the start after the ordered time.
    pub const fn began_late(&self) -> Nanos {
        self.running.began_late()
    }
}

impl GaugeSource for RealLoad {
    fn read(&mut self) -> Readings {
        let mut readings = self.tier.as_mut().map(ServedLoad::readings).unwrap_or_default();
        if let Some(over) = &mut self.over {
            readings.add(over.readings());
        }
        if let Some(export) = &mut self.export {
            readings.add(export.readings());
        }
        if let Some(servers) = &mut self.servers {
            readings.add(servers.readings());
        }
        readings
    }
}

impl Load for RealLoad {
    fn next(&mut self, wait: Duration) -> Received {
        let received = self.running.slices().recv_timeout(wait);
        if let Some(over) = &mut self.over {
            over.check(received.as_ref().ok());
        }
        // At the end of the load the error comes from `cause`.
        let is_going = !matches!(received, Err(RecvTimeoutError::Disconnected));
        let servers = self.servers.as_mut().filter(|_| is_going);
        let checked = servers.map_or(Ok(()), |servers| servers.check(received.as_ref().ok()));
        if let Err(error) = checked {
            return Received::Failed(error);
        }
        match received {
            Ok(slice) => Received::Slice(slice),
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::Ended,
        }
    }

    fn began(&self) -> Option<Nanos> {
        Some(self.began)
    }

    fn unit(&self) -> Bytes {
        self.unit
    }

    fn cause(&mut self) -> Option<BenchError> {
        if let Some(error) = self.servers.as_mut().and_then(|servers| servers.check(None).err()) {
            return Some(error);
        }
        if let Some(trouble) = self.export.as_ref().and_then(ExportLoad::trouble) {
            return Some(BenchError::Over(trouble));
        }
        let over = self.over.as_mut()?;
        over.check(None);
        over.trouble().map(BenchError::Over)
    }

    fn stop(&mut self) {
        self.running.stop();
    }

    fn finish(self) -> Result<LoadOutcome, BenchError> {
        let outcome = self.running.join()?;
        self.tier.map_or(Ok(()), ServedLoad::end)?;
        self.over.map_or(Ok(()), OverLoad::end)?;
        let warning = |warning: engine::Warning| Warning {
            id: warning.id.to_owned(),
            text: warning.text,
            value: None,
            limit: None,
            hint: None,
        };
        let (user, system) = (outcome.cpu_seconds_user, outcome.cpu_seconds_system);
        let servers = self.servers.map(|watch| watch.finish(user + system)).transpose()?;
        let (notes, disturbances) = servers.unwrap_or_default();
        let told = self.machines.iter().flat_map(|set| set.told());
        let warnings = outcome.warnings.into_iter().map(warning).chain(told).chain(notes).collect();
        Ok(LoadOutcome {
            submitted: outcome.submitted,
            completed: outcome.completed,
            depth: self.depth,
            mismatches: outcome.mismatches.iter().map(ToString::to_string).collect(),
            failures: outcome.errors.into_iter().map(failure).collect(),
            warnings,
            backend: outcome.backend.to_owned(),
            elapsed: outcome.elapsed,
            handed_over_late: outcome.handed_over_late,
            cpu_s: Some((user, system)),
            disturbances,
        })
    }

    fn abandon(self) {
        // Dropping would wait for requests that may never be answered.
        std::mem::forget(self.running);
        // The end of a protocol's initiator fails these requests.
        drop(self.over);
    }
}

fn failure(errors: engine::FirstErrors) -> Failure {
    Failure {
        of: (errors.instance.0, errors.kind.0),
        during: None,
        disk: errors.disk,
        offset: errors.offset,
        operation: match errors.operation {
            state_machine::Operation::Read => "read",
            state_machine::Operation::Write => "write",
            state_machine::Operation::Flush => "flush",
        }
        .to_owned(),
        error: errors.error.to_string(),
        count: errors.count,
    }
}
