//! Calls over TLS to a real TLS server on loopback.

use std::io::{BufRead, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fixtures::tls::{self, Authority, Stream};
use http_client::Trust;
use rustls::ServerConfig;
use state_machine::{CallError, RequestText};
use tilemark_engine::client::{Address, Login, Service, ServiceError};
use tilemark_engine::{BackendChoice, Options};

use crate::calls::{all_fail, called, callers, finish, is_good, options};
use crate::service::PAGE;

/// Login without a password that trusts only this authority.
pub fn trusting(authority: &Authority) -> Login {
    let trust = Trust::authority(authority.pem().as_bytes()).expect("an authority");
    Login { password: None, trust: Some(Arc::new(trust)) }
}

/// Handler of a request with a body of this size. Returns true to keep the connection.
type Answer = dyn Fn(&mut Stream, usize) -> bool + Send + Sync;

struct Server {
    tls: tls::Server,
    /// Connections that asked for something.
    connections: Arc<AtomicUsize>,
}

impl Server {
    fn start(
        config: Arc<ServerConfig>,
        answer: impl Fn(&mut Stream, usize) -> bool + Send + Sync + 'static,
    ) -> Self {
        let connections = Arc::default();
        let counted = Arc::clone(&connections);
        let tls = tls::Server::start(config, move |stream| talk(stream, &answer, &counted));
        Self { tls, connections }
    }

    fn reach(&self, login: &Login) -> Result<Arc<Service>, ServiceError> {
        let text = format!("https://127.0.0.1:{}/page", self.tls.port);
        let address = Address::parse(&text, "http").expect("an address");
        Service::reach(address, login.clone(), Duration::from_secs(30)).map(Arc::new)
    }
}

fn talk(mut stream: Stream, answer: &Answer, counted: &AtomicUsize) {
    let (mut line, mut length, mut is_first) = (String::new(), 0, true);
    while stream.read_line(&mut line).is_ok_and(|count| count > 0) {
        if let Some(bytes) = line.strip_prefix("Content-Length: ") {
            length = bytes.trim().parse().expect("a length");
        }
        if line == "\r\n" {
            counted.fetch_add(usize::from(std::mem::take(&mut is_first)), Ordering::Relaxed);
            if !answer(&mut stream, std::mem::take(&mut length)) {
                return;
            }
        }
        line.clear();
    }
}

fn send(stream: &mut Stream, bytes: &[u8]) -> bool {
    stream.get_mut().write_all(bytes).is_ok()
}

/// Announces the end of the connection, and ends it.
fn end(stream: &mut Stream) -> bool {
    tls::close(stream);
    false
}

#[test]
fn encrypted_calls_share_connections_by_ring_and_by_threads() {
    let authority = Authority::new();
    for (backend, version) in [
        (BackendChoice::Auto, &rustls::version::TLS13),
        (BackendChoice::Threads, &rustls::version::TLS12),
    ] {
        let config = authority.server("127.0.0.1", 2100, &[version]);
        let server = Server::start(config, |stream, _| send(stream, PAGE));
        let service = server.reach(&trusting(&authority)).expect("it proves its name");
        let (row, _) = called(&service, Options { backend, ..options() }, 4, 1000);
        is_good(&row, 1000, 5000);
        let connections = server.connections.load(Ordering::Relaxed);
        assert!((1..=4).contains(&connections), "{connections}");
    }
}

#[test]
fn encrypted_body_of_many_records_arrives_whole() {
    let authority = Authority::new();
    let config = authority.server("127.0.0.1", 2100, rustls::ALL_VERSIONS);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&seen);
    let server = Server::start(config, move |stream, length| {
        let mut body = vec![0; length];
        stream.read_exact(&mut body).expect("a body");
        own.lock().expect("no panic").push(length);
        send(stream, PAGE)
    });
    let service = server.reach(&trusting(&authority)).expect("it proves its name");
    let mut instance = callers(&service, 1, 3);
    instance.asks = vec![Some(RequestText::parse("POST add 1048576").expect("a text"))];
    is_good(&finish(instance, options(), 3).0, 3, 15);
    assert_eq!(*seen.lock().expect("no panic"), [1 << 20; 3]);
}

#[test]
fn unproven_server_is_refused_before_the_first_call() {
    let (own, other) = (Authority::new(), Authority::new());
    for (signer, name, until, says) in [
        (&own, "127.0.0.1", 2021, "its certificate has expired"),
        (&own, "web.example", 2100, "its certificate is for other names"),
        (&other, "127.0.0.1", 2100, "no trusted authority signed its certificate"),
    ] {
        let config = signer.server(name, until, rustls::ALL_VERSIONS);
        let server = Server::start(config, |_, _| panic!("a call"));
        let error = server.reach(&trusting(&own)).expect_err(says);
        let source = std::error::Error::source(&error).expect("a reason").to_string();
        assert!(
            error.to_string().contains("https://127.0.0.1:") && source.contains(says),
            "{source}"
        );
        assert!(error.hint().contains("--ca NAME=FILE"), "{}", error.hint());
    }
}

#[test]
fn server_without_tls_or_with_none_ready_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let address = Address::parse(&format!("https://127.0.0.1:{port}/"), "http").expect("one");
    let reach = |within| {
        let login = trusting(&Authority::new());
        let error = Service::reach(address.clone(), login, within).expect_err("no TLS");
        // A certificate would change nothing.
        assert!(error.hint().starts_with("start the service"), "{}", error.hint());
        std::error::Error::source(&error).expect("a reason").to_string()
    };
    // Nobody answers: the connection only waits to be accepted.
    let silent = reach(Duration::from_millis(50));
    assert!(silent.contains("timed out"), "{silent}");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let plain = reach(Duration::from_secs(30));
    assert!(plain.contains("it does not speak TLS"), "{plain}");
}

#[test]
fn certificate_that_turns_bad_fails_calls_with_the_reason() {
    let authority = Authority::new();
    let config = |until| authority.server("127.0.0.1", until, rustls::ALL_VERSIONS);
    let server = Server::start(config(2100), |stream, _| send(stream, PAGE));
    let service = server.reach(&trusting(&authority)).expect("it proves its name");
    server.tls.change(config(2021));
    let (row, outcome) = called(&service, options(), 2, 10);
    all_fail(&row, CallError::Protocol);
    let refused: Vec<_> = outcome.warnings.iter().filter(|own| own.id == "call-invalid").collect();
    let is_reason = |text: &str| text.contains(": its certificate has expired (");
    assert!(matches!(refused[..], [own] if is_reason(&own.text)), "{refused:?}");
}

#[test]
fn answer_until_the_end_counts_only_if_the_end_is_announced() {
    let authority = Authority::new();
    let config = authority.server("127.0.0.1", 2100, rustls::ALL_VERSIONS);
    for is_announced in [true, false] {
        let server = Server::start(Arc::clone(&config), move |stream, _| {
            send(stream, b"HTTP/1.1 200 OK\r\n\r\nhello");
            is_announced && end(stream)
        });
        let service = server.reach(&trusting(&authority)).expect("it proves its name");
        let (row, _) = called(&service, options(), 2, 10);
        match is_announced {
            true => is_good(&row, 10, 50),
            // Anybody on the way can end a connection.
            false => all_fail(&row, CallError::Closed),
        }
    }
}

#[test]
fn encrypted_connection_closed_meanwhile_costs_no_call() {
    let authority = Authority::new();
    let config = authority.server("127.0.0.1", 2100, rustls::ALL_VERSIONS);
    let server = Server::start(config, |stream, _| {
        send(stream, PAGE);
        end(stream)
    });
    let service = server.reach(&trusting(&authority)).expect("it proves its name");
    let (row, _) = called(&service, options(), 2, 100);
    is_good(&row, 100, 500);
    assert!(server.connections.load(Ordering::Relaxed) >= 50);
}
