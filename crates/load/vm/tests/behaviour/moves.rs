//! Every operation, on virtual machines under load.

use std::time::Duration;

use tilemark_vm::{DeployKind, Operation, Phase, Report, VmOperations};

use crate::rig;

fn done(qemu: &mut tilemark_vm::qemu::Qemu, operation: Operation) -> Report {
    let report = qemu.perform(operation, &mut ()).unwrap_or_else(|failure| panic!("{failure}"));
    eprintln!(
        "{operation}: {:?}, stood still {:?}, {} B; {}",
        report.ended, report.stood_still, report.copied_bytes, report.checked
    );
    let phases: Vec<Phase> = report.ended.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(phases, operation.phases());
    assert!(report.ended.is_sorted_by_key(|(_, at)| *at), "{:?}", report.ended);
    report
}

#[test]
fn a_machine_is_moved_in_every_way_and_is_whole_after_each() {
    if !rig::is_usable() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let mut qemu = rig::qemu(place.path(), rig::options(), 2);
    eprintln!("{}", qemu.about());
    for _ in 0..2 {
        for operation in [
            Operation::LiveMigration,
            Operation::StorageMigration,
            Operation::UnifiedMigration,
            Operation::Snapshot { keep: Duration::from_millis(500) },
        ] {
            let report = done(&mut qemu, operation);
            assert!(report.stood_still.is_some_and(|still| still < Duration::from_secs(60)));
            assert!(report.checked.contains("read again by the host"), "{}", report.checked);
        }
    }
    let home = qemu.home().path().to_owned();
    drop(qemu);
    assert!(!home.exists());
}

#[test]
fn machines_are_deployed_from_the_template_which_stays_as_it_is() {
    if !rig::is_usable() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let mut qemu = rig::qemu(place.path(), rig::options(), 2);
    let before = std::fs::read(place.path().join("template")).expect("the template");
    let full = done(&mut qemu, Operation::Deploy(DeployKind::Full));
    assert_eq!(full.copied_bytes, rig::SIZE);
    done(&mut qemu, Operation::Deploy(DeployKind::Linked));
    let failure =
        qemu.perform(Operation::BootStorm { machines: 2 }, &mut ()).expect_err("no disk is left");
    assert!(failure.to_string().contains("2 disks are needed, but only 0 are free"), "{failure}");
    done(&mut qemu, Operation::Destroy);
    done(&mut qemu, Operation::BootStorm { machines: 2 });
    done(&mut qemu, Operation::Destroy);
    assert!(std::fs::read(place.path().join("template")).expect("the template") == before);
}
