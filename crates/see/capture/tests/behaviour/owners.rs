//! Senders of I/O, with control groups and processes of the running kernel.

use std::path::{Path, PathBuf};

use tilemark_capture::{By, Capture, Options, Order, Report, SenderFilter, disks_of};
use trace::{IoRecord, Operation};
use units::Bytes;

use crate::disk::Loop;
use crate::group::{AHEAD, Group, READS, Reader};
use crate::privately::has_tracefs;

fn dd() -> PathBuf {
    ["/bin/dd", "/usr/bin/dd"].iter().map(PathBuf::from).find(|it| it.exists()).expect("dd")
}

/// Records I/O while all of these programs read; they live until all senders are looked up.
fn recorded(
    disk: &Loop,
    by: By,
    wanted: SenderFilter,
    begin: impl FnOnce() -> Vec<Reader>,
) -> (Vec<IoRecord>, Report) {
    let disks = disks_of(std::slice::from_ref(&disk.path)).expect("a disk");
    let options = Options { disks, buffer: Bytes::new(4 << 20), by, wanted, order: Order::Issue };
    let mut records = Vec::new();
    let mut capture = Capture::start(options).expect("started");
    let readers = begin();
    capture.step(&mut records).expect("read");
    let report = capture.finish(&mut records).expect("ended");
    drop(readers);
    assert_eq!(report.progress.lost, 0, "{report:?}");
    (records, report)
}

/// Reads of 4 KiB by sender, most first.
fn senders(records: &[IoRecord], report: &Report) -> Vec<(String, usize)> {
    let mut counts = vec![0; report.info.vms.len()];
    let is_read = |io: &&IoRecord| io.operation == Operation::Read && io.length == 4096;
    records.iter().filter(is_read).for_each(|io| counts[usize::from(io.vm.0)] += 1);
    let mut senders: Vec<(String, usize)> = report.info.vms.iter().cloned().zip(counts).collect();
    senders.retain(|(_, count)| *count > 0);
    senders.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    senders
}

/// Tests a control group, one below it, and one beside it, of one version of control groups.
fn only_the_group_is_recorded(version: u8) {
    let Some(disk) = Loop::new(8) else { return };
    let name = format!("tilemark-test-{}-{version}", std::process::id());
    let Some(outer) = Group::new(version, &name) else { return };
    let Some(inner) = Group::new(version, &format!("{name}/inner")) else { return };
    let Some(beside) = Group::new(version, &format!("{name}-2")) else { return };
    let begin = || {
        let groups = [Some(&outer), Some(&inner), Some(&beside), None];
        groups.into_iter().map(|group| Reader::new(&dd(), &disk.path, group)).collect()
    };
    for wanted in [outer.path.display().to_string(), name.clone()] {
        let wanted = SenderFilter { cgroup: Some(wanted), ..SenderFilter::default() };
        let (records, report) = recorded(&disk, By::Cgroup, wanted, begin);
        let senders = senders(&records, &report);
        let mut names: Vec<&str> = senders.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, [outer.name.as_str(), &inner.name], "{senders:?}");
        assert!(senders.iter().all(|(_, count)| *count >= READS), "{senders:?}");
        assert!(report.progress.counts.unwanted >= 2 * READS as u64, "{report:?}");
    }
    let (records, report) = recorded(&disk, By::Cgroup, SenderFilter::default(), begin);
    let senders = senders(&records, &report);
    for group in [&outer, &inner, &beside] {
        let row = senders.iter().find(|(name, _)| *name == group.name);
        assert!(row.is_some_and(|(_, count)| *count >= READS), "{}: {senders:?}", group.name);
    }
}

#[test]
fn cgroup_v2_is_recorded_with_its_children_only() {
    let test = "owners::cgroup_v2_is_recorded_with_its_children_only";
    if has_tracefs(test) {
        only_the_group_is_recorded(2);
    }
}

#[test]
fn cgroup_v1_is_recorded_with_its_children_only() {
    let test = "owners::cgroup_v1_is_recorded_with_its_children_only";
    if has_tracefs(test) {
        only_the_group_is_recorded(1);
    }
}

#[test]
fn vm_in_a_libvirt_scope_is_found_by_its_name() {
    let test = "owners::vm_in_a_libvirt_scope_is_found_by_its_name";
    if !has_tracefs(test) {
        return;
    }
    let Some(disk) = Loop::new(8) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    // Program with the name of a QEMU, but without a VM name on its command line.
    let qemu = directory.path().join("qemu-system-x86_64");
    std::os::unix::fs::symlink(dd(), &qemu).expect("linked");
    let number = std::process::id();
    for (version, name) in [
        (
            2,
            format!("machine.slice/machine-qemu\\x2d{number}\\x2dweb\\x2d1.scope/libvirt/emulator"),
        ),
        (1, format!("machine.slice/machine-qemu\\x2d{number}\\x2dweb\\x2d1.scope/emulator")),
        (1, format!("machine/qemu-{number}-web-1.libvirt-qemu/emulator")),
    ] {
        let Some(scope) = Group::new(version, &name) else { continue };
        let wanted = SenderFilter { vm: Some("web-1".to_owned()), ..SenderFilter::default() };
        let (records, report) = recorded(&disk, By::Name, wanted, || {
            let other = Reader::new(&dd(), &disk.path, Some(&scope));
            vec![Reader::new(&qemu, &disk.path, Some(&scope)), other]
        });
        let senders = senders(&records, &report);
        assert_eq!(senders.len(), 1, "{name}: {senders:?}");
        assert!(senders[0].0 == "web-1" && senders[0].1 >= READS, "{name}: {senders:?}");
        assert!(report.progress.counts.unwanted >= READS as u64, "{report:?}");
    }
}

#[test]
fn a_process_is_recorded_and_those_beside_it_are_not() {
    if !has_tracefs("owners::a_process_is_recorded_and_those_beside_it_are_not") {
        return;
    }
    let Some(disk) = Loop::new(8) else { return };
    let wanted = Reader::new(Path::new(&dd()), &disk.path, None);
    let process = wanted.id();
    let only = SenderFilter { process: Some(process), ..SenderFilter::default() };
    // The program waits for its reader, and continues during the recording.
    let mut wanted = Some(wanted);
    let (records, report) = recorded(&disk, By::Process, only, || {
        let other = Reader::new(&dd(), &disk.path, None);
        let mut wanted = wanted.take().expect("once");
        wanted.more();
        vec![wanted, other]
    });
    let senders = senders(&records, &report);
    assert_eq!(senders.len(), 1, "{senders:?}");
    assert_eq!(senders[0].0, format!("dd[{process}]"));
    assert!(senders[0].1 >= READS - AHEAD, "{senders:?}");
}
