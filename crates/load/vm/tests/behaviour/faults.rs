//! Faults in the middle of an operation: the virtual machine stays undamaged, and the failure has
//! phase, time and reason.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tilemark_vm::qemu::{Limits, Qemu};
use tilemark_vm::{
    After, DeployKind, Failure, Operation, Phase, VmError, VmOperations, Watch, home,
};

use crate::rig;

/// Calls a function once, when a number of phases have ended and the operation waits.
struct At<F: Fn() -> bool> {
    ended: usize,
    phases: usize,
    done: Cell<bool>,
    stop: Cell<bool>,
    act: F,
}

impl<F: Fn() -> bool> At<F> {
    /// The result of `act` says whether to stop the operation then.
    fn phase(phases: usize, act: F) -> Self {
        Self { ended: 0, phases, done: Cell::new(false), stop: Cell::new(false), act }
    }
}

impl<F: Fn() -> bool> Watch for At<F> {
    fn ended(&mut self, _: Phase) {
        self.ended += 1;
    }

    fn is_stopped(&self) -> bool {
        if self.ended >= self.phases && !self.done.replace(true) {
            self.stop.set((self.act)());
        }
        self.stop.get()
    }
}

fn fails(qemu: &mut Qemu, operation: Operation, watch: &mut dyn Watch) -> Failure {
    let failure = qemu.perform(operation, watch).expect_err("it cannot succeed");
    eprintln!("{failure}");
    assert!(failure.to_string().starts_with(operation.name()), "{failure}");
    failure
}

fn goes_on(qemu: &mut Qemu) {
    let pid = qemu.resident_pid();
    qemu.perform(Operation::StorageMigration, &mut ())
        .unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(qemu.resident_pid(), pid, "it is the same machine");
}

fn signal(pid: u32, name: &str) {
    let done = Command::new("kill").args([name, &pid.to_string()]).status().expect("kill");
    assert!(done.success(), "kill {name} {pid}");
}

/// Signals every process that the test started, except the virtual machine that existed before.
fn to_others(qemu: &Qemu, name: &'static str) -> impl Fn() -> bool + use<> {
    let (home, own) = (qemu.home().name().to_owned(), qemu.resident_pid());
    move || {
        let all = home::processes(&home);
        all.into_iter().filter(|pid| Some(*pid) != own).for_each(|pid| signal(pid, name));
        false
    }
}

#[test]
fn stop_in_any_phase_leaves_the_vm_undamaged() {
    if !rig::is_usable() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let mut qemu = rig::qemu(place.path(), rig::options(), 2);
    let keep = Duration::from_millis(300);
    for operation in [
        Operation::LiveMigration,
        Operation::StorageMigration,
        Operation::UnifiedMigration,
        Operation::Snapshot { keep },
    ] {
        for phases in 0..operation.phases().len() {
            let failure = fails(&mut qemu, operation, &mut At::phase(phases, || true));
            assert!(matches!(*failure.reason, VmError::Stopped), "{failure}");
            // A switch-over is completed, because that is the shortest way back to a running
            // virtual machine.
            let at = operation.phases()[phases];
            let at = if at == Phase::SwitchOver { Phase::Check } else { at };
            assert_eq!((failure.phase, &failure.after), (Some(at), &After::Whole), "{failure}");
        }
    }
    goes_on(&mut qemu);
}

#[test]
fn dead_or_hung_destination_is_named_and_source_continues() {
    if !rig::is_usable() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let limits = Limits { answer: Duration::from_secs(4), ..Limits::default() };
    let [copying, switch_over] = [8, 8].map(Duration::from_secs);
    let limits = Limits { copying, switch_over, ..limits };
    let options = tilemark_vm::qemu::Options { limits, ..rig::options() };
    let mut qemu = rig::qemu(place.path(), options, 2);
    qemu.prepare(Operation::LiveMigration).unwrap_or_else(|failure| panic!("{failure}"));
    for operation in [Operation::LiveMigration, Operation::UnifiedMigration] {
        let mut kills = At::phase(0, to_others(&qemu, "-KILL"));
        let failure = fails(&mut qemu, operation, &mut kills);
        assert_eq!(
            (failure.phase, &failure.after),
            (Some(Phase::Copying), &After::Whole),
            "{failure}"
        );
        let mut stops = At::phase(0, to_others(&qemu, "-STOP"));
        let failure = fails(&mut qemu, operation, &mut stops);
        assert_eq!(
            (failure.phase, &failure.after),
            (Some(Phase::Copying), &After::Whole),
            "{failure}"
        );
        assert!(failure.to_string().contains("within"), "{failure}");
    }
    goes_on(&mut qemu);
    assert_eq!(home::processes(qemu.home().name()).len(), 1, "no destination is left");
}

#[test]
fn dead_or_hung_vm_is_lost_and_next_operation_gets_another() {
    if !rig::is_usable() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let mut qemu = rig::qemu(place.path(), rig::impatient(), 2);
    for (name, says) in [("-KILL", "has ended"), ("-STOP", "did not answer")] {
        qemu.prepare(Operation::LiveMigration).unwrap_or_else(|failure| panic!("{failure}"));
        let pid = qemu.resident_pid().expect("it runs");
        let mut harm = At::phase(0, move || {
            signal(pid, name);
            false
        });
        let failure = fails(&mut qemu, Operation::LiveMigration, &mut harm);
        assert!(matches!(failure.after, After::Lost { .. }), "{failure}");
        assert!(failure.to_string().contains(says), "{failure}");
    }
    assert_eq!(home::processes(qemu.home().name()), [0; 0], "what hung is gone, too");
    qemu.perform(Operation::LiveMigration, &mut ()).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn damaged_move_fails_and_vm_continues_at_its_source() {
    if !rig::is_usable() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let mut qemu = rig::qemu(place.path(), rig::options(), 2);
    qemu.prepare(Operation::UnifiedMigration).unwrap_or_else(|failure| panic!("{failure}"));
    // A block of the destination's disk is changed by another program.
    let second = place.path().join("disk-1");
    let mut spoil = At::phase(2, || {
        let file = OpenOptions::new().write(true).open(&second).expect("the disk");
        file.write_all_at(&[0x55; 4096], 1 << 20).expect("written");
        file.sync_all().expect("synced");
        false
    });
    let failure = fails(&mut qemu, Operation::UnifiedMigration, &mut spoil);
    assert_eq!((failure.phase, &failure.after), (Some(Phase::Check), &After::Whole), "{failure}");
    assert!(failure.to_string().contains("damaged: the unchanged disk"), "{failure}");
    // A byte of its memory is changed.
    let harm = flip_a_byte(&qemu);
    let failure = fails(&mut qemu, Operation::UnifiedMigration, &mut At::phase(2, harm));
    assert_eq!((failure.phase, &failure.after), (Some(Phase::Check), &After::Whole), "{failure}");
    assert!(failure.to_string().contains("have wrong content"), "{failure}");
    goes_on(&mut qemu);
}

/// Finds a page of the moved guest's constant memory in its process (words that grow by one step),
/// and changes one byte of it.
fn flip_a_byte(qemu: &Qemu) -> impl Fn() -> bool + use<> {
    let (home, own) = (qemu.home().name().to_owned(), qemu.resident_pid());
    move || {
        let pid =
            home::processes(&home).into_iter().find(|pid| Some(*pid) != own).expect("it came");
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("its maps");
        let memory = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"));
        let memory = memory.expect("its memory");
        let number = |text: &str| u64::from_str_radix(text, 16).expect("an address");
        for line in maps.lines().filter(|line| line.contains("rw-p")) {
            let (from, to) =
                line.split(' ').next().and_then(|own| own.split_once('-')).expect("a range");
            let (from, to) = (number(from), number(to));
            if to - from < 64 << 20 {
                continue;
            }
            let mut page = [0; 4096];
            for at in (from..to).step_by(4096) {
                if memory.read_exact_at(&mut page, at).is_ok() && is_of_guest(&page) {
                    memory.write_all_at(&[page[100] ^ 1], at + 100).expect("changed");
                    return false;
                }
            }
        }
        panic!("no page of the guest's is in {maps}");
    }
}

fn is_of_guest(page: &[u8; 4096]) -> bool {
    let (words, _) = page.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    words.windows(2).all(|two| two[1].wrapping_sub(two[0]) == 0x9e37_79b9_7f4a_7c15)
}

#[test]
fn template_changed_before_the_copy_is_found_by_the_check() {
    if !rig::is_usable() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let mut qemu = rig::qemu(place.path(), rig::options(), 2);
    let deploy = Operation::Deploy(DeployKind::Full);
    qemu.prepare(deploy).unwrap_or_else(|failure| panic!("{failure}"));
    let template = OpenOptions::new().write(true).open(place.path().join("template"));
    let template = template.expect("the template");
    template.write_all_at(&[0x55; 4096], 1 << 20).expect("written");
    template.sync_all().expect("synced");
    let failure = fails(&mut qemu, deploy, &mut ());
    assert_eq!((failure.phase, &failure.after), (Some(Phase::Check), &After::Nothing), "{failure}");
    assert!(failure.to_string().contains("damaged: the unchanged disk"), "{failure}");
    assert_eq!(home::processes(qemu.home().name()), [0; 0], "the machine is gone");
}

#[test]
fn full_destination_is_reported_and_vm_stays_on_its_disk() {
    if !rig::is_usable() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let Some(small) = Small::new(4) else { return };
    let full = rig::hollow(small.path(), "full");
    let disks = vec![rig::disk(place.path(), "disk-0"), full];
    let template = rig::disk(place.path(), "template");
    let mut qemu = Qemu::new(rig::options(), Some(template), disks).expect("QEMU starts");
    for operation in [Operation::StorageMigration, Operation::UnifiedMigration] {
        let failure = fails(&mut qemu, operation, &mut ());
        assert_eq!(
            (failure.phase, &failure.after),
            (Some(Phase::Copying), &After::Whole),
            "{failure}"
        );
        assert!(failure.to_string().contains("No space left on device"), "{failure}");
    }
}

/// Regression: a virtual machine whose snapshot could not be merged was called damaged, because its
/// disk alone has not all of its content: its writes are in the layer, too.
#[test]
fn undeletable_snapshot_is_named_and_its_vm_was_undamaged() {
    if !rig::is_usable() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let Some(small) = Small::new(24) else { return };
    // Its guest writes to the last quarter only, where nothing is allocated yet.
    let hollow = rig::hollow(small.path(), "hollow");
    let disks = vec![hollow, rig::disk(place.path(), "disk-1")];
    let template = rig::disk(place.path(), "template");
    let mut qemu = Qemu::new(rig::options(), Some(template), disks).expect("QEMU starts");
    let snapshot = Operation::Snapshot { keep: Duration::from_secs(2) };
    let mut fill = At::phase(2, || {
        small.fill_up();
        false
    });
    let failure = fails(&mut qemu, snapshot, &mut fill);
    assert_eq!(failure.phase, Some(Phase::Delete), "{failure}");
    let text = failure.to_string();
    assert!(text.contains("No space left on device"), "{text}");
    assert!(text.contains("it was whole with its snapshot, which could not be merged"), "{text}");
    assert!(matches!(failure.after, After::Lost { .. }), "{failure}");
    assert_eq!(home::processes(qemu.home().name()), [0; 0], "no machine holds the two disks");
    small.empty();
    qemu.perform(snapshot, &mut ()).unwrap_or_else(|failure| panic!("{failure}"));
}

/// A small file system in memory, removed at the end.
struct Small(tempfile::TempDir);

impl Small {
    /// Makes one of that many MiB; `None`, with the reason printed, for users who may not mount.
    fn new(mib: u32) -> Option<Self> {
        let own = Self(tempfile::tempdir().expect("a directory"));
        let size = format!("size={mib}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "none"]).arg(own.path());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(own);
        }
        eprintln!("skipped: mounting a small file system needs root");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills the remaining room.
    fn fill_up(&self) {
        let mut file = File::create(self.path().join("filler")).expect("a file");
        while file.write_all(&[1; 4096]).is_ok() {}
    }

    fn empty(&self) {
        std::fs::remove_file(self.path().join("filler")).expect("it was filled");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
