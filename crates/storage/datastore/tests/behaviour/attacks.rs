//! Ways around the rules on devices: the blocks of something in use, reached by another
//! device. Each window lies where the thing in use has only zeros, so that its content does
//! not give it away.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tilemark_datastore::{
    BlockDevice, Datastore, Options, Refusal, SingleFile, Target, cleanup, examine,
};
use units::Bytes;

use crate::child;
use crate::rig::{
    Attached, Loop, Undo, anywhere, assert_refused, can_make_devices, disk, hash, ids, mount, run,
};

/// A loop device over 64 MiB of `lower`, from 32 MiB on.
fn window(lower: &Path) -> Attached {
    let lower = lower.to_str().expect("plain");
    let range = ["--offset", "33554432", "--sizelimit", "67108864"];
    Attached(run("losetup", &[&range[..], &["-f", "--show", lower]].concat()).into())
}

fn target(device: &Attached) -> Target {
    Target::new(&BlockDevice, device.0.clone())
}

/// Options with an identity that the device itself offers.
fn named(target: &Target) -> Options {
    let unnamed = Options { write: true, run_id: "test".to_owned(), ..Options::default() };
    let found = examine(target, Bytes::MIB, &unnamed);
    let offered = found.refusals.into_iter().find_map(|refusal| match refusal {
        Refusal::IdentityMissing { choices, .. } => choices.into_iter().next(),
        _ => None,
    });
    Options { destroy_data: Some(offered.expect("an identity")), ..unnamed }
}

/// Checks that the target is refused, and that neither the target nor the objects below it are
/// changed.
fn assert_out_of_reach(upper: &Attached, lower: &Path, expected: &[&str]) {
    let before = hash(lower);
    assert_refused(&target(upper), &named(&target(upper)), expected);
    assert_eq!(before, hash(lower), "{} was changed", lower.display());
}

/// 160 MiB with an ext4 file system whose metadata all lie in its first 32 MiB and last 64.
fn formatted() -> Loop {
    let device = Loop::new(160);
    run("mkfs.ext4", &["-q", "-b", "4096", "-O", "^has_journal", device.text()]);
    device
}

fn mounted_at(dir: &Path, device: &Path) -> Undo {
    let point = dir.join("mnt");
    fs::create_dir(&point).expect("mount point");
    mount(device, &point)
}

#[test]
fn a_loop_device_over_a_mounted_device_is_refused() {
    if !can_make_devices(&["mkfs.ext4", "mount", "umount"]) {
        return;
    }
    let lower = formatted();
    let _mounted = mounted_at(lower.dir.path(), &lower.path);
    let upper = window(&lower.path);
    assert_out_of_reach(&upper, &lower.path, &["mounted"]);
    // However deep.
    let higher = Attached::new(&upper.0);
    assert_out_of_reach(&higher, &lower.path, &["mounted"]);
}

#[test]
fn loop_device_over_a_hard_link_of_mounted_image_is_refused() {
    if !can_make_devices(&["mkfs.ext4", "mount", "umount"]) {
        return;
    }
    let lower = formatted();
    let _mounted = mounted_at(lower.dir.path(), &lower.path);
    let link = lower.dir.path().join("innocent");
    fs::hard_link(&lower.image, &link).expect("hard link");
    let upper = window(&link);
    assert_out_of_reach(&upper, &lower.path, &["mounted", "held"]);
    // The name under which it was attached leads elsewhere by now.
    fs::rename(&lower.image, lower.dir.path().join("renamed")).expect("renamed");
    fs::write(&lower.image, b"another file").expect("file");
    assert_out_of_reach(&upper, &lower.path, &["mounted", "held"]);
}

#[test]
fn loop_device_over_a_held_device_is_refused() {
    if !can_make_devices(&[]) {
        return;
    }
    let lower = Loop::new(160);
    let holder = child::hold(&lower.target(), lower.image.to_str());
    let upper = window(&lower.path);
    assert_out_of_reach(&upper, &lower.path, &["busy"]);
    child::kill(holder);
}

#[test]
fn a_loop_device_over_active_swap_is_refused() {
    if !can_make_devices(&["mkswap", "swapon", "swapoff"]) {
        return;
    }
    let lower = Loop::new(160);
    run("mkswap", &[lower.text()]);
    run("swapon", &["--priority", "0", lower.text()]);
    let _undo = Undo("swapoff", vec![lower.text().to_owned()]);
    let upper = window(&lower.path);
    assert_out_of_reach(&upper, &lower.path, &["swap", "busy"]);
}

#[test]
fn loop_device_over_a_disk_with_mounted_partition_is_refused() {
    if !can_make_devices(&["addpart", "mkfs.ext4", "mount", "umount"]) {
        return;
    }
    let lower = Loop::new(192);
    // From 1 MiB on, 180 MiB, in units of 512 B; no table is needed, nor any kind known.
    run("addpart", &[lower.text(), "1", "2048", "368640"]);
    let options = ["-q", "-b", "4096", "-O", "^has_journal"];
    run("mkfs.ext4", &[&options[..], &[lower.part(1).to_str().expect("plain")]].concat());
    let _mounted = mounted_at(lower.dir.path(), &lower.part(1));
    let upper = window(&lower.path);
    assert_out_of_reach(&upper, &lower.path, &["mounted"]);
}

/// A process that does `script` with `path` as `$0`, says so, and waits.
struct Waiting(Child);

impl Waiting {
    fn new(script: &str, path: &Path) -> Self {
        let script = format!("{script} && echo ready && read line");
        let mut child = Command::new("bash")
            .args(["-c", &script])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut line = String::new();
        let read = BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line);
        assert!(read.is_ok() && line == "ready\n", "{line}");
        Self(child)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn device_open_elsewhere_is_refused_naming_the_process() {
    if !can_make_devices(&[]) {
        return;
    }
    let lower = Loop::new(160);
    let upper = window(&lower.path);
    for path in [&lower.path, &lower.image, &upper.0] {
        let other = Waiting::new("exec 3<>\"$0\"", path);
        assert_out_of_reach(&upper, &lower.path, &["open-elsewhere"]);
        let found = examine(&target(&upper), Bytes::MIB, &named(&target(&upper)));
        let text = found.refusals.iter().map(ToString::to_string).collect::<String>();
        assert!(text.contains(&format!("process {} (bash)", other.0.id())), "{text}");
    }
    assert_eq!(ids(&target(&upper), &named(&target(&upper))), [""; 0]);
}

#[test]
fn a_device_under_the_lock_of_another_process_is_refused() {
    if !can_make_devices(&["flock"]) {
        return;
    }
    let device = Loop::new(64);
    let _other = Waiting::new("exec 3<\"$0\" && flock -x 3", &device.path);
    assert_refused(&device.target(), &device.options(), &["locked"]);
}

#[test]
fn two_loop_devices_over_one_file_share_their_blocks() {
    if !can_make_devices(&[]) {
        return;
    }
    let lower = Loop::new(160);
    let link = lower.dir.path().join("innocent");
    fs::hard_link(&lower.image, &link).expect("hard link");
    let upper = window(&link);
    assert_out_of_reach(&upper, &lower.path, &["held"]);
    assert_refused(&lower.target(), &lower.options(), &["held"]);
}

#[test]
fn a_kernel_name_is_no_identity_of_a_loop_device_over_a_device() {
    if !can_make_devices(&[]) {
        return;
    }
    let lower = Loop::new(160);
    let upper = window(&lower.path);
    let name =
        |text: &str| Options { destroy_data: Some(text.to_owned()), ..named(&target(&upper)) };
    for kernel_name in [lower.text(), upper.0.to_str().expect("plain")] {
        assert_refused(&target(&upper), &name(kernel_name), &["identity-mismatch"]);
    }
    let right = format!("{}-loop", lower.image.display());
    assert_eq!(ids(&target(&upper), &name(&right)), [""; 0]);
}

#[test]
fn a_loop_device_whose_file_has_lost_its_name_has_no_identity() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    fs::remove_file(&device.image).expect("removed");
    let shown = format!("{} (deleted)", device.image.display());
    let options = Options { destroy_data: Some(shown), ..device.options() };
    assert_refused(&device.target(), &options, &["identity-mismatch"]);
}

fn put(path: &Path, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).expect("open");
    file.write_all_at(bytes, at).expect("write");
    file.sync_all().expect("sync");
}

#[test]
fn data_in_the_middle_of_a_device_is_refused_with_its_offset() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    // The block at byte 9445376 is one of those that are spread evenly.
    put(&device.path, 9_445_376 + 5, &[7; 40_000]);
    assert_refused(&device.target(), &device.options(), &["content-middle"]);
    let found = examine(&device.target(), Bytes::MIB, &device.options());
    let text = found.refusals.iter().map(ToString::to_string).collect::<String>();
    assert!(text.contains("the first at byte 9445381"), "{text}");
}

#[test]
fn own_data_in_the_middle_of_a_device_is_not_refused() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    let mut store =
        Datastore::open(&device.target(), Bytes::MIB * 8, &device.options()).expect("open");
    let disks = store.provision(&[disk("a", Bytes::MIB * 8)]).expect("provision");
    put(&device.path, disks[0].base, &[7; 1 << 20]);
    drop(disks);
    store.remove().expect("remove");
    assert_eq!(ids(&device.target(), &device.options()), [""; 0]);
    // Once the label is erased nothing says that it was ours.
    let identity = device.options().destroy_data;
    let options = tilemark_datastore::CleanupOptions { destroy_data: identity, run_id: None };
    assert_eq!(cleanup(&device.target(), &options).expect("cleanup").removed.len(), 1);
    assert_refused(&device.target(), &device.options(), &["content-middle"]);
}

#[test]
fn deleted_image_behind_a_loop_device_is_known_by_inode() {
    if !can_make_devices(&[]) {
        return;
    }
    let device = Loop::new(64);
    let link = device.dir.path().join("other-name");
    fs::hard_link(&device.image, &link).expect("hard link");
    fs::remove_file(&device.image).expect("removed");
    let options = Options { overwrite_file: true, ..anywhere("a") };
    let found = examine(&Target::new(&SingleFile, PathBuf::from(&link)), Bytes::MIB, &options);
    let text = found.refusals.iter().map(ToString::to_string).collect::<String>();
    let name = device.path.file_name().expect("name").to_str().expect("plain");
    assert!(text.contains(&format!("block device {name}")), "{text}");
}
