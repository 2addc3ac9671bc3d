//! Mounting, refusals, and cleanup.

use std::fs;

use tilemark_lab::{Backing, LabError, Mounted, Options};
use units::Bytes;

use crate::rig::{array, direct, mount, options, write};

fn refused(point: &std::path::Path, options: &Options) -> LabError {
    match Mounted::new(point, options) {
        Ok(_) => panic!("it was mounted"),
        Err(error) => error,
    }
}

#[test]
fn only_an_empty_directory_is_mounted_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("precious");
    fs::write(&file, "text").expect("writes");
    for (point, part) in [
        (dir.path(), "it is not empty: it has \"precious\""),
        (file.as_path(), "not a directory"),
        (std::path::Path::new("/proc"), "something is mounted there"),
        (&dir.path().join("absent"), "No such file"),
    ] {
        let error = refused(point, &options("")).to_string();
        assert!(error.contains(part) && error.contains(&point.display().to_string()), "{error}");
    }
}

#[test]
fn a_place_in_use_by_a_lab_is_refused_to_another() {
    let Some(lab) = mount(&options("")) else { return };
    let error = refused(lab.point(), &options(""));
    assert!(error.to_string().contains("something is mounted there"), "{error}");
}

#[test]
fn sizes_that_cannot_be_kept_are_refused_with_what_is_allowed() {
    let dir = tempfile::tempdir().expect("a directory");
    let with = |size| Options { size: Some(size), ..Options::new(array()) };
    let error = refused(dir.path(), &with(Bytes::MIB)).to_string();
    assert!(error.contains("1 MiB") && error.contains("64 MiB"), "{error}");
    let error = refused(dir.path(), &with(Bytes::GIB * (64 << 10))).to_string();
    assert!(error.contains("64 TiB"), "{error}");
}

#[test]
fn a_truth_that_exists_is_not_overwritten() {
    let dir = tempfile::tempdir().expect("a directory");
    let (truth, point) = (dir.path().join("truth"), dir.path().join("point"));
    fs::write(&truth, "mine").expect("writes");
    fs::create_dir(&point).expect("makes");
    let options = Options { truth: Some(truth.clone()), ..options("") };
    assert!(matches!(refused(&point, &options), LabError::Truth { .. }));
    assert_eq!(fs::read_to_string(truth).expect("reads"), "mine");
}

#[test]
fn nothing_is_left_in_the_backing_or_under_the_mount_point() {
    let dir = tempfile::tempdir().expect("a directory");
    let (backing, point) = (dir.path().join("backing"), dir.path().join("point"));
    fs::create_dir(&backing).expect("makes");
    fs::create_dir(&point).expect("makes");
    let options = Options { backing: Backing::Directory(backing.clone()), ..options("") };
    let lab = match Mounted::new(&point, &options) {
        Ok(lab) => lab,
        Err(LabError::Mount { source, .. }) => {
            return eprintln!("skipped: FUSE is not there or not allowed: {source}");
        }
        Err(error) => panic!("{error}"),
    };
    let file = direct(&point.join("a"));
    write(&file, 0, 1, 65536).expect("writes");
    drop(file);
    lab.unmount().expect("unmounts");
    for left in [&backing, &point] {
        assert_eq!(fs::read_dir(left).expect("lists").count(), 0, "{}", left.display());
    }
}

#[test]
fn busy_hanging_lab_unmounts_and_answers_waiting_reads() {
    let hang = "[[fault]]\nkind = \"hang\"\non = [\"read\"]\nfor = \"10h\"";
    let Some(lab) = mount(&options(hang)) else { return };
    let file = direct(&lab.point().join("a"));
    write(&file, 0, 1, 4096).expect("writes");
    let point = lab.point().to_owned();
    let before = lab.report().lateness.answers;
    let reader = std::thread::spawn(move || crate::rig::read(&file, 0, 4096).map(|_| file));
    // The read has arrived once the model has it; the test waits for that.
    while lab.report().model.parts.iter().all(|part| part.inside == 0.0 && part.iops == 0.0)
        || before > lab.report().lateness.answers
    {
        std::thread::yield_now();
    }
    let (_, was_busy) = lab.unmount().expect("unmounts");
    assert!(was_busy);
    let _file = reader.join().expect("no panic");
    assert!(!point.exists(), "the temporary directory is gone");
}
