//! Messages that a run sends when it ends (`--notify`), to real programs and servers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use crate::rig::{MICRO, Running, Workspace, err};

/// Server that answers every POST with a status; returns its address, and path, head and body of
/// each request.
pub fn server(status: &'static str) -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n")
                && stream.read(&mut byte).is_ok_and(|count| count > 0)
            {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).expect("text");
            let length = |line: &str| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
            };
            let mut body = vec![0; head.lines().find_map(length).unwrap_or(0)];
            stream.read_exact(&mut body).expect("the body");
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).expect("the answer is sent");
            let body = serde_json::from_slice(&body).expect("JSON");
            if send.send((head, body)).is_err() {
                return;
            }
        }
    });
    (format!("http://{address}"), receive)
}

fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body[key].as_str().unwrap_or_else(|| panic!("{key} in {body}"))
}

#[test]
fn finished_run_is_told_to_program_web_hook_and_ntfy() {
    let Some(place) = Workspace::usable() else { return };
    let program = place.path("tell");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$1\" > told\ncat >> told\n")
        .expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let (hook, hooks) = server("204 No Content");
    let (ntfy, topics) = server("200 OK");
    let ways = [
        format!("command:{}", program.display()),
        format!("webhook:{hook}/told?by=tilemark"),
        format!("ntfy:{ntfy}/push/storage"),
    ];
    let words: Vec<&str> = ways.iter().flat_map(|way| ["--notify", way]).collect();
    place.run(0, &words);

    let id = place.runs()[0].file_name().expect("a name").to_string_lossy().into_owned();
    let (head, body) = hooks.recv().expect("a message");
    assert!(head.starts_with("POST /told?by=tilemark HTTP/1.1\r\n"), "{head}");
    assert_eq!(text(&body, "schema"), "tilemark.message/1.0");
    assert!(id.starts_with(text(&body, "run")) || id.contains(text(&body, "run")), "{id} {body}");
    assert_eq!((&body["exit"], &body["needs_somebody"]), (&Value::from(0), &Value::from(false)));
    assert!(text(&body, "title").ends_with(" ended"), "{body}");
    assert!(text(&body, "text").contains("tile"), "{body}");

    let told = std::fs::read_to_string(place.path("told")).expect("what the program was told");
    let (line, json) = told.split_once('\n').expect("an argument and JSON");
    assert_eq!(line, format!("{}: {}", text(&body, "title"), text(&body, "text")));
    assert_eq!(serde_json::from_str::<Value>(json).expect("JSON"), body);

    let (head, ntfy) = topics.recv().expect("a message");
    assert!(head.starts_with("POST /push HTTP/1.1\r\n"), "{head}");
    assert_eq!((text(&ntfy, "topic"), &ntfy["priority"]), ("storage", &Value::from(3)));
    assert_eq!(
        (text(&ntfy, "title"), text(&ntfy, "message")),
        (text(&body, "title"), text(&body, "text"))
    );
}

#[test]
fn refused_run_needs_somebody_and_has_no_id() {
    let Some(place) = Workspace::usable() else { return };
    let (hook, hooks) = server("200 OK");
    let gone = format!("dir:{}", place.path("gone").display());
    let way = format!("webhook:{hook}/");
    let words = [&["run", &gone, "--notify", &way][..], &MICRO].concat();
    let output = place.output(&words);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let (_, body) = hooks.recv().expect("a message");
    assert_eq!((&body["exit"], &body["needs_somebody"]), (&Value::from(3), &Value::from(true)));
    assert!(body.get("run").is_none() && text(&body, "text").contains("gone"), "{body}");
}

#[test]
fn failed_run_needs_somebody_and_says_how_far_it_got() {
    let Some(place) = Workspace::usable() else { return };
    let (hook, hooks) = server("200 OK");
    let way = format!("webhook:{hook}/");
    let words = ["--live", "line", "--tiles", "1..50", "--notify", &way];
    let mut run = Running::new(place.run_command(&words));
    run.wait_for("measuring");
    std::fs::remove_dir_all(place.path("ds")).expect("it is ours");
    assert_eq!(run.end().code, Some(1));
    let (_, body) = hooks.recv().expect("a message");
    assert_eq!((&body["exit"], &body["needs_somebody"]), (&Value::from(1), &Value::from(true)));
    assert!(
        text(&body, "text").starts_with("Ended by an error (") && body["run"].is_string(),
        "{body}"
    );
}

#[test]
fn message_that_cannot_be_sent_changes_no_result() {
    let Some(place) = Workspace::usable() else { return };
    let (hook, _hooks) = server("500 Broken");
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr()).expect("a port");
    let ways = [
        format!("webhook:{hook}/secret-path"),
        format!("ntfy:http://{closed}/secret-topic"),
        "command:/gone/program".to_owned(),
        "command:/bin/false".to_owned(),
    ];
    let words: Vec<&str> = ways.iter().flat_map(|way| ["--notify", way]).collect();
    let output = place.run(0, &words);
    let said = err(&output);
    assert_eq!(said.matches("a message could not be sent: ").count(), ways.len(), "{said}");
    assert!(said.contains("127.0.0.1 answered with HTTP status 500"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    for name in ["run.json", "plan.toml", "env.json", "preflight.json"] {
        let stored = std::fs::read_to_string(place.runs()[0].join(name)).expect("a stored file");
        assert!(!stored.contains("secret"), "{name}: {stored}");
    }
}

#[test]
fn unknown_way_is_refused_before_the_run() {
    let Some(place) = Workspace::usable() else { return };
    for way in ["mail:root", "webhook:http://me:secret@host/", "ntfy:https://ntfy.sh/"] {
        let output = place.run(2, &["--notify", way]);
        assert!(err(&output).contains("--notify"), "{}", err(&output));
    }
    assert!(place.runs().is_empty());
}
