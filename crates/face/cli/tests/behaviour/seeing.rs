//! `record` and `analyze` over hosts: every host is a separate agent on this computer that records
//! a loop device.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::recording::{Disk, Reads, TRACING};
use crate::rig::{Running, Workspace, err, out};

/// Option for a host with its owner's file.
pub(crate) fn host(place: &Workspace, name: &str, owner: &str) -> String {
    place.write(&format!("{name}.toml"), owner);
    let bin = env!("CARGO_BIN_EXE_tilemark");
    let slot = place.path("").display().to_string().replace('/', "-");
    format!(
        "{name}=exec:echo $$ > {name}.pid; export TILEMARK_AGENT_SLOT={slot}{name}; exec {bin} agent --join \
         - --config {name}.toml"
    )
}

/// Owner's file that allows a directory for recordings.
fn owner(place: &Workspace, name: &str) -> String {
    let directory = place.path(&format!("on-{name}"));
    format!("record = [{:?}]\n", directory.display().to_string())
}

fn both(place: &Workspace) -> [String; 4] {
    let named = |name| host(place, name, &owner(place, name));
    ["--host".to_owned(), named("a"), "--host".to_owned(), named("b")]
}

fn words<'a>(first: &'a str, hosts: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    [first]
        .into_iter()
        .chain(hosts.iter().map(String::as_str))
        .chain(more.iter().copied())
        .collect()
}

fn json(output: &Output) -> Value {
    let parsed = serde_json::from_slice(&output.stdout);
    parsed.unwrap_or_else(|error| panic!("{error}: {}{}", out(output), err(output)))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Names of the two agents' tracing instances.
fn instances(place: &Workspace) -> Vec<String> {
    let of_agents =
        ["a", "b"].map(|name| format!("tilemark-{}-", pid(place, name).as_raw_nonzero()));
    let mut list = Command::new("unshare");
    let script = format!("mount -t tracefs tracefs {TRACING} 2>/dev/null; ls {TRACING}/instances");
    let listed = list.args(["--mount", "sh", "-c", &script]).current_dir(place.path("")).output();
    let listed = out(&listed.expect("started"));
    let is_theirs = |name: &&str| of_agents.iter().any(|prefix| name.starts_with(prefix));
    listed.lines().filter(is_theirs).map(str::to_owned).collect()
}

fn pid(place: &Workspace, name: &str) -> Pid {
    let text = std::fs::read_to_string(place.path(&format!("{name}.pid"))).expect("it began");
    Pid::from_raw(text.trim().parse().expect("a number")).expect("not 0")
}

/// Process with the command line of a QEMU that reads one disk, and later another.
fn machine(place: &Workspace, name: &str, disks: [&Disk; 2]) -> Option<Child> {
    let script = "import os, mmap, sys, time\n\
                  b = mmap.mmap(-1, 4096)\n\
                  for disk in sys.argv[1:3]:\n\
                  \x20 f = os.open(disk, os.O_RDONLY | os.O_DIRECT)\n\
                  \x20 for at in range(300): os.preadv(f, [b], at * 4096)\n\
                  \x20 time.sleep(2.5)\n";
    // The program of this name may be a script that starts the real one.
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let found = asked.map(|asked| out(&asked).trim().to_owned());
    let mut python = Command::new(found.unwrap_or_else(|_| "python3".to_owned()));
    python.arg0("qemu-system-x86_64").args(["-c", script, &disks[0].0, &disks[1].0]);
    python.args(["-name", &format!("guest={name}")]).current_dir(place.path(""));
    match python.stdin(Stdio::null()).spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            eprintln!("skipped: the machine is a script of python3: {error}");
            None
        }
    }
}

#[test]
fn traces_of_two_hosts_are_analysed_without_moving_them() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let hosts = both(&place);
    let from = format!("if={}", disk.0);
    let more = [&disk.0[..], "--format", "json", "--live", "off", "--"];
    let work = ["dd", &from, "of=/dev/null", "bs=4k", "count=500", "iflag=direct"];
    let output = place.output(&words("record", &hosts, &[&more[..], &work].concat()));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let recorded = json(&output);
    assert_eq!(recorded["schema"], "tilemark.hosts-record/1.0");
    let name = recorded["recording"].as_str().expect("a name").to_owned();
    for (host, told) in ["a", "b"].iter().zip(recorded["hosts"].as_array().expect("hosts")) {
        assert_eq!((&told["host"], &told["lost"]), (&Value::from(*host), &Value::Null), "{told}");
        assert_eq!(told["recorded"]["lost_events"], 0, "{told}");
        assert!(number(&told["recorded"]["records"]) >= 500, "{told}");
        let store = trace::store::open(&place.path(&format!("on-{host}/{name}-{host}.tmt")));
        let store = store.expect("a trace on that host");
        let part = store.part_of().expect("a part of the recording");
        assert_eq!((part.recording.as_str(), part.host.as_str()), (name.as_str(), *host));
        assert!(part.known_to_ns < 10_000_000 && part.after_ns < 60_000_000_000, "{part:?}");
    }
    assert_eq!(instances(&place), [""; 0], "tracing is switched off");

    let output = place.output(&words("analyze", &hosts, &[&name, "--format", "json"]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let answer = json(&output);
    assert_eq!(answer["schema"], "tilemark.hosts-analysis/1.0");
    let records = |analysis: &Value| number(&analysis["source"]["records"]);
    let of_hosts: Vec<u64> = answer["hosts"]
        .as_array()
        .expect("hosts")
        .iter()
        .map(|host| records(&host["analysis"]))
        .collect();
    assert_eq!(records(&answer["all"]), of_hosts.iter().sum::<u64>());
    let seen: Vec<u64> = recorded["hosts"]
        .as_array()
        .expect("hosts")
        .iter()
        .map(|host| number(&host["recorded"]["records"]))
        .collect();
    assert_eq!(of_hosts, seen, "every I/O of each host");
    // A host's analysis equals `analyze` of its trace there.
    let alone = format!("on-b/{name}-b.tmt");
    let own = json(&place.output(&["analyze", &alone, "--format", "json"]));
    for list in ["overview", "sizes", "beside_large"] {
        assert_eq!(answer["hosts"][1]["analysis"][list], own[list], "{list}");
    }
    let senders = answer["all"]["source"]["vms"].as_array().expect("names");
    assert!(senders.contains(&"a/dd".into()) && senders.contains(&"b/dd".into()), "{senders:?}");
    let of_a = words("analyze", &hosts, &[&name, "--vm", "a/dd", "--format", "json"]);
    let of_a = json(&place.output(&of_a));
    assert_eq!(of_a["all"]["filter"]["vms"], serde_json::json!(["a/dd"]));
    assert_eq!(records(&of_a["all"]), 500, "one host's process");
    assert_eq!(answer["machines"], Value::Array(Vec::new()), "processes are no machines");

    let output = place.output(&words("analyze", &hosts, &[&name, "--collect", "here"]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("== all hosts ==") && out(&output).contains("== host b =="));
    assert!(err(&output).contains("from host a, 3 files, SHA-256 checked"), "{}", err(&output));
    let sums = Command::new("sha256sum")
        .args(["--quiet", "-c", "SHA256SUMS"])
        .current_dir(place.path(&format!("here/{name}-a.tmt")))
        .output()
        .expect("sha256sum");
    assert!(sums.status.success(), "{}", err(&sums));
    let brought = trace::store::open(&place.path(&format!("here/{name}-a.tmt"))).expect("whole");
    assert_eq!(brought.records(), of_hosts[0]);
    let again = place.output(&words("analyze", &hosts, &[&name, "--collect", "here"]));
    assert_eq!(again.status.code(), Some(3), "nothing is overwritten: {}", err(&again));
}

#[test]
fn a_machine_that_moves_from_one_host_to_another_is_one() {
    let place = Workspace::new();
    let (Some(first), Some(second)) = (Disk::new(&place), Disk::new(&place)) else { return };
    // Host b sees another disk under the same name.
    let plain = host(&place, "a", &owner(&place, "a"));
    let script = format!("mount --bind {} {} && exec \"$@\"", second.0, first.0);
    let other = host(&place, "b", &owner(&place, "b"))
        .replace("exec /", &format!("exec unshare --mount sh -c '{script}' sh /"));
    let hosts = ["--host".to_owned(), plain, "--host".to_owned(), other];
    let command = place.command(&words("record", &hosts, &[&first.0, "--live", "line"]));
    let mut running = Running::new(command);
    running.wait_for("Ctrl-C ends it");
    let Some(mut machine) = machine(&place, "web1", [&first, &second]) else { return };
    assert!(machine.wait().expect("it ends").success());
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let name = ended.stdout.lines().next().and_then(|line| line.strip_prefix("recording "));
    let name = name.expect("the first line has the name");

    let output =
        place.output(&words("analyze", &hosts, &[name, "--vm", "web1", "--format", "json"]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let answer = json(&output);
    let rows = answer["machines"].as_array().expect("rows");
    let told = |row: &Value| (row["vm"].clone(), row["host"].clone(), row["moved"].clone());
    let row = |host: &str| (Value::from("web1"), Value::from(host), Value::from(true));
    assert_eq!(rows.iter().map(told).collect::<Vec<_>>(), [row("a"), row("b")], "{rows:?}");
    assert!(rows.iter().all(|row| number(&row["count"]) == 300), "{rows:?}");
    assert!(number(&rows[0]["to_ns"]) <= number(&rows[1]["from_ns"]), "{rows:?}");
    let all = &answer["all"];
    assert_eq!(number(&all["overview"][0]["reads"]), 600, "{}", all["overview"]);
    assert_eq!(
        all["overview"].as_array().map(Vec::len),
        Some(1),
        "one machine: {}",
        all["overview"]
    );
    let text = out(&place.output(&words("analyze", &hosts, &[name, "--vm", "web1"])));
    assert!(text.contains("moved: other hosts saw I/O of this VM, too"), "{text}");
    let nobody = place.output(&words("analyze", &hosts, &[name, "--vm", "web2"]));
    assert_eq!(nobody.status.code(), Some(2), "{}", err(&nobody));
    assert!(err(&nobody).contains("VM \"web2\" is on none of the hosts"), "{}", err(&nobody));
}

#[test]
fn host_forbidding_recording_is_named_and_others_keep_nothing() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let hosts = [
        "--host".to_owned(),
        host(&place, "a", &owner(&place, "a")),
        "--host".to_owned(),
        host(&place, "b", "allow = [\"dir:/tmp\"]\n"),
    ];
    let output = place.output(&words("record", &hosts, &[&disk.0, "--duration", "60s"]));
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let said = err(&output);
    assert!(said.contains("host b: recording is not allowed on this host"), "{said}");
    assert!(said.contains("`record = true`"), "what to write is said: {said}");
    assert_eq!(place.names("on-a"), [""; 0], "a began, and removed what it had");
    assert_eq!(instances(&place), [""; 0]);
    let output = place.output(&words("analyze", &hosts[2..], &["record-1"]));
    assert!(
        err(&output).contains("host b: recording is not allowed on this host"),
        "{}",
        err(&output)
    );
}

#[test]
fn host_without_block_events_is_named_with_a_hint() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let drop = "setpriv --bounding-set=-all --inh-caps=-all";
    let can = Command::new("sh").args(["-c", &format!("unshare --mount {drop} true")]).output();
    if !can.is_ok_and(|can| can.status.success()) {
        eprintln!("skipped: setpriv and unshare are not here, or not allowed");
        return;
    }
    // Without tracefs, and without the right to mount one.
    let places = ["/sys/kernel/debug/tracing", "/sys/kernel/debug", TRACING].join(" ");
    let script =
        format!("for place in {places}; do umount -l $place; done 2>/dev/null; exec {drop} \"$@\"");
    let blind = host(&place, "b", &owner(&place, "b"))
        .replace("exec /", &format!("exec unshare --mount sh -c '{script}' sh /"));
    let seeing = host(&place, "a", &owner(&place, "a"));
    let hosts = ["--host".to_owned(), seeing, "--host".to_owned(), blind];
    let output = place.output(&words("record", &hosts, &[&disk.0, "--duration", "60s"]));
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let said = err(&output);
    assert!(said.contains("host b: block events cannot be read"), "{said}");
    assert!(said.contains("mount -t tracefs"), "{said}");
    assert_eq!(place.names("on-a"), [""; 0]);
}

#[test]
fn host_killed_while_recording_ends_others_and_traces_stay() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let reads = Reads::of(&disk);
    let hosts = both(&place);
    let command = place.command(&words("record", &hosts, &[&disk.0, "--live", "line"]));
    let mut running = Running::new(command);
    running.wait_for("I/Os (lost events");
    assert_eq!(instances(&place).len(), 2, "tracing is on for both");
    kill_process(pid(&place, "b"), Signal::KILL).expect("it is there");
    let ended = running.end();
    drop(reads);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stdout.contains("host b: gone: "), "{}", ended.stdout);
    let kept = place.names("on-a");
    assert!(kept.len() == 1 && kept[0].ends_with("-a.tmt"), "{kept:?}");
    let whole = trace::store::open(&place.path(&format!("on-a/{}", kept[0]))).expect("a trace");
    assert!(whole.records() > 0 && !whole.is_unfinished());
    // The minute had not passed: the killed host has no complete part, which the error names.
    let name = kept[0].trim_end_matches("-a.tmt").to_owned();
    let output = place.output(&words("analyze", &hosts, &[&name]));
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("host b: "), "{}", err(&output));
    let output = place.output(&words("analyze", &hosts[..2], &[&name]));
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    place.output(&["cleanup"]);
}

#[test]
fn agents_of_killed_controller_end_with_readable_traces() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let reads = Reads::of(&disk);
    let hosts = both(&place);
    let command = place.command(&words("record", &hosts, &[&disk.0, "--live", "line"]));
    let mut running = Running::new(command);
    running.wait_for("I/Os (lost events");
    let agents = [pid(&place, "a"), pid(&place, "b")];
    running.signal(Signal::KILL);
    running.end();
    agents.into_iter().for_each(crate::hosts::wait_until_gone);
    drop(reads);
    assert_eq!(instances(&place), [""; 0], "tracing is switched off");
    for host in ["a", "b"] {
        let kept = place.names(&format!("on-{host}"));
        assert_eq!(kept.len(), 1, "{kept:?}");
        let store = trace::store::open(&place.path(&format!("on-{host}/{}", kept[0])));
        let store = store.expect("a trace");
        assert!(store.records() > 0 && !store.is_unfinished());
    }
}

#[test]
fn ctrl_c_ends_all_recordings_and_what_they_saw_is_told() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let hosts = both(&place);
    let mut command = place.command(&words("record", &hosts, &[&disk.0, "--live", "line"]));
    command.process_group(0);
    let mut running = Running::new(command);
    running.wait_for("Ctrl-C ends it");
    // A terminal signals every process of the group, including those started for hosts.
    let group = i32::try_from(running.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process_group(group, Signal::INT).expect("it is there");
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("recording record-"), "{}", ended.stdout);
    assert!(ended.stdout.contains("== host b =="), "{}", ended.stdout);
    assert_eq!((place.names("on-a").len(), place.names("on-b").len()), (1, 1));
}

#[test]
fn missing_trace_and_single_host_options_are_refused() {
    let place = Workspace::new();
    let hosts = both(&place);
    let refused = |words: &[&str], code: i32, says: &str| {
        let output = place.output(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", err(&output));
        assert!(err(&output).contains(says), "{words:?}: {}", err(&output));
    };
    let lacks = "host a: there is no record-1-a.tmt in ";
    refused(&words("analyze", &hosts, &["record-1"]), 1, lacks);
    let is_no_name = "`../etc` is not a valid name";
    refused(&words("analyze", &hosts, &["../etc"]), 2, is_no_name);
    let single = ["record-1", "--to-workload", "w.toml"];
    refused(&words("analyze", &hosts, &single), 2, "needs single I/Os");
    refused(&words("record", &hosts, &["--pid", "1"]), 2, "--pid works on one host only");
    refused(&words("record", &hosts, &["--out", "x.tmt"]), 2, "--out is for a trace of this");
    refused(&["analyze", "x.tmt", "--collect", "here"], 2, "--host");
    let twice = [&hosts[..2], &hosts[..2]].concat();
    refused(&words("record", &twice, &[]), 3, "a is named twice");
    refused(&words("record", &hosts, &["/proc/self/stat"]), 1, "host a: /proc/self/stat");
}
