//! `watch status` and `serve` over hosts: each host is a separate agent on this computer with a store
//! of its own. One VM moved, one storage is shared; one host lies, one is silent, one is lost.

use std::path::Path;
use std::process::Output;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cluster::{Asked, Invitation, Member, RemoteError};
use fixtures::watched::{SHARED, two_hosts};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::hosts::agent;
use crate::rig::{DEADLINE, Running, Workspace, err, out};
use crate::seeing::host;
use crate::serving::{get, port_of};

/// Owner's file that lets the host's store be read.
fn owner(place: &Workspace, name: &str) -> String {
    format!("watch = {:?}\n", place.path(&format!("on-{name}")).display().to_string())
}

/// Writes the stores of both hosts, and returns the time before which they end.
fn stores(place: &Workspace) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    two_hosts([&place.path("on-a"), &place.path("on-b")], now.as_secs());
    now.as_secs()
}

fn status(place: &Workspace, hosts: &[&str], more: &[&str]) -> Output {
    ask(place, &["status"], hosts, more)
}

fn ask(place: &Workspace, command: &[&str], hosts: &[&str], more: &[&str]) -> Output {
    let hosts = hosts.iter().flat_map(|host| ["--host", host]);
    let command = ["watch"].into_iter().chain(command.iter().copied());
    let words: Vec<&str> = command.chain(hosts).chain(more.iter().copied()).collect();
    place.output(&words)
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", err(output)))
}

#[test]
fn status_of_two_hosts_is_one_with_the_host_of_each_vm() {
    let place = Workspace::new();
    stores(&place);
    let (a, b) = (host(&place, "a", &owner(&place, "a")), host(&place, "b", &owner(&place, "b")));
    let output = status(&place, &[&a, &b], &["--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let told = json(&output);
    assert_eq!(told["schema"], "tilemark.watch-hosts-status/1.0");
    let of = |vm: &str| {
        let rows = told["vms"].as_array().expect("rows");
        rows.iter().find(|row| row["vm"] == vm).unwrap_or_else(|| panic!("no {vm} in {told}"))
    };
    assert_eq!(of("web1")["hosts"], json!(["a", "b"]), "it moved and is one");
    assert_eq!((&of("sql1")["hosts"], &told["vms"][0]["vm"]), (&json!(["a"]), &json!("sql1")));
    assert_eq!(of("b/kworker")["hosts"], json!(["b"]));
    let shared = &told["disks"][0];
    assert_eq!(shared["disk"], SHARED);
    let parts: Vec<_> =
        shared["parts"].as_array().expect("parts").iter().map(|own| &own["disk"]).collect();
    assert_eq!(parts, [&json!("a/sda"), &json!("b/sdb")]);
    for own in told["hosts"].as_array().expect("hosts") {
        assert_eq!((&own["trouble"], &own["clock_ahead_s"]), (&Value::Null, &Value::Null), "{own}");
        assert!(own["bytes"].as_u64() > Some(1000), "{own}");
    }
    let text = out(&status(&place, &[&a, &b], &["--last", "30m"]));
    for part in ["  a/sda", "  b/sdb", SHARED, "Working sets", "web1: 3 GiB since"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let web = text.lines().find(|line| line.starts_with("web1 ")).expect("a row");
    assert_eq!(web.split_whitespace().nth(1), Some("b"), "in that half hour: {text}");
}

#[test]
fn host_forbidding_watch_is_named_with_the_line_to_write() {
    let place = Workspace::new();
    stores(&place);
    let a = host(&place, "a", &owner(&place, "a"));
    let b = host(&place, "b", "record = true\n");
    let output = status(&place, &[&a, &b], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("left out: other hosts may not read this host's watch store"), "{text}");
    let hint = "hint: b: the host's owner can allow it by a line `watch = true`";
    assert!(text.contains(hint) && text.contains("/etc/tilemark/agent.toml"), "{text}");
    assert!(text.contains("sql1") && !text.contains("backup"), "the other is shown: {text}");
    let alone = status(&place, &[&b], &[]);
    assert_eq!(alone.status.code(), Some(1), "nobody answers: {}", out(&alone));
    let none = host(&place, "b", "watch = \"/nowhere\"\n");
    let text = out(&status(&place, &[&a, &none], &[]));
    assert!(text.contains("left out: /nowhere is not a watch store"), "{text}");
}

#[test]
fn export_of_two_hosts_has_every_vm_once() {
    let place = Workspace::new();
    stores(&place);
    let (a, b) = (host(&place, "a", &owner(&place, "a")), host(&place, "b", &owner(&place, "b")));
    let output = ask(&place, &["export"], &[&a, &b], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    let web: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split(',').collect())
        .filter(|row: &Vec<&str>| row[3] == "web1")
        .collect();
    assert_eq!(web.len(), 360, "a row for each slice, on whichever host it ran");
    assert!(web.iter().all(|row| row[4] == SHARED && row[7] == "300"), "{:?}", web[0]);
    assert!(text.contains(",b/kworker,b/nvme0n1,write,"), "{text}");

    let more = ["--sets", "--format", "csv"];
    let text = out(&ask(&place, &["export"], &[&a, &b], &more));
    let sets = |host: &str| {
        let is_of = |line: &&str| line.contains(",web1,1d,") && line.ends_with(host);
        text.lines().filter(is_of).count()
    };
    assert!(text.lines().next().is_some_and(|head| head.ends_with(",error,host")), "{text}");
    assert_eq!((sets(",a"), sets(",b")), (1, 1), "{text}");

    // A host that is lost is named, and the file has the others.
    let lost = host(&place, "b", "record = true\n");
    let output = ask(&place, &["export"], &[&a, &lost], &["--out", "a.csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        err(&output).contains("host b: left out: other hosts may not read"),
        "{}",
        err(&output)
    );
    let file = std::fs::read_to_string(place.path("a.csv")).expect("written");
    assert!(file.contains(",sql1,a/sda,") && !file.contains("backup"), "{file}");
    let none = ask(&place, &["export"], &[&lost], &["--out", "none.csv"]);
    assert_eq!(none.status.code(), Some(1), "{}", err(&none));
    assert!(!place.path("none.csv").exists());
}

#[test]
fn neighbour_on_another_host_is_examined() {
    let place = Workspace::new();
    let now_s = stores(&place);
    // `backup` has I/O in the last half hour. A neighbour is examined if it has in less than half of
    // the time.
    let to_s = i64::try_from(now_s - now_s % 1800 - 900).expect("a time");
    let to = jiff::Timestamp::from_second(to_s).expect("a time").to_string();
    let (a, b) = (host(&place, "a", &owner(&place, "a")), host(&place, "b", &owner(&place, "b")));
    let examined = |hosts: &[&str]| {
        let output =
            ask(&place, &["neighbours", "sql1"], hosts, &["--to", &to, "--format", "json"]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let told = json(&output);
        assert_eq!(told["schema"], "tilemark.watch-hosts-neighbours/1.0");
        assert_eq!(told["hosts"].as_array().map(Vec::len), Some(hosts.len()));
        told["examined"].as_u64()
    };
    assert!(examined(&[&a, &b]) > examined(&[&a]), "backup is on b and uses the same storage");
    let nobody = ask(&place, &["neighbours", "nobody"], &[&a, &b], &[]);
    assert_eq!(nobody.status.code(), Some(2), "{}", err(&nobody));
    assert!(err(&nobody).contains("no I/O of VM nobody was seen"), "{}", err(&nobody));
}

#[test]
fn evidence_of_two_hosts_is_listed_with_its_host() {
    let place = Workspace::new();
    stores(&place);
    let (a, b) = (host(&place, "a", &owner(&place, "a")), host(&place, "b", &owner(&place, "b")));
    let none = ask(&place, &["evidence"], &[&a, &b], &[]);
    assert!(out(&none).starts_with("no alarm was recorded"), "{}", err(&none));
    std::fs::create_dir_all(place.path("on-b/evidence")).expect("made");
    let alarm =
        r#"{"summary": "web1 on sdb: p95 of reads over 1 ms", "vm": "web1", "disk": "sdb"}"#;
    place.write("on-b/evidence/20261124T115000Z.json", alarm);
    let lost = host(&place, "a", "record = true\n");
    let told = out(&ask(&place, &["evidence"], &[&a, &b], &[]));
    assert!(told.contains("2026-11-24 11:50:00  b: web1 on sdb: p95 of reads"), "{told}");
    let output = ask(&place, &["evidence"], &[&lost, &b], &["--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let told = json(&output);
    assert_eq!(told["schema"], "tilemark.watch-hosts-evidence/1.0");
    let own = &told["evidence"][0];
    assert_eq!((&own["host"], &own["vm"]), (&json!("b"), &json!("web1")), "{told}");
    assert!(told["hosts"][0]["hint"].as_str().is_some_and(|hint| hint.contains("watch = true")));
}

/// Joins as a host, by the token in a file.
fn join(
    place: &Workspace,
    name: &str,
    answer: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static,
) -> Member {
    let (path, until) = (place.path(name), Instant::now() + DEADLINE);
    let token = loop {
        let token = std::fs::read_to_string(&path).unwrap_or_default();
        if let Ok(token) = token.trim().parse::<Invitation>() {
            break token;
        }
        assert!(Instant::now() < until, "no token");
        std::thread::sleep(Duration::from_millis(20));
    };
    let answer = move |asked: Asked| -> Result<Vec<u8>, RemoteError> {
        Ok(match asked.topic.as_str() {
            "hello" => json!({
                "tool": { "version": env!("CARGO_PKG_VERSION"), "commit": null },
                "hostname": "elsewhere", "allowed": [], "held_by": null, "processors": 1,
            })
            .to_string()
            .into_bytes(),
            "watch" => answer(&asked.question),
            _ => b"null".to_vec(),
        })
    };
    Member::join(&token, Duration::from_secs(30), DEADLINE, Box::new(answer)).expect("joined")
}

fn honest(store: &Path, question: &[u8]) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    watch::answer(store, question, now.as_secs()).expect("an answer")
}

#[test]
fn lying_and_silent_hosts_are_named_and_others_shown() {
    let place = Workspace::new();
    stores(&place);
    let a = host(&place, "a", &owner(&place, "a"));
    let words = ["watch", "status", "--host", &a, "--host", "b=join", "--host", "c=join"];
    let more = ["--tokens", ".", "--format", "json"];
    let running = Running::new(place.command(&[&words[..], &more].concat()));
    let store = place.path("on-b");
    // The answer of another question, as a host that replays an old one would send it.
    let first = std::sync::OnceLock::new();
    let lie = move |question: &[u8]| first.get_or_init(|| honest(&store, question)).clone();
    let _liar = join(&place, "b", lie);
    let (end, ends) = channel::<()>();
    let ends = std::sync::Mutex::new(ends);
    let silent = join(&place, "c", move |_| {
        let _ = ends.lock().expect("one").recv();
        Vec::new()
    });
    let ended = running.end();
    drop(end);
    drop(silent);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let trouble = |at: usize| told["hosts"][at]["trouble"].as_str().unwrap_or_default();
    assert_eq!(trouble(0), "", "{told}");
    assert!(
        trouble(1).contains("its answer is invalid: it belongs to another request"),
        "{}",
        trouble(1)
    );
    assert!(trouble(2).starts_with("did not answer within 15 s"), "{}", trouble(2));
    let vms: Vec<_> = told["vms"].as_array().expect("rows").iter().map(|row| &row["vm"]).collect();
    assert_eq!(vms, [&json!("sql1"), &json!("web1"), &json!("a/kworker")]);
}

#[test]
fn page_goes_on_without_a_lost_host_and_takes_it_up_again() {
    let place = Workspace::new();
    stores(&place);
    let (a, b) = (host(&place, "a", &owner(&place, "a")), host(&place, "b", &owner(&place, "b")));
    // Agents that are started again wait for this file.
    let b = b.replace("=exec:", "=exec:while test -e b.away; do sleep 0.1; done; ");
    let command = place.command(&["serve", "--listen", "0", "--host", &a, "--host", &b]);
    let mut serve = Running::new(command);
    serve.wait_for("2 watched hosts; Ctrl-C ends it");
    let address = serve.stdout_line();
    let (port, id) = (port_of(&address), address.rsplit('/').next().expect("an id").to_owned());
    let page = |is_so: &dyn Fn(&Value) -> bool| -> Value {
        let until = Instant::now() + DEADLINE;
        loop {
            let (code, text) = get(port, &format!("/api/v1/runs/{id}/watch"));
            assert_eq!(code, 200, "{text}");
            let body = text
                .split("\r\n\r\n")
                .nth(1)
                .and_then(|text| Some(&text[text.find('{')?..=text.rfind('}')?]));
            let page: Value = serde_json::from_str(body.expect("a body")).expect("JSON");
            if is_so(&page) {
                return page;
            }
            assert!(Instant::now() < until, "{}", page["hosts"]);
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    let is_whole = |page: &Value| page["hosts"][1]["trouble"].is_null();
    let whole = page(&is_whole);
    assert_eq!(whole["vms"].as_array().map(Vec::len), Some(5), "{whole}");
    assert!(get(port, "/api/v1/runs").1.contains("watch of a, b"));

    // Who looks does not keep others from measuring.
    let other = place.output(&["hosts", "--host", &a]);
    assert_eq!(other.status.code(), Some(0), "{}", err(&other));
    assert!(!out(&other).is_empty());

    let before = agent(&place, "b");
    place.write("b.away", "");
    kill_process(before, Signal::KILL).expect("it is there");
    let without = page(&|page| !is_whole(page));
    let sentence = without["sentence"].as_str().expect("a sentence");
    assert!(sentence.ends_with("Not included: b."), "{sentence}");
    let names = without["vms"].as_array().expect("rows").iter().map(|row| row["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["sql1", "web1", "a/kworker"]);
    serve.wait_for("host b: left out: ");
    std::fs::remove_file(place.path("b.away")).expect("it is there");
    let again = page(&is_whole);
    assert_eq!(again["vms"], whole["vms"]);
    serve.wait_for("host b is no longer left out");
    let agents = [agent(&place, "a"), agent(&place, "b")];
    serve.signal(Signal::TERM);
    assert_eq!(serve.end().code, Some(0));
    agents.into_iter().for_each(crate::hosts::wait_until_gone);
}

#[test]
fn host_that_is_named_twice_or_runs_no_agent_is_told() {
    let place = Workspace::new();
    stores(&place);
    let a = host(&place, "a", &owner(&place, "a"));
    let twice = status(&place, &[&a, &a], &[]);
    assert_eq!(twice.status.code(), Some(3), "{}", err(&twice));
    assert!(err(&twice).contains("host a is named twice"), "{}", err(&twice));
    let output = status(&place, &[&a, "b=exec:false"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("left out: its agent ended before it joined"), "{text}");
}
