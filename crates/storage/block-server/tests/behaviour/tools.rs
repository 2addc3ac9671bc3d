//! Other people's clients.

use std::path::Path;
use std::process::{Command, Stdio};

use tilemark_block_server::{Access, FileDisk, Limits};

use crate::disks::{Served, directory, file};
use crate::flat::Random;

/// Returns true if a program is installed; prints a note if not.
pub(crate) fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    let is_there = command.status().is_ok();
    if !is_there {
        eprintln!("skipped: {program} is not installed");
    }
    is_there
}

/// Runs a program that must succeed, and returns its output.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said}{words}");
    said + &words
}

fn served(path: &Path) -> Served {
    Served::of(vec![file(path, 8 << 20, Access::default())], Limits::default())
}

/// Bytes that nothing would make by accident.
fn noise(length: usize) -> Vec<u8> {
    let mut random = Random(11);
    (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect()
}

#[test]
fn nbdinfo_is_told_what_there_is() {
    if !has("nbdinfo") {
        return;
    }
    let directory = directory();
    let served = served(&directory.path().join("disk"));
    let said = run("nbdinfo", &["--list", &served.uri("")]);
    for words in [
        "protocol: newstyle-fixed without TLS, using structured packets",
        "export=\"vm\":",
        "export-size: 8388608 (8M)",
        "can_flush: true",
        "can_fua: true",
        "can_multi_conn: true",
        "can_trim: true",
        "can_zero: true",
        "can_fast_zero: false",
        "is_read_only: false",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn nbdcopy_copies_every_byte_over_several_connections() {
    if !has("nbdcopy") {
        return;
    }
    let directory = directory();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    let bytes = noise(8 << 20);
    std::fs::write(&from, &bytes).unwrap();
    let served = served(&directory.path().join("disk"));
    let uri = served.uri("vm");
    run("nbdcopy", &["--flush", from.to_str().unwrap(), &uri]);
    assert!(std::fs::read(directory.path().join("disk")).unwrap() == bytes);
    run("nbdcopy", &[&uri, to.to_str().unwrap()]);
    assert!(std::fs::read(&to).unwrap() == bytes);
    assert!(served.running.counts().connections >= 4, "{:?}", served.running.counts());
}

/// Runs equal commands on the disk and on a plain file beside it.
#[test]
fn qemu_io_leaves_the_same_bytes_as_on_a_plain_file() {
    if !has("qemu-io") {
        return;
    }
    let directory = directory();
    let plain = directory.path().join("plain");
    std::fs::File::create(&plain).unwrap().set_len(8 << 20).unwrap();
    let served = served(&directory.path().join("disk"));
    let mut random = Random(12);
    let mut commands = Vec::new();
    for _ in 0..300 {
        // Also where no block begins: QEMU reads around it and writes whole blocks.
        let offset = random.below(8 << 20) / 512 * 512;
        let length = (512 + random.below(256 << 10) / 512 * 512).min((8 << 20) - offset);
        let pattern = 1 + random.below(255);
        commands.push(match random.below(8) {
            0 => format!("write -z {offset} {length}"),
            1 => format!("write -z -u {offset} {length}"),
            2 => "flush".to_owned(),
            3 => format!("write -f -P {pattern} {offset} {length}"),
            // Reads once at the end. After a discard alone, the content would be undefined.
            4 => format!("discard {} {}", offset / 65536 * 65536, 65536),
            _ => format!("write -P {pattern} {offset} {length}"),
        });
        if let Some(range) = commands.last().unwrap().strip_prefix("discard ") {
            let zeroed = format!("write -z {range}");
            commands.push(zeroed);
        }
    }
    let mut arguments = vec!["-t", "none", "-f", "raw"];
    for command in &commands {
        arguments.extend(["-c", command]);
    }
    let uri = served.uri("vm");
    run("qemu-io", &[&arguments[..], &[&uri]].concat());
    run("qemu-io", &[&arguments[2..], &[plain.to_str().unwrap()]].concat());
    let left = std::fs::read(directory.path().join("disk")).unwrap();
    assert!(left == std::fs::read(&plain).unwrap(), "the two differ");
    run("qemu-img", &["compare", "-f", "raw", "-F", "raw", &uri, plain.to_str().unwrap()]);
}

#[test]
fn qemu_img_converts_there_and_back() {
    if !has("qemu-img") {
        return;
    }
    let directory = directory();
    let (from, back) = (directory.path().join("from"), directory.path().join("back"));
    let mut bytes = noise(8 << 20);
    bytes[1 << 20..3 << 20].fill(0);
    std::fs::write(&from, &bytes).unwrap();
    let served = served(&directory.path().join("disk"));
    let uri = served.uri("vm");
    let (from, back) = (from.to_str().unwrap(), back.to_str().unwrap());
    run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", from, &uri]);
    run("qemu-img", &["convert", "-f", "raw", "-O", "raw", &uri, back]);
    assert!(std::fs::read(back).unwrap() == bytes);
    let image = format!("driver=nbd,path={},export=vm", served.socket().display());
    run(
        "qemu-img",
        &["compare", "--image-opts", &image, &format!("driver=raw,file.filename={from}")],
    );
}

#[test]
fn fio_verifies_what_it_wrote() {
    if !has("fio") {
        return;
    }
    let engines = Command::new("fio").arg("--enghelp").output().unwrap();
    if !String::from_utf8_lossy(&engines.stdout).contains("nbd") {
        eprintln!("skipped: this fio has no engine nbd");
        return;
    }
    let directory = directory();
    let served = served(&directory.path().join("disk"));
    let uri = format!("--uri={}", served.uri("vm"));
    for (depth, blocks) in [("1", "4k-4k"), ("32", "4k-64k")] {
        let (depth, blocks) = (format!("--iodepth={depth}"), format!("--bsrange={blocks}"));
        let fixed = [
            "--name=x",
            "--ioengine=nbd",
            "--rw=randrw",
            "--size=8m",
            "--verify=crc32c",
            "--fsync=64",
        ];
        let aligned = ["--blockalign=4k", "--verify_state_save=0", "--do_verify=1"];
        run("fio", &[&fixed[..], &aligned, &[&uri, &depth, &blocks]].concat());
    }
}

#[test]
fn a_disk_that_is_read_only_is_so_for_qemu() {
    if !has("qemu-io") {
        return;
    }
    let directory = directory();
    let path = directory.path().join("disk");
    std::fs::write(&path, noise(1 << 20)).unwrap();
    let access = Access { read_only: true, buffered: false };
    let disk = FileDisk::open("vm", &path, access).unwrap();
    let served = Served::of(vec![Box::new(disk)], Limits::default());
    run("qemu-io", &["-r", "-f", "raw", "-c", "read 0 1m", &served.uri("vm")]);
    let write = Command::new("qemu-io")
        .args(["-f", "raw", "-c", "write 0 4k", &served.uri("vm")])
        .output()
        .unwrap();
    assert!(!write.status.success(), "it was not even opened for writing");
}
