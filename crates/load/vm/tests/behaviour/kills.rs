//! A `kill -9` in every phase: virtual machines are found and ended, and disks that nothing wrote
//! to are unchanged.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};
use tilemark_vm::{DeployKind, Operation, Phase, VmOperations, Watch, home};

use crate::rig;

/// Environment variable with the operation in which this program, started again, must die, and the
/// place of its disks.
const DIES_IN: &str = "TILEMARK_TEST_DIES_IN";
const PLACE: &str = "TILEMARK_TEST_PLACE";
const NAME: &str = "kills::vms_are_found_and_sources_undamaged_after_any_kill";

const OPERATIONS: [Operation; 3] = [
    Operation::UnifiedMigration,
    Operation::Snapshot { keep: Duration::from_millis(300) },
    Operation::Deploy(DeployKind::Full),
];

/// Kills this process when a number of phases have ended: at the begin of the next one.
struct Dies {
    phases: usize,
    ended: usize,
}

impl Dies {
    fn look(&self) {
        if self.ended >= self.phases {
            kill_process(getpid(), Signal::KILL).expect("it dies");
        }
    }
}

impl Watch for Dies {
    fn ended(&mut self, _: Phase) {
        self.ended += 1;
        self.look();
    }

    fn is_stopped(&self) -> bool {
        self.look();
        false
    }
}

/// Body of the program that is killed.
fn die(asked: &str) {
    let (operation, phases) = asked.split_once('/').expect("OPERATION/PHASES");
    let operation = OPERATIONS.into_iter().find(|own| own.name() == operation).expect("known");
    let place = std::env::var(PLACE).expect("a directory");
    let mut qemu = rig::qemu(Path::new(&place), rig::options(), 2);
    std::fs::write(Path::new(&place).join("home"), qemu.home().name()).expect("written");
    let mut dies = Dies { phases: phases.parse().expect("a number"), ended: 0 };
    let failure = qemu.perform(operation, &mut dies).expect_err("it does not come so far");
    panic!("{failure}");
}

/// Bytes of a disk that no guest writes to.
fn still(directory: &Path, name: &str, share: u64) -> Vec<u8> {
    let mut bytes = std::fs::read(directory.join(name)).expect("a disk");
    bytes.truncate(usize::try_from(rig::SIZE / 4 * share).expect("small"));
    bytes
}

#[test]
fn vms_are_found_and_sources_undamaged_after_any_kill() {
    if let Ok(asked) = std::env::var(DIES_IN) {
        return die(&asked);
    }
    if !rig::is_usable() {
        return;
    }
    let before = tempfile::tempdir().expect("a directory");
    for name in ["disk-0", "template"] {
        rig::disk(before.path(), name);
    }
    for operation in OPERATIONS {
        for (phases, phase) in operation.phases().iter().enumerate() {
            let place = tempfile::tempdir().expect("a directory");
            let mut program = Command::new(std::env::current_exe().expect("this program"));
            program.args([NAME, "--exact", "--nocapture"]).env(PLACE, place.path());
            program.env(DIES_IN, format!("{}/{phases}", operation.name()));
            let said = program.output().expect("it starts");
            let at = format!("{operation}, {phase}");
            assert_eq!(said.status.signal(), Some(9), "{at}: {said:?}");
            let name = std::fs::read_to_string(place.path().join("home")).expect("it began");
            let ran = !home::processes(&name).is_empty();
            assert!(ran || !operation.needs_machine(), "{at}: a machine ran");
            // A process that is being started holds the marker's lock for a moment longer.
            let until = Instant::now() + Duration::from_secs(30);
            let path = Path::new("/tmp").join(&name);
            while path.exists() && Instant::now() < until {
                home::sweep(true);
            }
            assert!(!path.exists(), "{at}: {} is left", path.display());
            assert_eq!(home::processes(&name), [0; 0], "{at}");
            // A guest writes to the last quarter of its disk; a deployment to all of a free one.
            let disk = operation.needs_machine().then_some(("disk-0", 3));
            for (disk, share) in disk.into_iter().chain([("template", 4)]) {
                let same = still(place.path(), disk, share) == still(before.path(), disk, share);
                assert!(same, "{at}: {disk} has changed");
            }
        }
    }
}
