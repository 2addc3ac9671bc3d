use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use tilemark_datastore::{
    CleanupOptions, Datastore, Options, SingleFile, Target, cleanup, find_owned, preflight,
};
use units::Bytes;

use crate::child;
use crate::rig::{
    Attached, Undo, anywhere, assert_refused, can_make_devices, disk, ids, names, roomy, run,
};

fn target(path: &Path) -> Target {
    Target::new(&SingleFile, path.to_owned())
}

fn overwrite() -> Options {
    Options { overwrite_file: true, ..anywhere("a") }
}

#[test]
fn a_new_file_is_marked_divided_and_removed() {
    let Some(dir) = roomy() else { return };
    let target = target(&dir.path().join("store"));
    let mut store = Datastore::open(&target, Bytes::MIB * 6, &anywhere("a")).expect("open");
    let disks = store
        .provision(&[disk("a", Bytes::MIB + Bytes::new(4096)), disk("b", Bytes::MIB * 2)])
        .expect("provision");
    assert_eq!((disks[0].base, disks[1].base), (0, 2 << 20));
    assert_eq!(find_owned(&target).expect("find")[0].run_id, "a");
    let removed = store.remove().expect("remove");
    assert_eq!(removed.removed.len(), 1);
    assert!(names(dir.path()).is_empty());
}

#[test]
fn an_existing_file_is_refused_and_unchanged() {
    let Some(dir) = roomy() else { return };
    let path = dir.path().join("precious");
    fs::write(&path, b"precious").expect("file");
    assert_refused(&target(&path), &anywhere("a"), &["file-not-ours"]);
}

#[test]
fn an_overwritten_file_is_never_removed() {
    let Some(dir) = roomy() else { return };
    let path = dir.path().join("mine");
    fs::write(&path, b"no longer wanted").expect("file");
    let mut store = Datastore::open(&target(&path), Bytes::MIB, &overwrite()).expect("open");
    store.provision(&[disk("a", Bytes::MIB)]).expect("provision");
    drop(store);
    // The next run recognises the marker, and still does not take it for its own creation.
    let store = Datastore::open(&target(&path), Bytes::MIB, &anywhere("b")).expect("open again");
    store.remove().expect("remove");
    assert_eq!(names(dir.path()), ["mine"]);
    assert_eq!(find_owned(&target(&path)).expect("find"), []);
}

#[test]
fn hard_links_open_files_and_images_are_never_overwritten() {
    let Some(dir) = roomy() else { return };
    let path = |name: &str| dir.path().join(name);
    fs::write(path("linked"), b"x").expect("file");
    fs::hard_link(path("linked"), path("other-name")).expect("link");
    assert_refused(&target(&path("linked")), &overwrite(), &["hard-links"]);
    for (name, content) in
        [("qcow2", &b"QFI\xfb\0\0\0\x03"[..]), ("vmdk", b"KDMV"), ("vhdx", b"vhdxfile")]
    {
        fs::write(path(name), content).expect("file");
        assert_refused(&target(&path(name)), &overwrite(), &["file-content"]);
    }
    let mut iso = vec![0; 0x9000];
    iso[0x8001..0x8006].copy_from_slice(b"CD001");
    fs::write(path("iso"), iso).expect("file");
    assert_refused(&target(&path("iso")), &overwrite(), &["file-content"]);
    fs::write(path("open"), b"x").expect("file");
    let holder = OpenOptions::new().append(true).open(path("open")).expect("open");
    let found = ids(&target(&path("open")), &overwrite());
    assert_eq!(found, ["file-in-use"]);
    drop(holder);
    assert!(ids(&target(&path("open")), &overwrite()).is_empty());
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_being_opened() {
    let Some(dir) = roomy() else { return };
    let fifo = dir.path().join("fifo");
    run("mkfifo", &[fifo.to_str().expect("plain")]);
    let socket = dir.path().join("socket");
    let _listener = UnixListener::bind(&socket).expect("socket");
    symlink("nowhere", dir.path().join("dangling")).expect("link");
    for (path, id) in [
        (fifo, "wrong-kind"),
        (socket, "wrong-kind"),
        ("/dev/null".into(), "wrong-kind"),
        (dir.path().to_owned(), "wrong-kind"),
        (dir.path().join("dangling"), "dangling-link"),
        (dir.path().join("absent/file"), "parent-missing"),
    ] {
        assert_eq!(ids(&target(&path), &overwrite()), [id], "{}", path.display());
    }
    assert!(!dir.path().join("absent").exists() && !dir.path().join("nowhere").exists());
}

#[test]
fn a_file_behind_a_loop_device_or_with_a_file_system_is_refused() {
    if !can_make_devices(&["mkfs.ext4"]) {
        return;
    }
    let Some(dir) = roomy() else { return };
    let image = dir.path().join("image");
    File::create(&image).expect("image").set_len(16 << 20).expect("size");
    let attached = Attached::new(&image);
    assert_refused(&target(&image), &overwrite(), &["file-in-use"]);
    run("mkfs.ext4", &["-q", attached.0.to_str().expect("plain")]);
    drop(attached);
    assert_refused(&target(&image), &overwrite(), &["file-content"]);
}

#[test]
fn an_active_swap_file_is_refused() {
    if !can_make_devices(&["mkswap", "swapon", "swapoff"]) {
        return;
    }
    let Some(dir) = roomy() else { return };
    let path = dir.path().join("swap");
    fs::write(&path, vec![0; 8 << 20]).expect("file");
    run("chmod", &["600", path.to_str().expect("plain")]);
    run("mkswap", &[path.to_str().expect("plain")]);
    run("swapon", &[path.to_str().expect("plain")]);
    let _undo = Undo("swapoff", vec![path.to_str().expect("plain").to_owned()]);
    assert_refused(&target(&path), &overwrite(), &["swap"]);
}

#[test]
fn reading_needs_no_marker_and_cannot_write() {
    let Some(dir) = roomy() else { return };
    let path = dir.path().join("data");
    fs::write(&path, vec![7; 2 << 20]).expect("file");
    let options = Options { write: false, ..anywhere("a") };
    let mut store = Datastore::open(&target(&path), Bytes::MIB, &options).expect("open");
    let disks = store.provision(&[disk("a", Bytes::MIB)]).expect("provision");
    assert!(!disks[0].writable);
    let written = std::os::unix::fs::FileExt::write_at(&*disks[0].file, &[0; 512], 0);
    assert!(written.is_err());
    drop(disks);
    store.remove().expect("remove");
    assert_eq!(fs::read(&path).expect("still there"), vec![7; 2 << 20]);
}

#[test]
fn cleanup_removes_the_file_of_a_killed_run_only() {
    let Some(dir) = roomy() else { return };
    let target = target(&dir.path().join("store"));
    let child = child::hold(&target, None);
    assert!(ids(&target, &anywhere("b")).contains(&"file-in-use"));
    let kept = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((kept.removed.len(), kept.kept.len()), (0, 1));
    child::kill(child);
    preflight(&target, Bytes::MIB, &anywhere("b")).expect("a dead run's file may be reused");
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((done.removed.len(), done.kept.len()), (1, 0));
    assert!(names(dir.path()).is_empty());
}
