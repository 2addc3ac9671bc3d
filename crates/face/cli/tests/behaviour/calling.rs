//! Runs that call a service on the loopback interface.

use std::io::{Read, Write};
use std::net::TcpListener;

use fixtures::tls::{self, Authority};
use run_store::run::{CallErrors, Cause, Run, Verdict, Warning};
use rustix::process::Signal;

use crate::rig::{Workspace, err, out};

const TILE: [&str; 2] = ["--tile", "micro/http-get"];

/// Starts a service that sends this answer to every request, or keeps the connection silent;
/// returns its address as an option's value. The service ends with the test.
fn serve(answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || talk(stream, answer));
        }
    });
    format!("page=http://127.0.0.1:{port}/")
}

/// Starts a service with TLS; returns its address as an option's value, and the certificate of its
/// authority.
fn serve_encrypted(answer: &'static str) -> (String, String) {
    let authority = Authority::new();
    let config = authority.server("localhost", 2100, tls::ALL_VERSIONS);
    let server = tls::Server::start(config, move |stream| talk(stream.into_inner(), Some(answer)));
    (format!("page=https://localhost:{}/", server.port), authority.pem())
}

fn talk(mut stream: impl Read + Write, answer: Option<&str>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while let Ok(1) = stream.read(&mut byte) {
        head.push(byte[0]);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            if answer.is_some_and(|answer| stream.write_all(answer.as_bytes()).is_err()) {
                return;
            }
        }
    }
}

fn called(place: &Workspace, endpoint: &str) -> (Option<i32>, Run) {
    let words = [&TILE[..], &["--tiles", "4", "--endpoint", endpoint, "--format", "json"]].concat();
    let output = place.run_command(&words).output().expect("the program starts");
    let run = run_store::run::parse(&out(&output)).expect("one run document and nothing else");
    (output.status.code(), run)
}

#[test]
fn run_calls_the_given_endpoint_and_stores_its_answers() {
    let Some(place) = Workspace::usable() else { return };
    let endpoint = serve(Some("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"));
    let (code, run) = called(&place, &endpoint);
    let step = &run.steps[0];
    assert!(matches!(code, Some(0 | 5)) && step.verdict != Verdict::Failed, "{}", step.reason);
    let [calls] = &step.calls[..] else { panic!("{:?}", step.calls) };
    assert_eq!((calls.workload.as_str(), calls.kind.as_str()), ("http-get", "get"));
    assert!(calls.errors.is_empty() && calls.bytes == 5 * calls.count, "{calls:?}");
    // 100 arrivals a second of each of four tiles, within five standard deviations of a second.
    assert!((calls.calls_per_s - 400.0).abs() < 100.0, "{calls:?}");
    assert!(step.io.is_empty() && step.checks.iter().all(|check| check.passed), "{step:?}");
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));

    let directory = &place.runs()[0];
    assert!(directory.join("calls.parquet").is_file());
    let plan = std::fs::read_to_string(directory.join("plan.toml")).expect("plan.toml");
    let address = endpoint.trim_start_matches("page=");
    assert!(plan.contains(address), "{plan}");
    let kept = run.plan.iter().find(|value| value.key == "endpoint.page").expect("its endpoint");
    assert_eq!(kept.value, address);
    let again = place.output(&["verify-report", "latest"]);
    assert_eq!(again.status.code(), Some(0), "{}{}", out(&again), err(&again));
}

#[test]
fn run_calls_an_encrypted_endpoint_whose_authority_it_is_given() {
    let Some(place) = Workspace::usable() else { return };
    let (endpoint, pem) = serve_encrypted("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    place.write("ca.pem", &pem);
    let ca = format!("page={}", place.path("ca.pem").display());
    let words =
        [&TILE[..], &["--tiles", "1", "--endpoint", &endpoint, "--format", "json"]].concat();

    // This system knows nothing of the certificate, so no call is made and nothing is written.
    let output = place.run(3, &words);
    let said = err(&output);
    assert!(said.contains("TLS handshake with https://localhost:"), "{said}");
    assert!(said.contains("--ca NAME=FILE"), "{said}");
    assert!(place.names("ds").is_empty() && place.runs().is_empty());

    let output = place.run_command(&[&words[..], &["--ca", &ca]].concat()).output();
    let output = output.expect("the program starts");
    let run: Run = run_store::run::parse(&out(&output)).expect("one run document");
    let [calls] = &run.steps[0].calls[..] else { panic!("{:?}", run.steps[0].calls) };
    assert!(calls.errors.is_empty() && calls.count > 0, "{calls:?}");
    assert_eq!(calls.bytes, 5 * calls.count, "{calls:?}");
    let kept = run.plan.iter().find(|value| value.key == "endpoint.page").expect("its endpoint");
    assert_eq!(kept.value, endpoint.trim_start_matches("page="));
}

#[test]
fn authority_for_no_encrypted_endpoint_is_refused() {
    let Some(place) = Workspace::usable() else { return };
    let (_, pem) = serve_encrypted("");
    place.write("ca.pem", &pem);
    place.write("empty.pem", "no certificate\n");
    let endpoint = serve(None);
    for (named, message) in [
        (format!("page={}", place.path("ca.pem").display()), "no address of this name has TLS"),
        (format!("page={}", place.path("empty.pem").display()), "no certificate in the file"),
        ("page=/nonexistent".to_owned(), "/nonexistent"),
    ] {
        let words = [&TILE[..], &["--endpoint", &endpoint, "--ca", &named]].concat();
        let said = err(&place.run(2, &words));
        assert!(said.contains(message), "{said}");
        assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    }
}

#[test]
fn service_that_refuses_all_calls_is_named_without_a_verdict() {
    let Some(place) = Workspace::usable() else { return };
    let (code, run) =
        called(&place, &serve(Some("HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n")));
    let step = &run.steps[0];
    assert_eq!((code, step.verdict), (Some(5), Verdict::Inconclusive), "{}", step.reason);
    // Beside other work, or if the generator waited, another reason is named.
    if step.cause == Some(Cause::CallsFailed) {
        assert!(
            step.reason.starts_with("the service of page (http://127.0.0.1:"),
            "{}",
            step.reason
        );
    }
    let is_named = |own: &Warning| {
        own.id == "service-answered-nothing" && own.text.contains("(http://127.0.0.1:")
    };
    assert!(step.warnings.iter().any(is_named), "{:?}", step.warnings);
    let [CallErrors { error, count }] = &step.calls[0].errors[..] else { panic!("{step:?}") };
    assert!(error == "status" && *count > 0 && step.calls[0].count == 0, "{:?}", step.calls);
}

#[test]
fn ctrl_c_while_calls_are_open_ends_the_run_and_leaves_nothing() {
    let Some(place) = Workspace::usable() else { return };
    let endpoint = serve(None);
    let mut run = place.start(&[&TILE[..], &["--endpoint", &endpoint]].concat());
    run.wait_for("measuring");
    let seen = run.seen_last();
    assert!(seen.contains(" 0 calls/s") && !seen.contains("no I/O"), "it calls: {seen}");
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn what_cannot_be_called_is_refused_before_anything_is_written() {
    let Some(place) = Workspace::usable() else { return };
    let nobody = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        format!("page=http://{}/", listener.local_addr().expect("an address"))
    };
    let refused = |endpoints: &[&str], code: i32, says: &str, hint: &str| {
        let options: Vec<&str> = endpoints.iter().flat_map(|own| ["--endpoint", own]).collect();
        let output = place.run(code, &[&TILE[..], &options].concat());
        let said = err(&output);
        assert!(said.contains(says) && said.contains(hint), "{endpoints:?}: {said}");
        assert!(place.names("ds").is_empty() && place.runs().is_empty(), "{endpoints:?} wrote");
    };
    let address = "--endpoint page=http://";
    refused(&[], 2, "no service or model is given", address);
    refused(&["page=model:4x2ms"], 2, "needs an address", address);
    refused(&["page=ftp://web/"], 2, "not an address of a service with the protocol http", address);
    refused(&["page=http://me:secret@web/"], 2, "a user or a password", address);
    refused(&["page=web"], 2, "nor an address", "");
    refused(&["page=http://web/", "pgae=http://web/"], 2, "\"pgae\"", "did you mean \"page\"?");
    refused(&[&nobody], 3, "connecting to http://127.0.0.1:", "start the service");
    refused(&["page=http://nobody.invalid/"], 3, "resolving the host of http://nobody", "");
}

#[test]
fn password_for_no_login_is_refused() {
    let Some(place) = Workspace::usable() else { return };
    let endpoint = serve(None);
    let file = place.path("password");
    std::fs::write(&file, "geheim\n").expect("a file");
    for (named, message) in [
        (format!("page={}", file.display()), "no address of this name takes one"),
        (format!("other={}", file.display()), "no address of this name takes one"),
        ("page=/nonexistent".to_owned(), "/nonexistent"),
    ] {
        let words = ["--tiles", "1", "--endpoint", &endpoint, "--credentials", &named];
        let output =
            place.run_command(&[&TILE[..], &words].concat()).output().expect("the program starts");
        let text = err(&output);
        assert!(text.contains(message) && !text.contains("geheim"), "{text}");
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    }
}
