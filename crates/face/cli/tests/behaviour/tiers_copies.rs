//! Several hosts, each a separate process with its own cache, around one shared directory: data
//! after the owner is killed for good, and refusals of its copies.

use std::process::Output;

use nbd::Operation;
use rustix::process::Signal;

use crate::nbd_client::Client;
use crate::rig::{Running, Workspace, err, out};

const BYTES: usize = 16 << 20;

/// A shared backing file, and caches and sockets by host.
struct Hosts {
    place: Workspace,
}

impl Hosts {
    fn new() -> Self {
        let place = Workspace::new();
        std::fs::write(place.path("vm1.raw"), vec![0; BYTES]).expect("room");
        let hosts = Self { place };
        for host in ["a", "b"] {
            let made =
                hosts.tier(&["init", host, "--size", "48MiB", "--chunk", "1MiB", "--log", "40"]);
            assert_eq!(made.status.code(), Some(0), "{}", err(&made));
        }
        hosts
    }

    fn tier(&self, words: &[&str]) -> Output {
        self.place.output(&[&["tier"], words].concat())
    }

    /// A host that holds copies for others.
    fn hold(&self, host: &str) -> Running {
        let (socket, held) = (format!("{host}.sock"), format!("{host}.held"));
        let words = ["tier", "serve", "--hold", &held, "--socket", &socket];
        let mut running = Running::new(self.place.command(&words));
        running.wait_for("holding copies of logs in");
        running
    }

    fn address(&self, host: &str) -> String {
        format!("{host}=nbd+unix:///?socket={host}.sock")
    }

    /// Starts the disk's owner, after its holders.
    fn own(&self, host: &str, holders: &[&str]) -> Running {
        let (socket, count) = (format!("{host}.vm"), holders.len().to_string());
        let mut words: Vec<String> =
            ["tier", "serve", host, "--disk", "vm1=vm1.raw", "--mode", "back"]
                .map(str::to_owned)
                .to_vec();
        words.extend(["--socket".to_owned(), socket, "--copies".to_owned(), count]);
        for holder in holders {
            words.extend(["--peer".to_owned(), self.address(holder)]);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut running = Running::new(self.place.command(&words));
        running.wait_for("serving nbd+unix:///vm1");
        running
    }

    fn status(&self, host: &str) -> String {
        out(&self.tier(&["status", &format!("{host}.vm"), "--format", "json"]))
    }

    /// Waits until a disk is in mode back with all of its copies, because `tier set` is answered
    /// only then.
    fn copied(&self, host: &str) {
        let set = self.tier(&["set", &format!("{host}.vm"), "vm1", "--mode", "back"]);
        assert_eq!(set.status.code(), Some(0), "{}", err(&set));
    }

    fn client(&self, host: &str) -> Client {
        let place = block_server::ListenAddress::Unix(self.place.path(&format!("{host}.vm")));
        Client::open(&place, "vm1").expect("it is served")
    }

    fn takeover(&self, more: &[&str]) -> Output {
        self.tier(&[&["takeover", "vm1=vm1.raw"], more].concat())
    }
}

/// Writes until the server is gone. `known` has the acknowledged content by block; returns the
/// block that may differ.
fn write_until_it_dies(mut client: Client, known: &mut [u64]) -> Option<(usize, u64)> {
    let mut count = 0_u64;
    loop {
        count += 1;
        let place = count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let block = usize::try_from(place).expect("small") % known.len();
        let data = count.to_le_bytes().repeat(512);
        let operation = Operation::Write { fua: count.is_multiple_of(7) };
        let asked = client.ask(operation, block as u64 * 4096, 4096, &data);
        let Ok(Ok(answer)) = asked.map(|cookie| client.wait(cookie)) else {
            return Some((block, count));
        };
        answer.expect("a write is taken");
        known[block] = count;
    }
}

fn check(content: &[u8], known: &[u64], unsure: Option<(usize, u64)>) {
    for (block, expected) in known.iter().enumerate() {
        let data = &content[block * 4096..(block + 1) * 4096];
        let found = u64::from_le_bytes(data[..8].try_into().expect("eight"));
        assert!(
            data.chunks(8).all(|word| word == found.to_le_bytes()),
            "block {block} is of one write"
        );
        assert!(
            found == *expected || unsure == Some((block, found)),
            "block {block}: {found}, and {expected} was answered"
        );
    }
}

#[test]
fn takeover_from_a_lost_owner_loses_no_answered_write() {
    let hosts = Hosts::new();
    let mut known = vec![0; BYTES / 4096];
    let (b, c) = (hosts.hold("b"), hosts.hold("c"));
    let owner = hosts.own("a", &["b", "c"]);
    hosts.copied("a");
    assert!(hosts.status("a").contains("\"holding\": 2"), "{}", hosts.status("a"));
    let client = hosts.client("a");
    let unsure = std::thread::scope(|scope| {
        let known = &mut known;
        let (tell, told) = std::sync::mpsc::channel();
        let writer = scope.spawn(move || {
            let unsure = write_until_it_dies(client, known);
            let _ = tell.send(());
            unsure
        });
        let _ = told.recv_timeout(std::time::Duration::from_millis(700));
        owner.signal(Signal::KILL);
        writer.join().expect("no panic")
    });
    assert_eq!(owner.end().code, None, "a signal ended it");
    assert!(known.iter().any(|count| *count > 50), "some was written");
    // The owner's host is lost, with its cache.
    std::fs::remove_file(hosts.place.path("a")).expect("it was there");
    let refused = hosts.tier(&["serve", "b", "--disk", "vm1=vm1.raw", "--socket", "b.vm"]);
    assert!(
        err(&refused).contains("its newest writes are in the log of another cache"),
        "{}",
        err(&refused)
    );
    let taken = hosts.takeover(&[]);
    assert_eq!(taken.status.code(), Some(0), "{}", err(&taken));
    check(&std::fs::read(hosts.place.path("vm1.raw")).expect("the file"), &known, unsure);
    // The next host serves it, with a copy again.
    let next = hosts.own("b", &["c"]);
    hosts.copied("b");
    let mut client = hosts.client("b");
    let content = client.read(0, u32::try_from(BYTES / 64).expect("small")).expect("bytes come");
    check(&content, &known[..BYTES / 64 / 4096], unsure);
    client.write(0, &[9; 4096]).expect("a write is taken");
    client.flush().expect("a flush is answered");
    drop(client);
    for server in [next, b, c] {
        server.signal(Signal::TERM);
        assert_eq!(server.end().code, Some(0), "it ends in order");
    }
}

#[test]
fn killed_copy_holder_costs_no_answer_and_rejoins() {
    let hosts = Hosts::new();
    let holder = hosts.hold("b");
    let mut owner = hosts.own("a", &["b"]);
    hosts.copied("a");
    let mut client = hosts.client("a");
    client.write(0, &[1; 8192]).expect("a write is taken");
    holder.signal(Signal::KILL);
    holder.end();
    client.write(8192, &[2; 8192]).expect("it is answered without him");
    client.flush().expect("a flush is answered");
    owner.wait_for("is lost and no longer holds a copy");
    let alone = hosts.tier(&["drain", "a.vm", "vm1"]);
    assert_eq!(alone.status.code(), Some(0), "{}", err(&alone));
    let holder = hosts.hold("b");
    hosts.copied("a");
    assert!(hosts.status("a").contains("\"holding\": 1"), "{}", hosts.status("a"));
    client.write(16384, &[3; 8192]).expect("a write is taken");
    drop(client);
    owner.signal(Signal::KILL);
    owner.end();
    std::fs::remove_file(hosts.place.path("a")).expect("it was there");
    let taken = hosts.takeover(&[]);
    assert_eq!(taken.status.code(), Some(0), "{}", err(&taken));
    let content = std::fs::read(hosts.place.path("vm1.raw")).expect("the file");
    for (at, byte) in [(0, 1), (8192, 2), (16384, 3)] {
        assert!(content[at..at + 8192] == [byte; 8192], "at {at}");
    }
    holder.signal(Signal::TERM);
    assert_eq!(holder.end().code, Some(0));
}

#[test]
fn fenced_owner_is_refused_by_its_copy_holder() {
    let hosts = Hosts::new();
    let holder = hosts.hold("b");
    let mut owner = hosts.own("a", &["b"]);
    hosts.copied("a");
    let mut client = hosts.client("a");
    client.write(0, &[1; 4096]).expect("a write is taken");
    // A take-over on another host begins like this, because this host's lock does not reach it.
    let socket = block_server::ListenAddress::Unix(hosts.place.path("b.sock"));
    let fence = Client::open(&socket, "log/vm1/2").expect("it is opened");
    assert!(client.write(4096, &[2; 4096]).is_err(), "nothing is answered any more");
    owner.wait_for("another host owns it");
    assert!(client.read(0, 4096).is_err(), "not even a read");
    let held = hosts.takeover(&[]);
    assert!(held.status.code() == Some(3) && err(&held).contains("in use"), "{}", err(&held));
    let mut old = Client::open(&socket, "log/vm1/1").expect("it can be read");
    assert!(old.read(0, 8192).expect("bytes come").starts_with(b"TMCOPY"));
    assert!(
        old.ask(Operation::Write { fua: false }, 8192, 4096, &[0; 4096]).is_err(),
        "and not written"
    );
    drop((fence, old, client));
    for server in [owner, holder] {
        server.signal(Signal::KILL);
        server.end();
    }
}

#[test]
fn takeover_without_a_copy_needs_accept_loss() {
    let hosts = Hosts::new();
    // Writes go to the backing file after a second, so the server is killed until one still waits
    // in its log.
    loop {
        let owner = hosts.own("a", &[]);
        let mut client = hosts.client("a");
        client.write(0, &[1; 4096]).expect("a write is taken");
        owner.signal(Signal::KILL);
        owner.end();
        let waiting = out(&hosts.tier(&["check", "a", "--format", "json"]));
        if waiting.contains("\"waiting_writes\": 1") {
            break;
        }
    }
    let refused = hosts.takeover(&[]);
    let said = err(&refused);
    assert!(
        refused.status.code() == Some(3)
            && said.contains("no peer has a copy")
            && said.contains("hint: "),
        "{said}"
    );
    let taken = hosts.takeover(&["--accept-loss"]);
    assert_eq!(taken.status.code(), Some(0), "{}", err(&taken));
    let stale = hosts.tier(&["serve", "a", "--disk", "vm1=vm1.raw", "--socket", "a.vm"]);
    assert!(err(&stale).contains(" continued"), "{}", err(&stale));
    // Writes that the disk lost can be exported until they are forgotten.
    let listed = out(&hosts.tier(&["stale", "list", "a", "vm1=vm1.raw"]));
    assert!(
        listed.contains("1 write (4 KiB) of generation 1, without which generation 2 continued"),
        "{listed}"
    );
    let exported = hosts.tier(&["stale", "export", "a", "vm1=vm1.raw", "left.raw"]);
    assert_eq!(exported.status.code(), Some(0), "{}", err(&exported));
    assert_eq!(std::fs::read(hosts.place.path("left.raw")).expect("it is made"), [1; 4096]);
    let forgotten = hosts.tier(&["stale", "forget", "a", "vm1=vm1.raw"]);
    assert!(out(&forgotten).contains("forgotten"), "{}", err(&forgotten));
    let gone = hosts.tier(&["stale", "list", "a", "vm1=vm1.raw"]);
    assert!(gone.status.code() == Some(3) && err(&gone).contains("no such disk"), "{}", err(&gone));
    let owner = hosts.own("a", &[]);
    let mut client = hosts.client("a");
    client.write(0, &[2; 4096]).expect("the disk is served again");
    drop(client);
    owner.signal(Signal::KILL);
    owner.end();
    let counts = hosts.tier(&["stale", "forget", "a", "vm1=vm1.raw"]);
    assert!(
        counts.status.code() == Some(3) && err(&counts).contains("is not stale"),
        "{}",
        err(&counts)
    );
}

#[test]
fn owner_on_another_host_is_not_assumed_dead() {
    let hosts = Hosts::new();
    let holder = hosts.hold("b");
    let owner = hosts.own("a", &["b"]);
    hosts.copied("a");
    let mut client = hosts.client("a");
    client.write(0, &[1; 4096]).expect("a write is taken");
    drop(client);
    owner.signal(Signal::KILL);
    owner.end();
    // Changes the sidecar to one of another host: another boot id, and a matching checksum.
    let path = hosts.place.path("vm1.raw.tilemark-tier");
    let mut bytes = std::fs::read(&path).expect("the sidecar");
    for copy in bytes[..8192].chunks_mut(4096).filter(|copy| copy.starts_with(b"TMSIDE")) {
        copy[64..80].fill(0xaa);
        let sum = tier::format::payload_sum(&copy[..4088]);
        copy[4088..].copy_from_slice(&sum.to_le_bytes());
    }
    std::fs::write(&path, bytes).expect("it is written");
    let refused = hosts.takeover(&[]);
    let said = err(&refused);
    assert!(
        refused.status.code() == Some(3)
            && said.contains("may still write")
            && said.contains("hint: "),
        "{said}"
    );
    // A host without a machine id has no reservation key either, and is told so.
    let has_name = std::fs::read("/etc/machine-id").is_ok_and(|name| !name.is_empty());
    let refused = hosts.takeover(&["--fence-proof", "pr"]);
    let expected = if has_name { "holds no reservation of" } else { "this host has no name" };
    let said = err(&refused);
    assert!(said.contains(expected) && said.contains("hint: "), "{said}");
    let words = ["serve", "b", "--disk", "vm2=vm2.raw", "--socket", "b.vm", "--reserve"];
    std::fs::write(hosts.place.path("vm2.raw"), vec![0; BYTES]).expect("room");
    let refused = hosts.tier(&words);
    let expected = if has_name { "cannot be reserved" } else { "this host has no name" };
    let said = err(&refused);
    assert!(refused.status.code() == Some(3) && said.contains(expected), "{said}");
    assert!(!hosts.place.path("vm2.raw.tilemark-tier").exists(), "nothing is made");
    let refused = hosts.takeover(&["--fence-proof", "agent:exit 7"]);
    assert!(err(&refused).contains("the fence agent refused"), "{}", err(&refused));
    let taken = hosts.takeover(&["--fence-proof", "agent:true"]);
    assert_eq!(taken.status.code(), Some(0), "{}", err(&taken));
    let content = std::fs::read(hosts.place.path("vm1.raw")).expect("the file");
    assert!(content[..4096] == [1; 4096]);
    holder.signal(Signal::TERM);
    assert_eq!(holder.end().code, Some(0));
}
