//! Admission of members, and detection of lost ones.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tilemark_cluster::{ClusterError, Event, Hub, HubOptions, Invitation, Member};
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use zenoh::Wait;

use crate::{DEADLINE, LEASE, hub, joined, name, options, wait_for};

/// Time limit long enough for an admitted member.
const SHORT: Duration = Duration::from_secs(3);

fn refused(invitation: &Invitation) -> ClusterError {
    let nothing = |_| Ok(Vec::new());
    Member::join(invitation, LEASE, SHORT, Box::new(nothing)).expect_err("it is let in")
}

#[test]
fn members_come_and_go_and_are_told() {
    let (hub, events) = hub(&["a", "b"]);
    let a = joined(&hub, "a");
    assert_eq!(events.recv_timeout(DEADLINE), Ok(Event::Joined(name("a"))));
    assert_eq!(hub.wait_for(&[name("a"), name("b")], Duration::ZERO), [name("b")]);
    let _b = joined(&hub, "b");
    assert_eq!(hub.present(), [name("a"), name("b")]);
    drop(a);
    wait_for(&events, |event| *event == Event::Left(name("a")));
    assert_eq!(hub.present(), [name("b")]);
    // It joins again.
    let _a = joined(&hub, "a");
}

/// As at a power cut: its connection stays open without messages.
#[test]
fn silent_member_leaves_after_its_lease_and_can_rejoin() {
    let lease = Duration::from_secs(2);
    let (hub, events) = Hub::open(&HubOptions { lease, ..options(&["a"]) }).expect("a hub");
    let silent = joined(&hub, "a");
    wait_for(&events, |event| *event == Event::Joined(name("a")));
    let since = std::time::Instant::now();
    silent.fall_silent();
    assert!(hub.ask(&name("a"), "quick", b"", SHORT).is_err(), "it hears nothing");
    wait_for(&events, |event| *event == Event::Left(name("a")));
    assert!(since.elapsed() >= lease / 2, "nobody told: {:?}", since.elapsed());
    let _back = joined(&hub, "a");
    hub.ask(&name("a"), "quick", b"", DEADLINE).expect("it is there again");
    drop(silent);
    hub.ask(&name("a"), "quick", b"", DEADLINE).expect("whatever becomes of who it was");
    assert_eq!(hub.present(), [name("a")]);
}

#[test]
fn a_member_notices_that_the_hub_is_gone() {
    let (hub, _events) = hub(&["a"]);
    let member = joined(&hub, "a");
    assert!(!member.is_alone());
    drop(hub);
    let until = Instant::now() + DEADLINE;
    while !member.is_alone() {
        assert!(Instant::now() < until, "it does not notice");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_invitation_of_another_cluster_lets_nobody_in() {
    let (ours, _events) = hub(&["a"]);
    let (theirs, _other_events) = hub(&["a"]);
    let foreign = theirs.invitation(&name("a")).expect("a member");
    let port = ours.invitation(&name("a")).expect("a member").hub()[0].clone();
    // Foreign certificate with this hub's address, put together as JSON.
    let mut parts: serde_json::Value = parts(&foreign);
    parts["hub"] = serde_json::json!([port]);
    let error = refused(&whole(&parts));
    assert!(matches!(error, ClusterError::Network { .. }), "{error}");
    assert_eq!(ours.present(), []);
}

/// The expiry date in an invitation is only text; its certificates expire by themselves.
#[test]
fn expired_certificate_is_refused_despite_invitation_date() {
    let short = HubOptions { valid_for: Duration::from_secs(1), ..options(&["a"]) };
    let (hub, _events) = Hub::open(&short).expect("a hub");
    let mut parts = parts(&hub.invitation(&name("a")).expect("a member"));
    let until = parts["until_unix_s"].as_u64().expect("a time");
    while std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs() <= until {
        std::thread::sleep(Duration::from_millis(20));
    }
    parts["until_unix_s"] = (until + 3600).into();
    let error = refused(&whole(&parts));
    assert!(matches!(error, ClusterError::Network { .. }), "{error}");
    assert_eq!(hub.present(), []);
}

#[test]
fn a_member_cannot_listen_as_the_hub() {
    // The certificate is for a client, so a member that connects detects the false hub.
    let (hub, _events) = hub(&["a", "b"]);
    let a = parts(&hub.invitation(&name("a")).expect("a member"));
    let posing = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = posing.local_addr().expect("it has one");
    std::thread::spawn(move || pose(&a, &posing));
    let mut b = parts(&hub.invitation(&name("b")).expect("a member"));
    b["hub"] = serde_json::json!([address.to_string()]);
    let error = refused(&whole(&b));
    assert!(matches!(error, ClusterError::Network { .. }), "{error}");
}

#[test]
fn a_member_cannot_speak_under_another_name() {
    let (hub, events) = hub(&["a", "b"]);
    let mut parts = parts(&hub.invitation(&name("a")).expect("a member"));
    parts["member"] = "b".into();
    // The certificate is valid, so the connection is admitted; messages under the name b are
    // dropped.
    let nothing = |_| Ok(Vec::new());
    let posing = Member::join(&whole(&parts), LEASE, SHORT, Box::new(nothing));
    if let Ok(posing) = &posing {
        posing.send(b"I am b").expect("it is handed over");
    }
    let _a = joined(&hub, "a");
    assert_eq!(hub.present(), [name("a")]);
    assert_eq!(events.try_iter().collect::<Vec<_>>(), [Event::Joined(name("a"))]);
    let asked = hub.ask(&name("b"), "anything", b"", SHORT);
    assert!(matches!(asked, Err(ClusterError::Gone { .. })), "{asked:?}");
}

/// Thousands of strangers, some of whom send nothing.
#[test]
fn a_flood_of_strangers_gets_nothing_and_keeps_no_member_out() {
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    let (hub, events) = hub(&["a"]);
    let address = hub.invitation(&name("a")).expect("a member").hub()[0].clone();
    let (is_over, attempts) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for stranger in 0..4 {
            let (address, is_over, attempts) = (&address, &is_over, &attempts);
            scope.spawn(move || {
                let mut silent = std::collections::VecDeque::new();
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(mut stream) = std::net::TcpStream::connect(address) else { continue };
                    attempts.fetch_add(1, Ordering::Relaxed);
                    if stranger == 0 {
                        silent.push_back(stream);
                        // Fewer than the places for handshakes; more would wait ten seconds.
                        silent.truncate(32);
                        std::thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                    let _ = stream.write_all(b"\x16\x03\x01\x00\x05hello, let me in");
                    stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a limit");
                    let _ = stream.read(&mut [0; 64]);
                }
            });
        }
        while attempts.load(Ordering::Relaxed) < 1000 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _a = joined(&hub, "a");
        hub.ask(&name("a"), "quick", b"", DEADLINE).expect("an answer meanwhile");
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(events.try_iter().collect::<Vec<_>>(), [Event::Joined(name("a"))]);
    });
}

#[test]
fn names_are_known_and_there_once() {
    let twice = Hub::open(&options(&["a", "a"])).expect_err("twice");
    assert_eq!(twice.to_string(), "a is named twice");
    let (hub, _events) = hub(&["a"]);
    let error = hub.invitation(&name("c")).expect_err("no member");
    assert_eq!(error.to_string(), "c is not a member");
}

/// Message of 100 MB, from a member that ignores the limits.
#[test]
fn oversized_message_is_dropped_and_next_one_arrives() {
    let (hub, events) = hub(&["a"]);
    let parts = parts(&hub.invitation(&name("a")).expect("a member"));
    let (session, _way) = raw(&parts);
    let cluster = parts["cluster"].as_str().expect("a name");
    let token = session.liveliness().declare_token(format!("tilemark/{cluster}/member/a"));
    let _token = token.wait().expect("it is there");
    assert_eq!(hub.wait_for(&[name("a")], DEADLINE), []);
    let put = |bytes: Vec<u8>| {
        let put = session.put(format!("tilemark/{cluster}/sent/a"), bytes);
        put.congestion_control(zenoh::qos::CongestionControl::Block).wait().expect("handed over");
    };
    put(vec![0; 100 << 20]);
    put(vec![0; 17]);
    let heard = wait_for(&events, |event| matches!(event, Event::Sent { .. }));
    assert_eq!(heard, Event::Sent { member: name("a"), bytes: vec![0], missed: 0 });
}

fn pem<T: PemObject>(text: &serde_json::Value) -> T {
    T::from_pem_slice(text.as_str().expect("a text").as_bytes()).expect("PEM")
}

/// Listens with the certificate of a member.
fn pose(parts: &serde_json::Value, listener: &std::net::TcpListener) {
    let (chain, key) = (vec![pem(&parts["own"]["certificate"])], pem(&parts["own"]["key"]));
    let config = rustls::ServerConfig::builder().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(chain, key).expect("a pair"));
    while let Ok((mut stream, _)) = listener.accept() {
        let mut shaken = rustls::ServerConnection::new(Arc::clone(&config)).expect("a connection");
        let _ = shaken.complete_io(&mut stream);
    }
}

/// Session with the certificate of an invitation that ignores all rules, and its connection to the
/// hub.
fn raw(
    parts: &serde_json::Value,
) -> (zenoh::Session, (tokio::runtime::Runtime, tempfile::TempDir)) {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(pem(&parts["authority"])).expect("a certificate");
    let (chain, key) = (vec![pem(&parts["own"]["certificate"])], pem(&parts["own"]["key"]));
    let config = rustls::ClientConfig::builder().with_root_certificates(roots);
    let config = config.with_client_auth_cert(chain, key).expect("a pair");
    let address = parts["hub"][0].as_str().expect("an address").to_owned();
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("z");
    let mut way = tokio::runtime::Builder::new_multi_thread();
    let way = way.worker_threads(1).enable_all().build().expect("a thread");
    let entered = way.enter();
    let near = tokio::net::UnixListener::bind(&socket).expect("a socket");
    drop(entered);
    way.spawn(async move {
        let far = tokio::net::TcpStream::connect(address).await.expect("it listens");
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let name = rustls::pki_types::ServerName::try_from("127.0.0.1").expect("an address");
        let mut far = connector.connect(name, far).await.expect("it lets in");
        let (mut near, _) = near.accept().await.expect("a connection");
        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
    });
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", serde_json::json!("client")),
        ("scouting/multicast/enabled", serde_json::json!(false)),
        ("connect/endpoints", serde_json::json!([format!("unixsock-stream/{}", socket.display())])),
        ("transport/auth/usrpwd/user", parts["member"].clone()),
        ("transport/auth/usrpwd/password", parts["password"].clone()),
    ] {
        config.insert_json5(key, &value.to_string()).expect("a setting");
    }
    (zenoh::open(config).wait().expect("a session"), (way, directory))
}

/// Content of an invitation.
fn parts(invitation: &Invitation) -> serde_json::Value {
    serde_json::to_value(invitation).expect("JSON")
}

fn whole(parts: &serde_json::Value) -> Invitation {
    serde_json::from_value(parts.clone()).expect("an invitation")
}

/// Member in a separate process that can be stopped and killed: this test binary, started as a
/// member.
fn process(hub: &Hub, member: &str) -> std::process::Child {
    let token = hub.invitation(&name(member)).expect("a member").token();
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "joining::is_a_member_if_told_so", "--nocapture"]);
    command.env("CLUSTER_TEST_TOKEN", token).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("it starts");
    assert_eq!(hub.wait_for(&[name(member)], DEADLINE), []);
    child
}

#[test]
fn is_a_member_if_told_so() {
    let Ok(token) = std::env::var("CLUSTER_TEST_TOKEN") else { return };
    let member = crate::join(&token.parse().expect("a token"));
    while !member.is_alone() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_killed_member_is_missed_although_its_lease_is_long() {
    let lease = DEADLINE * 10;
    let (hub, events) =
        Hub::open(&tilemark_cluster::HubOptions { lease, ..options(&["a"]) }).expect("a hub");
    let mut child = process(&hub, "a");
    child.kill().expect("it is there");
    wait_for(&events, |event| *event == Event::Left(name("a")));
    child.wait().expect("it ended");
}

#[test]
fn a_stopped_member_is_missed_after_its_lease() {
    let (hub, events) = hub(&["a"]);
    let mut child = process(&hub, "a");
    let signal = |signal| {
        let id = i32::try_from(child.id()).expect("an id");
        let id = rustix::process::Pid::from_raw(id).expect("not 0");
        rustix::process::kill_process(id, signal).expect("it is there");
    };
    signal(rustix::process::Signal::STOP);
    wait_for(&events, |event| *event == Event::Left(name("a")));
    signal(rustix::process::Signal::CONT);
    child.kill().expect("it is there");
    child.wait().expect("it ended");
}

#[test]
fn is_a_hub_if_told_so() {
    if std::env::var("CLUSTER_TEST_HUB").is_err() {
        return;
    }
    let (_hub, events) = hub(&["a"]);
    let _ = events.recv();
}

/// Hub in a separate process, with its directory, after the directory exists. Its temporary files
/// are here.
fn hub_process(temporary: &std::path::Path) -> (std::process::Child, std::path::PathBuf) {
    let before = directories(temporary);
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "joining::is_a_hub_if_told_so", "--nocapture"]);
    command.env("CLUSTER_TEST_HUB", "1").env("TMPDIR", temporary);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    (child, listening_beside(&before, temporary))
}

/// Directory of a listening hub that is not among the known ones; the hub has then removed
/// leftovers.
fn listening_beside(known: &[std::path::PathBuf], place: &std::path::Path) -> std::path::PathBuf {
    let until = Instant::now() + DEADLINE;
    loop {
        let made = directories(place).into_iter().find(|path| !known.contains(path));
        if let Some(made) = made.filter(|path| path.join("z").exists()) {
            return made;
        }
        assert!(Instant::now() < until, "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn directories(place: &std::path::Path) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(place).expect("it is there");
    all.map(|entry| entry.expect("an entry").path()).collect()
}

/// After `kill -9` of a hub its private directory once stayed for ever.
#[test]
fn what_a_killed_hub_left_is_removed_by_the_next_one() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (mut killed, left) = hub_process(temporary.path());
    let (mut other, live) = hub_process(temporary.path());
    assert!(left.exists(), "its hub lives");
    killed.kill().expect("it is there");
    killed.wait().expect("it ended");
    assert!(left.exists(), "nobody was there to remove it");
    let (mut next, own) = hub_process(temporary.path());
    let mut there = directories(temporary.path());
    there.sort();
    let mut wanted = [live, own];
    wanted.sort();
    assert_eq!(there, wanted);
    for hub in [&mut other, &mut next] {
        hub.kill().expect("it is there");
        hub.wait().expect("it ended");
    }
}
