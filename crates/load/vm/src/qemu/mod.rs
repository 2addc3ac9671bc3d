//! Machines of our own in QEMU processes of this host, driven over QMP.
//!
//! What they are moved between are processes and disks, as it is done between hosts: memory goes over a
//! socket, a disk over a block job or an NBD export. Each operation is a file; the commands are those
//! that QEMU's own tests use.

mod checks;
mod console;
mod copies;
mod deploy;
mod live;
mod machine;
mod nodes;
mod program;
mod resident;
mod snapshot;
mod storage;
mod unified;

use std::path::PathBuf;
use std::time::Duration;

use datastore::VirtualDisk;

use crate::guest::Work;
use crate::home::Home;
use crate::operation::{Clock, Done};
use crate::{After, Failure, Image, Operation, Report, VmError, VmOperations, Watch};

use checks::Known;
use machine::{Base, Machine};
use nodes::Aio;

pub use program::{Accelerator, Program, Version};

/// Most machines that are booted at once; our choice: each takes some 200 MiB of this host.
const MACHINES_MAX: u32 = 64;

/// What is waited for, and how long. Emulation is slow and a busy host slower: these end what hangs,
/// they judge nothing.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// An answer of a monitor.
    pub answer: Duration,
    /// The first beat of a guest.
    pub boot: Duration,
    /// Everything that is copied while a machine runs.
    pub copying: Duration,
    /// From there until it runs on.
    pub switch_over: Duration,
    /// A beat of a guest that runs.
    pub beat: Duration,
    /// A look of a guest at everything.
    pub check: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let [answer, boot, copying, switch_over, beat, check] =
            [30, 180, 1800, 120, 60, 600].map(Duration::from_secs);
        Self { answer, boot, copying, switch_over, beat, check }
    }
}

/// How the machines are to be.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The program; without one it is looked for.
    pub program: Option<PathBuf>,
    /// The directory of the guest's image; without one the usual.
    pub image: Option<PathBuf>,
    /// Without one, KVM where a boot shows that it works.
    pub accelerator: Option<Accelerator>,
    /// What each guest does.
    pub work: Work,
    /// How long is waited for what.
    pub limits: Limits,
    /// The run they belong to.
    pub run_id: String,
}

/// A guest with its disk.
#[derive(Debug)]
struct Vm {
    machine: Machine,
    work: Work,
    disk: VirtualDisk,
    /// What is known of its disk and was seen of its guest.
    known: Known,
    /// Whether a snapshot takes its writes that could not be merged.
    is_layered: bool,
}

/// Machines in QEMU on disks that are theirs.
#[derive(Debug)]
pub struct Qemu {
    vms: Vms,
    base: Base,
}

/// The machines that there are, and the disks for others.
#[derive(Debug)]
struct Vms {
    template: Option<VirtualDisk>,
    /// Digest of the template's first three quarters, once it was asked for.
    template_digest: Option<u64>,
    free: Vec<VirtualDisk>,
    resident: Option<Vm>,
    deployed: Vec<Vm>,
    work: Work,
    aio: Aio,
    started: u64,
}

/// Whether there is what operations take, as far as can be told without starting anything.
///
/// # Errors
/// When program or image are missing, or the program is too old.
pub fn check(options: &Options, operations: &[Operation]) -> Result<(), VmError> {
    let directory = options.image.clone().unwrap_or_else(Image::usual_directory);
    Image::load(&directory)?;
    let program = Program::find(options.program.as_deref(), &directory)?;
    program.check()?;
    let may_be_kvm = match options.accelerator {
        Some(accelerator) => accelerator == Accelerator::Kvm,
        None => std::path::Path::new(checks::KVM).exists(),
    };
    let moves = operations.iter().any(|own| MOVES.contains(own));
    if moves && !may_be_kvm { program.check_moves(Accelerator::Emulation) } else { Ok(()) }
}

/// Operations that move a guest which runs.
const MOVES: [Operation; 2] = [Operation::LiveMigration, Operation::UnifiedMigration];

impl Qemu {
    /// Finds program and image, and what it runs guests with. The template, without which nothing is
    /// deployed, is only read; the other disks are written. All are of one size, which is a multiple of
    /// 16 KiB.
    ///
    /// # Errors
    /// When something is missing, too old, or the disks do not suit.
    pub fn new(
        options: Options,
        template: Option<VirtualDisk>,
        disks: Vec<VirtualDisk>,
    ) -> Result<Self, VmError> {
        let mut sizes = disks.iter().chain(&template).map(|disk| disk.size.get());
        let size = sizes.next().unwrap_or(0);
        if disks.is_empty() || !size.is_multiple_of(16384) || sizes.any(|other| other != size) {
            let text = "machines need disks, all of one size, which is a multiple of 16 KiB";
            return Err(VmError::Unsupported(text.to_owned()));
        }
        let directory = options.image.unwrap_or_else(Image::usual_directory);
        let image = Image::load(&directory)?;
        let program = Program::find(options.program.as_deref(), &directory)?;
        program.check()?;
        let home = Home::make(&options.run_id)?;
        let accelerator = options.accelerator.unwrap_or(Accelerator::Emulation);
        let mut base = Base { program, accelerator, image, home, limits: options.limits };
        if options.accelerator.is_none() {
            base.accelerator = checks::accelerator(&mut base);
        }
        let aio = copies::aio(&base, &disks[0])?;
        let vms = Vms {
            template,
            template_digest: None,
            free: disks,
            resident: None,
            deployed: Vec::new(),
            work: options.work,
            aio,
            started: 0,
        };
        Ok(Self { vms, base })
    }

    /// What runs the guests.
    pub fn accelerator(&self) -> Accelerator {
        self.base.accelerator
    }

    /// The private directory of its processes.
    pub fn home(&self) -> &Home {
        &self.base.home
    }

    /// The process that the running machine is, for whoever wants to harm it.
    pub fn resident_pid(&self) -> Option<u32> {
        self.vms.resident.as_ref().map(|vm| vm.machine.pid())
    }

    fn check_possible(&self, operation: Operation) -> Result<(), VmError> {
        if MOVES.contains(&operation) {
            self.base.program.check_moves(self.base.accelerator)?;
        }
        match operation {
            Operation::BootStorm { machines } if !(1..=MACHINES_MAX).contains(&machines) => {
                let text =
                    format!("a boot storm of {machines} machines is not from 1 to {MACHINES_MAX}");
                Err(VmError::Unsupported(text))
            }
            _ => Ok(()),
        }
    }

    fn run(&mut self, clock: &mut Clock<'_>) -> Result<Done, VmError> {
        let (vms, base) = (&mut self.vms, &self.base);
        match clock.operation() {
            Operation::Deploy(kind) => vms.deploy(base, clock, (kind, 1)),
            Operation::BootStorm { machines } => {
                vms.deploy(base, clock, (crate::DeployKind::Linked, machines))
            }
            Operation::Snapshot { keep } => vms.snapshot(base, clock, keep),
            Operation::StorageMigration => vms.storage_migration(base, clock),
            Operation::LiveMigration => vms.live_migration(base, clock),
            Operation::UnifiedMigration => vms.unified_migration(base, clock),
            Operation::Destroy => Ok(vms.destroy(clock)),
        }
    }
}

impl VmOperations for Qemu {
    fn about(&self) -> String {
        let Base { program, accelerator, image, .. } = &self.base;
        format!(
            "QEMU {} ({}), {accelerator}, guest kernel {}, image {}",
            program.version,
            program.path.display(),
            image.about,
            &image.sha256[..12]
        )
    }

    fn prepare(&mut self, operation: Operation) -> Result<(), Failure> {
        let ready = self.check_possible(operation).and_then(|()| match operation.needs_machine() {
            true => self.vms.see_to_resident(&self.base),
            false if operation == Operation::Destroy => Ok(()),
            false => self.vms.template_digest().map(drop),
        });
        ready.map_err(|reason| Failure {
            operation,
            phase: None,
            reason: Box::new(reason),
            after: After::Nothing,
        })
    }

    fn perform(&mut self, operation: Operation, watch: &mut dyn Watch) -> Result<Report, Failure> {
        self.prepare(operation)?;
        let mut clock = Clock::begin(operation, watch);
        match self.run(&mut clock) {
            Ok(done) => Ok(clock.report(done)),
            Err(reason) => {
                let after = match operation.needs_machine() {
                    true => self.vms.recover(&self.base),
                    false => After::Nothing,
                };
                Err(Failure { operation, phase: clock.phase(), reason: Box::new(reason), after })
            }
        }
    }
}

impl Vms {
    /// A name that no machine of this run had.
    fn next_name(&mut self) -> String {
        self.started += 1;
        format!("vm{}", self.started)
    }

    /// What the next guest does, with content of its own.
    fn next_work(&self) -> Work {
        Work { seed: self.work.seed.wrapping_add(self.started << 8), ..self.work }
    }

    fn take_disks(&mut self, needed: usize) -> Result<Vec<VirtualDisk>, VmError> {
        let free = self.free.len();
        if needed > free {
            return Err(VmError::NoDisk { needed, free });
        }
        Ok(self.free.drain(..needed).collect())
    }
}
