//! Real virtual machines beside the tiles: one set for each workload whose endpoints are phases of
//! operations, on the disks of that workload, from the first step that needs it to the end of the run.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use datastore::VirtualDisk;
use engine::client::{Here, Service};
use record::run::Warning;
use units::Nanos;
use vm::qemu::{self, Qemu};
use vm::{Asked, Failure, Operation, Report, VmError};

use crate::error::BenchError;
use crate::fleet::FleetInstance;
use crate::plan::ResolvedPlan;
use crate::plan::endpoints::{self, SNAPSHOT_KEPT, asked};

/// The disk that machines are deployed from, by its name in its workload.
const TEMPLATE: &str = "template";
/// Longest phase; our choice. What hangs is ended earlier by limits of its own (`vm::qemu::Limits`).
const PHASE_MAX: Nanos = Nanos::from_secs(3600);

/// The sets of a run.
#[derive(Debug, Default)]
pub struct Machines {
    run_id: String,
    sets: BTreeMap<String, Arc<MachineSet>>,
}

/// The machines of one workload.
#[derive(Debug)]
pub struct MachineSet {
    workload: String,
    service: vm::Service,
    operations: Vec<Operation>,
    storm: u32,
}

impl Here for MachineSet {
    fn connect(&self) -> io::Result<UnixStream> {
        self.service.connect(SNAPSHOT_KEPT, self.storm)
    }
}

/// Sees whether what the plan's operations take is there at all: program, image, version.
///
/// # Errors
///
/// When it is not.
pub fn check(plan: &ResolvedPlan) -> Result<(), BenchError> {
    let names = endpoints::of_machines(&plan.tile_set);
    let operations: Vec<Operation> =
        names.filter_map(|(_, name)| Some(asked(name)?.operation)).collect();
    if operations.is_empty() {
        return Ok(());
    }
    Ok(qemu::check(&qemu::Options::default(), &operations).map_err(Box::new)?)
}

impl Machines {
    /// None yet; what they leave behind is known by the run's id.
    pub const fn of_run(run_id: String) -> Self {
        Self { run_id, sets: BTreeMap::new() }
    }

    /// The set of an instance, made if it is not there. Its machines run, as its operations need them.
    ///
    /// # Errors
    ///
    /// When they cannot.
    pub fn of_instance(
        &mut self,
        instance: &FleetInstance,
        disks: &[VirtualDisk],
    ) -> Result<Arc<MachineSet>, BenchError> {
        let key = disks.first().map(|disk| disk.name.clone()).unwrap_or_default();
        let set = match self.sets.get(&key) {
            Some(set) => Arc::clone(set),
            None => {
                let set = Arc::new(self.make(instance, disks).map_err(Box::new)?);
                self.sets.insert(key, Arc::clone(&set));
                set
            }
        };
        set.service.prepare(&set.operations).map_err(Box::new)?;
        Ok(set)
    }

    fn make(&self, instance: &FleetInstance, disks: &[VirtualDisk]) -> Result<MachineSet, VmError> {
        let is_template =
            |at: usize| instance.disks.get(at).is_some_and(|own| own.disk == TEMPLATE);
        let template = disks.iter().enumerate().find(|(at, _)| is_template(*at));
        let template = template.map(|(_, disk)| disk.clone());
        let others = disks.iter().enumerate().filter(|(at, _)| !is_template(*at));
        let others: Vec<VirtualDisk> = others.map(|(_, disk)| disk.clone()).collect();
        let storm = u32::try_from(others.len()).unwrap_or(u32::MAX);
        let options = qemu::Options { run_id: self.run_id.clone(), ..qemu::Options::default() };
        let mut operations = Vec::new();
        for name in &instance.endpoints {
            let Some(Asked { operation, .. }) = Asked::parse(name, SNAPSHOT_KEPT, storm) else {
                continue;
            };
            if !operations.contains(&operation) {
                operations.push(operation);
            }
        }
        let machines = Qemu::new(options, template, others)?;
        let service = vm::Service::over(Box::new(machines));
        let failed = |source| VmError::Program { program: "a thread".to_owned(), source };
        let (workload, service) = (instance.workload.clone(), service.map_err(failed)?);
        Ok(MachineSet { workload, service, operations, storm })
    }
}

impl Drop for Machines {
    /// They end with the run, whoever still holds a connection to them.
    fn drop(&mut self) {
        self.sets.values().for_each(|set| set.service.end());
    }
}

impl MachineSet {
    /// What answers one of its endpoints.
    pub fn answering(self: &Arc<Self>, endpoint: &str) -> Service {
        Service::here(endpoint, PHASE_MAX, Arc::clone(self) as Arc<dyn Here>)
    }

    /// What was carried out in a step, in words: each failure, and a line on all that succeeded.
    pub fn told(&self) -> Vec<Warning> {
        // Waits until what was under way is given up.
        let _ = self.service.prepare(&[]);
        let (mut good, mut told) = (Vec::new(), Vec::new());
        for one in self.service.take_told() {
            match one {
                Ok(report) => good.push(report),
                // The step ended while it was under way.
                Err(Failure { reason, .. }) if matches!(*reason, VmError::Stopped) => {}
                Err(failure) => told.push(warning("operation-failed", failure.to_string())),
            }
        }
        let lines = self.operations.iter().filter_map(|own| line(*own, &good));
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            let text =
                format!("{} on {}: {}", self.workload, self.service.about(), lines.join("; "));
            told.push(warning("machines", text));
        }
        told
    }
}

fn line(operation: Operation, good: &[Report]) -> Option<String> {
    let own = || good.iter().filter(|report| report.operation == operation);
    let count = own().count();
    let still = own().filter_map(|report| report.stood_still).max();
    let still = still.map(|still| {
        format!(", a machine stood still for {:.1} ms at most", still.as_secs_f64() * 1e3)
    });
    let checked = match operation {
        Operation::Destroy => "",
        _ => ", each with its heartbeat and checksums found right",
    };
    (count > 0).then(|| format!("{count} x {operation}{checked}{}", still.unwrap_or_default()))
}

fn warning(id: &str, text: String) -> Warning {
    Warning { id: id.to_owned(), text, value: None, limit: None, hint: None }
}
