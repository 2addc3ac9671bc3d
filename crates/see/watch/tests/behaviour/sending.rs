//! Alarms that are sent to servers that answer, refuse, hang and are not there, and to programs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use tilemark_watch::{Alarm, Change, Judge, Rules, SendTo, Senders, Slice, Timing, Trouble};

use crate::rules::{add, watched};

const START: u64 = 1_764_374_400;
/// Longest wait: far more than anything takes on a busy computer.
const DEADLINE: Duration = Duration::from_secs(60);

/// Times of a test. Nothing is judged by how long it takes.
pub fn brisk() -> Timing {
    let short = Duration::from_millis(20);
    Timing { patience: Duration::from_millis(500), pause: short, period: short }
}

/// Server that answers each POST with the next status, and with the last one for ever.
pub fn server(statuses: &'static [&'static str]) -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut answers = statuses.iter();
        let mut status = statuses[0];
        for stream in listener.incoming().map_while(Result::ok) {
            status = answers.next().unwrap_or(&status);
            let Some(request) = answer(stream, status) else { continue };
            if send.send(request).is_err() {
                return;
            }
        }
    });
    (format!("http://{address}"), receive)
}

fn answer(mut stream: TcpStream, status: &str) -> Option<(String, Value)> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let length =
        |line: &str| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
    let mut body = vec![0; head.lines().find_map(length)?];
    stream.read_exact(&mut body).ok()?;
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").ok()?;
    Some((head, serde_json::from_slice(&body).ok()?))
}

/// Changes of a rule: an alarm of `web1` that begins and, later, ends.
pub struct Story {
    pub begun: Vec<Change>,
    pub active: Vec<Alarm>,
    pub ended: Vec<Change>,
}

pub fn story(start_s: u64) -> Story {
    let rules = "[[rule]]\nname = \"r\"\nlimit = \"write p95 <= 20ms\"\nfor = \"1m\"\n\
                 severity = \"critical\"\n";
    let mut judge = Judge::new(&Rules::load("rules.toml", rules).expect("rules"));
    let mut window = |start_s: u64, latency_us| {
        let slices = (0..6).map(|own| {
            let mut slice: Slice = watched(start_s + 10 * own);
            add(&mut slice, "web1", "sda", &[(latency_us, 50)]);
            slice
        });
        let changes: Vec<Change> = slices.flat_map(|slice| judge.judge(&slice)).collect();
        (changes, judge.active().cloned().collect::<Vec<_>>())
    };
    let (begun, active) = window(start_s, 30_000);
    let (ended, none) = window(start_s + 60, 5_000);
    assert!(active.len() == 1 && none.is_empty());
    Story { begun, active, ended }
}

fn send_to(lines: &str) -> SendTo {
    let rule = "[[rule]]\nname = \"r\"\nlimit = \"errors <= 0\"\n";
    Rules::load("rules.toml", &format!("[send]\n{lines}\n{rule}")).expect("rules").send
}

fn start(lines: &str) -> Senders {
    Senders::start(&send_to(lines), "host7", brisk()).expect("threads")
}

fn texts(troubles: impl IntoIterator<Item = Trouble>) -> Vec<String> {
    troubles.into_iter().map(|own| own.to_string()).collect()
}

#[test]
fn web_hook_gets_begin_and_end_as_documents() {
    let (hook, requests) = server(&["204 No Content"]);
    let senders = start(&format!("webhook = \"{hook}/T0/secret\""));
    let story = story(START);
    senders.tell(&story.begun, story.active.iter());
    let (head, body) = requests.recv_timeout(DEADLINE).expect("a message");
    assert!(head.starts_with("POST /T0/secret HTTP/1.1\r\n"), "{head}");
    for (key, value) in [
        ("schema", "tilemark.watch-alarm/1.0"),
        ("state", "begun"),
        ("host", "host7"),
        ("rule", "r"),
        ("severity", "critical"),
        ("limit", "write p95 <= 20 ms"),
        ("vm", "web1"),
        ("disk", "sda"),
        ("began", "2025-11-29T00:00:00Z"),
        ("summary", "web1 on sda: p95 of writes over 20 ms"),
    ] {
        assert_eq!(body[key], value, "{body}");
    }
    assert_eq!(body["vms"][0]["ios"], 300, "{body}");
    let low = body["vms"][0]["low_ns"].as_u64().expect("a number");
    assert!((20_000_000..=30_000_000).contains(&low), "{body}");
    assert!(body.get("ended").is_none() && body.get("reason").is_none(), "{body}");
    senders.tell(&story.ended, [].iter());
    let (_, body) = requests.recv_timeout(DEADLINE).expect("a message");
    assert_eq!((&body["state"], &body["reason"]), (&"ended".into(), &"kept".into()), "{body}");
    assert_eq!(body["ended"], "2025-11-29T00:02:00Z", "{body}");
    assert_eq!(texts(senders.finish(DEADLINE)), [""; 0]);
}

#[test]
fn program_gets_the_document_on_its_standard_input() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("page");
    let told = directory.path().join("told");
    std::fs::write(&program, "#!/bin/sh\ncat > \"$1.new\" && mv \"$1.new\" \"$1\"\n")
        .expect("written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("its mode");
    let path = |path: &Path| path.display().to_string();
    let senders = Senders::start(
        &send_to(&format!("command = [\"{}\", \"{}\"]", path(&program), path(&told))),
        "host7",
        Timing::default(),
    );
    let senders = senders.expect("threads");
    let story = story(START);
    senders.tell(&story.begun, story.active.iter());
    assert_eq!(texts(senders.finish(DEADLINE)), [""; 0]);
    let text = std::fs::read_to_string(&told).expect("the program was called");
    let body: Value = serde_json::from_str(&text).expect("a document");
    assert_eq!((&body["state"], &body["vm"]), (&"begun".into(), &"web1".into()));
}

#[test]
fn refused_message_is_sent_again_until_it_is_taken() {
    let (hook, requests) = server(&["503 Later", "500 Broken", "200 OK"]);
    let senders = start(&format!("webhook = \"{hook}/secret\""));
    senders.tell(&story(START).begun, [].iter());
    (0..3).for_each(|_| drop(requests.recv_timeout(DEADLINE).expect("an attempt")));
    let told = texts(senders.finish(DEADLINE));
    let [first, last] = &told[..] else { panic!("{told:?}") };
    assert!(first.contains("HTTP status 503; sent again"), "{first}");
    assert!(last.ends_with(": delivered again") && !told.concat().contains("secret"), "{told:?}");
}

#[test]
fn message_that_is_wrong_to_the_server_is_given_up_at_once() {
    let (hook, requests) = server(&["400 Bad", "200 OK"]);
    let senders = start(&format!("webhook = \"{hook}/\""));
    let story = story(START);
    senders.tell(&story.begun, [].iter());
    senders.tell(&story.ended, [].iter());
    let states = [(); 2].map(|()| requests.recv_timeout(DEADLINE).expect("a message").1);
    assert_eq!((&states[0]["state"], &states[1]["state"]), (&"begun".into(), &"ended".into()));
    let told = texts(senders.finish(DEADLINE));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("HTTP status 400; given up, 1 message lost so far"), "{told:?}");
}

#[test]
fn hanging_and_absent_receivers_delay_nobody() {
    // Connections are taken by the kernel, and nobody answers.
    let hanging = TcpListener::bind("127.0.0.1:0").expect("a port");
    let hung = hanging.local_addr().expect("an address");
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr()).expect("a port");
    let (hook, requests) = server(&["200 OK"]);
    let hooks =
        format!("webhook = [\"http://{hung}/secret\", \"http://{closed}/secret\", \"{hook}\"]");
    let alertmanagers = format!("alertmanager = [\"http://{hung}/secret\", \"http://{closed}/\"]");
    let send = send_to(&format!("{hooks}\n{alertmanagers}"));
    let timing = Timing { patience: Duration::from_secs(600), ..brisk() };
    let senders = Senders::start(&send, "host7", timing).expect("threads");
    let story = story(START);
    let mut told = Vec::new();
    for _ in 0..400 {
        senders.tell(&story.begun, story.active.iter());
        requests.recv_timeout(DEADLINE).expect("the one that works is not delayed");
        told.extend(senders.troubles());
    }
    told.extend(senders.finish(Duration::from_millis(300)));
    let told = texts(told).join("\n");
    let hook_is_full =
        format!("alarms to the web hook at http://{hung}: too many alarms wait, 1 message lost");
    assert!(told.contains(&hook_is_full), "{told}");
    assert!(
        told.contains(&format!("web hook at http://{hung}: 257 messages not delivered")),
        "{told}"
    );
    assert!(told.contains(&format!("Alertmanager at http://{closed}: 127.0.0.1: ")), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

#[test]
fn alertmanager_is_told_again_while_an_alarm_is_active() {
    let (server, requests) = server(&["200 OK"]);
    let senders = start(&format!("alertmanager = \"{server}/am/\""));
    let story = story(START);
    senders.tell(&story.begun, story.active.iter());
    for _ in 0..3 {
        let (head, body) = requests.recv_timeout(DEADLINE).expect("told again");
        assert!(head.starts_with("POST /am/api/v2/alerts HTTP/1.1\r\n"), "{head}");
        let labels = serde_json::json!({
            "alertname": "TilemarkVmSuffers", "host": "host7", "vm": "web1", "disk": "sda",
            "rule": "r", "severity": "critical",
        });
        assert_eq!(body[0]["labels"], labels);
        assert_eq!(body[0]["startsAt"], "2025-11-29T00:00:00Z");
        assert!(
            body[0]["endsAt"].as_str().expect("a time") > "2025-11-29T00:00:01Z",
            "it ends later"
        );
    }
    senders.tell(&story.ended, [].iter());
    let ended = std::iter::from_fn(|| requests.recv_timeout(DEADLINE).ok())
        .find(|(_, body)| body[0]["endsAt"] == "2025-11-29T00:02:00Z");
    assert!(ended.is_some_and(|(_, body)| body[0]["labels"]["vm"] == "web1"));
    assert_eq!(texts(senders.finish(DEADLINE)), [""; 0]);
}
