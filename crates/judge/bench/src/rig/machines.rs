//! Real virtual machines beside the tiles. There is one set for each workload whose endpoints are
//! phases of operations. A set is on the disks of its workload, and exists from the first step that
//! needs it to the end of the run.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use datastore::VirtualDisk;
use engine::client::{Here, Service};
use run_store::run::{Origin, Warning};
use spec::named::NamedMachine;
use spec::workload::{Protocol, Workload};
use units::Nanos;
use vm::named::{self, Limits, ledger};
use vm::qemu::{self, Qemu};
use vm::{Asked, Failure, Operation, Report, VmError, VmOperations};

use crate::error::BenchError;
use crate::fleet::FleetInstance;
use crate::plan::ResolvedPlan;
use crate::plan::endpoints::{self, SNAPSHOT_KEPT, asked};

/// Name of the disk, within its workload, from which virtual machines are deployed.
const TEMPLATE: &str = "template";
/// Maximum duration of a phase; our choice. Other limits end hung phases earlier
/// (`vm::qemu::Limits`).
const PHASE_MAX: Nanos = Nanos::from_secs(3600);

/// Sets of virtual machines of a run.
#[derive(Debug, Default)]
pub struct Machines {
    run_id: String,
    /// Virtual machines of the user, keyed by the workload that uses each.
    named: BTreeMap<String, NamedMachine>,
    sets: BTreeMap<String, Arc<MachineSet>>,
}

/// Virtual machines of one workload.
#[derive(Debug)]
pub struct MachineSet {
    workload: String,
    service: vm::Service,
    operations: Vec<Operation>,
    storm: u32,
    /// True if the virtual machine belongs to the user.
    is_named: bool,
}

impl Here for MachineSet {
    fn connect(&self) -> io::Result<UnixStream> {
        self.service.connect(SNAPSHOT_KEPT, self.storm)
    }
}

/// Checks that the plan's operations have everything they need: program, image, version, and each
/// named virtual machine.
///
/// # Errors
///
/// Something is missing or unsuitable.
pub fn check(plan: &ResolvedPlan) -> Result<(), BenchError> {
    check_named(plan).map_err(Box::new)?;
    let takers = takers(plan);
    let names = endpoints::of_machines(&plan.tile_set);
    let names = names.filter(|(workload, _)| !takers.iter().any(|own| own.name == *workload));
    let operations: Vec<Operation> =
        names.filter_map(|(_, name)| Some(asked(name)?.operation)).collect();
    if operations.is_empty() {
        return Ok(());
    }
    Ok(qemu::check(&qemu::Options::default(), &operations).map_err(Box::new)?)
}

/// Returns the workloads whose operations are for a virtual machine of the user: they have phases
/// of operations, but no disk of the datastore.
fn takers(plan: &ResolvedPlan) -> Vec<&Workload> {
    let workloads = plan.tile_set.all().map(|(workload, _)| workload);
    let is_taker = |own: &&Workload| {
        own.endpoints.iter().any(|endpoint| endpoint.protocol == Protocol::Vm)
            && own.vms.iter().all(|machine| machine.disks.is_empty())
    };
    workloads.filter(is_taker).collect()
}

/// Checks that each of these workloads has a virtual machine and vice versa, and that each virtual
/// machine exists and is suitable.
fn check_named(plan: &ResolvedPlan) -> Result<(), VmError> {
    let (takers, named) = (takers(plan), &plan.settings.machines);
    if let Some(workload) = takers.get(named.len()) {
        return Err(VmError::Unnamed { workload: workload.name.clone(), named: named.len() });
    }
    if let Some(machine) = named.get(takers.len()) {
        return Err(VmError::Unused { machine: machine.to_string(), takers: takers.len() });
    }
    if plan.origin("machines") != Origin::Flag {
        named.iter().try_for_each(refuse_foreign)?;
    }
    for (workload, machine) in takers.iter().zip(named) {
        let mut own = open(machine, "check")?;
        let names = workload.endpoints.iter().map(|endpoint| endpoint.name.as_str());
        for operation in operations_of(names, 1) {
            own.prepare(operation).map_err(|failure| *failure.reason)?;
        }
    }
    Ok(())
}

fn refuse_foreign(machine: &NamedMachine) -> Result<(), VmError> {
    let refused = |what| Err(VmError::Plan { machine: machine.to_string(), what });
    machine.refused_in_plans().map_or(Ok(()), refused)
}

fn open(machine: &NamedMachine, run_id: &str) -> Result<Box<dyn VmOperations>, VmError> {
    named::open(machine, run_id, &ledger::usual_state()?, Limits::default())
}

/// Returns the distinct operations that have these endpoints as phases.
fn operations_of<'a>(endpoints: impl Iterator<Item = &'a str>, storm: u32) -> Vec<Operation> {
    let mut operations = Vec::new();
    for Asked { operation, .. } in
        endpoints.filter_map(|name| Asked::parse(name, SNAPSHOT_KEPT, storm))
    {
        if !operations.contains(&operation) {
            operations.push(operation);
        }
    }
    operations
}

impl Machines {
    /// Creates an empty set for a run. Leftovers are found by the run's identifier.
    pub fn of_run(run_id: String, plan: &ResolvedPlan) -> Self {
        let takers = takers(plan).into_iter().map(|own| own.name.clone());
        let named = takers.zip(plan.settings.machines.iter().cloned()).collect();
        Self { run_id, named, sets: BTreeMap::new() }
    }

    /// Returns the set of an instance; creates it if necessary. Its virtual machines run if its
    /// operations need them to.
    ///
    /// # Errors
    ///
    /// The virtual machines cannot be created or started.
    pub fn of_instance(
        &mut self,
        instance: &FleetInstance,
        disks: &[VirtualDisk],
    ) -> Result<Arc<MachineSet>, BenchError> {
        // A named virtual machine is one, however many copies of its workload there are.
        let of_named = || format!("named {}", instance.workload);
        let key = disks.first().map_or_else(of_named, |disk| disk.name.clone());
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
        if disks.is_empty() {
            return self.make_named(instance);
        }
        let is_template =
            |at: usize| instance.disks.get(at).is_some_and(|own| own.disk == TEMPLATE);
        let template = disks.iter().enumerate().find(|(at, _)| is_template(*at));
        let template = template.map(|(_, disk)| disk.clone());
        let others = disks.iter().enumerate().filter(|(at, _)| !is_template(*at));
        let others: Vec<VirtualDisk> = others.map(|(_, disk)| disk.clone()).collect();
        let storm = u32::try_from(others.len()).unwrap_or(u32::MAX);
        let options = qemu::Options { run_id: self.run_id.clone(), ..qemu::Options::default() };
        let machines = Qemu::new(options, template, others)?;
        MachineSet::over(Box::new(machines), instance, (storm, false))
    }

    fn make_named(&self, instance: &FleetInstance) -> Result<MachineSet, VmError> {
        let workload = instance.workload.clone();
        let machine = self.named.get(&workload);
        let machine = machine.ok_or(VmError::Unnamed { workload, named: self.named.len() })?;
        MachineSet::over(open(machine, &self.run_id)?, instance, (1, true))
    }
}

impl Drop for Machines {
    /// Ends the virtual machines with the run, even if connections to them are still open.
    fn drop(&mut self) {
        self.sets.values().for_each(|set| set.service.end());
    }
}

impl MachineSet {
    fn over(
        machines: Box<dyn VmOperations>,
        instance: &FleetInstance,
        (storm, is_named): (u32, bool),
    ) -> Result<Self, VmError> {
        let operations = operations_of(instance.endpoints.iter().map(String::as_str), storm);
        let service = vm::Service::over(machines);
        let failed = |source| VmError::Program { program: "a thread".to_owned(), source };
        let (workload, service) = (instance.workload.clone(), service.map_err(failed)?);
        Ok(Self { workload, service, operations, storm, is_named })
    }

    /// Returns the service for one of the endpoints.
    pub fn answering(self: &Arc<Self>, endpoint: &str) -> Service {
        Service::here(endpoint, PHASE_MAX, Arc::clone(self) as Arc<dyn Here>)
    }

    /// Reports the operations of a step in words: each failure, and one line for all successes.
    pub fn told(&self) -> Vec<Warning> {
        // Waits until outstanding operations are given up.
        let _ = self.service.prepare(&[]);
        let (mut good, mut told) = (Vec::new(), Vec::new());
        for one in self.service.take_told() {
            match one {
                Ok(report) => good.push(report),
                // The step ended while the operation was under way.
                Err(Failure { reason, .. }) if matches!(*reason, VmError::Stopped) => {}
                Err(failure) => told.push(warning("operation-failed", failure.to_string())),
            }
        }
        let lines = self.operations.iter().filter_map(|own| line(*own, &good, self.is_named));
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            let text =
                format!("{} on {}: {}", self.workload, self.service.about(), lines.join("; "));
            told.push(warning("machines", text));
        }
        told
    }
}

fn line(operation: Operation, good: &[Report], is_named: bool) -> Option<String> {
    let own = || good.iter().filter(|report| report.operation == operation);
    let count = own().count();
    let still = own().filter_map(|report| report.stood_still).max();
    let still = still.map(|still| {
        format!(", the longest pause of a VM was {:.1} ms", still.as_secs_f64() * 1e3)
    });
    let checked = match (operation, own().next_back()) {
        (Operation::Destroy, _) | (_, None) => String::new(),
        // Of a virtual machine of the user, only the answers of its platform are known.
        (_, Some(last)) if is_named => format!(", after the last: {}", last.checked),
        _ => ", each with correct heartbeat and checksums".to_owned(),
    };
    (count > 0).then(|| format!("{count} x {operation}{checked}{}", still.unwrap_or_default()))
}

fn warning(id: &str, text: String) -> Warning {
    Warning { id: id.to_owned(), text, value: None, limit: None, hint: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_has_no_tokens_and_no_connection_that_runs_a_program() {
        let refused = |text: &str| {
            let machine = text.parse().expect("a machine");
            refuse_foreign(&machine).err().map(|error| error.to_string())
        };
        assert_eq!(refused("libvirt:web01"), None);
        assert_eq!(refused("libvirt:web01,at=qemu:///session,storage=fast"), None);
        for text in [
            "libvirt:web01,at=qemu+ext:///system?command=/tmp/x",
            "libvirt:web01,to=qemu+ssh://other/system",
        ] {
            assert!(
                refused(text).expect("refused").contains("a libvirt connection other"),
                "{text}"
            );
        }
        let token =
            refused("proxmox:web01,at=https://pve,credentials=/root/.token").expect("refused");
        assert!(token.contains("a plan may not name credentials"), "{token}");
    }
}
