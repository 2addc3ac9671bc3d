//! Disks attached to and detached from a running server: whole programs, with clients.

use std::process::{Command, Output};

use rustix::process::Signal;

use crate::loops::wait_until;
use crate::nbd_client::Client;
use crate::rig::{Running, Workspace, err, out};

const BYTES: usize = 16 << 20;

struct Tier {
    place: Workspace,
}

impl Tier {
    fn new() -> Self {
        let tier = Self { place: Workspace::new() };
        for name in ["vm1.raw", "vm2.raw"] {
            std::fs::write(tier.place.path(name), vec![0; BYTES]).expect("room");
        }
        tier.init("fast");
        tier
    }

    fn init(&self, file: &str) {
        let made = self.tier(&["init", file, "--size", "48MiB", "--chunk", "1MiB", "--log", "40"]);
        assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    }

    fn tier(&self, words: &[&str]) -> Output {
        self.place.output(&[&["tier"], words].concat())
    }

    /// Starts a server with these disks, or with none.
    fn serve(&self, file: &str, socket: &str, disks: &[&str]) -> Running {
        let words = ["tier", "serve", file, "--socket", socket, "--mode", "back"];
        let mut running = Running::new(self.place.command(&[&words, disks].concat()));
        running.wait_for(if disks.is_empty() { "serving at" } else { "serving nbd+unix:///" });
        running
    }

    fn done(&self, words: &[&str]) -> String {
        let output = self.tier(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", err(&output));
        err(&output)
    }

    fn refused(&self, words: &[&str]) -> String {
        let output = self.tier(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", err(&output));
        err(&output)
    }

    fn attach(&self) {
        let said = self.done(&["attach", "s", "vm2=vm2.raw", "--mode", "back"]);
        assert!(said.contains("serving nbd+unix:///vm2?socket=s"), "{said}");
    }

    fn client(&self, disk: &str) -> Client {
        Client::open(&block_server::ListenAddress::Unix(self.place.path("s")), disk)
            .expect("it is served")
    }

    fn content(&self) -> Vec<u8> {
        std::fs::read(self.place.path("vm2.raw")).expect("the file")
    }

    fn names(&self) -> String {
        out(&self.tier(&["status", "s", "--format", "json"]))
    }
}

#[test]
fn disk_attaches_and_detaches_while_others_are_served() {
    let tier = Tier::new();
    let server = tier.serve("fast", "s", &["--disk", "vm1=vm1.raw"]);
    let mut first = tier.client("vm1");
    first.write(0, &[1; 4096]).expect("it is taken");
    tier.attach();
    let mut client = tier.client("vm2");
    client.write(4096, &[2; 8192]).expect("it is taken");
    let said = tier.refused(&["attach", "s", "vm2=vm2.raw"]);
    assert!(said.contains("a disk of this name is already served"), "{said}");
    let said = tier.refused(&["attach", "s", "vm3=vm2.raw"]);
    assert!(said.contains("vm3 is not attached") && said.contains("hint: "), "{said}");
    let said = tier.done(&["detach", "s", "vm2"]);
    assert!(said.contains("vm2 is detached: its backing store holds all of its data"), "{said}");
    assert!(client.wait_any_is_over(), "its clients are gone");
    assert_eq!(tier.content()[4096..12288], [2; 8192]);
    let said = tier.refused(&["detach", "s", "vm2"]);
    assert!(said.contains("no disk \"vm2\"; the disks are vm1"), "{said}");
    first.write(4096, &[1; 4096]).expect("the other does not notice");
    // Another set may open the file at once.
    tier.init("other");
    let another = tier.serve("other", "o", &["--disk", "vm2=vm2.raw"]);
    let said = tier.refused(&["attach", "s", "vm2=vm2.raw"]);
    assert!(said.contains("in use"), "{said}");
    another.signal(Signal::KILL);
    another.end();
    let said = tier.refused(&["attach", "s", "vm2=vm2.raw"]);
    assert!(said.contains("newest writes are in the log of another cache"), "{said}");
    drop(first);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn other_peoples_programs_find_a_disk_that_came_later() {
    let tier = Tier::new();
    let server = tier.serve("fast", "s", &[]);
    tier.attach();
    let uri = format!("nbd+unix:///vm2?socket={}", tier.place.path("s").display());
    let wrote =
        Command::new("qemu-io").args(["-f", "raw", "-c", "write -P 7 64k 64k", &uri]).output();
    match wrote {
        Ok(wrote) => assert!(out(&wrote).contains("wrote 65536/65536"), "{}", err(&wrote)),
        Err(error) => {
            eprintln!("skipped: qemu-io: {error}");
            return;
        }
    }
    tier.done(&["detach", "s", "vm2"]);
    assert!(tier.content()[64 << 10..128 << 10].iter().all(|byte| *byte == 7));
    let gone = Command::new("qemu-io").args(["-f", "raw", "-c", "read 0 4k", &uri]).output();
    assert!(gone.is_ok_and(|gone| !gone.status.success()), "nobody gets it any more");
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn detach_after_a_kill_during_detach_loses_nothing() {
    let tier = Tier::new();
    let mut expected = vec![0; BYTES];
    for round in 0..8_u8 {
        let server = tier.serve("fast", "s", &[]);
        tier.attach();
        let mut client = tier.client("vm2");
        for at in 0..8 {
            let offset = ((usize::from(round) * 8 + at) % 16) << 20;
            expected[offset..offset + (512 << 10)].fill(round + 1);
            client.write(offset as u64, &vec![round + 1; 512 << 10]).expect("it is taken");
        }
        let detaching = Running::new(tier.place.command(&["tier", "detach", "s", "vm2"]));
        // The detach has begun when its clients are gone; how far it is when the server is killed,
        // is arbitrary.
        assert!(client.wait_any_is_over());
        (0..round / 2).for_each(|_| drop(tier.names()));
        server.signal(Signal::KILL);
        assert_eq!(server.end().code, None, "a signal ended it");
        detaching.end();
        let server = tier.serve("fast", "s", &[]);
        tier.attach();
        let mut client = tier.client("vm2");
        for at in (0..BYTES).step_by(512 << 10) {
            let found = client.read(at as u64, 512 << 10).expect("bytes come");
            assert!(found == expected[at..at + (512 << 10)], "round {round}, at {at}");
        }
        tier.done(&["detach", "s", "vm2"]);
        assert!(tier.content() == expected, "round {round}: all of it is out");
        server.signal(Signal::TERM);
        assert_eq!(server.end().code, Some(0));
    }
}

#[test]
fn whoever_asked_may_go_and_the_disk_leaves_all_the_same() {
    let tier = Tier::new();
    let server = tier.serve("fast", "s", &[]);
    tier.attach();
    let mut client = tier.client("vm2");
    for at in 0..8 {
        client.write(at << 20, &[5; 512 << 10]).expect("it is taken");
    }
    let asking = Running::new(tier.place.command(&["tier", "detach", "s", "vm2"]));
    // The detach has begun when its clients are gone.
    assert!(client.wait_any_is_over());
    asking.signal(Signal::INT);
    asking.end();
    while tier.names().contains("\"vm2\"") {
        std::thread::yield_now();
    }
    assert!(tier.content()[7 << 20..][..512 << 10].iter().all(|byte| *byte == 5));
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn disk_attached_in_suspended_hours_admits_nothing() {
    let tier = Tier::new();
    let words = ["tier", "serve", "fast", "--socket", "s"];
    let hours = ["--suspend", "00:00-12:00", "--suspend", "12:00-00:00"];
    let mut server = Running::new(tier.place.command(&[&words[..], &hours].concat()));
    server.wait_for("new pages stay out for some hours");
    tier.attach();
    wait_until(|| tier.names().contains("\"populates\": false"), "nothing new comes in");
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn other_users_can_neither_read_nor_change_the_server() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can ask as somebody else");
    }
    let tier = Tier::new();
    // A directory open to everyone, with a socket whose mode is not set yet.
    let hall = tempfile::tempdir().expect("a directory");
    let (socket, door) = (hall.path().join("s"), hall.path().join("s.control"));
    let open = |path: &std::path::Path, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("it is ours");
    };
    let socket = socket.to_str().expect("plain letters");
    let server = tier.serve("fast", socket, &[]);
    open(hall.path(), 0o755);
    open(&door, 0o666);
    let names = || out(&tier.tier(&["status", socket, "--format", "json"]));
    let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
                  s.sendall(sys.argv[2].encode()+b'\\n')\nprint(s.makefile().read())";
    let backing = tier.place.path("vm2.raw");
    let question =
        format!(r#"{{"attach":{{"disk":"vm2","backing":"{}","back":true}}}}"#, backing.display());
    let asked = |uid: u32| {
        let mut command = Command::new("python3");
        command.args(["-c", script]).arg(&door).arg(&question).uid(uid).gid(uid);
        command.output().map(|output| (out(&output), err(&output)))
    };
    let Ok((said, error)) = asked(65_534) else {
        return eprintln!("skipped: python3 is not installed");
    };
    assert!(said.contains("only the user who serves the tier"), "{said}{error}");
    assert!(!names().contains("vm2"), "{}", names());
    let (said, error) = asked(0).expect("it was there");
    assert!(said.contains("done") && names().contains("vm2"), "{said}{error}");
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
}
