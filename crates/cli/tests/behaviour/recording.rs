//! `tilemark record` on a loop device: what it counts, how it ends, what it leaves.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::rig::{Place, Running, err, out};

const TRACING: &str = "/sys/kernel/tracing";

/// A loop device of 16 MiB; none, with the reason printed, where none can be watched.
struct Disk(String);

impl Disk {
    fn new(place: &Place) -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !Path::new(TRACING).exists() {
            eprintln!("skipped: recording needs root and a kernel with tracefs");
            return None;
        }
        let file = place.path("disk");
        std::fs::File::create(&file).expect("made").set_len(16 << 20).expect("sized");
        let output = Command::new("losetup").args(["-f", "--show"]).arg(&file).output().ok()?;
        if !output.status.success() {
            eprintln!("skipped: losetup: {}", err(&output));
            return None;
        }
        Some(Self(out(&output).trim().to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

/// The command where tracefs is mounted: here, or in a mount name space of its own.
fn with_tracefs(place: &Place, command: Command) -> Command {
    if Path::new(TRACING).join("instances").exists() {
        return command;
    }
    privately(place, &format!("mount -t tracefs tracefs {TRACING}"), &command)
}

/// The command after a change to the mounts that nobody else sees.
fn privately(place: &Place, change: &str, command: &Command) -> Command {
    let mut outer = Command::new("unshare");
    outer.args(["--mount", "sh", "-c", &format!("{change} && exec \"$0\" \"$@\"")]);
    outer.arg(command.get_program()).args(command.get_args()).current_dir(place.path(""));
    place.surroundings(&mut outer);
    outer
}

fn record(place: &Place, args: &[&str]) -> Command {
    with_tracefs(place, place.command(&[&["record"], args].concat()))
}

/// Tracing instances of the process.
fn instances(place: &Place, process: u32) -> Vec<String> {
    let mut list = Command::new("ls");
    list.arg(format!("{TRACING}/instances"));
    let output = with_tracefs(place, list).output().expect("started");
    let prefix = format!("tilemark-{process}-");
    out(&output).lines().filter(|name| name.starts_with(&prefix)).map(str::to_owned).collect()
}

#[test]
fn a_recorded_command_s_ios_are_in_the_trace_and_in_the_result() {
    let place = Place::new();
    let Some(disk) = Disk::new(&place) else { return };
    let from = format!("if={}", disk.0);
    let args = [&disk.0, "--format", "json", "--live", "off", "--out", "a.tmt", "--"];
    let work = ["dd", &from, "of=/dev/null", "bs=4k", "count=500", "iflag=direct"];
    let output = record(&place, &[&args[..], &work].concat()).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(result["schema"], "tilemark.record/1.0");
    assert_eq!(result["lost_events"], 0);
    let reads = &result["operations"][0];
    assert_eq!(reads["name"], "reads");
    assert!(reads["count"].as_u64().expect("a number") >= 500, "{result}");
    assert!(result["senders"].as_array().expect("rows").iter().any(|row| row["name"] == "dd"));
    let stored = trace::store::open(&place.path("a.tmt")).expect("a trace");
    assert_eq!(Some(stored.records()), result["records"].as_u64());
    assert_eq!(stored.info().devices[0].name, disk.0.trim_start_matches("/dev/"));
}

/// A boot sector (real mode, BIOS interrupt 13h, function 42h): reads 4 KiB 500 times in a row
/// from sector 8 on, then writes to port f4h, where QEMU's `isa-debug-exit` ends the guest.
const GUEST: [u8; 60] = [
    0x31, 0xc0, // xor ax, ax
    0x8e, 0xd8, // mov ds, ax
    0x8e, 0xd0, // mov ss, ax
    0xbc, 0x00, 0x70, // mov sp, 7000h
    0xb9, 0xf4, 0x01, // mov cx, 500
    0x51, // again: push cx
    0xbe, 0x2c, 0x7c, // mov si, packet
    0xb4, 0x42, // mov ah, 42h
    0xb2, 0x80, // mov dl, 80h
    0xcd, 0x13, // int 13h
    0x66, 0x83, 0x06, 0x34, 0x7c, 0x08, // add dword [packet.sector], 8
    0x59, // pop cx
    0xe2, 0xed, // loop again
    0xba, 0xf4, 0x00, // mov dx, f4h
    0xee, // out dx, al
    0xf4, // end: hlt
    0xeb, 0xfd, // jmp end
    0x90, 0x90, 0x90, 0x90, 0x90, 0x90, // packet is at 2ch
    0x10, 0x00, 0x08, 0x00, // packet: its length, 8 sectors
    0x00, 0x80, 0x00, 0x00, // to 0000:8000h
    0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // from this sector on
];

#[test]
fn a_guest_s_ios_go_by_the_name_of_its_virtual_machine() {
    let place = Place::new();
    let Some(disk) = Disk::new(&place) else { return };
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        eprintln!("skipped: qemu-system-x86_64 is not installed");
        return;
    }
    let mut sector = [0; 512];
    sector[..GUEST.len()].copy_from_slice(&GUEST);
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(&disk.0, sector).expect("a boot sector");
    let drive = format!("file={},format=raw,if=virtio,cache=none,aio=native", disk.0);
    let guest = ["qemu-system-x86_64", "-name", "guest=web01,debug-threads=on", "-m", "64"];
    let quiet = ["-display", "none", "-monitor", "none", "-serial", "none", "-net", "none"];
    let exit = ["-device", "isa-debug-exit,iobase=0xf4,iosize=0x01", "-drive", &drive];
    let record_it = ["--format", "json", "--live", "off", "--out", "g.tmt", &disk.0, "--"];
    let words = [&record_it[..], &guest, &quiet, &exit].concat();
    let output = record(&place, &words).output().expect("started");
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let senders = result["senders"].as_array().expect("rows");
    let guest = senders.iter().find(|row| row["name"] == "web01").expect("the guest's row");
    assert!(guest["count"].as_u64().expect("a number") >= 500, "{result}");
    assert_eq!(result["not_recorded"]["unfinished"], 0, "{result}");
}

#[test]
fn ctrl_c_is_how_a_recording_ends() {
    let place = Place::new();
    let Some(disk) = Disk::new(&place) else { return };
    let mut running = Running::new(record(&place, &[&disk.0, "--live", "line", "--out", "b.tmt"]));
    running.wait_for("Ctrl-C ends it");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("b.tmt: 0 I/Os in "), "{}", ended.stdout);
    assert!(ended.stdout.contains("lost: no events"), "{}", ended.stdout);
    assert!(place.path("b.tmt").is_dir());
}

#[test]
fn the_tracing_instance_of_a_killed_recording_goes_with_the_next() {
    let place = Place::new();
    let Some(disk) = Disk::new(&place) else { return };
    let mut running = Running::new(record(&place, &[&disk.0, "--live", "line", "--out", "c.tmt"]));
    running.wait_for("Ctrl-C ends it");
    let process = running.id();
    running.signal(Signal::KILL);
    running.end();
    assert_eq!(instances(&place, process).len(), 1, "kill -9 leaves it");
    let args = [&disk.0, "--duration", "10ms", "--live", "off", "--out", "d.tmt"];
    let output = record(&place, &args).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(instances(&place, process), [""; 0]);
}

#[test]
fn without_tracefs_the_command_that_helps_is_told() {
    let place = Place::new();
    let Some(disk) = Disk::new(&place) else { return };
    let command = place.command(&["record", &disk.0, "--out", "e.tmt"]);
    let change = format!("(umount {TRACING}; umount /sys/kernel/debug/tracing; true) 2>/dev/null");
    let output = privately(&place, &change, &command).output().expect("started");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("no tracefs is mounted"), "{}", err(&output));
    assert!(err(&output).contains("mount -t tracefs tracefs"), "{}", err(&output));
    assert!(!place.path("e.tmt.partial").exists());
}

#[test]
fn a_target_that_is_on_no_disk_is_a_usage_error() {
    let place = Place::new();
    let output = place.output(&["record", "/proc/self/stat"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("hint: name a block device"), "{}", err(&output));
}
