//! Sidecars: their creation, and sidecars of disks that are not served.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tier::Mode;
use tilemark_tier_service::{Copies, Opening};

use crate::served::{DISK_BYTES, Host, open};

fn sidecar_of(backing: &Path) -> PathBuf {
    let mut name = backing.as_os_str().to_owned();
    name.push(".tilemark-tier");
    name.into()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn new_sidecar_has_all_of_its_blocks() {
    let host = Host::new(Mode::Back);
    host.open().map(drop).expect("it opens");
    let found = std::fs::metadata(sidecar_of(&host.backing())).expect("it was made");
    assert!(found.blocks() * 512 >= found.len(), "{} blocks", found.blocks());
    assert_eq!(names(host.directory.path()), ["cache", "disk.raw", "disk.raw.tilemark-tier"]);
}

#[test]
fn sidecar_without_a_copy_is_known_as_one() {
    let host = Host::new(Mode::Back);
    let made = host.directory.path().join("made");
    std::fs::write(&made, [0; 12288]).expect("room");
    tilemark_tier_service::make_sidecar_in(&made).expect("it was made for it");
    tilemark_tier_service::make_sidecar_in(&made).expect_err("it is one by now");
    let disk = Opening { sidecar: Some(made), ..host.opening() };
    open(&host.cache(), &[disk]).map(drop).expect("it opens");
}

#[test]
fn disks_that_are_refused_leave_no_sidecars() {
    let host = Host::new(Mode::Back);
    let missing = Opening {
        name: "vm2".to_owned(),
        backing: host.directory.path().join("absent"),
        ..host.opening()
    };
    open(&host.cache(), &[host.opening(), missing]).expect_err("the second is not there");
    let copies = Copies { count: 1, ..Copies::default() };
    open(&host.cache(), &[Opening { copies, ..host.opening() }]).expect_err("there are no peers");
    assert_eq!(names(host.directory.path()), ["cache", "disk.raw"]);
}

/// A full file system for a backing file, removed after the test.
struct Full(tempfile::TempDir);

impl Full {
    fn new() -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16m", "none"])
            .arg(directory.path())
            .status();
        if !mount.is_ok_and(|status| status.success()) {
            eprintln!("skipped: a small file system needs root and mount");
            return None;
        }
        let backing = std::fs::File::create(directory.path().join("disk.raw")).expect("room");
        backing.set_len(DISK_BYTES as u64).expect("room");
        Some(Self(directory))
    }

    fn fill(&self) {
        let hog = self.0.path().join("hog");
        std::fs::write(hog, vec![1; 32 << 20]).expect_err("it has no room for all of it");
    }

    fn disk(&self, host: &Host) -> Opening {
        Opening { backing: self.0.path().join("disk.raw"), ..host.opening() }
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn full_file_system_keeps_no_known_disk_from_being_served() {
    let host = Host::new(Mode::Back);
    let Some(full) = Full::new() else { return };
    // A kill after the first copy leaves a sidecar with one copy.
    open(&host.cache(), &[full.disk(&host)]).map(drop).expect("it opens");
    full.fill();
    for _ in 0..3 {
        open(&host.cache(), &[full.disk(&host)]).map(drop).expect("it opens");
    }
}

#[test]
fn sidecar_without_room_is_the_file_that_is_named() {
    let host = Host::new(Mode::Back);
    let Some(full) = Full::new() else { return };
    full.fill();
    let error = open(&host.cache(), &[full.disk(&host)]).expect_err("there is no room");
    let words = format!("could not make room in {}", full.0.path().join("disk.raw").display());
    assert!(error.to_string().contains(&words), "{error}");
    assert_eq!(names(full.0.path()), ["disk.raw", "hog"]);
}
