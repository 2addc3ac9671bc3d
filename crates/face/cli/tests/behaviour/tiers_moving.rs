//! Disk that follows its VM from one server to another and back, each server a separate process
//! with its own cache: every byte, and the state after one of both is killed during the move.

use std::process::Output;
use std::time::Duration;

use nbd::Operation;
use rustix::process::Signal;

use crate::loops::wait_until;
use crate::nbd_client::Client;
use crate::rig::{Running, Workspace, err, out};

const BYTES: usize = 16 << 20;
const BLOCK: usize = 64 << 10;

struct Servers {
    place: Workspace,
}

impl Servers {
    fn new() -> Self {
        let place = Workspace::new();
        std::fs::write(place.path("vm1.raw"), vec![0; BYTES]).expect("room");
        let servers = Self { place };
        for server in ["a", "b"] {
            let made = servers
                .tier(&["init", server, "--size", "48MiB", "--chunk", "1MiB", "--log", "40"]);
            assert_eq!(made.status.code(), Some(0), "{}", err(&made));
        }
        servers
    }

    fn tier(&self, words: &[&str]) -> Output {
        self.place.output(&[&["tier"], words].concat())
    }

    fn serve(&self, server: &str, disk: &[&str]) -> Running {
        let socket = format!("{server}.sock");
        let words = ["tier", "serve", server, "--socket", &socket, "--mode", "back"];
        let mut running = Running::new(self.place.command(&[&words, disk].concat()));
        running.wait_for(if disk.is_empty() { "serving at" } else { "serving nbd+unix:///" });
        running
    }

    /// Attaches the disk to a server, from the other one.
    fn find(&self, server: &str, other: &str) -> Output {
        let address = |name: &str| format!("nbd+unix:///?socket={name}.sock");
        let (socket, from, at) = (format!("{server}.sock"), address(other), address(server));
        let words = ["attach", &socket, "vm1=vm1.raw", "--mode", "back"];
        self.tier(&[&words[..], &["--from", &from, "--at", &at]].concat())
    }

    /// Attaches the disk to a server, if no other has it.
    fn open(&self, server: &str) -> Output {
        self.tier(&["attach", &format!("{server}.sock"), "vm1=vm1.raw", "--mode", "back"])
    }

    /// Attaches the disk to a server that was killed, as its owner or from the other one.
    fn have_it_again(&self, server: &str, other: &str) {
        wait_until(
            || self.open(server).status.success() || self.find(server, other).status.success(),
            "one of both owns it",
        );
    }

    fn client(&self, server: &str) -> Client {
        let place = block_server::ListenAddress::Unix(self.place.path(&format!("{server}.sock")));
        Client::open(&place, "vm1").expect("it is served")
    }

    fn status(&self, server: &str) -> String {
        out(&self.tier(&["status", &format!("{server}.sock")]))
    }
}

/// Expected content of the disk.
struct Known {
    content: Vec<u8>,
    /// Unacknowledged write: its block and byte.
    unsure: Option<(usize, u8)>,
}

impl Known {
    fn write(&mut self, client: &mut Client, block: usize, byte: u8) {
        client.write((block * BLOCK) as u64, &[byte; BLOCK]).expect("it is taken");
        self.content[block * BLOCK..][..BLOCK].fill(byte);
    }

    fn fill(&mut self, client: &mut Client, byte: u8) {
        (0..BYTES / BLOCK).step_by(3).for_each(|block| self.write(client, block, byte));
    }

    fn compare(&mut self, client: &mut Client, what: &str) {
        for block in 0..BYTES / BLOCK {
            let at = block * BLOCK;
            let length = u32::try_from(BLOCK).expect("small");
            let found = client.read(at as u64, length).expect("bytes come");
            let known = &mut self.content[at..at + BLOCK];
            let is_unsure =
                self.unsure.is_some_and(|(at, byte)| at == block && found == [byte; BLOCK]);
            assert!(found == known || is_unsure, "{what}: at block {block}");
            known.copy_from_slice(&found);
        }
        self.unsure = None;
    }
}

fn stop(server: Running) {
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0), "it ends in order");
}

#[test]
fn a_disk_goes_to_another_server_and_back_and_no_byte_is_lost() {
    let servers = Servers::new();
    let mut a = servers.serve("a", &["--disk", "vm1=vm1.raw"]);
    let mut b = servers.serve("b", &[]);
    let mut known = Known { content: vec![0; BYTES], unsure: None };
    let found = servers.find("b", "a");
    assert_eq!(found.status.code(), Some(0), "{}", err(&found));
    assert!(err(&found).contains("owns it until the first write here"), "{}", err(&found));
    assert!(servers.status("b").contains("vm1: nbd+unix:///?socket=a.sock owns it"));
    let (mut at_a, mut at_b) = (servers.client("a"), servers.client("b"));
    known.fill(&mut at_a, 1);
    known.compare(&mut at_b, "asked of a");
    known.fill(&mut at_b, 2);
    a.wait_for("vm1 was released to nbd+unix:///?socket=b.sock");
    b.wait_for("this server now owns vm1");
    assert!(servers.status("a").contains("vm1: nbd+unix:///?socket=b.sock owns it"));
    known.compare(&mut at_a, "asked of b");
    // The VM did not arrive, and continues where it was.
    known.fill(&mut at_a, 3);
    b.wait_for("vm1 was released to nbd+unix:///?socket=a.sock");
    known.compare(&mut at_b, "asked of a again");
    known.compare(&mut at_a, "where it is");
    drop((at_a, at_b));
    let lone = servers.tier(&["attach", "b.sock", "vm2=vm1.raw", "--from", "nbd://localhost"]);
    assert_eq!(lone.status.code(), Some(2), "{}", err(&lone));
    let detached = servers.tier(&["detach", "a.sock", "vm1"]);
    assert_eq!(detached.status.code(), Some(0), "{}", err(&detached));
    let content = std::fs::read(servers.place.path("vm1.raw")).expect("the file");
    assert!(content == known.content, "all of it is out");
    stop(a);
    stop(b);
}

/// Writes a block; true if the write was acknowledged.
fn write_or_end(mut client: Client, block: usize, byte: u8) -> bool {
    let operation = Operation::Write { fua: false };
    let (at, length) = ((block * BLOCK) as u64, u32::try_from(BLOCK).expect("small"));
    let asked = client.ask(operation, at, length, &[byte; BLOCK]);
    match asked.and_then(|cookie| client.wait(cookie)) {
        Ok(answer) => answer.map(|_| true).expect("it is no error"),
        Err(_) => false,
    }
}

/// Runs a round: `a` has the disk and a full log, a client of `b` writes, and one of both is killed
/// during the move. True if the write was acknowledged.
fn kill_while_it_moves(servers: &Servers, known: &mut Known, round: u64) -> bool {
    let (a, b) = (servers.serve("a", &[]), servers.serve("b", &[]));
    let opened = servers.open("a");
    assert_eq!(opened.status.code(), Some(0), "round {round}: {}", err(&opened));
    let found = servers.find("b", "a");
    assert_eq!(found.status.code(), Some(0), "round {round}: {}", err(&found));
    known.compare(&mut servers.client("b"), "asked of a");
    let (block, byte) = (usize::from(round % 2 == 1), u8::try_from(round + 100).expect("small"));
    known.fill(&mut servers.client("a"), byte - 50);
    known.unsure = Some((block, byte));
    let client = servers.client("b");
    let (answered, again) = std::thread::scope(|scope| {
        let writing = scope.spawn(move || write_or_end(client, block, byte));
        // The delay is arbitrary: the log takes some milliseconds to drain.
        std::thread::sleep(Duration::from_millis(2 * round * round));
        let (victim, name, other) = if round % 4 < 2 { (a, "a", b) } else { (b, "b", a) };
        victim.signal(Signal::KILL);
        assert_eq!(victim.end().code, None, "a signal ended it");
        let again = servers.serve(name, &[]);
        servers.have_it_again(name, if name == "a" { "b" } else { "a" });
        (writing.join().expect("no panic"), [again, other])
    });
    for server in ["a", "b"] {
        known.compare(&mut servers.client(server), &format!("round {round}, at {server}"));
    }
    assert!(!answered || known.content[block * BLOCK] == byte, "round {round}: it was answered");
    // Either server may own the disk, so both are asked.
    for server in ["a", "b", "a"] {
        servers.tier(&["detach", &format!("{server}.sock"), "vm1"]);
    }
    let content = std::fs::read(servers.place.path("vm1.raw")).expect("the file");
    assert!(content == known.content, "round {round}: all of it is out");
    again.into_iter().for_each(stop);
    answered
}

#[test]
fn kill_of_either_server_during_a_move_loses_no_write() {
    let servers = Servers::new();
    let mut known = Known { content: vec![0; BYTES], unsure: None };
    let answered = (0..8).filter(|round| kill_while_it_moves(&servers, &mut known, *round));
    // A server that waits for a killed one gets the disk in the end.
    assert!(answered.count() >= 4, "writes were answered");
}
