//! Pages of runs: during, at the end of, and after a run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::rig::{Running, Workspace, err};

/// Sends a request as a browser on this computer does; returns the status and everything after the
/// status line.
pub(crate) fn get(port: u16, path: &str) -> (u16, String) {
    let mut text = String::new();
    open(port, path).read_to_string(&mut text).expect("an answer");
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, text)
}

pub(crate) fn open(port: u16, path: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    BufReader::new(stream)
}

pub(crate) fn port_of(address: &str) -> u16 {
    let rest = address.split("http://127.0.0.1:").nth(1).expect("an address of this machine");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a port")
}

/// Listening `tilemark serve`, ended with SIGKILL.
struct Served(Child, String);

impl Served {
    fn start(place: &Workspace, args: &[&str]) -> Self {
        let mut command = place.command(&[&["serve"][..], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("an address");
        Self(child, line.trim().to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn run_page_answers_during_the_run_and_outlives_it() {
    let Some(place) = Workspace::usable() else { return };
    let words = ["--live", "web", "--duration", "3s"];
    let mut run = Running::new(place.run_command(&words));
    run.wait_for("page       http://127.0.0.1:");
    let address = run.seen_last();
    let (port, id) = (port_of(&address), address.rsplit('/').next().expect("an id").to_owned());

    assert_eq!(get(port, &format!("/run/{id}")).0, 200);
    let (status, page) = get(port, &format!("/api/v1/runs/{id}"));
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("\"state\":\"running\""), "{page}");
    let mut events = open(port, &format!("/api/v1/runs/{id}/live"));
    // A client that connects and sends nothing.
    let silent = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");

    let mut heard = Vec::new();
    let mut line = String::new();
    while matches!(events.read_line(&mut line), Ok(1..)) {
        heard.extend(line.strip_prefix("event: ").map(|name| name.trim().to_owned()));
        line.clear();
    }
    assert_eq!(heard.first().map(String::as_str), Some("state"));
    assert_eq!(heard.last().map(String::as_str), Some("end"), "{heard:?}");

    let ended = run.end();
    drop(silent);
    assert!(!ended.stdout.is_empty(), "{}", ended.stderr);
    let heir = ended.stderr.split("(kill ").nth(1).and_then(|rest| rest.split(' ').next());
    let heir: i32 = heir.and_then(|pid| pid.parse().ok()).expect(&ended.stderr);
    let (status, page) = get(port, &format!("/api/v1/runs/{id}"));
    assert_eq!(status, 200);
    assert!(page.contains("\"state\":\"complete\""), "{page}");
    assert_eq!(get(port, &format!("/api/v1/runs/{id}/overview")).0, 200);
    let heir = rustix::process::Pid::from_raw(heir).expect("not 0");
    rustix::process::kill_process(heir, rustix::process::Signal::TERM).expect("it is there");
}

#[test]
fn a_page_that_nobody_looked_at_closes_with_the_run() {
    let Some(place) = Workspace::usable() else { return };
    let output = place.run(0, &["--live", "web"]);
    let said = err(&output);
    assert!(said.contains("page: closed, because no browser shows it"), "{said}");
    let address = said.lines().find(|line| line.starts_with("page       ")).expect("an address");
    let closed = TcpStream::connect(("127.0.0.1", port_of(address)));
    // Another test may have taken the port meanwhile, and does not know this run.
    if closed.is_ok() {
        let id = address.rsplit('/').next().expect("an id");
        assert_ne!(get(port_of(address), &format!("/api/v1/runs/{id}")).0, 200);
    }
}

#[test]
fn nothing_listens_unless_it_was_asked_for() {
    let Some(place) = Workspace::usable() else { return };
    for live in ["auto", "full", "line"] {
        let said = err(&place.run(0, &["--live", live]));
        assert!(!said.contains("http://"), "{live}: {said}");
    }
}

#[test]
fn stored_runs_are_served_and_killed_server_frees_its_port() {
    let Some(place) = Workspace::usable() else { return };
    place.run(0, &[]);
    let run = place.runs().pop().expect("a run");
    let id = run.file_name().and_then(|name| name.to_str()).expect("its id").to_owned();

    let served = Served::start(&place, &["latest", "--listen", "0"]);
    assert!(served.1.ends_with(&format!("/run/{id}")), "{}", served.1);
    let port = port_of(&served.1);
    for view in ["overview", "series", "heatmap", "percentiles", "matrix", "breaks", "map"] {
        let (status, text) = get(port, &format!("/api/v1/runs/{id}/{view}"));
        assert_eq!(status, 200, "{view}: {text}");
    }
    assert!(get(port, "/metrics").1.contains(&format!("tilemark_run_running{{run=\"{id}\"}} 0.0")));
    drop(served);

    let again = Served::start(&place, &["--listen", &port.to_string()]);
    assert_eq!(port_of(&again.1), port, "the port is free at once");
    assert!(get(port, "/api/v1/runs").1.contains(&id));

    let taken = place.output(&["serve", "--listen", &port.to_string()]);
    assert_eq!(taken.status.code(), Some(3), "{}", err(&taken));
    assert!(err(&taken).contains("hint: name another port"), "{}", err(&taken));
}

#[test]
fn a_report_is_written_again_from_what_is_stored() {
    let Some(place) = Workspace::usable() else { return };
    place.run(0, &[]);
    let run = place.runs().pop().expect("a run");
    let first = std::fs::read_to_string(run.join("report.html")).expect("every run has one");
    assert!(first.to_lowercase().contains("<html"));
    let output = place.output(&["report", "latest", "--to", "again.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let again = std::fs::read_to_string(place.path("again.html")).expect("a report");
    assert!(again.to_lowercase().contains("<html"));
}

#[test]
fn a_recorded_trace_is_served() {
    let place = Workspace::new();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../see/capture/samples/mixed.tmt");
    let served = Served::start(&place, &[sample, "--listen", "0"]);
    let (port, id) = (port_of(&served.1), served.1.rsplit('/').next().expect("an id"));
    let (status, page) = get(port, &format!("/api/v1/runs/{id}"));
    assert!(status == 200 && page.contains("\"kind\":\"recorded\""), "{page}");
    assert!(get(port, &format!("/api/v1/runs/{id}/overview")).1.contains("Observed: "));
    assert!(get(port, "/api/v1/runs").1.contains(id));
}

#[test]
fn what_cannot_be_served_says_why() {
    let place = Workspace::new();
    let output = place.output(&["serve", "nothing-of-that-name"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    let output = place.output(&["serve", "--listen", "no port:at all"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    let output = place.output(&["serve", "--inherited", "127.0.0.1", "runs"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("standard input is not a listening socket"), "{}", err(&output));
}
