//! `tilemark record` on a loop device: counts, exit codes and leftovers.

use std::io::BufRead;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::rig::{Running, Workspace, err, out};
use crate::serving::{get, open, port_of};

pub const TRACING: &str = "/sys/kernel/tracing";

/// Loop device of 16 MiB; `None`, with the reason printed, where none can be recorded.
pub struct Disk(pub String);

impl Disk {
    pub fn new(place: &Workspace) -> Option<Self> {
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

/// Runs the command where tracefs is mounted: here, or in a separate mount namespace.
pub fn with_tracefs(place: &Workspace, command: Command) -> Command {
    if Path::new(TRACING).join("instances").exists() {
        return command;
    }
    privately(place, &format!("mount -t tracefs tracefs {TRACING}"), &command)
}

/// Runs the command after a change to the mounts that other processes do not see.
fn privately(place: &Workspace, change: &str, command: &Command) -> Command {
    let mut outer = Command::new("unshare");
    outer.args(["--mount", "sh", "-c", &format!("{change} && exec \"$0\" \"$@\"")]);
    outer.arg(command.get_program()).args(command.get_args()).current_dir(place.path(""));
    place.surroundings(&mut outer);
    outer
}

fn record(place: &Workspace, args: &[&str]) -> Command {
    with_tracefs(place, place.command(&[&["record"], args].concat()))
}

/// Tracing instances of the process.
fn instances(place: &Workspace, process: u32) -> Vec<String> {
    let mut list = Command::new("ls");
    list.arg(format!("{TRACING}/instances"));
    let output = with_tracefs(place, list).output().expect("started");
    let prefix = format!("tilemark-{process}-");
    out(&output).lines().filter(|name| name.starts_with(&prefix)).map(str::to_owned).collect()
}

#[test]
fn a_recorded_command_s_ios_are_in_the_trace_and_in_the_result() {
    let place = Workspace::new();
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
    assert!(stored.host().is_some_and(|host| !host.is_empty()));
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
    let place = Workspace::new();
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
    let place = Workspace::new();
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

/// Reads of a disk, one after the other, until it is dropped.
pub struct Reads(Child);

impl Reads {
    pub fn of(disk: &Disk) -> Self {
        let read =
            "while dd if=$0 of=/dev/null bs=4k count=64 iflag=direct 2>/dev/null; do :; done";
        let mut shell = Command::new("sh");
        shell.args(["-c", read, &disk.0]).stdin(Stdio::null()).stdout(Stdio::null());
        Self(shell.spawn().expect("a shell"))
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn recording_page_shows_live_io_and_outlives_the_recording() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let reads = Reads::of(&disk);
    let args = [&disk.0, "--live", "web", "--duration", "60s", "--out", "w.tmt"];
    let mut running = Running::new(record(&place, &args));
    running.wait_for("page       http://127.0.0.1:");
    let address = running.seen_last();
    let (port, id) = (port_of(&address), address.rsplit('/').next().expect("an id").to_owned());
    assert_eq!(get(port, &format!("/run/{id}")).0, 200);
    let mut events = open(port, &format!("/api/v1/runs/{id}/live"));
    let state = std::iter::from_fn(|| {
        let mut line = String::new();
        events.read_line(&mut line).ok().filter(|length| *length > 0).map(|_| line)
    });
    let states = state
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?.trim()).ok());
    let seen = states.into_iter().find(|state| state["operations_per_s"].as_f64() > Some(1.0));
    let seen = seen.expect("reads are shown while they happen");
    assert_eq!(seen["phase"], "measured");
    let (status, overview) = get(port, &format!("/api/v1/runs/{id}/overview"));
    assert_eq!(status, 200);
    assert!(overview.contains(", watching 00:"), "{overview}");
    let (_, page) = get(port, &format!("/api/v1/runs/{id}"));
    assert!(page.contains("\"state\":\"running\"") && page.contains("\"dd\""), "{page}");

    drop(reads);
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let heir = ended.stderr.split("(kill ").nth(1).and_then(|rest| rest.split(' ').next());
    let heir: i32 = heir.and_then(|pid| pid.parse().ok()).expect(&ended.stderr);
    let (status, page) = get(port, &format!("/api/v1/runs/{id}"));
    assert!(status == 200 && page.contains("\"state\":\"complete\""), "{page}");
    let (_, overview) = get(port, &format!("/api/v1/runs/{id}/overview"));
    assert!(overview.contains("Observed: "), "{overview}");
    let heir = rustix::process::Pid::from_raw(heir).expect("not 0");
    rustix::process::kill_process(heir, Signal::TERM).expect("it is there");
}

#[test]
fn tracing_instance_of_killed_recording_is_removed_by_the_next() {
    let place = Workspace::new();
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
fn missing_tracefs_is_mounted_privately_by_the_recorder() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let words = ["record", &disk.0, "--out", "e.tmt", "--duration", "2s", "--live", "off"];
    let command = place.command(&words);
    // Where debugfs is mounted, looking below it would mount tracefs again.
    let places = ["/sys/kernel/debug/tracing", "/sys/kernel/debug", TRACING].join(" ");
    let change = format!("for place in {places}; do umount -l $place; done 2>/dev/null; true");
    let before = traced();
    let output = privately(&place, &change, &command).output().expect("started");
    // No I/O in this time has an exit code of its own.
    assert!(matches!(output.status.code(), Some(0 | 5)), "{}", err(&output));
    assert!(!err(&output).contains("no tracefs is mounted"), "{}", err(&output));
    assert_eq!(traced(), before);
}

/// Mounts of tracefs and debugfs in this namespace; other tests mount other file systems meanwhile.
fn traced() -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let is_trace = |line: &&str| line.contains(" - tracefs ") || line.contains(" - debugfs ");
    mounts.lines().filter(is_trace).map(str::to_owned).collect()
}

#[test]
fn a_target_that_is_on_no_disk_is_a_usage_error() {
    let place = Workspace::new();
    let output = place.output(&["record", "/proc/self/stat"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("hint: name a block device"), "{}", err(&output));
}
