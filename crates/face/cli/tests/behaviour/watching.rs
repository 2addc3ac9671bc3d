//! `tilemark watch` on a loop device: its store, a second instance, signals, and alarms.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::messages::server;
use crate::recording::{Disk, Reads, with_tracefs};
use crate::rig::{DEADLINE, Running, Workspace, err, out};

fn watch(place: &Workspace, args: &[&str]) -> Command {
    with_tracefs(place, place.command(&[&["watch", "--store", "w"], args].concat()))
}

fn started(place: &Workspace, args: &[&str]) -> Running {
    let mut running = Running::new(watch(place, args));
    running.wait_for("Ctrl-C ends it");
    running
}

/// Output of a subcommand on the store.
fn ask(place: &Workspace, code: i32, args: &[&str]) -> Output {
    let output = place.output(&[&["watch"], args].concat());
    assert_eq!(output.status.code(), Some(code), "{}{}", out(&output), err(&output));
    output
}

fn status(place: &Workspace) -> Value {
    let output = ask(place, 0, &["status", "--store", "w", "--format", "json"]);
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn vms(status: &Value) -> Vec<&str> {
    let rows = status["vms"].as_array().expect("rows");
    rows.iter().filter_map(|row| row["vm"].as_str()).collect()
}

#[test]
fn watched_io_is_in_status_and_export_until_forgotten() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let running = started(&place, &[&disk.0]);
    let before = read_ios(&disk);
    let reads = Reads::of(&disk);
    let second = watch(&place, &[&disk.0]).output().expect("started");
    assert_eq!(second.status.code(), Some(3), "{}", err(&second));
    assert!(err(&second).contains("another `tilemark watch` writes to w"), "{}", err(&second));
    assert!(err(&second).contains("hint: tilemark watch status --store"), "{}", err(&second));
    // Enough reads for a row, however slow the computer is.
    wait_for("reads", || read_ios(&disk) > before + 200);
    running.signal(Signal::TERM);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    drop(reads);

    let told = status(&place);
    assert_eq!(told["schema"], "tilemark.watch-status/1.0");
    assert!(vms(&told).contains(&"dd"), "the open slice was stored: {told}");
    assert!(told["watched_ns"].as_u64() > Some(0) && told["lost_events"] == 0, "{told}");
    let text = out(&ask(&place, 0, &["status", "--store", "w"]));
    assert!(text.contains("slices of") && text.contains("dd"), "{text}");
    // The open hour was stored, too; it knows the VM since the start.
    let row = told["vms"].as_array().expect("rows").iter().find(|row| row["vm"] == "dd");
    let sets = row.expect("a row")["working_sets"].as_array().expect("sets");
    let spans: Vec<_> = sets.iter().map(|set| set["span"].as_str().expect("a span")).collect();
    assert_eq!(spans, ["1h", "1d", "7d"], "{told}");
    let day = &sets[1];
    assert!(day["read_bytes"].as_u64() > Some(0) && day["written_bytes"] == 0, "{day}");
    assert_eq!((&day["is_whole"], &day["used_bytes"]), (&false.into(), &day["read_bytes"]));
    assert!(text.contains("Working sets") && text.contains("100 % of it read"), "{text}");

    let rows = out(&ask(&place, 0, &["export", "--store", "w"]));
    let head = "start_s,width_s,watched_ns,vm,disk,direction,size_class,count,errors,bytes,mean_ns,\
                p50_ns,p95_ns,p99_ns,max_ns,queue_mean_ns,outstanding_mean,below\r\n";
    assert!(rows.starts_with(head), "{rows}");
    let own = format!(",dd,{},read,4-<8 KiB,", disk.0.trim_start_matches("/dev/"));
    assert!(rows.contains(&own), "{rows}");
    ask(&place, 0, &["export", "--store", "w", "--format", "parquet", "--out", "w.parquet"]);
    assert!(std::fs::read(place.path("w.parquet")).expect("a file").starts_with(b"PAR1"));
    let rows = out(&ask(&place, 0, &["export", "--store", "w", "--sets"]));
    let head = "start_s,vm,span,since_s,used_bytes,read_bytes,written_bytes,share,error\r\n";
    assert!(rows.starts_with(head) && rows.contains(",dd,7d,"), "{rows}");
    ask(
        &place,
        0,
        &["export", "--store", "w", "--sets", "--format", "parquet", "--out", "s.parquet"],
    );
    assert!(std::fs::read(place.path("s.parquet")).expect("a file").starts_with(b"PAR1"));

    // The next watcher knows the working sets that the first one measured, although dd has ended.
    let again = started(&place, &[&disk.0]);
    again.signal(Signal::TERM);
    assert_eq!(again.end().code, Some(0));
    let told = status(&place);
    let row = told["vms"].as_array().expect("rows").iter().find(|row| row["vm"] == "dd");
    assert_eq!(row.expect("a row")["working_sets"][1], *day, "{told}");

    ask(&place, 0, &["forget", "--store", "w", "--vm", "dd"]);
    assert!(!place.path("w").join("working-sets").exists());
    assert!(!out(&ask(&place, 0, &["export", "--store", "w", "--sets"])).contains(",dd,"));
    assert!(!vms(&status(&place)).contains(&"dd"));
    assert!(!out(&ask(&place, 0, &["export", "--store", "w"])).contains(",dd,"));
}

/// Reads that a disk has answered.
fn read_ios(disk: &Disk) -> u64 {
    let name = disk.0.trim_start_matches("/dev/");
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("counters");
    text.split_whitespace().next().and_then(|own| own.parse().ok()).expect("a number")
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn every_io_before_the_end_is_stored() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let running = started(&place, &[&disk.0]);
    let mut read = Command::new("dd");
    read.args([&format!("if={}", disk.0), "of=/dev/null", "bs=4k", "count=500", "iflag=direct"]);
    assert!(read.output().expect("dd").status.success());
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
    let rows = out(&ask(&place, 0, &["export", "--store", "w"]));
    let of_dd = rows.lines().filter(|row| row.contains(",dd,"));
    let ios: u64 = of_dd.filter_map(|row| row.split(',').nth(7)?.parse::<u64>().ok()).sum();
    assert_eq!(ios, 500, "{rows}");
}

#[test]
fn killed_watcher_loses_at_most_its_open_slice() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let reads = Reads::of(&disk);
    let running = started(&place, &[&disk.0]);
    let has_slice = || {
        let entries = std::fs::read_dir(place.path("w")).expect("a store");
        entries.flatten().any(|own| {
            let is_journal = own.file_name().to_string_lossy().ends_with(".journal");
            is_journal && own.metadata().is_ok_and(|data| data.len() > 0)
        })
    };
    wait_for("a slice", has_slice);
    running.signal(Signal::KILL);
    running.end();
    drop(reads);
    let before = status(&place);
    assert!(vms(&before).contains(&"dd"), "{before}");
    let rows = out(&ask(&place, 0, &["export", "--store", "w"]));
    assert!(rows.contains(",dd,"), "{rows}");
    let output = watch(&place, &[&disk.0, "--duration", "10ms"]).output().expect("started");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let after = status(&place);
    assert!(after["watched_ns"].as_u64() >= before["watched_ns"].as_u64(), "{after}");
    assert!(vms(&after).contains(&"dd"), "{after}");
}

#[test]
fn directory_that_is_no_store_is_refused() {
    let place = Workspace::new();
    for subcommand in [&["status"][..], &["export"], &["forget", "--vm", "a"]] {
        let output = ask(&place, 2, &[subcommand, &["--store", "runs"]].concat());
        let text = err(&output);
        assert!(text.contains("runs is not a watch store"), "{text}");
        assert!(text.contains("hint: tilemark watch --store DIR creates a store"), "{text}");
        assert!(place.names("runs").is_empty(), "nothing was made");
    }
    place.write("runs/other", "");
    let output = ask(&place, 3, &["--store", "runs"]);
    assert!(err(&output).contains("runs holds other files"), "{}", err(&output));
    assert!(err(&output).contains("hint: name a new or empty directory"), "{}", err(&output));
    assert_eq!(place.names("runs"), ["other"]);
}

const RULES: &str = r#"
[send]
webhook = "https://hooks.example/T0/secret"

[[rule]]
name = "databases write fast"
vm = "sql*"
limit = "write p95 <= 20ms"
"#;

#[test]
fn rules_are_shown_as_they_are_understood() {
    let place = Workspace::new();
    place.write("rules.toml", RULES);
    let text = out(&ask(&place, 0, &["check-rules", "rules.toml"]));
    for part in [
        "1 rule; alarms go to the web hook at https://hooks.example:443",
        "databases write fast",
        "sql*",
        "write p95 <= 20 ms",
        "5m",
        "149",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let json = ask(&place, 0, &["check-rules", "rules.toml", "--format", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).expect("one JSON document");
    assert_eq!(json["schema"], "tilemark.watch-rules/1.0");
    assert_eq!(json["rules"][0]["window_ns"], 300_000_000_000_u64);
    assert!(!format!("{text}{json}").contains("secret"));
}

#[test]
fn wrong_rule_is_refused_before_anything_is_made() {
    let place = Workspace::new();
    place.write("rules.toml", &RULES.replace("write p95", "write p96").replace("https:", "htps:"));
    for args in [&["check-rules", "rules.toml"][..], &["--store", "w", "--rules", "rules.toml"]] {
        let text = err(&ask(&place, 2, args));
        assert!(text.contains("in rules.toml, line 3"), "{text}");
        assert!(text.contains("an address must begin with https:// or http://"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
    place.write("rules.toml", &RULES.replace("write p95", "write p96"));
    let text = err(&ask(&place, 2, &["check-rules", "rules.toml"]));
    assert!(text.contains("line 8") && text.contains("supported are p50, p95, p99"), "{text}");
    let text = err(&ask(&place, 2, &["--store", "w", "--rules", "gone.toml"]));
    assert!(text.contains("cannot read rules file gone.toml"), "{text}");
    assert!(!place.path("w").exists());
}

#[test]
fn broken_limit_reaches_a_web_hook_once_across_restarts() {
    let place = Workspace::new();
    let Some(disk) = Disk::new(&place) else { return };
    let (hook, hooks) = server("200 OK");
    let rules = format!(
        "[send]\nwebhook = \"{hook}/secret\"\n[[rule]]\nname = \"fast\"\nvm = \"d?\"\n\
         limit = \"read p50 <= 1us\"\nfor = \"10s\"\nevidence = \"2s\"\n"
    );
    place.write("rules.toml", &rules);
    let reads = Reads::of(&disk);
    let mut running = started(&place, &[&disk.0, "--rules", "rules.toml"]);
    running.wait_for("alarm: dd on ");
    let line = running.seen_last();
    assert!(line.contains("p50 of reads over 1 us") && line.contains("I/Os)"), "{line}");
    let (head, body) = hooks.recv_timeout(DEADLINE).expect("a message");
    assert!(head.starts_with("POST /secret HTTP/1.1"), "{head}");
    assert_eq!(body["schema"], "tilemark.watch-alarm/1.0");
    assert_eq!(
        (&body["state"], &body["vm"], &body["rule"]),
        (&"begun".into(), &"dd".into(), &"fast".into(),)
    );
    running.wait_for("evidence of dd on ");
    running.signal(Signal::TERM);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
    let output = ask(&place, 0, &["evidence", "--store", "w", "--format", "json"]);
    let all: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let own = &all["evidence"][0];
    assert_eq!(own["vm"], "dd", "{all}");
    let trace = own["trace"].as_str().expect("a trace");
    let output = place.output(&["analyze", trace, "--vm", "dd", "--format", "json"]);
    let analysis: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert!(analysis["source"]["records"].as_u64() > Some(10), "{}", analysis["source"]);

    let mut running = started(&place, &[&disk.0, "--rules", "rules.toml"]);
    drop(reads);
    running.wait_for("alarm over: dd on ");
    let line = running.seen_last();
    assert!(line.ends_with("there is no such I/O any more"), "{line}");
    running.signal(Signal::TERM);
    let ended = running.end();
    assert!(ended.stderr.contains("alarm from before the start: dd on "), "{}", ended.stderr);
    assert!(!ended.stderr.contains("alarm: "), "{}", ended.stderr);
    let (_, body) = hooks.recv_timeout(DEADLINE).expect("a message");
    assert_eq!((&body["state"], &body["reason"]), (&"ended".into(), &"gone".into()), "{body}");
    assert!(hooks.try_recv().is_err(), "nothing else was sent");
}
