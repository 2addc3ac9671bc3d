//! Files that can and cannot be disks, and I/O errors of such files.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use nbd::{Code, Operation};
use rustix::fs::{FlockOperation, flock};
use tilemark_block_server::{Access, Disk, FileDisk, Limits, OpenError};

use crate::client::Client;
use crate::disks::{Served, directory, file};

fn refused(path: &Path) -> String {
    FileDisk::open("vm", path, Access::default()).expect_err("it must be refused").to_string()
}

#[test]
fn only_existing_files_and_devices_are_disks() {
    let directory = directory();
    let missing = directory.path().join("missing");
    assert!(refused(&missing).contains("missing"));
    assert!(!missing.exists());
    assert!(refused(directory.path()).contains("is a directory; a disk is"));
    assert!(refused(Path::new("/dev/null")).contains("is a character device; a disk is"));
}

#[test]
fn a_file_is_one_disk_at_a_time() {
    let directory = directory();
    let path = directory.path().join("disk");
    let held = file(&path, 1 << 20, Access::default());
    let error = FileDisk::open("again", &path, Access::default()).expect_err("it is held");
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    assert!(error.hint().is_some(), "{error}");
    drop(held);
    let read_only = Access { read_only: true, buffered: false };
    let one = FileDisk::open("one", &path, read_only).expect("it is free again");
    let two = FileDisk::open("two", &path, read_only).expect("two may read");
    assert!(FileDisk::open("three", &path, Access::default()).is_err());
    drop((one, two));
}

#[test]
fn a_file_that_is_being_let_go_is_waited_for() {
    let directory = directory();
    let path = directory.path().join("disk");
    let held = std::fs::File::create(&path).unwrap();
    held.set_len(1 << 20).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| FileDisk::open("vm", &path, Access::default()));
        while openers(&path) < 2 && !opened.is_finished() {
            std::thread::yield_now();
        }
        drop(held);
        opened.join().unwrap().expect("it was let go");
    });
}

/// Number of times that this process has a file open.
fn openers(path: &Path) -> usize {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    files.filter(|file| std::fs::read_link(file.path()).is_ok_and(|to| to == path)).count()
}

#[test]
fn size_off_the_block_is_refused_with_a_hint_of_one_that_fits() {
    let directory = directory();
    let path = directory.path().join("disk");
    std::fs::File::create(&path).unwrap().set_len(10_000).unwrap();
    match FileDisk::open("vm", &path, Access::default()) {
        Err(error) => {
            assert!(error.to_string().contains("10000 B"), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("cut it to ")));
        }
        Ok(disk) => assert!(!disk.is_direct(), "direct I/O has blocks"),
    }
    let buffered = Access { read_only: false, buffered: true };
    let disk = FileDisk::open("vm", &path, buffered).expect("the page cache has none");
    assert_eq!((disk.export().size(), disk.export().blocks().minimum()), (10_000, 1));
}

#[test]
fn a_file_that_has_become_shorter_is_an_error_and_not_zeroes() {
    let directory = directory();
    for buffered in [false, true] {
        let path = directory.path().join("disk");
        let disk = file(&path, 1 << 20, Access { read_only: false, buffered });
        let served = Served::of(vec![disk], Limits::default());
        let mut client = Client::open(served.place(), "vm").unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(8192).unwrap();
        assert_eq!(client.read(4096, 4096).unwrap(), [0; 4096]);
        assert_eq!(client.read(8192, 4096), Err(Code::Io));
        assert_eq!(client.read(4096, 8192), Err(Code::Io), "half of it is there");
        served.running.stop().unwrap();
    }
}

#[test]
fn zeroes_and_trims_change_their_range_and_nothing_beside() {
    let directory = directory();
    let path = directory.path().join("disk");
    let served = Served::of(vec![file(&path, 1 << 20, Access::default())], Limits::default());
    let mut client = Client::open(served.place(), "vm").unwrap();
    for no_hole in [false, true] {
        client.write(0, &vec![5; 1 << 20]).unwrap();
        let zeroes = Operation::WriteZeroes { fua: true, no_hole, fast: false };
        let cookie = client.ask(zeroes, 4096, 64 << 10, &[]).unwrap();
        client.wait(cookie).unwrap().unwrap();
        let mut wanted = vec![5; 1 << 20];
        wanted[4096..4096 + (64 << 10)].fill(0);
        assert!(client.read(0, 1 << 20).unwrap() == wanted, "no_hole {no_hole}");
    }
    let cookie = client.ask(Operation::Trim { fua: true }, 512 << 10, 4096, &[]).unwrap();
    client.wait(cookie).unwrap().unwrap();
    let around = client.read((512 << 10) - 4096, 3 * 4096).unwrap();
    assert!(around[..4096] == [5; 4096] && around[8192..] == [5; 4096]);
}

/// A loop device over a file; gone when dropped.
struct Loop(String);

impl Loop {
    fn over(path: &Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: a loop device needs root");
            return None;
        }
        let output = Command::new("losetup").args(["--find", "--show"]).arg(path).output();
        match output {
            Ok(output) if output.status.success() => {
                Some(Self(String::from_utf8(output.stdout).unwrap().trim().to_owned()))
            }
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                eprintln!("skipped: losetup: {}", text.trim());
                None
            }
            Err(error) => {
                eprintln!("skipped: losetup: {error}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_device_is_a_disk_that_nobody_else_opens_so() {
    let directory = directory();
    let path = directory.path().join("image");
    std::fs::File::create(&path).unwrap().set_len(8 << 20).unwrap();
    let Some(device) = Loop::over(&path) else { return };
    let node = Path::new(&device.0);
    let disk = FileDisk::open("vm", node, Access::default()).unwrap();
    assert_eq!(disk.export().size(), 8 << 20);
    let error = FileDisk::open("again", node, Access::default()).expect_err("it is held");
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    let served = Served::of(vec![Box::new(disk)], Limits::default());
    let mut client = Client::open(served.place(), "vm").unwrap();
    client.write(0, &[3; 16384]).unwrap();
    for operation in [
        Operation::Trim { fua: false },
        Operation::WriteZeroes { fua: true, no_hole: true, fast: false },
        Operation::WriteZeroes { fua: false, no_hole: false, fast: false },
    ] {
        let cookie = client.ask(operation, 4096, 4096, &[]).unwrap();
        client.wait(cookie).unwrap().unwrap();
    }
    client.flush().unwrap();
    let read = client.read(0, 16384).unwrap();
    assert!(
        read[..4096] == [3; 4096] && read[4096..8192] == [0; 4096] && read[8192..] == [3; 8192]
    );
    drop(client);
    served.running.stop().unwrap();
    let mut first = [0; 4096];
    std::fs::File::open(node).unwrap().read_exact_at(&mut first, 0).unwrap();
    assert_eq!(first, [3; 4096], "it is on the device");
}
