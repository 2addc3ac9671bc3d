//! A lab without faults as a file system.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use run_store::run::PartKind;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock, fstatvfs};
use rustix::io::Errno;

use crate::rig::{direct, mount, options, read, write};

/// Number of flushes, and of reads beside them; below their size: a long read holds the file's lock
/// for long.
const REQUESTS: usize = 200;
const READ: usize = 1 << 20;

#[test]
fn direct_writes_are_read_back_through_the_array_model() {
    let Some(lab) = mount(&options("")) else { return };
    let file = direct(&lab.point().join("a.disk"));
    for block in 0..16_u8 {
        assert_eq!(write(&file, u64::from(block) * 8192, block, 8192).expect("writes"), 8192);
    }
    file.sync_all().expect("flushes");
    for block in 0..16_u8 {
        let bytes = read(&file, u64::from(block) * 8192, 8192).expect("reads");
        assert!(bytes == [block; 8192], "block {block} differs");
    }
    assert!(read(&file, 16 * 8192, 4096).expect("reads").is_empty(), "the end of the file");
    drop(file);
    let (report, was_busy) = lab.unmount().expect("unmounts");
    assert!(!was_busy);
    assert_eq!((report.faults, report.wrong_reads), (0, 0));
    let disks = report.model.parts.iter().find(|part| part.kind == PartKind::Disk).expect("a disk");
    assert!(disks.iops > 0.0, "{disks:?}");
    assert!(report.lateness.answers >= 33, "{:?}", report.lateness);
}

#[test]
fn large_writes_of_several_threads_arrive_whole() {
    let Some(lab) = mount(&options("")) else { return };
    let file = direct(&lab.point().join("a.disk"));
    fallocate(&file, FallocateFlags::empty(), 0, 32 << 20).expect("allocates");
    std::thread::scope(|scope| {
        for number in 0..8_u8 {
            let file = &file;
            let base = u64::from(number) << 22;
            scope.spawn(move || {
                assert_eq!(write(file, base, number + 1, 4 << 20).expect("writes"), 4 << 20);
            });
        }
    });
    for number in 0..8_u8 {
        let bytes = read(&file, u64::from(number) << 22, 4 << 20).expect("reads");
        assert!(bytes.len() == 4 << 20 && bytes.iter().all(|byte| *byte == number + 1));
    }
}

/// A flush once took the lock of the addresses before that of the file, and a read the other way
/// round: both waited for each other, and the lab hung.
#[test]
fn flushes_beside_reads_of_a_file_all_end() {
    let Some(lab) = mount(&options("")) else { return };
    let file = direct(&lab.point().join("a.disk"));
    write(&file, 0, 1, READ).expect("writes");
    std::thread::scope(|scope| {
        scope.spawn(|| (0..REQUESTS).for_each(|_| file.sync_all().expect("flushes")));
        scope.spawn(|| {
            for _ in 0..REQUESTS {
                assert_eq!(read(&file, 0, READ).expect("reads").len(), READ);
            }
        });
    });
}

#[test]
fn space_is_what_was_asked_for_and_runs_out_and_comes_back() {
    let Some(lab) = mount(&options("")) else { return };
    let root = File::open(lab.point()).expect("opens");
    let free = || {
        let found = fstatvfs(&root).expect("it has a size");
        (found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)
    };
    assert_eq!((lab.size().get(), free()), (256 << 20, (256 << 20, 256 << 20)));
    let path = lab.point().join("a.disk");
    let file = direct(&path);
    fallocate(&file, FallocateFlags::empty(), 0, 200 << 20).expect("allocates");
    assert_eq!(file.metadata().expect("a size").len(), 200 << 20);
    assert_eq!(free().1, 56 << 20);
    let other = direct(&lab.point().join("b.disk"));
    let refused = fallocate(&other, FallocateFlags::empty(), 0, 57 << 20);
    assert_eq!(refused, Err(Errno::NOSPC));
    fallocate(&file, FallocateFlags::KEEP_SIZE, 0, 210 << 20).expect("allocates");
    assert_eq!((file.metadata().expect("a size").len(), free().1), (200 << 20, 46 << 20));
    file.set_len(100 << 20).expect("cuts");
    assert_eq!(free().1, 156 << 20);
    fs::remove_file(&path).expect("removes");
    assert_eq!(free().1, 156 << 20, "an open file keeps its space");
    drop(file);
    // The kernel closes and forgets asynchronously; a lookup comes after that in its queue.
    while free().1 != 256 << 20 {
        let _ = fs::metadata(lab.point().join("a.disk"));
    }
}

#[test]
fn names_are_made_moved_listed_and_removed() {
    let Some(lab) = mount(&options("")) else { return };
    let at = |name: &str| lab.point().join(name);
    fs::create_dir(at("d")).expect("makes");
    for number in 0..200 {
        fs::write(at(&format!("d/{number}")), number.to_string()).expect("writes");
    }
    assert_eq!(fs::read_dir(at("d")).expect("lists").count(), 200);
    assert_eq!(fs::remove_dir(at("d")).expect_err("full").raw_os_error(), Some(39));
    fs::rename(at("d/7"), at("d/8")).expect("moves");
    assert_eq!(fs::read_to_string(at("d/8")).expect("reads"), "7");
    assert!(!at("d/7").exists());
    fs::remove_dir_all(at("d")).expect("removes");
    assert_eq!(fs::read_dir(lab.point()).expect("lists").count(), 0);
}

#[test]
fn an_open_file_is_used_after_it_was_unlinked() {
    let Some(lab) = mount(&options("")) else { return };
    let path = lab.point().join("a");
    let file = direct(&path);
    write(&file, 0, 7, 4096).expect("writes");
    fs::remove_file(&path).expect("removes");
    assert_eq!(fs::read_dir(lab.point()).expect("lists").count(), 0, "no silly name");
    assert!(read(&file, 0, 4096).expect("reads") == [7; 4096]);
    assert_eq!(file.metadata().expect("still there").len(), 4096);
}

#[test]
fn locks_and_buffered_use_work_and_attributes_are_refused() {
    let Some(lab) = mount(&options("")) else { return };
    let path = lab.point().join("a");
    fs::write(&path, "some words").expect("writes");
    let mut file = File::options().read(true).write(true).open(&path).expect("opens");
    flock(&file, FlockOperation::NonBlockingLockExclusive).expect("locks");
    let again = File::open(&path).expect("opens");
    let refused = flock(&again, FlockOperation::NonBlockingLockExclusive);
    assert_eq!(refused, Err(Errno::WOULDBLOCK));
    file.write_all_at(b"more", 5).expect("writes");
    assert_eq!(file.seek(SeekFrom::End(0)).expect("seeks"), 10);
    assert_eq!(fs::read_to_string(&path).expect("reads"), "some mores");
    let name = c"user.x";
    let attribute = rustix::fs::fsetxattr(&file, name, b"y", rustix::fs::XattrFlags::empty());
    assert_eq!(attribute, Err(Errno::OPNOTSUPP));
}
