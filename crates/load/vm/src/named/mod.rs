//! Virtual machines of the user that a plan or the command line names: cloned, moved and saved
//! through their platform.
//!
//! A platform is one file (`Platform`) and one line of `open`. Everything in common is here:
//! phases, stopping, removal, and a ledger of created objects ([`ledger`]), so that they are found
//! again after `kill -9`.
//!
//! A platform object only knows one virtual machine, by its exact name, and the objects that were
//! made from it. It cannot address another one.

mod kubevirt;
pub mod ledger;
mod libvirt;
mod platform;
mod proxmox;
mod service;
mod virsh;

use std::path::Path;
use std::time::{Duration, Instant};

use spec::named::{MachineKind, NamedMachine};

use crate::operation::{Clock, Done};
use crate::{After, DeployKind, Failure, Operation, Phase, Report, VmError, VmOperations, Watch};

use ledger::{Ledger, Made};
use platform::{Look, Platform, Step};
pub use virsh::{VIRSH, Virsh};

/// Poll interval and time limits. The limits end hung operations and are not performance limits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Interval between two polls of a job.
    pub look: Duration,
    /// Maximum time for a response.
    pub answer: Duration,
    /// Maximum time for a whole job: a copy or a migration.
    pub job: Duration,
    /// Maximum time for a job that removes objects of a stopped operation, because a user waits for
    /// it.
    pub stopped: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let [answer, job, stopped] = [30, 3600, 30].map(Duration::from_secs);
        Self { look: Duration::from_millis(200), answer, job, stopped }
    }
}

/// Calls a function with the open platform of a virtual machine. Each kind has its own type, and
/// this is the only list of them.
macro_rules! with_platform {
    ($machine:ident, $limits:ident, $call:ident($($rest:expr),+)) => {
        match $machine.kind {
            MachineKind::Libvirt => $call(libvirt::Libvirt::open($machine, $limits)?, $($rest),+),
            MachineKind::Proxmox => $call(proxmox::Proxmox::open($machine, $limits)?, $($rest),+),
            MachineKind::Kubevirt => {
                $call(kubevirt::Kubevirt::open($machine, $limits)?, $($rest),+)
            }
        }
    };
}

/// Finds a virtual machine by its name. Objects that are made from it are recorded in a directory
/// below `state`.
///
/// # Errors
/// The virtual machine does not exist, or its platform does not respond.
pub fn open(
    machine: &NamedMachine,
    run_id: &str,
    state: &Path,
    limits: Limits,
) -> Result<Box<dyn VmOperations>, VmError> {
    with_platform!(machine, limits, over(machine, run_id, state, limits))
}

/// Removes objects that a killed run left. Returns the objects that remain, with reasons.
fn take_back(
    machine: &NamedMachine,
    made: &[Made],
    limits: Limits,
) -> Result<Vec<(Made, VmError)>, VmError> {
    fn undo<P: Platform>(mut platform: P, made: &[Made]) -> Result<Vec<(Made, VmError)>, VmError> {
        let undone = made.iter().rev().map(|own| (own, platform.undo(own)));
        Ok(undone.filter_map(|(own, done)| Some((own.clone(), done.err()?))).collect())
    }
    with_platform!(machine, limits, undo(made))
}

fn over<P: Platform + 'static>(
    platform: P,
    machine: &NamedMachine,
    run_id: &str,
    state: &Path,
    limits: Limits,
) -> Result<Box<dyn VmOperations>, VmError> {
    let ledger = Ledger::make(state, run_id, machine)?;
    let name = machine.name.clone();
    Ok(Box::new(Named { platform, ledger, name, limits, begun: 0, is_stopped: false }))
}

/// A virtual machine of the user. Dropping it removes the objects that were created from it.
struct Named<P: Platform> {
    platform: P,
    ledger: Ledger,
    name: String,
    limits: Limits,
    begun: u64,
    /// True after an operation was stopped and its objects were removed as far as possible.
    is_stopped: bool,
}

impl<P: Platform> Named<P> {
    /// Returns a new unique name for an object on the platform.
    fn next_name(&mut self) -> String {
        self.begun += 1;
        format!("tilemark-{}-{}", self.ledger.tag(), self.begun)
    }

    fn run(&mut self, clock: &mut Clock<'_>) -> Result<Done, VmError> {
        match clock.operation() {
            Operation::Deploy(kind) => self.deploy(kind, clock),
            Operation::Snapshot { keep } => self.snapshot(keep, clock),
            Operation::StorageMigration => self.relocate(&Step::MoveDisk, clock),
            Operation::LiveMigration => self.relocate(&Step::Migrate { disks: false }, clock),
            Operation::UnifiedMigration => self.relocate(&Step::Migrate { disks: true }, clock),
            Operation::BootStorm { .. } => Err(no_storm()),
            Operation::Destroy => self.destroy(clock),
        }
    }

    fn deploy(&mut self, kind: DeployKind, clock: &mut Clock<'_>) -> Result<Done, VmError> {
        let name = self.next_name();
        let done = self.job(&Step::Clone { name: &name, kind }, clock)?;
        clock.end(Phase::Copying);
        self.job(&Step::Start { name: &name }, clock)?;
        clock.end(Phase::Boot);
        let checked = self.platform.check(Some(&name))?;
        clock.end(Phase::Check);
        Ok(Done { checked, ..done })
    }

    fn snapshot(&mut self, keep: Duration, clock: &mut Clock<'_>) -> Result<Done, VmError> {
        let name = self.next_name();
        let done = self.job(&Step::Snapshot { name: &name }, clock)?;
        clock.end(Phase::Create);
        let until = Instant::now() + keep;
        while Instant::now() < until {
            clock.go_on()?;
            std::thread::sleep(
                self.limits.look.min(until.saturating_duration_since(Instant::now())),
            );
        }
        clock.end(Phase::Keep);
        self.job(&Step::DeleteSnapshot { name: &name }, clock)?;
        clock.end(Phase::Delete);
        let checked = self.platform.check(None)?;
        clock.end(Phase::Check);
        Ok(Done { checked, ..done })
    }

    fn relocate(&mut self, step: &Step<'_>, clock: &mut Clock<'_>) -> Result<Done, VmError> {
        let mut job = self.platform.begin(step, &mut self.ledger)?;
        let look = self.wait(&mut job, clock, true)?;
        clock.end(Phase::Copying);
        let done = match look {
            Look::Done(done) => done,
            _ => {
                self.platform.switch_over(&mut job)?;
                match self.wait(&mut job, clock, false)? {
                    Look::Done(done) => done,
                    _ => Done::default(),
                }
            }
        };
        self.platform.end(job, &mut self.ledger)?;
        clock.end(Phase::SwitchOver);
        let checked = self.platform.check(None)?;
        clock.end(Phase::Check);
        Ok(Done { checked, ..done })
    }

    fn destroy(&mut self, clock: &mut Clock<'_>) -> Result<Done, VmError> {
        let clones: Vec<String> = self
            .ledger
            .made()
            .iter()
            .filter_map(|made| made.clone_name().map(str::to_owned))
            .collect();
        for name in clones {
            self.job(&Step::Destroy { name: &name }, clock)?;
        }
        clock.end(Phase::Destroy);
        Ok(Done::default())
    }

    /// Runs a job from start to end.
    fn job(&mut self, step: &Step<'_>, clock: &Clock<'_>) -> Result<Done, VmError> {
        let mut job = self.platform.begin(step, &mut self.ledger)?;
        let look = self.wait(&mut job, clock, true)?;
        self.platform.end(job, &mut self.ledger)?;
        match look {
            Look::Done(done) => Ok(done),
            _ => Ok(Done::default()),
        }
    }

    /// Waits until a job is ready to switch over, or complete. A job that is stopped or fails is
    /// cancelled.
    fn wait(
        &mut self,
        job: &mut P::Job,
        clock: &Clock<'_>,
        may_stop: bool,
    ) -> Result<Look, VmError> {
        let until = Instant::now() + self.limits.job;
        loop {
            let error = match self.platform.look(job) {
                Ok(Look::Going) if may_stop && clock.go_on().is_err() => VmError::Stopped,
                Ok(Look::Going) if Instant::now() >= until => {
                    let (machine, within) = (self.name.clone(), self.limits.job);
                    VmError::TooLong { machine, what: "a job", within }
                }
                Ok(Look::Going) => {
                    std::thread::sleep(self.limits.look);
                    continue;
                }
                Ok(look) => return Ok(look),
                Err(error) => error,
            };
            self.platform.call_off(job);
            return Err(error);
        }
    }

    /// Removes all objects of the ledger. Returns the objects that remain, in words.
    fn take_back(&mut self) -> Vec<String> {
        let mut stays = Vec::new();
        for made in self.ledger.made().to_vec().into_iter().rev() {
            let undone = self.platform.undo(&made).and_then(|()| self.ledger.gone(&made));
            if let Err(error) = undone {
                stays.push(format!("{made}: {error}"));
            }
        }
        stays
    }

    /// Undoes a failed operation and returns the state of the virtual machine.
    fn recover(&mut self, operation: Operation) -> After {
        let stays = self.take_back();
        if !stays.is_empty() {
            return After::Left { what: stays.join("; ") };
        }
        if !operation.needs_machine() {
            return After::Nothing;
        }
        match self.platform.check(None) {
            Ok(_) => After::Runs,
            Err(error) => After::Lost { why: error.to_string() },
        }
    }
}

impl<P: Platform> VmOperations for Named<P> {
    fn about(&self) -> String {
        self.platform.about()
    }

    fn prepare(&mut self, operation: Operation) -> Result<(), Failure> {
        let can = match operation {
            Operation::BootStorm { .. } => Err(no_storm()),
            Operation::Destroy => Ok(()),
            _ => self.platform.can(operation),
        };
        can.map_err(|reason| {
            let reason = Box::new(reason);
            Failure { operation, phase: None, reason, after: After::Untouched }
        })
    }

    fn perform(&mut self, operation: Operation, watch: &mut dyn Watch) -> Result<Report, Failure> {
        self.prepare(operation)?;
        let mut clock = Clock::begin(operation, watch);
        match self.run(&mut clock) {
            Ok(done) => Ok(clock.report(done)),
            Err(reason) => {
                if matches!(reason, VmError::Stopped) {
                    // A task that never ends would otherwise keep the run for an hour, and again at
                    // its end.
                    self.platform.hurry();
                    self.is_stopped = true;
                }
                let (phase, after) = (clock.phase(), self.recover(operation));
                Err(Failure { operation, phase, reason: Box::new(reason), after })
            }
        }
    }
}

impl<P: Platform> Drop for Named<P> {
    /// Removes the created objects. Objects that cannot be removed stay in the ledger, where
    /// `cleanup` finds them.
    fn drop(&mut self) {
        if !self.is_stopped {
            self.take_back();
        }
    }
}

fn no_storm() -> VmError {
    let text = "a boot storm needs Tilemark's own machines: a named machine exists only once";
    VmError::Unsupported(text.to_owned())
}
