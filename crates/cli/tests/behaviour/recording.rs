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
