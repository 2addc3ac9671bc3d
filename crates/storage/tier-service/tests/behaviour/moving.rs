//! A disk that two servers offer and one of them owns at a time: as clients see it, when
//! connections and servers end, and who is refused.

use std::path::PathBuf;
use std::time::Duration;

use block_server::{ClientTls, Limits, Listen, ListenAddress, RamDisk};
use nbd::{Code, Operation};
use tier::{Mode, Plan};
use tilemark_tier_service::{Coming, Command, Copies, Elsewhere, Opening, Refusal};

use crate::client::Client;
use crate::copies::Authority;
use crate::served::{DISK_BYTES, Dice, Served, open, play};

/// A shared backing file, and two servers with a set each.
struct Pair {
    directory: tempfile::TempDir,
    mode: Mode,
}

/// Address scheme of a server, and its certificates for the other one.
struct AddressScheme {
    listen: Option<Listen>,
    tls: Option<ClientTls>,
    patience: Duration,
}

const WAY: AddressScheme =
    AddressScheme { listen: None, tls: None, patience: Duration::from_secs(60) };

/// Limits of a server whose stop does not wait long for clients of a moving disk.
const LIMITS: Limits = Limits {
    connections: 64,
    requests_in_flight: 256,
    bytes_in_flight: 32 << 20,
    handshake: Duration::from_secs(10),
    drain: Duration::from_secs(1),
    close: Duration::from_secs(60),
    poll: Duration::ZERO,
};

impl Pair {
    fn new(mode: Mode) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let pair = Self { directory, mode };
        std::fs::write(pair.path("disk.raw"), vec![0; DISK_BYTES]).expect("room");
        for server in ["a", "b"] {
            let plan = Plan { chunk_bytes: 1 << 20, log_percent: 50, ..Plan::new(32 << 20) };
            tilemark_tier_service::make(&pair.path(server), plan).expect("a set");
        }
        pair
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn place(&self, server: &str) -> ListenAddress {
        ListenAddress::Unix(self.path(&format!("{server}.sock")))
    }

    fn address(&self, server: &str) -> String {
        format!("nbd+unix:///?socket={}", self.path(&format!("{server}.sock")).display())
    }

    fn serve(&self, server: &str, owns: bool) -> Served {
        self.serve_so(server, owns, WAY)
    }

    fn serve_so(&self, server: &str, owns: bool, way: AddressScheme) -> Served {
        let disk = Opening {
            name: "vm1".to_owned(),
            backing: self.path("disk.raw"),
            mode: self.mode,
            sidecar: None,
            copies: Copies::default(),
            reserve: None,
        };
        let disks = if owns { vec![disk] } else { Vec::new() };
        let mut set = open(&self.path(server), &disks).expect("it opens");
        let control = set.control.with_tls(way.tls).with_patience(way.patience);
        set.offer.catalog = Some(control.catalog(None));
        let socket = Listen { place: self.place(server), tls: None };
        let listens: Vec<Listen> = way.listen.into_iter().chain([socket]).collect();
        let running = block_server::start_with(set.offer, &listens, LIMITS);
        let running = running.expect("it starts");
        control.serve(&running);
        Served { running, control, was_clean: set.was_clean, pages: set.pages }
    }

    /// Starts both servers: `a` owns the disk, `b` reads it from `a`.
    fn both(&self) -> (Served, Served) {
        let (a, b) = (self.serve("a", true), self.serve("b", false));
        attach(&b, &self.coming("a", "b")).expect("it is found");
        (a, b)
    }

    fn coming(&self, from: &str, at: &str) -> Coming {
        let elsewhere = Elsewhere { from: self.address(from), at: self.address(at) };
        Coming {
            disk: "vm1".to_owned(),
            backing: self.path("disk.raw"),
            back: self.mode == Mode::Back,
            sidecar: None,
            copies: 0,
            peers: Vec::new(),
            reserve: false,
            accepted: Vec::new(),
            elsewhere: Some(elsewhere),
        }
    }

    fn client(&self, server: &str) -> Client {
        Client::open(&self.place(server), "vm1").expect("it is served")
    }

    fn content(&self) -> Vec<u8> {
        std::fs::read(self.path("disk.raw")).expect("the backing file")
    }
}

fn attach(served: &Served, coming: &Coming) -> Result<(), Refusal> {
    served.ask(Command::Attach(Box::new(coming.clone()))).map(|_| ())
}

fn owns(served: &Served) -> bool {
    served.report().elsewhere.is_empty()
}

fn compare(client: &mut Client, expected: &[u8], what: &str) {
    for at in (0..expected.len()).step_by(256 << 10) {
        let found = client.read(at as u64, 256 << 10).expect("bytes come");
        assert!(found == expected[at..at + (256 << 10)], "{what}: at {at}");
    }
}

#[test]
fn disk_moves_to_its_writer_and_keeps_every_byte() {
    for mode in [Mode::Back, Mode::Through] {
        let pair = Pair::new(mode);
        let (a, b) = pair.both();
        let (mut flat, mut dice) = (vec![0; DISK_BYTES], Dice(31));
        let mut clients = (pair.client("a"), pair.client("b"));
        for round in 0..3 {
            play(&mut clients.0, &mut flat, &mut dice, 150);
            compare(&mut clients.1, &flat, "asked of the owner");
            clients.1.flush().expect("a flush is answered");
            let is_first = round == 0;
            assert!((owns(&a), owns(&b)) == (true, false), "{is_first}: only asked, nothing moves");
            clients.1.write(0, &[round + 1; 4096]).expect("it is taken");
            flat[..4096].fill(round + 1);
            assert!((owns(&a), owns(&b)) == (false, true), "{mode:?}: it is where it was written");
            compare(&mut clients.1, &flat, "after it came");
            play(&mut clients.1, &mut flat, &mut dice, 150);
            compare(&mut clients.0, &flat, "asked of who has it now");
        }
        let error = b.ask(Command::Detach { disk: "vm1".to_owned() }).map(|_| ());
        error.expect("its owner lets go of it");
        assert!(pair.content() == flat, "{mode:?}: all of it is there");
        // A disk without an owner is opened by an attach without `--from`.
        let error = attach(&b, &pair.coming("a", "b")).expect_err("it has not got it");
        assert!(error.hint.is_some_and(|hint| hint.contains("owner without --from")));
        a.ask(Command::Detach { disk: "vm1".to_owned() }).expect("nobody finds it there either");
        attach(&a, &Coming { elsewhere: None, ..pair.coming("a", "b") }).expect("it is free");
        compare(&mut pair.client("a"), &flat, "opened again");
    }
}

#[test]
fn two_who_write_at_once_have_it_in_turns_and_lose_nothing() {
    for mode in [Mode::Back, Mode::Through] {
        let pair = Pair::new(mode);
        let (a, b) = pair.both();
        let half = DISK_BYTES / 2;
        let mut flat = vec![0; DISK_BYTES];
        let (left, right) = flat.split_at_mut(half);
        std::thread::scope(|scope| {
            for (server, part, first) in [("a", left, 0), ("b", right, half as u64)] {
                let mut client = pair.client(server);
                scope.spawn(move || {
                    let mut dice = Dice(first + 7);
                    for count in 0..60_u8 {
                        let mut asked = Vec::new();
                        // Several requests at once, so that some wait for the move.
                        for _ in 0..4 {
                            let at = usize::try_from(dice.below(256)).expect("small") * 4096;
                            part[at..at + 4096].fill(count + 1);
                            let operation = Operation::Write { fua: false };
                            let data = &part[at..at + 4096];
                            let offset = first + at as u64;
                            let cookie = client.ask(operation, offset, 4096, data);
                            asked.push(cookie.expect("the server is there"));
                        }
                        for cookie in asked {
                            let answer = client.wait(cookie).expect("the server is there");
                            answer.expect("it is taken");
                        }
                    }
                });
            }
        });
        compare(&mut pair.client("a"), &flat, "by a");
        compare(&mut pair.client("b"), &flat, "by b");
        let owner = if owns(&a) { &a } else { &b };
        owner.ask(Command::Detach { disk: "vm1".to_owned() }).expect("it goes");
        assert!(pair.content() == flat, "{mode:?}");
    }
}

#[test]
fn requests_wait_for_a_gone_owner_and_then_fail() {
    let pair = Pair::new(Mode::Back);
    let a = pair.serve("a", true);
    let b = pair.serve_so("b", false, AddressScheme { patience: Duration::from_secs(1), ..WAY });
    attach(&b, &pair.coming("a", "b")).expect("it is found");
    pair.client("a").write(0, &[5; 8192]).expect("it is taken");
    let mut client = pair.client("b");
    assert!(client.read(0, 8192).expect("bytes come") == [5; 8192]);
    a.running.stop().expect("it ends in order");
    // The backing file alone is older than the log, so its bytes must not be returned.
    assert_eq!(client.read(0, 8192), Err(Code::Io));
    assert_eq!(client.flush(), Err(Code::Io));
    assert_eq!(client.write(0, &[6; 4096]), Err(Code::Io));
    assert!(!owns(&b), "it did not come");
    let a = pair.serve("a", true);
    assert!(client.read(0, 8192).expect("bytes come") == [5; 8192]);
    client.write(0, &[6; 4096]).expect("it is pulled");
    assert!(client.read(0, 8192).expect("bytes come") == [[6; 4096], [5; 4096]].concat());
    assert!(!owns(&a) && owns(&b));
}

#[test]
fn owner_with_refusing_backing_keeps_disk_and_waiters_fail() {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    use std::os::fd::AsRawFd;
    let pair = Pair::new(Mode::Back);
    let memory = memfd_create("disk", MemfdFlags::ALLOW_SEALING).expect("memory");
    ftruncate(&memory, DISK_BYTES as u64).expect("room");
    let backing = PathBuf::from(format!("/proc/self/fd/{}", memory.as_raw_fd()));
    let so = || AddressScheme { patience: Duration::from_secs(1), ..WAY };
    let (a, b) = (pair.serve_so("a", false, so()), pair.serve_so("b", false, so()));
    let coming = Coming { backing, sidecar: Some(pair.path("side")), ..pair.coming("a", "b") };
    attach(&a, &Coming { elsewhere: None, ..coming.clone() }).expect("it is free");
    attach(&b, &coming).expect("it is found");
    // A sealed file refuses every write.
    fcntl_add_seals(&memory, SealFlags::WRITE).expect("nobody has it mapped");
    let (mut at_a, mut at_b) = (pair.client("a"), pair.client("b"));
    at_a.write(0, &[5; 4096]).expect("the log takes it");
    assert_eq!(at_b.write(0, &[6; 4096]), Err(Code::Io));
    assert_eq!(at_a.read(0, 4096), Err(Code::Io), "it is being let go of");
    // The backing store is retried each second, so the report must be polled to see the refusal.
    let mut reports = (0..10_000).map(|_| a.report());
    let report = reports.find(|report| report.disks[0].is_refused).expect("it is said");
    assert!(report.elsewhere[0].owner.is_none(), "{report:?}");
    let said = a.ask(Command::Detach { disk: "vm1".to_owned() }).expect_err("it is on its way");
    assert!(said.hint.is_some(), "{said}");
    // Answered writes are in the log of the owner, as the sidecar says.
    drop((at_a, at_b));
    a.running.stop().expect("it ends");
    let a = pair.serve("a", false);
    attach(&a, &Coming { elsewhere: None, ..coming }).expect("it has the log");
    assert!(pair.client("a").read(0, 4096).expect("bytes come") == [5; 4096]);
}

#[test]
fn who_cannot_have_it_is_told_why() {
    let pair = Pair::new(Mode::Back);
    let a = pair.serve("a", true);
    let b = pair.serve("b", false);
    let good = pair.coming("a", "b");
    let refusal = |coming: &Coming| attach(&b, coming).expect_err("refused");
    let unknown = Coming { disk: "vm2".to_owned(), ..good.clone() };
    let said = refusal(&unknown);
    assert!(said.text.contains("vm2 is not attached: nbd+unix:///?socket="));
    assert!(said.hint.is_some());
    let other = pair.path("other.raw");
    std::fs::write(&other, vec![0; DISK_BYTES / 2]).expect("room");
    let said = refusal(&Coming { backing: other, ..good.clone() });
    assert!(said.text.contains("other.raw has 4194304 B, but the disk of"), "{said}");
    let missing = Coming { backing: pair.path("none"), ..good.clone() };
    assert!(refusal(&missing).text.contains("could not examine"));
    let to = |from: &str, at: &str| Coming {
        elsewhere: Some(Elsewhere { from: from.to_owned(), at: at.to_owned() }),
        ..good.clone()
    };
    let here = pair.address("b");
    assert!(refusal(&to("a.example", &here)).text.contains("is not an address of an NBD export"));
    assert!(refusal(&to(&pair.address("a"), "b.example")).text.contains("is not an address"));
    assert!(
        refusal(&to(&pair.address("c"), &here)).text.contains("as the owner, does not release vm1")
    );
    // A server without a tier has disks, and never gives one up.
    let ram = Box::new(RamDisk::new("vm1", DISK_BYTES as u64).expect("a disk"));
    let listen = Listen { place: pair.place("ram"), tls: None };
    let plain = block_server::start(vec![ram], &[listen], Limits::default()).expect("it starts");
    assert!(
        refusal(&to(&pair.address("ram"), &here))
            .text
            .contains("as the owner, does not release vm1")
    );
    plain.stop().expect("it ends");
    attach(&b, &good).expect("nothing of all that is in its way");
    assert!(refusal(&good).text.contains("a disk of this name is already served"));
    // Only the owner answers for a disk, and a malformed pull moves nothing.
    for name in ["owner/vm1", "owner/vm2", "owner/", "heir/vm1", "heir/"] {
        assert!(Client::open(&pair.place("b"), name).is_err(), "{name}");
    }
    let mut asks = Client::open(&pair.place("a"), "owner/vm1").expect("it owns it");
    assert!(asks.read(0, 4096).expect("bytes come") == [0; 4096]);
    let mut pulls = Client::open(&pair.place("a"), "pull/vm1").expect("it may be asked");
    assert_eq!(pulls.write(0, &[7; 4096]), Err(Code::Invalid));
    assert_eq!(pulls.read(0, 4096), Err(Code::Invalid));
    let mut words = b"nbd://localhost:1\nnbd://localhost:2\n".to_vec();
    words.resize(4096, 0);
    let mut pulls = Client::open(&pair.place("a"), "pull/vm3").expect("it may be asked");
    assert_eq!(pulls.write(0, &words), Err(Code::NotPermitted));
    // Pulls to an address with no server, to the owner itself, and to a server that does not pull.
    for address in ["nbd://localhost:1", &pair.address("a"), &pair.address("b")] {
        let mut words = format!("{address}\n{}\n", pair.address("a")).into_bytes();
        words.resize(4096, 0);
        let mut pulls = Client::open(&pair.place("a"), "pull/vm1").expect("it may be asked");
        assert_eq!(pulls.write(0, &words), Err(Code::NotPermitted), "{address}");
    }
    assert!(owns(&a) && !owns(&b));
    pair.client("a").write(0, &[8; 4096]).expect("it is answered by its owner still");
    let detached = b.ask(Command::Detach { disk: "vm1".to_owned() });
    assert!(detached.is_ok() && a.report().disks.len() == 1, "what is another's stays there");
}

#[test]
fn over_tls_a_disk_moves_within_one_authority_alone() {
    let (pair, ours, theirs) = (Pair::new(Mode::Back), Authority::new(), Authority::new());
    let serve = |server, owns, authority: &Authority| {
        let place = ListenAddress::Tcp("127.0.0.1:0".parse().expect("an address"));
        let listen = Some(Listen { place, tls: Some(authority.server()) });
        let tls = Some(authority.client());
        let served = pair.serve_so(server, owns, AddressScheme { listen, tls, ..WAY });
        let ListenAddress::Tcp(address) = served.running.places()[0] else { panic!("it is TCP") };
        (served, format!("nbds://localhost:{}", address.port()))
    };
    let (a, at_a) = serve("a", true, &ours);
    let coming = |at: &str| {
        let elsewhere = Some(Elsewhere { from: at_a.clone(), at: at.to_owned() });
        Coming { elsewhere, ..pair.coming("a", "b") }
    };
    let (stranger, at) = serve("b", false, &theirs);
    let said = attach(&stranger, &coming(&at)).expect_err("another authority is none");
    assert!(said.text.contains("as the owner, does not release vm1"), "{said}");
    stranger.running.stop().expect("it ends");
    let (b, at_b) = serve("b", false, &ours);
    attach(&b, &coming(&at_b)).expect("it is found");
    // The two servers talk over TLS only; clients use Unix sockets.
    let mut clients = [pair.client("a"), pair.client("b")];
    for round in 0..2_u8 {
        for (at, client) in clients.iter_mut().enumerate() {
            let byte = round * 2 + u8::try_from(at).expect("small") + 1;
            client.write(0, &vec![byte; 256 << 10]).expect("it is taken");
            assert_eq!((owns(&a), owns(&b)), (at == 0, at == 1));
        }
        let [first, second] = &mut clients;
        let found = first.read(0, 256 << 10).expect("bytes come");
        assert!(found == second.read(0, 256 << 10).expect("bytes come"));
        assert!(found.iter().all(|byte| *byte == round * 2 + 2));
    }
}
