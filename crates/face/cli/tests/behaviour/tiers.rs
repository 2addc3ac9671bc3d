//! A served tier as a whole program: its commands, and its state after kill -9.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;

use nbd::Operation;
use rustix::process::Signal;

use crate::machine::{IN, Machine, OUT};
use crate::nbd_client::Client;
use crate::rig::{Running, Workspace, err, out};
use crate::serving::{get as page_of, port_of};

const BYTES: u64 = 16 << 20;

pub struct Tiered {
    pub place: Workspace,
}

impl Tiered {
    pub fn new() -> Self {
        let place = Workspace::new();
        std::fs::write(place.path("vm1.raw"), vec![0; usize::try_from(BYTES).expect("small")])
            .expect("room");
        let tiered = Self { place };
        let made =
            tiered.tier(&["init", "fast", "--size", "48MiB", "--chunk", "1MiB", "--log", "40"]);
        assert_eq!(made.status.code(), Some(0), "{}", err(&made));
        assert!(err(&made).contains("for pages of 64 KiB"), "{}", err(&made));
        tiered
    }

    pub fn tier(&self, words: &[&str]) -> Output {
        self.place.output(&[&["tier"], words].concat())
    }

    fn serve(&self, mode: &str) -> Running {
        self.serve_with(mode, &[])
    }

    pub fn serve_with(&self, mode: &str, more: &[&str]) -> Running {
        let words =
            ["tier", "serve", "fast", "--disk", "vm1=vm1.raw", "--socket", "s", "--mode", mode];
        let mut running = Running::new(self.place.command(&[&words, more].concat()));
        running.wait_for("serving nbd+unix:///vm1");
        running
    }

    /// Serves the tier with a vhost-user socket for a VM.
    fn serve_machine(&self, mode: &str) -> Running {
        let serve = ["tier", "serve", "fast", "--disk", "vm1=vm1.raw", "--socket", "s"];
        let words = [&serve[..], &["--vhost", "vm1=v", "--mode", mode]].concat();
        let mut running = Running::new(self.place.command(&words));
        running.wait_for("over vhost-user");
        running
    }

    pub fn client(&self) -> Client {
        Client::open(&block_server::ListenAddress::Unix(self.place.path("s")), "vm1")
            .expect("it is served")
    }
}

/// Writes blocks one after the other until the server is gone. `known` has the acknowledged content
/// by block; the last block may have either.
fn write_until_it_dies(
    mut client: Client,
    known: &mut [u64],
    count: &mut u64,
) -> Option<(usize, u64)> {
    loop {
        *count += 1;
        let block = usize::try_from(count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)
            .expect("small")
            % known.len();
        let data = count.to_le_bytes().repeat(512);
        let operation = Operation::Write { fua: count.is_multiple_of(7) };
        let Ok(cookie) = client.ask(operation, block as u64 * 4096, 4096, &data) else {
            return Some((block, *count));
        };
        match client.wait(cookie) {
            Ok(answer) => answer.expect("a write is taken"),
            Err(_) => return Some((block, *count)),
        };
        known[block] = *count;
    }
}

#[test]
fn repeatedly_killed_server_loses_no_answered_write() {
    let tiered = Tiered::new();
    let mut known = vec![0; usize::try_from(BYTES / 4096).expect("small")];
    let mut count = 0;
    for round in 0..8 {
        let mode = if round % 3 == 2 { "through" } else { "back" };
        // Some rounds use a memory tier, which holds a part of the disk.
        let memory = ["--memory", if round % 2 == 0 { "2MiB" } else { "0" }];
        let server = tiered.serve_with(mode, &memory);
        let client = tiered.client();
        let unsure = std::thread::scope(|scope| {
            let known = &mut known;
            let count = &mut count;
            let (tell, told) = std::sync::mpsc::channel();
            let writer = scope.spawn(move || {
                let unsure = write_until_it_dies(client, known, count);
                let _ = tell.send(());
                unsure
            });
            // Some hundred writes; the moment of the kill is arbitrary.
            let _ = told.recv_timeout(std::time::Duration::from_millis(150 + 70 * round));
            server.signal(Signal::KILL);
            writer.join().expect("no panic")
        });
        assert_eq!(server.end().code, None, "a signal ended it");
        let server = tiered.serve_with(mode, &memory);
        let mut client = tiered.client();
        for (block, expected) in known.iter_mut().enumerate() {
            let data = client.read(block as u64 * 4096, 4096).expect("bytes come");
            let found = u64::from_le_bytes(data[..8].try_into().expect("eight"));
            assert!(
                data.chunks(8).all(|word| word == found.to_le_bytes()),
                "block {block} is of one write"
            );
            let is_last = unsure == Some((block, found));
            assert!(
                found == *expected || is_last,
                "round {round}, block {block}: {found}, and {expected} was answered"
            );
            *expected = found;
        }
        drop(client);
        server.signal(Signal::TERM);
        assert_eq!(server.end().code, Some(0), "it ends in order");
    }
    assert!(count > 500, "{count} writes");
}

/// Writes of a VM, several of them in flight, each with its own number.
struct Writer {
    machine: Machine,
    /// Acknowledged content by block; the next field has the writes in flight.
    known: Vec<u64>,
    in_flight: BTreeMap<u16, (usize, u64)>,
    count: u64,
}

impl Writer {
    /// Writes until so many more are acknowledged; some requests stay in flight.
    fn write(&mut self, answers: usize) {
        for _ in 0..answers {
            while self.machine.has_room() {
                self.ask();
            }
            self.hear();
        }
    }

    fn ask(&mut self) {
        self.count += 1;
        let mixed = self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let block = usize::try_from(mixed).expect("small") % self.known.len();
        if self.in_flight.values().any(|(other, _)| *other == block) {
            return;
        }
        let data = self.count.to_le_bytes().repeat(512);
        let slot = self.machine.ask(OUT, block as u64 * 8, 4096, &data);
        self.in_flight.insert(slot, (block, self.count));
    }

    fn hear(&mut self) {
        let answer = self.machine.wait();
        assert_eq!(answer.status, 0, "a write is taken");
        let (block, count) = self.in_flight.remove(&answer.slot).expect("it was asked");
        self.known[block] = count;
    }
}

#[test]
fn vm_of_repeatedly_killed_server_gets_every_request_answered() {
    let tiered = Tiered::new();
    let mut writer = Writer {
        machine: Machine::new(true),
        known: vec![0; usize::try_from(BYTES / 4096).expect("small")],
        in_flight: BTreeMap::new(),
        count: 0,
    };
    let socket = tiered.place.path("v");
    let mut server = tiered.serve_machine("back");
    for mode in ["back", "through", "back", "back", "through", "back"] {
        writer.machine.connect(&socket).expect("it is served");
        writer.write(150);
        // Killed with requests in flight.
        server.signal(Signal::KILL);
        assert_eq!(server.end().code, None, "a signal ended it");
        server = tiered.serve_machine(mode);
    }
    writer.machine.connect(&socket).expect("it is served");
    let open = writer.in_flight.len();
    assert!(open > 0, "some were in flight when it was killed last");
    // Without a new request: those in flight are completed by themselves.
    for _ in 0..open {
        writer.hear();
    }
    for (block, expected) in writer.known.iter().enumerate() {
        let data = writer.machine.call(IN, block as u64 * 8, 4096, &[]).data;
        assert!(
            data == expected.to_le_bytes().repeat(512),
            "block {block} is not what was answered"
        );
    }
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0), "it ends in order");
}

#[test]
fn a_tier_is_served_to_other_hosts_only_with_certificates() {
    let tiered = Tiered::new();
    let words = |more: &[&'static str]| {
        let serve = ["serve", "fast", "--disk", "vm1=vm1.raw", "--socket", "s", "--listen"];
        tiered.tier(&[&serve[..], more].concat())
    };
    let clear = words(&["0.0.0.0:0"]);
    assert_eq!(clear.status.code(), Some(3), "{}", err(&clear));
    assert!(
        err(&clear).contains("without TLS") && err(&clear).contains("hint: "),
        "{}",
        err(&clear)
    );
    std::fs::create_dir(tiered.place.path("tls")).expect("a directory");
    let tls = ["--tls", "tls"];
    let missing = words(&[&["0.0.0.0:0"][..], &tls].concat());
    assert!(
        missing.status.code() == Some(3) && err(&missing).contains("ca.pem"),
        "{}",
        err(&missing)
    );
    for name in ["tls/ca.pem", "tls/cert.pem", "tls/key.pem"] {
        tiered.place.write(name, "no certificate");
    }
    let wrong = words(&[&["0.0.0.0:0"][..], &tls].concat());
    assert!(
        wrong.status.code() == Some(3) && err(&wrong).contains("certificates cannot be used"),
        "{}",
        err(&wrong)
    );
    let mut server = Running::new(tiered.place.command(&[
        "tier",
        "serve",
        "fast",
        "--disk",
        "vm1=vm1.raw",
        "--socket",
        "s",
        "--listen",
        "127.0.0.1:0",
    ]));
    server.wait_for("serving nbd://127.0.0.1:");
    let said = server.seen_last();
    let address = said.rsplit_once("nbd://").expect("an address").1.trim_end_matches("/vm1");
    let place = block_server::ListenAddress::Tcp(
        address.trim().trim_end_matches("/vm1").parse().expect("an address"),
    );
    let mut client = Client::open(&place, "vm1").expect("it is served");
    client.write(0, &[4; 4096]).expect("bytes are taken");
    drop(client);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

fn words_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn commands_say_how_it_is_and_change_it() {
    let tiered = Tiered::new();
    let server = tiered.serve("back");
    let mut client = tiered.client();
    client.write(0, &[5; 8192]).expect("bytes are taken");
    let status = words_of(&out(&tiered.tier(&["status", "s"])));
    assert!(status.contains("vm1 back 8 KiB 1 dirty"), "{status}");
    let json = out(&tiered.tier(&["status", "s", "--format", "json"]));
    assert!(json.contains("\"dirty_bytes\": 8192"), "{json}");
    let held = tiered.tier(&["check", "fast"]);
    assert_eq!(held.status.code(), Some(3), "{}", out(&held));
    for words in
        [&["drain", "s", "vm1"][..], &["set", "s", "vm1", "--mode", "through", "--populate", "off"]]
    {
        let done = tiered.tier(words);
        assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    }
    let status = words_of(&out(&tiered.tier(&["status", "s"])));
    assert!(status.contains("vm1 through 0 B 0 clean"), "{status}");
    let unknown = tiered.tier(&["drain", "s", "vm2"]);
    assert!(err(&unknown).contains("no disk \"vm2\"; the disks are vm1"), "{}", err(&unknown));
    drop(client);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
    let checked = out(&tiered.tier(&["check", "fast"]));
    assert!(checked.contains("closed cleanly") && checked.contains("vm1"), "{checked}");
    let alone = std::fs::read(tiered.place.path("vm1.raw")).expect("the file");
    assert!(alone[..8192] == [5; 8192], "the backing file has it");
}

#[test]
fn what_cannot_be_done_is_refused_in_words_and_nothing_is_made() {
    let tiered = Tiered::new();
    let code_of = |words: &[&str]| {
        let output = tiered.tier(words);
        (output.status.code(), err(&output))
    };
    let (code, said) = code_of(&["init", "fast", "--size", "1GiB"]);
    assert!(
        code == Some(3) && said.contains("exists already") && said.contains("hint: "),
        "{said}"
    );
    let (code, said) = code_of(&["init", "small", "--size", "1MiB"]);
    assert!(
        code == Some(3) && said.contains("too small") && !tiered.place.path("small").exists(),
        "{said}"
    );
    let (code, said) = code_of(&["serve", "vm1.raw", "--disk", "vm1=vm1.raw", "--socket", "s"]);
    assert!(code == Some(3), "{said}");
    let (code, said) = code_of(&["serve", "fast", "--disk", "vm1", "--socket", "s"]);
    assert!(code == Some(2) && said.contains("NAME=FILE"), "{said}");
    let (code, said) = code_of(&["status", "nowhere"]);
    assert!(
        code == Some(1) && said.contains("nowhere.control") && said.contains("hint: "),
        "{said}"
    );
}

/// Sends a request over HTTP, as Prometheus does.
fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn tier_metrics_are_served_on_loopback_only() {
    let tiered = Tiered::new();
    let words = ["tier", "serve", "fast", "--disk", "vm1=vm1.raw", "--socket", "s"];
    let elsewhere = tiered.place.output(&[&words[..], &["--metrics", "0.0.0.0:0"]].concat());
    assert_eq!(elsewhere.status.code(), Some(3), "{}", err(&elsewhere));
    assert!(err(&elsewhere).contains("this host only"), "{}", err(&elsewhere));
    let mut server = Running::new(
        tiered
            .place
            .command(&[&words[..], &["--mode", "back", "--metrics", "127.0.0.1:0"]].concat()),
    );
    server.wait_for("metrics at http://");
    let line = server.seen_last();
    let address = line.split("http://").nth(1).and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.expect("an address").to_owned();
    server.wait_for("serving nbd+unix:///vm1");
    let mut client = tiered.client();
    client.write(0, &[5; 8192]).expect("bytes are taken");
    client.read(1 << 20, 4096).expect("bytes come");
    let text = get(&address, "/metrics");
    assert!(text.starts_with("HTTP/1.1 200 OK") && text.ends_with("# EOF\n"), "{text}");
    for line in [
        "tilemark_tier_requests_total{op=\"write\",result=\"log\"} 1",
        "tilemark_tier_requests_total{op=\"read\",result=\"miss\"} 1",
        "tilemark_tier_request_seconds_count{op=\"read\"} 1",
        "tilemark_tier_backing_seconds_count{op=\"read\"} 1",
        "tilemark_tier_dirty_bytes{disk=\"vm1\"} 8192",
        "tilemark_tier_dirty_age_seconds{disk=\"vm1\"} 0.",
        "tilemark_tier_throttle_seconds_total{disk=\"vm1\"} 0.000",
        "tilemark_tier_generation{disk=\"vm1\"} 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(get(&address, "/").starts_with("HTTP/1.1 404"));
    drop(client);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn share_admission_policy_and_pause_change_while_serving() {
    let tiered = Tiered::new();
    let server = tiered.serve("through");
    let changes = [
        "--share",
        "25",
        "--admission",
        "3",
        "--policy",
        "s3fifo",
        "--populate",
        "off",
        "--for",
        "2h",
    ];
    let done = tiered.tier(&[&["set", "s", "vm1"][..], &changes].concat());
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    assert!(
        err(&done).contains("at most 25 %") && err(&done).contains("stay out for 2h"),
        "{}",
        err(&done)
    );
    let json = out(&tiered.tier(&["status", "s", "--format", "json"]));
    for said in ["\"share_percent\": 25", "\"policy\": \"s3fifo\"", "\"populates\": false"] {
        assert!(json.contains(said), "{said} is not in {json}");
    }
    let mut client = tiered.client();
    // No page is admitted at first, and then on its third access.
    let held = |tiered: &Tiered| {
        let json = out(&tiered.tier(&["status", "s", "--format", "json"]));
        !json.contains("\"held_bytes\": 0,")
    };
    (0..4).for_each(|_| drop(client.read(0, 65_536).expect("bytes come")));
    assert!(!held(&tiered), "population is off");
    let on = tiered.tier(&["set", "s", "vm1", "--populate", "on"]);
    assert_eq!(on.status.code(), Some(0), "{}", err(&on));
    for _ in 0..2 {
        client.read(1 << 20, 65_536).expect("bytes come");
    }
    assert!(!held(&tiered), "it was asked for twice");
    client.read(1 << 20, 65_536).expect("bytes come");
    // The read is answered before its page is written.
    assert!((0..100).any(|_| held(&tiered)), "and for a third time");
    let nothing = tiered.tier(&["set", "s", "vm1"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", err(&nothing));
    drop(client);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

/// `vm1` gets a policy of its own and returns to the common one; an impossible request is refused
/// with the possible ones.
#[test]
fn disk_takes_own_policy_and_returns_to_common_one() {
    let tiered = Tiered::new();
    let server = tiered.serve("through");
    let mut client = tiered.client();
    let mut read = || {
        (0..16).for_each(|at| drop(client.read(at << 16, 65_536).expect("bytes come")));
    };
    let json = |tiered: &Tiered| -> serde_json::Value {
        let json = out(&tiered.tier(&["status", "s", "--format", "json"]));
        serde_json::from_str(&json).expect("it is JSON")
    };
    let set = |words: &[&str]| {
        let done = tiered.tier(&[&["set", "s"], words].concat());
        (done.status.code(), err(&done))
    };
    let refusals: [(&[&str], i32, &[&str]); 7] = [
        (&["vm1", "--policy", "s3-fifo"], 2, &["did you mean \"s3fifo\"?"]),
        (&["vm2", "--policy", "arc"], 1, &["no disk \"vm2\"; the disks are vm1"]),
        (&["vm1", "--policy", "arc"], 1, &["100 % of vm1", "hint: ", "--share 30"]),
        (&["--policy", "common"], 1, &["name the disk"]),
        (&["--share", "30"], 2, &["DISK"]),
        (&["--policy", "arc", "--populate", "off"], 2, &["DISK"]),
        (&["vm1"], 2, &["--policy"]),
    ];
    for (words, code, said) in refusals {
        let (ended, error) = set(words);
        assert_eq!(ended, Some(code), "{words:?}: {error}");
        said.iter().for_each(|said| assert!(error.contains(said), "{words:?}: {error}"));
    }
    assert!(json(&tiered)["disks"][0]["policy"].is_null());

    // A read is answered before its page is written.
    let held = serde_json::Value::from(1 << 20);
    assert!((0..100).any(|_| {
        read();
        json(&tiered)["held_bytes"] == held
    }));
    assert_eq!(set(&["vm1", "--share", "60", "--policy", "w-tinylfu"]).0, Some(0));
    assert_eq!(set(&["--policy", "sieve"]).0, Some(0));
    let now = json(&tiered);
    assert_eq!(
        (&now["policy"], &now["disks"][0]["policy"]),
        (&"sieve".into(), &"w-tinylfu".into())
    );
    assert_eq!(now["held_bytes"], held, "every page is still there");
    let text = out(&tiered.tier(&["status", "s"]));
    assert!(text.contains("w-tinylfu, its own"), "{text}");
    let (refused, error) = set(&["vm1", "--share", "100"]);
    assert!(refused == Some(1) && error.contains("hint: "), "{error}");
    assert_eq!(set(&["vm1", "--policy", "common", "--share", "100"]).0, Some(0));
    let now = json(&tiered);
    assert!(now["disks"][0]["policy"].is_null() && now["held_bytes"] == held, "{now}");
    let (misses, hits) = (now["misses"].as_u64(), now["hits"].as_u64());
    read();
    let now = json(&tiered);
    assert_eq!(now["misses"].as_u64(), misses, "what was in is in");
    assert!(now["hits"].as_u64() > hits);
    drop(client);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn hours_of_suspension_begin_with_the_server_if_it_is_then() {
    let tiered = Tiered::new();
    // Two halves of a day, so that any time lies in one of them.
    let hours = ["--suspend", "00:00-12:00", "--suspend", "12:00-00:00"];
    let mut server = tiered.serve_with("through", &hours);
    server.wait_for("new pages stay out for some hours");
    let json = out(&tiered.tier(&["status", "s", "--format", "json"]));
    assert!(json.contains("\"populates\": false"), "{json}");
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
    let wrong = tiered.tier(&[
        "serve",
        "fast",
        "--disk",
        "vm1=vm1.raw",
        "--socket",
        "s",
        "--suspend",
        "25:00-1:00",
    ]);
    assert!(
        wrong.status.code() == Some(2) && err(&wrong).contains("22:00-02:00"),
        "{}",
        err(&wrong)
    );
}

#[test]
fn libvirt_hook_refuses_backing_file_with_writes_in_a_tier() {
    let tiered = Tiered::new();
    let hook = |tiered: &Tiered| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/libvirt/qemu");
        let mut child = std::process::Command::new(script)
            .args(["vm1", "prepare", "begin", "-"])
            .stdin(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let path = tiered.place.path("vm1.raw");
        let xml =
            format!("<domain>\n<disk><source file='{}'/></disk>\n</domain>\n", path.display());
        // A hook that permits everything does not read its input.
        let _ = child.stdin.take().expect("a pipe").write_all(xml.as_bytes());
        child.wait_with_output().expect("it ends")
    };
    assert_eq!(hook(&tiered).status.code(), Some(0), "it was never tiered");
    let server = tiered.serve("back");
    let mut client = tiered.client();
    client.write(0, &[5; 4096]).expect("bytes are taken");
    client.flush().expect("it is durable");
    drop(client);
    let refused = hook(&tiered);
    assert!(
        refused.status.code() == Some(1) && err(&refused).contains("vm1: "),
        "{}",
        err(&refused)
    );
    for words in [&["drain", "s", "vm1"][..], &["set", "s", "vm1", "--mode", "through"]] {
        assert_eq!(tiered.tier(words).status.code(), Some(0));
    }
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
    assert_eq!(hook(&tiered).status.code(), Some(0), "{}", err(&hook(&tiered)));
}

/// The page and `tier status` once gave different numbers by the same names.
#[test]
fn the_page_of_a_tier_and_its_status_tell_the_same_numbers() {
    let tiered = Tiered::new();
    std::fs::copy(tiered.place.path("vm1.raw"), tiered.place.path("vm2.raw")).expect("room");
    let more = ["--disk", "vm2=vm2.raw", "--mode", "back", "--page", "127.0.0.1:0"];
    let words = ["tier", "serve", "fast", "--disk", "vm1=vm1.raw", "--socket", "s"];
    let mut server = Running::new(tiered.place.command(&[&words[..], &more].concat()));
    server.wait_for("page at http://127.0.0.1:");
    let address = server.seen_last();
    let port = port_of(&address);
    let id = address.split("/run/").nth(1).and_then(|rest| rest.strip_suffix("/tier"));
    let id = id.expect("the page of what is served").to_owned();
    server.wait_for("serving nbd+unix:///vm2");
    // Two disks of 16 MiB each do not fit: pages are evicted.
    for disk in ["vm1", "vm2"] {
        let at = block_server::ListenAddress::Unix(tiered.place.path("s"));
        let mut client = Client::open(&at, disk).expect("it is served");
        client.write(0, &[5; 8192]).expect("bytes are taken");
        for round in [0, 0, 1] {
            for part in round..32 {
                client.read(part << 19, 1 << 19).expect("bytes come");
            }
        }
        let drained = tiered.tier(&["drain", "s", disk]);
        assert_eq!(drained.status.code(), Some(0), "{}", err(&drained));
    }
    let json = out(&tiered.tier(&["status", "s", "--format", "json"]));
    let status: serde_json::Value = serde_json::from_str(&json).expect("a document");
    let number = |value: &serde_json::Value| value.as_u64().unwrap_or_else(|| panic!("{value}"));
    let told = |disk: &serde_json::Value| {
        let of = |key: &str| number(&disk[key]);
        let evicted = of("evicted") * number(&status["page_size_bytes"]);
        let reads = of("hits") + of("partial") + of("misses");
        [reads, of("hits"), of("writes"), of("destaged_bytes"), evicted, of("page_bytes")]
    };
    let disks: Vec<[u64; 6]> =
        status["disks"].as_array().expect("disks").iter().map(told).collect();
    assert!(disks.iter().any(|disk| disk[4] > 0), "nothing was evicted: {json}");
    let view = format!("/api/v1/runs/{id}/tier?points=300");
    loop {
        let (code, text) = page_of(port, &view);
        assert_eq!(code, 200, "{text}");
        let body = text.split("\r\n\r\n").nth(1).expect("a body");
        let page: serde_json::Value = serde_json::from_str(body).expect("a document");
        let shown = |tier: &serde_json::Value| {
            let all = |key: &str| tier[key].as_array().expect("a course").iter().map(number);
            let sum = |key: &str| all(key).sum::<u64>();
            let held = all("resident_bytes").next_back().expect("a point");
            let (reads, hits, writes) = (sum("reads"), sum("read_hits"), sum("writes"));
            [reads, hits, writes, sum("destaged_bytes"), sum("evicted_bytes"), held]
        };
        let tiers: Vec<[u64; 6]> =
            page["tiers"].as_array().expect("tiers").iter().map(shown).collect();
        // A slice reaches the page when it is complete, so the page may lag.
        let is_all = tiers.len() == disks.len()
            && tiers
                .iter()
                .zip(&disks)
                .all(|(tier, disk)| tier[0] >= disk[0] && tier[4] >= disk[4]);
        if is_all {
            assert_eq!(tiers, disks, "page and status");
            break;
        }
        std::thread::yield_now();
    }
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn the_page_of_a_served_tier_shows_by_disk_what_it_did() {
    let tiered = Tiered::new();
    std::fs::copy(tiered.place.path("vm1.raw"), tiered.place.path("vm2.raw")).expect("room");
    let more = ["--disk", "vm2=vm2.raw", "--mode", "back", "--page", "127.0.0.1:0"];
    let words = ["tier", "serve", "fast", "--disk", "vm1=vm1.raw", "--socket", "s"];
    let mut server = Running::new(tiered.place.command(&[&words[..], &more].concat()));
    server.wait_for("page at http://127.0.0.1:");
    let address = server.seen_last();
    let port = port_of(&address);
    let id = address.split("/run/").nth(1).and_then(|rest| rest.strip_suffix("/tier"));
    let id = id.expect("the page of what is served").to_owned();
    server.wait_for("serving nbd+unix:///vm2");
    let mut client = tiered.client();
    client.write(0, &[5; 8192]).expect("bytes are taken");
    for _ in 0..30 {
        client.read(0, 4096).expect("bytes come");
    }
    client.read(1 << 20, 4096).expect("bytes come");
    let view = format!("/api/v1/runs/{id}/tier?points=300");
    let found = loop {
        let (status, text) = page_of(port, &view);
        assert_eq!(status, 200, "{text}");
        let body = text.split("\r\n\r\n").nth(1).expect("a body");
        let page: serde_json::Value = serde_json::from_str(body).expect("a document");
        let sum = |tier: &serde_json::Value, key: &str| -> u64 {
            let values = tier[key].as_array().into_iter().flatten();
            values.filter_map(serde_json::Value::as_u64).sum()
        };
        let tiers = page["tiers"].as_array().expect("tiers").clone();
        if let Some(vm1) =
            tiers.iter().find(|tier| tier["name"] == "vm1" && sum(tier, "reads") == 31)
        {
            let names: Vec<_> = tiers.iter().map(|tier| tier["name"].clone()).collect();
            assert_eq!(names, ["vm1", "vm2"]);
            let vm2 = tiers.iter().map(|tier| sum(tier, "reads")).sum::<u64>() - 31;
            break (
                sum(vm1, "read_hits"),
                sum(vm1, "writes_absorbed"),
                vm2,
                page["heroes"].clone(),
            );
        }
        std::thread::yield_now();
    };
    assert_eq!((found.0, found.1, found.2), (30, 1, 0), "{}", found.3);
    let list = page_of(port, "/api/v1/runs").1;
    assert!(list.contains(&id) && list.contains("\"tier\""), "{list}");
    drop(client);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

/// Loop device over a file of a place, removed at the end.
struct Loop(String);

impl Loop {
    fn new(place: &Workspace, name: &str, begin: &[u8]) -> Option<Self> {
        let file = place.path(name);
        std::fs::write(&file, begin).expect("room");
        std::fs::File::options()
            .write(true)
            .open(&file)
            .and_then(|file| file.set_len(64 << 20))
            .expect("room");
        let made = std::process::Command::new("losetup").args(["-f", "--show"]).arg(&file).output();
        match made {
            Ok(made) if made.status.success() => Some(Self(out(&made).trim().to_owned())),
            Ok(made) => {
                eprintln!("skipped: losetup: {}", err(&made));
                None
            }
            Err(error) => {
                eprintln!("skipped: losetup: {error}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn tier_on_a_device_needs_its_identity_and_survives_kill_9() {
    let tiered = Tiered::new();
    let place = &tiered.place;
    let Some(device) = Loop::new(place, "disk.img", &[]) else { return };
    let path = device.0.as_str();
    let image = place.path("disk.img");
    let identity = format!("--destroy-data={}", image.display());
    let is_empty = || {
        let bytes = std::fs::read(&image).expect("the image");
        bytes.iter().all(|byte| *byte == 0)
    };
    for (more, words) in [
        (&[][..], "--destroy-data"),
        (&["--destroy-data=loop0"], "--destroy-data"),
        (&["--destroy-data=/somewhere/else"], "--destroy-data"),
    ] {
        let refused = tiered.tier(&[&["init", path][..], more].concat());
        assert_eq!(refused.status.code(), Some(3), "{more:?}: {}", err(&refused));
        assert!(err(&refused).contains(words), "{}", err(&refused));
        assert!(is_empty(), "{more:?}: nothing was written");
    }
    let made = tiered.tier(&["init", path, "--chunk", "1MiB", "--log", "40", &identity]);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let words = ["tier", "serve", path, "--disk", "vm1=vm1.raw", "--socket", "s", "--mode", "back"];
    let mut server = Running::new(place.command(&words));
    server.wait_for("serving nbd+unix:///vm1");
    let mut client = tiered.client();
    client.write(4096, &[7; 8192]).expect("bytes are taken");
    let again = tiered.tier(&["init", path, &identity]);
    assert_eq!(again.status.code(), Some(3), "one that is served: {}", err(&again));
    server.signal(Signal::KILL);
    assert_eq!(server.end().code, None, "a signal ended it");
    let mut server = Running::new(place.command(&words));
    server.wait_for("serving nbd+unix:///vm1");
    let mut client = tiered.client();
    assert!(client.read(4096, 8192).expect("bytes come") == [7; 8192], "it has what was answered");
    drop(client);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
    let again = tiered.tier(&["init", path, &identity]);
    assert_eq!(again.status.code(), Some(3), "one with a tier: {}", err(&again));
    assert!(err(&again).contains("a tier's cache"), "{}", err(&again));
    let checked = tiered.tier(&["check", path]);
    assert!(out(&checked).contains("vm1"), "it is as it was: {}", err(&checked));
}

#[test]
fn a_device_with_a_file_system_gets_no_tier_whatever_is_said() {
    let tiered = Tiered::new();
    let Some(device) = Loop::new(&tiered.place, "xfs.img", b"XFSB") else { return };
    let image = tiered.place.path("xfs.img");
    let before = std::fs::read(&image).expect("the image");
    let identity = format!("--destroy-data={}", image.display());
    let refused = tiered.tier(&["init", &device.0, &identity]);
    assert_eq!(refused.status.code(), Some(3), "{}", err(&refused));
    assert!(err(&refused).contains("xfs"), "{}", err(&refused));
    assert!(std::fs::read(&image).expect("the image") == before, "it is as it was");
}
