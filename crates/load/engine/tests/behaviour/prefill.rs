//! Filling disks before a run.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tilemark_engine::prefill::{Options, Plan, PrefillError, Progress, run};
use tilemark_engine::verify::{Kind, Setup, check_all};
use units::Bytes;

use crate::disks;

fn plan(directory: &Path, name: &str, size: Bytes) -> Plan {
    Plan {
        disk: disks::on_file(&directory.join(name), name, size),
        filled: false,
        compressible_percent: 50,
        dedupable_percent: 0,
        seed: 1,
    }
}

fn setup(directory: &Path) -> Setup {
    Setup { state_dir: disks::own(directory), seed: 3, epoch_unix_ns: 0, elsewhere: None }
}

const ODD: Bytes = Bytes::new((3 << 20) + 8192);

#[test]
fn every_block_is_written_once_and_filled_disks_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let mut plans: Vec<Plan> =
        (0..6).map(|i| plan(directory.path(), &format!("disk-{i}"), ODD)).collect();
    plans[2].filled = true;
    let options = Options { verify: Some(setup(state.path())), ..Options::default() };
    let mut seen = Vec::new();
    let report =
        run(&plans, &options, &AtomicBool::new(false), &mut |progress| seen.push(progress))
            .unwrap();

    let total = ODD * 5;
    assert_eq!(report.filled, ["disk-0", "disk-1", "disk-3", "disk-4", "disk-5"]);
    assert_eq!(report.first_write.bytes, total);
    assert_eq!(report.first_write.latency.count(), 20);
    assert_eq!(report.rewrite.bytes, total);
    assert!(report.first_write.bytes_per_second() > 0.0);
    assert_eq!(seen.last(), Some(&Progress { done: total, total }));
    assert!(seen.windows(2).all(|pair| pair[0].done < pair[1].done));

    let disks: Vec<_> = plans.iter().map(|plan| plan.disk.clone()).collect();
    let check = check_all(&disks, &disks::own(state.path())).unwrap();
    assert!(check.passed(), "{check:?}");
    assert_eq!(check.unverified, ["disk-2"]);
    assert!(check.disks.iter().all(|disk| disk.bytes_judged == ODD.get()));
    assert!(std::fs::read(directory.path().join("disk-2")).unwrap().iter().all(|b| *b == 0));
}

#[test]
fn payload_has_the_asked_compressible_and_dedupable_shares() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = plan(directory.path(), "disk", Bytes::MIB * 64);
    plan.dedupable_percent = 50;
    run(std::slice::from_ref(&plan), &Options::default(), &AtomicBool::new(false), &mut |_| ())
        .unwrap();
    let bytes = std::fs::read(directory.path().join("disk")).unwrap();
    let small = zstd::bulk::compress(&bytes[..1 << 20], 1).unwrap().len();
    assert!((500_000..560_000).contains(&small), "{small} B of 1 MiB");
    let different: std::collections::HashSet<&[u8]> = bytes.chunks(1 << 20).collect();
    // 64 pieces: about 32 of their own and up to 16 shared; five standard deviations are 20.
    assert!((25..=60).contains(&different.len()), "{} different pieces", different.len());
}

#[test]
fn a_sample_is_written_again_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let plans = [plan(directory.path(), "disk", Bytes::MIB * 8)];
    let options = Options { rewrite_max: Bytes::MIB * 2, ..Options::default() };
    let report = run(&plans, &options, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!(report.rewrite.bytes, Bytes::MIB * 2);
    let many: Vec<_> =
        (0..5).map(|i| plan(directory.path(), &format!("disk-{i}"), Bytes::MIB * 2)).collect();
    let report = run(&many, &options, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!(report.rewrite.bytes, Bytes::MIB * 2);
    let none = Options { rewrite_max: Bytes::ZERO, ..Options::default() };
    let report = run(&plans, &none, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!(report.rewrite.bytes, Bytes::ZERO);
}

#[test]
fn nothing_to_fill_is_no_error() {
    let report = run(&[], &Options::default(), &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!(report.first_write.bytes_per_second(), 0.0);
}

#[test]
fn cancelled_fill_reports_progress_and_still_verifies() {
    let directory = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let plans = [plan(directory.path(), "disk", Bytes::MIB * 256)];
    let options = Options { verify: Some(setup(state.path())), ..Options::default() };
    let cancel = AtomicBool::new(false);
    let result = run(&plans, &options, &cancel, &mut |progress| {
        cancel.store(progress.done >= Bytes::MIB * 4, Ordering::Relaxed);
    });
    let Err(PrefillError::Cancelled { done, total }) = result else { panic!("{result:?}") };
    assert!(done >= Bytes::MIB * 4 && done < total, "{done} of {total}");
    let check = check_all(&[plans[0].disk.clone()], &disks::own(state.path())).unwrap();
    assert!(check.passed());
    assert_eq!(check.disks[0].bytes_judged, done.get());
}

#[test]
fn a_full_disk_is_named_with_the_offset() {
    let mut full = plan(Path::new("/dev"), "full", Bytes::ZERO);
    full.disk.size = Bytes::MIB * 4;
    let error =
        run(&[full], &Options::default(), &AtomicBool::new(false), &mut |_| ()).unwrap_err();
    let PrefillError::Write { disk, source, .. } = &error else { panic!("{error}") };
    assert_eq!((disk.as_str(), source.raw_os_error()), ("full", Some(libc::ENOSPC)));
    assert!(error.to_string().contains("1048576 B to disk \"full\" at offset "), "{error}");
    assert!(error.hint().unwrap().contains("free space"));
}

#[test]
fn a_block_damaged_after_the_fill_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let plans = [plan(directory.path(), "disk", Bytes::MIB * 2)];
    let options = Options { verify: Some(setup(state.path())), ..Options::default() };
    run(&plans, &options, &AtomicBool::new(false), &mut |_| ()).unwrap();
    let path = directory.path().join("disk");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[(1 << 20) + 5000] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let check =
        check_all(&[disks::on_file(&path, "disk", Bytes::MIB * 2)], &disks::own(state.path()))
            .unwrap();
    let mismatch = &check.disks[0].mismatches[0];
    assert_eq!((mismatch.kind, mismatch.offset), (Kind::Corrupt, (1 << 20) + 4608));
    assert_eq!(check.disks[0].mismatches_total, 1);
}
