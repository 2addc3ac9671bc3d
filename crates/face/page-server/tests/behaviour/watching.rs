//! Live runs: watchers, slow clients, and the end.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use server::Provider;

use crate::client::{event, get, head, send};
use crate::fake::{Fake, RUN};

fn path() -> String {
    format!("/api/v1/runs/{RUN}/live")
}

#[test]
fn a_watcher_sees_states_and_then_the_end() {
    let fake = Arc::new(Fake::default());
    let (server, port) = fake.serve();
    let mut stream = send(port, "GET", &path(), &[("Host", "localhost")]);
    let response = head(&mut stream);
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(response.header("content-encoding"), None, "an event must not wait in a buffer");
    let (name, first) = event(&mut stream).expect("a state");
    assert_eq!(name, "state");
    server.wake();
    let (name, second) = event(&mut stream).expect("another");
    assert_eq!(name, "state");
    let version = |text: &str| {
        serde_json::from_str::<serde_json::Value>(text).expect("JSON")["version"].as_u64()
    };
    assert!(version(&second) > version(&first));
    fake.has_ended.store(true, Ordering::Relaxed);
    server.wake();
    loop {
        let (name, data) = event(&mut stream).expect("the end");
        if name == "end" {
            assert!(version(&data) >= version(&second), "with the last state");
            break;
        }
    }
    assert_eq!(event(&mut stream), None, "nothing after the end");
}

#[test]
fn ended_run_sends_end_at_once_and_unknown_run_is_404() {
    let fake = Arc::new(Fake::default());
    fake.has_ended.store(true, Ordering::Relaxed);
    let (_server, port) = fake.serve();
    let mut stream = send(port, "GET", &path(), &[("Host", "localhost")]);
    head(&mut stream);
    assert_eq!(event(&mut stream), Some(("end".to_owned(), "null".to_owned())));
    assert_eq!(get(port, &path().replace("k3f9qa", "k3f9qb")).status, 404);
}

#[test]
fn many_watchers_cost_one_look_a_second() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    let mut streams: Vec<_> =
        (0..30).map(|_| send(port, "GET", &path(), &[("Host", "localhost")])).collect();
    for stream in &mut streams {
        head(stream);
        assert!(event(stream).is_some());
    }
    let (begun, before) = (Instant::now(), fake.asked_live.load(Ordering::Relaxed));
    for _ in 0..2 {
        streams.iter_mut().for_each(|stream| assert!(event(stream).is_some()));
    }
    let looks = fake.asked_live.load(Ordering::Relaxed) - before;
    let seconds = usize::try_from(begun.elapsed().as_secs()).expect("seconds");
    assert!(looks <= seconds + 2, "{looks} looks in {seconds} s");
}

#[test]
fn whoever_watches_does_not_hold_up_the_end_of_the_run() {
    let fake = Arc::new(Fake::default());
    let (server, port) = fake.serve();
    let mut reads = send(port, "GET", &path(), &[("Host", "localhost")]);
    head(&mut reads);
    assert!(event(&mut reads).is_some());
    // A client that connects and sends nothing.
    let silent = std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    assert_eq!(server.idle(), Some(Duration::ZERO), "somebody watches");
    let begun = Instant::now();
    let left = server.stop().expect("the address");
    let took = begun.elapsed();
    // The farewell takes a second; waiting for the watcher would take forever.
    assert!(took < Duration::from_secs(20), "{took:?} though the run had not even ended");
    drop(silent);
    let mut rest = Vec::new();
    let _ = reads.read_to_end(&mut rest);

    // The address continues with another server, and is never closed.
    let provider: Arc<dyn Provider> = fake.clone();
    let door = left.door().expect("a door");
    let _next = server::Server::start(door, provider).expect("a server");
    assert_eq!(get(port, "/api/v1/runs").status, 200);
}

#[test]
fn a_server_that_nobody_looked_at_says_so() {
    let fake = Arc::new(Fake::default());
    let (server, port) = fake.serve();
    assert_eq!(server.idle(), None);
    assert_eq!(get(port, "/metrics").status, 200);
    assert_eq!(server.idle(), None, "what collects figures does not look");
    assert_eq!(get(port, "/").status, 200);
    assert!(server.idle().is_some());
}

#[test]
fn a_taken_port_is_passed_over_unless_it_was_asked_for() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port();
    let asked: server::Listen = port.to_string().parse().expect("a port");
    let error = asked.bind().expect_err("it is taken");
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);

    let first = server::Listen::default().bind().expect("a port near the usual one");
    let second = server::Listen::default().bind().expect("the next");
    assert_ne!(first.url("/"), second.url("/"));
}
