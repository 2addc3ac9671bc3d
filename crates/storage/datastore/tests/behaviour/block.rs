use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tilemark_datastore::{
    BlockDevice, CleanupOptions, Datastore, DatastoreError, Options, Refusal, Target, cleanup,
    examine, find_owned,
};
use units::Bytes;

use crate::child;
use crate::rig::{
    Attached, Loop, Undo, assert_refused, can_make_devices, disk, hash, ids, mount, root_device,
    run,
};

fn signature(device: &Loop) -> String {
    let found = examine(&device.target(), Bytes::MIB, &device.options());
    found
        .refusals
        .iter()
        .find_map(|refusal| match refusal {
            Refusal::Content { signature, .. } => Some(signature.clone()),
            _ => None,
        })
        .expect("refused for its content")
}

fn put(device: &Loop, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(&device.path).expect("open");
    file.write_all_at(bytes, at).expect("write");
    file.sync_all().expect("sync");
}

#[test]
fn an_ext4_file_system_is_refused() {
    if !can_make_devices(&["mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(64);
    run("mkfs.ext4", &["-q", device.text()]);
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(signature(&device), "an ext4 file system");
}

#[test]
fn an_xfs_file_system_is_refused() {
    if !can_make_devices(&["mkfs.xfs"]) {
        return;
    }
    let device = Loop::new(320);
    run("mkfs.xfs", &["-q", device.text()]);
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(signature(&device), "an xfs file system");
}

#[test]
fn a_fat_file_system_is_refused() {
    if !can_make_devices(&["mkfs.vfat"]) {
        return;
    }
    let device = Loop::new(64);
    run("mkfs.vfat", &[device.text()]);
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(signature(&device), "a FAT file system");
}

#[test]
fn a_partition_table_without_partitions_is_refused() {
    if !can_make_devices(&["parted"]) {
        return;
    }
    let device = Loop::new(64);
    run("parted", &["-s", device.text(), "mklabel", "gpt"]);
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(signature(&device), "a GPT partition table");
    // The backup at the end alone is enough.
    put(&device, 0, &vec![0; 1 << 20]);
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(signature(&device), "a GPT partition table (backup)");
}

#[test]
fn an_lvm_physical_volume_is_refused() {
    if !can_make_devices(&["pvcreate"]) {
        return;
    }
    let device = Loop::new(64);
    let made = Command::new("/usr/sbin/pvcreate")
        .args(["-q", "-y", "--config", "devices{use_devicesfile=0}", device.text()])
        .output();
    match made {
        Ok(output) if output.status.success() => {}
        other => {
            eprintln!("pvcreate does not work here, the header is made by hand: {other:?}");
            put(&device, 512, b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001");
        }
    }
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(signature(&device), "an LVM2 physical volume");
}

#[test]
fn swap_space_is_refused_whether_active_or_not() {
    if !can_make_devices(&["mkswap", "swapon", "swapoff"]) {
        return;
    }
    let device = Loop::new(64);
    run("mkswap", &[device.text()]);
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(signature(&device), "swap space");
    run("swapon", &[device.text()]);
    let _undo = Undo("swapoff", vec![device.text().to_owned()]);
    assert_refused(&device.target(), &device.options(), &["swap", "busy", "content"]);
}

#[test]
fn encryption_and_unknown_data_are_refused() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    put(&device, 0, b"LUKS\xba\xbe\0\x02");
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(signature(&device), "LUKS encryption");
    put(&device, 0, &[0; 8]);
    put(&device, (64 << 20) - 1, b"\x01");
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(signature(&device), "data");
}

/// A disk with two partitions, the first with an ext4 file system.
fn partitioned() -> Loop {
    let device = Loop::new(128);
    let layout =
        ["mklabel", "gpt", "mkpart", "a", "1MiB", "40MiB", "mkpart", "b", "41MiB", "100MiB"];
    run("parted", &[&["-s", device.text()], &layout[..]].concat());
    run("mkfs.ext4", &["-q", device.part(1).to_str().expect("plain")]);
    device
}

#[test]
fn the_whole_disk_of_a_mounted_partition_is_refused() {
    if !can_make_devices(&["parted", "mkfs.ext4", "mount", "umount"]) {
        return;
    }
    let device = partitioned();
    let point = device.dir.path().join("mnt");
    fs::create_dir(&point).expect("mount point");
    let _mounted = mount(&device.part(1), &point);
    let all = ["mounted", "partitions", "busy", "content"];
    assert_refused(&device.target(), &device.options(), &all);
}

#[test]
fn an_empty_partition_is_named_by_its_own_identity_only() {
    if !can_make_devices(&["parted", "mkfs.ext4", "mount", "umount"]) {
        return;
    }
    let device = partitioned();
    let point = device.dir.path().join("mnt");
    fs::create_dir(&point).expect("mount point");
    // A mounted sister shares no block with it.
    let _mounted = mount(&device.part(1), &point);
    let target = Target::new(&BlockDevice, device.part(2));
    assert_refused(&target, &device.options(), &["identity-mismatch"]);
    let name = format!("{}-part2", device.image.display());
    let options = Options { destroy_data: Some(name), ..device.options() };
    let sister = hash(&device.part(1));
    let mut store = Datastore::open(&target, Bytes::MIB, &options).expect("open");
    store.provision(&[disk("a", Bytes::MIB)]).expect("provision");
    store.remove().expect("remove");
    assert_eq!(sister, hash(&device.part(1)));
}

#[test]
fn a_mount_in_another_mount_namespace_is_refused() {
    if !can_make_devices(&["mkfs.ext4", "mount", "unshare"]) {
        return;
    }
    let device = Loop::new(64);
    run("mkfs.ext4", &["-q", device.text()]);
    let point = device.dir.path().join("mnt");
    fs::create_dir(&point).expect("mount point");
    let mut other = Command::new("unshare")
        .args(["-m", "sh", "-c", "mount -o ro \"$0\" \"$1\" && echo mounted && read line"])
        .args([&device.path, &point])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    let read = BufReader::new(other.stdout.take().expect("piped")).read_line(&mut line);
    let here = fs::read_to_string("/proc/self/mounts").expect("mounts");
    let unseen = !here.contains(device.text());
    let result = std::panic::catch_unwind(|| {
        assert_refused(&device.target(), &device.options(), &["mounted", "busy"]);
        let found = examine(&device.target(), Bytes::MIB, &device.options());
        assert!(found.refusals.iter().any(|refusal| matches!(refusal,
            Refusal::Mounted { pid, .. } if *pid == other.id())));
    });
    drop(other.stdin.take());
    other.wait().expect("ended");
    read.expect("the other namespace is ready");
    assert!(unseen, "the mount is visible here, so the test proves nothing");
    result.expect("refused");
}

#[test]
fn device_behind_an_innocent_symlink_is_refused_all_the_same() {
    if !can_make_devices(&["mkfs.ext4", "mount", "umount"]) {
        return;
    }
    let device = Loop::new(64);
    run("mkfs.ext4", &["-q", device.text()]);
    let link = device.dir.path().join("ata-SCRATCH_DISK_S1");
    symlink(&device.path, &link).expect("link");
    let named =
        Options { destroy_data: Some("ata-SCRATCH_DISK_S1".to_owned()), ..device.options() };
    // A link elsewhere than in /dev/disk/by-id is no identity.
    assert_refused(
        &Target::new(&BlockDevice, link.clone()),
        &named,
        &["identity-mismatch", "content"],
    );
    let point = device.dir.path().join("mnt");
    fs::create_dir(&point).expect("mount point");
    let _mounted = mount(&link, &point);
    assert_refused(
        &Target::new(&BlockDevice, link),
        &device.options(),
        &["mounted", "busy", "content"],
    );
}

#[test]
fn a_device_below_another_loop_device_is_refused() {
    if !can_make_devices(&[]) {
        return;
    }
    let lower = Loop::new(64);
    let _upper = Attached::new(&lower.path);
    assert_refused(&lower.target(), &lower.options(), &["held"]);
}

#[test]
fn a_read_only_device_is_refused() {
    if !can_make_devices(&["blockdev"]) {
        return;
    }
    let device = Loop::new(64);
    run("blockdev", &["--setro", device.text()]);
    // The flag survives the detaching, and would apply to the next user of this loop device.
    let _undo = Undo("blockdev", vec!["--setrw".to_owned(), device.text().to_owned()]);
    assert_refused(&device.target(), &device.options(), &["device-read-only"]);
}

#[test]
fn the_device_of_the_root_file_system_is_refused() {
    let Some(path) = root_device() else {
        eprintln!("skipped: the root file system has no block device here");
        return;
    };
    let options = Options { write: true, run_id: "a".to_owned(), ..Options::default() };
    let target = Target::new(&BlockDevice, path);
    let found = ids(&target, &options);
    assert!(found.contains(&"mounted"), "{found:?}");
    assert!(found.contains(&"identity-missing"), "{found:?}");
}

#[test]
fn what_is_not_a_block_device_is_refused() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let fifo = dir.path().join("fifo");
    run("mkfifo", &[fifo.to_str().expect("plain")]);
    let options = Options { write: true, run_id: "a".to_owned(), ..Options::default() };
    for path in [fifo, "/dev/null".into(), dir.path().to_owned()] {
        assert_eq!(
            ids(&Target::new(&BlockDevice, path.clone()), &options),
            ["wrong-kind"],
            "{}",
            path.display()
        );
    }
    let absent = Target::new(&BlockDevice, dir.path().join("absent"));
    assert_eq!(ids(&absent, &options), ["missing"]);
}

#[test]
fn only_the_exact_identity_opens_an_empty_device() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    let right = device.image.to_str().expect("plain").to_owned();
    let name = device.path.file_name().expect("name").to_str().expect("plain").to_owned();
    for wrong in [
        "",
        "y",
        "yes",
        "1",
        "true",
        "*",
        device.text(),
        name.as_str(),
        &right[..right.len() - 1],
        &right.to_uppercase(),
    ] {
        let options = Options { destroy_data: Some(wrong.to_owned()), ..device.options() };
        assert_refused(&device.target(), &options, &["identity-mismatch"]);
    }
    let none = Options { destroy_data: None, ..device.options() };
    assert_refused(&device.target(), &none, &["identity-missing"]);
    let refusal = examine(&device.target(), Bytes::MIB, &none).into_result().expect_err("refused");
    assert!(refusal.hint().expect("a hint").contains(&right));
    assert!(ids(&device.target(), &device.options()).is_empty());
}

#[test]
fn an_empty_device_is_labelled_held_and_after_cleanup_as_it_was() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    let before = hash(&device.path);
    let mut store =
        Datastore::open(&device.target(), Bytes::MIB * 8, &device.options()).expect("open");
    assert_eq!(store.capacity(), Bytes::MIB * 48);
    let disks =
        store.provision(&[disk("a", Bytes::MIB), disk("b", Bytes::MIB * 7)]).expect("provision");
    assert_eq!((disks[0].base, disks[1].base), (8 << 20, 9 << 20));
    assert!(disks[0].direct && disks[0].writable);
    let error = store.provision(&[disk("c", Bytes::MIB * 41)]).expect_err("does not fit");
    assert!(matches!(error, DatastoreError::DoesNotFit { .. }), "{error}");
    assert!(ids(&device.target(), &device.options()).contains(&"busy"));
    let mounted = Command::new("mount").args([device.text(), "/mnt"]).output().expect("started");
    assert!(!mounted.status.success(), "exclusive use keeps others out");
    assert_eq!(find_owned(&device.target()).expect("find")[0].run_id, "test");
    drop(disks);
    store.remove().expect("remove");
    // The user of the disks may have written to them, so the label is kept.
    let identity = device.options().destroy_data;
    cleanup(&device.target(), &CleanupOptions { destroy_data: identity, run_id: None })
        .expect("cleanup");
    assert_eq!(before, hash(&device.path));
}

#[test]
fn a_device_stays_held_while_one_of_its_disks_is_open() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    let mut store = Datastore::open(&device.target(), Bytes::MIB, &device.options()).expect("open");
    let disks = store.provision(&[disk("a", Bytes::MIB)]).expect("provision");
    drop(store);
    assert_eq!(ids(&device.target(), &device.options()), ["busy"]);
    drop(disks);
    assert!(ids(&device.target(), &device.options()).is_empty());
}

#[test]
fn after_kill_9_the_label_is_ours_and_only_it_is_erased() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    let identity = device.image.to_str().expect("plain");
    let before = hash(&device.path);
    let child = child::hold(&device.target(), Some(identity));
    assert_refused(&device.target(), &device.options(), &["busy"]);
    let right = CleanupOptions { destroy_data: Some(identity.to_owned()), run_id: None };
    assert!(cleanup(&device.target(), &right).is_err(), "a live run's label stays");
    child::kill(child);
    assert_eq!(find_owned(&device.target()).expect("find")[0].run_id, "killed");
    assert!(ids(&device.target(), &device.options()).is_empty(), "recognised as ours");
    let labelled = hash(&device.path);
    assert!(cleanup(&device.target(), &CleanupOptions::default()).is_err(), "no identity");
    assert_eq!(labelled, hash(&device.path));
    assert_eq!(cleanup(&device.target(), &right).expect("cleanup").removed.len(), 1);
    assert_eq!(before, hash(&device.path));
    assert_eq!(cleanup(&device.target(), &right).expect("cleanup").removed.len(), 0);
}

#[test]
fn a_damaged_label_or_data_beside_it_is_foreign() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    drop(Datastore::open(&device.target(), Bytes::MIB, &device.options()).expect("open"));
    put(&device, 5000, b"\x01");
    assert_refused(&device.target(), &device.options(), &["content"]);
    put(&device, 5000, b"\0");
    put(&device, 70, b"!");
    assert_refused(&device.target(), &device.options(), &["content"]);
    assert_eq!(find_owned(&device.target()).expect("find"), []);
}

#[test]
fn reading_a_device_with_data_is_allowed_and_cannot_write() {
    if !can_make_devices(&["mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(64);
    run("mkfs.ext4", &["-q", device.text()]);
    let before = hash(&device.path);
    let options = Options { write: false, run_id: "a".to_owned(), ..Options::default() };
    let mut store = Datastore::open(&device.target(), Bytes::MIB, &options).expect("open");
    assert_eq!(store.preflight().write_bytes, 0);
    let disks = store.provision(&[disk("a", Bytes::MIB)]).expect("provision");
    assert!(!disks[0].writable);
    assert!(disks[0].file.write_at(&[0; 512], 0).is_err());
    drop(disks);
    assert!(store.remove().expect("remove").removed.is_empty());
    assert_eq!(before, hash(&device.path));
}

/// A compressed RAM disk of our own; others on this host are left alone.
struct Zram(PathBuf, String);

impl Zram {
    fn new() -> Option<Self> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").ok()?;
        let number = number.trim().to_owned();
        let zram = Self(PathBuf::from(format!("/dev/zram{number}")), number);
        fs::write(format!("/sys/block/zram{}/disksize", zram.1), "64M").ok()?;
        zram.0.exists().then_some(zram)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = fs::write(format!("/sys/block/zram{}/reset", self.1), "1");
        let _ = fs::write("/sys/class/zram-control/hot_remove", &self.1);
    }
}

#[test]
fn ram_disk_is_identified_by_sequence_and_size() {
    if !can_make_devices(&["mkfs.ext4"]) {
        return;
    }
    let Some(zram) = Zram::new() else {
        eprintln!("skipped: no zram device can be added");
        return;
    };
    let target = Target::new(&BlockDevice, zram.0.clone());
    let size = 64_u64 << 20;
    let options = |identity: String| Options {
        write: true,
        run_id: "a".to_owned(),
        destroy_data: Some(identity),
        ..Options::default()
    };
    for kernel_name in [format!("zram{}", zram.1), format!("zram{}-{size}", zram.1)] {
        assert_refused(&target, &options(kernel_name), &["identity-mismatch"]);
    }
    let sequence = fs::read_to_string(format!("/sys/block/zram{}/diskseq", zram.1));
    let right = options(format!("zram-seq{}-{size}", sequence.expect("diskseq").trim()));
    let store = Datastore::open(&target, Bytes::MIB, &right).expect("open");
    store.remove().expect("remove");
    run("mkfs.ext4", &["-q", zram.0.to_str().expect("plain")]);
    assert_refused(&target, &right, &["content"]);
}

#[test]
fn a_preflight_lists_every_rule_and_writes_nothing() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    let before = hash(&device.path);
    let found = examine(&device.target(), Bytes::MIB, &device.options());
    assert_eq!(before, hash(&device.path));
    let checked: Vec<&str> = found.preflight.checks.iter().map(|check| check.id.as_str()).collect();
    for id in
        ["mounted", "swap", "held", "partitions", "identity-mismatch", "content", "busy", "space"]
    {
        assert!(checked.contains(&id), "{id} is missing in {checked:?}");
    }
    let facts = found.preflight.device.expect("facts");
    assert_eq!(facts.size_bytes, 64 << 20);
    assert_eq!(facts.backing_file.as_deref(), device.image.to_str());
    assert!(Path::new(&found.preflight.resolved).exists());
    assert_eq!(found.preflight.write_bytes, (1 << 20) + 4096);
}
