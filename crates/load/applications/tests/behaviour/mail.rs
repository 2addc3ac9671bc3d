//! A mail server with real Exim and Dovecot. Skipped, with the reason, where one is not installed.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use mail_server::Session;
use rustix::process::{Pid, Signal, kill_process};
use tilemark_applications::{Application, Deliveries, Kind, Need};
use units::Bytes;

use crate::place::{place_for, start};

/// Longest wait of a test.
const PATIENCE: Duration = Duration::from_secs(30);

fn need(name: &str, seed: u64) -> Need {
    Need { name: name.to_owned(), kind: Kind::Mail, size: Bytes::new(1 << 19), sessions: 8, seed }
}

fn port(mail: &Application, protocol: &str) -> u16 {
    let endpoint = mail.endpoint(protocol).expect("an endpoint");
    let port = endpoint.address.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.expect("a port")
}

/// Bytes that a session of the mailbox reads.
fn read(mail: &Application, ask: &str) -> u64 {
    let secret = mail.endpoint("imap").and_then(|own| own.password.clone()).expect("a password");
    let session = Session::imap(port(mail, "imap"), secret.reveal());
    session.expect("connected").call(ask).expect("read")
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::yield_now();
    }
}

/// Control groups and private directories of this process's servers.
fn left() -> Vec<String> {
    // PREFIX, the number of the PID namespace, that of the process, and a name.
    let own = format!("-{}-", std::process::id());
    let is_own = |name: &String| name.starts_with("tilemark-servers-") && name.contains(&own);
    let of = |place: &str| {
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let groups = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpuacct"];
    let groups = groups.into_iter().flat_map(of).filter(is_own);
    let homes = of("/tmp").into_iter().filter(|name| {
        let marker = Path::new("/tmp").join(name).join("owner.json");
        let pid = format!("\"pid\": {},", std::process::id());
        name.starts_with("tilemark-mail-")
            && fs::read_to_string(marker).is_ok_and(|text| text.contains(&pid))
    });
    groups.chain(homes).collect()
}

#[test]
fn two_tiles_take_mail_side_by_side_and_leave_nothing() {
    let Some(place) = place_for(Kind::Mail) else { return };
    let mut all = start(&place.path().join("apps"), "mails").expect("a user");
    let mut ports = Vec::new();
    for (at, name) in ["tile-1", "tile-2"].into_iter().enumerate() {
        let mail = all.running(&need(name, at as u64)).expect("a mail server");
        let cache = need(name, at as u64).size.get() / 10;
        assert_eq!(mail.memory, Bytes::new((256 << 20) + cache));
        ports.extend([port(mail, "smtp"), port(mail, "imap")]);
        let before = read(mail, "u8 read=100");
        let mut sender = Session::smtp(port(mail, "smtp")).expect("connected");
        for _ in 0..10 {
            sender.call("u1 u2,u8 2000").expect("accepted");
        }
        let mut sum = Deliveries::default();
        wait_until("the delivery", || {
            let more = all.deliveries().expect("a log").remove(name).expect("its own");
            sum.accepted += more.accepted;
            sum.delays.extend(more.delays);
            sum.queued = more.queued;
            sum.delays.len() == 20 && sum.queued == 0
        });
        assert_eq!(sum.accepted, 10);
        let mail = all.running(&need(name, at as u64)).expect("it runs");
        assert!(before > 1000, "a copied mailbox has a mail: {before} bytes");
        assert!(read(mail, "u8 read=100") > before + 20_000);
        assert!(mail.cpu_seconds().expect("a group") > 0.01);
    }
    assert_eq!(left().len(), if Path::new("/sys/fs/cgroup/memory").exists() { 5 } else { 3 });
    all.stop();
    for port in ports {
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "{port} still listens");
    }
    assert_eq!(left(), Vec::<String>::new());
}

#[test]
fn killed_mail_server_is_an_error_with_its_name() {
    let Some(place) = place_for(Kind::Mail) else { return };
    let mut all = start(&place.path().join("apps"), "killed").expect("a user");
    all.running(&need("tile-1", 1)).expect("a mail server");
    all.check().expect("it runs");
    let threads = fs::read_dir("/proc/self/task").expect("threads").flatten();
    let children: String =
        threads.map(|own| fs::read_to_string(own.path().join("children")).expect("read")).collect();
    let is_exim = |pid: &&str| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("exim"))
    };
    let exim = children.split_whitespace().find(is_exim).expect("Exim");
    let exim = Pid::from_raw(exim.parse().expect("a number")).expect("a process");
    kill_process(exim, Signal::KILL).expect("it is ours");
    let mut error = None;
    wait_until("the failure", || {
        error = all.check().err();
        error.is_some()
    });
    let text = error.expect("a failure").to_string();
    assert!(text.starts_with("tile-1: exim ended under load (signal: 9"), "{text}");
    assert!(all.running(&need("tile-1", 1)).is_err(), "it was started again in silence");
}
