//! Files and devices that are opened without a datastore, as a tier does it. They are refused if
//! they share blocks with a file or device in use.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use tilemark_datastore::{Refusal, check_unused};

use crate::rig::{Attached, Loop, can_make_devices, mount, run};

fn refused(path: &Path) -> Option<&'static str> {
    let file = File::open(path).expect("it is there");
    let refusal = check_unused(path, &file).err()?;
    eprintln!("{refusal}");
    Some(refusal.id())
}

#[test]
fn a_plain_file_and_an_idle_loop_device_are_unused() {
    let file = tempfile::NamedTempFile::new().expect("temporary file");
    assert_eq!(refused(file.path()), None);
    if can_make_devices(&[]) {
        let device = Loop::new(16);
        assert_eq!(refused(&device.path), None);
        // Somebody who reads below it harms nobody.
        let _reader = File::open(&device.image).expect("it is there");
        assert_eq!(refused(&device.path), None);
    }
}

#[test]
fn a_file_below_a_loop_device_is_used() {
    if !can_make_devices(&["mkfs.ext4", "mount", "umount"]) {
        return;
    }
    let device = Loop::new(16);
    assert_eq!(refused(&device.image), Some("file-in-use"), "the device is idle");
    run("mkfs.ext4", &["-q", device.text()]);
    let point = device.dir.path().join("mnt");
    fs::create_dir(&point).expect("mount point");
    let _mounted = mount(&device.path, &point);
    assert_eq!(refused(&device.image), Some("mounted"));
    assert_eq!(refused(&device.path), Some("mounted"));
    let link = device.dir.path().join("link");
    fs::hard_link(&device.image, &link).expect("a link");
    assert_eq!(refused(&link), Some("mounted"), "whatever its name");
}

#[test]
fn a_device_over_a_file_that_is_written_is_used() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(16);
    let _writer = OpenOptions::new().write(true).open(&device.image).expect("it is there");
    assert_eq!(refused(&device.path), Some("open-elsewhere"), "by this very process");
    let second = Attached::new(&device.path);
    assert_eq!(refused(&device.path), Some("held"), "by the device on top of it");
    drop(second);
}

#[test]
fn swap_space_is_used() {
    if !can_make_devices(&["mkswap", "swapon", "swapoff"]) {
        return;
    }
    let device = Loop::new(16);
    run("mkswap", &[device.text()]);
    run("swapon", &[device.text()]);
    let found = [refused(&device.path), refused(&device.image)];
    run("swapoff", &[device.text()]);
    assert_eq!(found, [Some("swap"); 2]);
}

#[test]
fn a_refusal_has_a_hint() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(16);
    let file = File::open(&device.image).expect("it is there");
    let refusal = check_unused(&device.image, &file).expect_err("used");
    assert!(refusal.to_string().contains("is in use by block device loop"), "{refusal}");
    assert!(matches!(refusal, Refusal::FileInUse { .. }) && refusal.hint().is_some());
}
