//! Virtual machines of this program in QEMU processes on this host, controlled over QMP.
//!
//! They are moved between processes and disks as between hosts: memory goes over a socket, and a
//! disk over a block job or an NBD export. Each operation is a file. The commands are the same as
//! in QEMU's own tests.

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
use process_home::Home;

use crate::guest::Work;
use crate::home;
use crate::operation::{Clock, Done};
use crate::{After, Failure, Image, Operation, Report, VmError, VmOperations, Watch};

use checks::Known;
use machine::{Base, Machine};
use nodes::Aio;

pub use program::{Accelerator, Program, Version};

/// Maximum number of virtual machines that are booted at once. Our choice: each takes some 200 MiB
/// of this host.
const MACHINES_MAX: u32 = 64;

/// Time limits. Emulation is slow, especially on a busy host. The limits only end hung operations
/// and are not performance limits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum time for a response of a monitor.
    pub answer: Duration,
    /// Maximum time until the first heartbeat of a guest.
    pub boot: Duration,
    /// Maximum time for copying from a running virtual machine.
    pub copying: Duration,
    /// Maximum time from the end of copying until the virtual machine continues.
    pub switch_over: Duration,
    /// Maximum time until the next heartbeat of a running guest.
    pub beat: Duration,
    /// Maximum time of a guest's check.
    pub check: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let [answer, boot, copying, switch_over, beat, check] =
            [30, 180, 1800, 120, 60, 600].map(Duration::from_secs);
        Self { answer, boot, copying, switch_over, beat, check }
    }
}

/// Settings of the virtual machines.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Path of the program; `None` to search for it.
    pub program: Option<PathBuf>,
    /// Directory of the guest's image; `None` for the usual one.
    pub image: Option<PathBuf>,
    /// Accelerator; `None` for KVM if a test boot succeeds, or else emulation.
    pub accelerator: Option<Accelerator>,
    /// Activity of each guest.
    pub work: Work,
    /// Time limits of operations.
    pub limits: Limits,
    /// Identifier of the run to which they belong.
    pub run_id: String,
}

/// A guest with its disk.
#[derive(Debug)]
struct Vm {
    machine: Machine,
    work: Work,
    disk: VirtualDisk,
    /// Facts about its disk, and the last heartbeat of its guest.
    known: Known,
    /// True if its writes go to a snapshot layer that could not be merged.
    is_layered: bool,
}

/// Virtual machines in QEMU, with their disks.
#[derive(Debug)]
pub struct Qemu {
    vms: Vms,
    base: Base,
}

/// Existing virtual machines, and disks for further ones.
#[derive(Debug)]
struct Vms {
    template: Option<VirtualDisk>,
    /// Digest of the template's first three quarters; `None` until it is computed.
    template_digest: Option<u64>,
    free: Vec<VirtualDisk>,
    resident: Option<Vm>,
    deployed: Vec<Vm>,
    work: Work,
    aio: Aio,
    started: u64,
}

/// Checks that everything that the operations need exists, as far as possible without starting
/// anything.
///
/// # Errors
/// The program or the image is missing, or the program is too old.
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

/// Operations that move a running guest.
const MOVES: [Operation; 2] = [Operation::LiveMigration, Operation::UnifiedMigration];

impl Qemu {
    /// Finds program, image and accelerator. The template, which deployments need, is only read;
    /// the other disks are written. All have the same size, a multiple of 16 KiB.
    ///
    /// # Errors
    /// Something is missing or too old, or the disks do not have this size.
    pub fn new(
        options: Options,
        template: Option<VirtualDisk>,
        disks: Vec<VirtualDisk>,
    ) -> Result<Self, VmError> {
        let mut sizes = disks.iter().chain(&template).map(|disk| disk.size.get());
        let size = sizes.next().unwrap_or(0);
        if disks.is_empty() || !size.is_multiple_of(16384) || sizes.any(|other| other != size) {
            let text = "machines need disks of one size, which must be a multiple of 16 KiB";
            return Err(VmError::Unsupported(text.to_owned()));
        }
        let directory = options.image.unwrap_or_else(Image::usual_directory);
        let image = Image::load(&directory)?;
        let program = Program::find(options.program.as_deref(), &directory)?;
        program.check()?;
        let home = Home::make(&home::KIND, &options.run_id)?;
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

    /// Returns the accelerator of the guests.
    pub fn accelerator(&self) -> Accelerator {
        self.base.accelerator
    }

    /// Returns the private directory of the processes.
    pub fn home(&self) -> &Home {
        &self.base.home
    }

    /// Returns the process identifier of the resident virtual machine, for tests that inject
    /// faults.
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
    /// Returns a new unique name for a virtual machine of this run.
    fn next_name(&mut self) -> String {
        self.started += 1;
        format!("vm{}", self.started)
    }

    /// Returns the activity of the next guest, with content that differs from the other guests'.
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
