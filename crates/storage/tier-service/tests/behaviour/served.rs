//! Every kind of request, in every mode and over restarts, against a model in memory.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use block_server::{Limits, Listen, ListenAddress, Running};
use nbd::Operation;
use tier::format::{SIDECAR_BYTES, Sidecar};
use tier::{Mode, Plan};
use tilemark_tier_service::{Command, Copies, Opening, Refusal, Report, Set, SetError};

use crate::client::Client;

pub const DISK_BYTES: usize = 8 << 20;

/// A directory with a set, a backing file and a server.
pub struct Host {
    pub directory: tempfile::TempDir,
    pub mode: Mode,
}

pub struct Served {
    pub running: Running,
    pub control: tilemark_tier_service::Control,
    pub was_clean: bool,
    pub pages: usize,
}

impl Host {
    pub fn new(mode: Mode) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let host = Self { directory, mode };
        std::fs::write(host.backing(), vec![0; DISK_BYTES]).expect("room");
        let plan = Plan { chunk_bytes: 1 << 20, log_percent: 50, ..Plan::new(32 << 20) };
        tilemark_tier_service::make(&host.cache(), plan).expect("a set");
        host
    }

    pub fn cache(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    pub fn backing(&self) -> PathBuf {
        self.directory.path().join("disk.raw")
    }

    pub fn socket(&self) -> ListenAddress {
        ListenAddress::Unix(self.directory.path().join("s"))
    }

    pub fn opening(&self) -> Opening {
        Opening {
            name: "vm1".to_owned(),
            backing: self.backing(),
            mode: self.mode,
            sidecar: None,
            copies: Copies::default(),
            reserve: None,
        }
    }

    pub fn open(&self) -> Result<Set, SetError> {
        open(&self.cache(), &[self.opening()])
    }

    pub fn serve(&self) -> Served {
        self.serve_as(self.opening()).expect("it opens").0
    }

    /// Starts a server, and returns the messages for the operator, too.
    pub fn serve_as(&self, opening: Opening) -> Result<(Served, Receiver<String>), SetError> {
        let Set { offer, control, told, was_clean, pages, .. } = open(&self.cache(), &[opening])?;
        let listen = Listen { place: self.socket(), tls: None };
        let running =
            block_server::start_with(offer, &[listen], Limits::default()).expect("it starts");
        control.serve(&running);
        Ok((Served { running, control, was_clean, pages }, told))
    }

    pub fn client(&self) -> Client {
        Client::open(&self.socket(), "vm1").expect("it is served")
    }

    pub fn content(&self) -> Vec<u8> {
        std::fs::read(self.backing()).expect("the backing file")
    }
}

/// Identity of the storage behind a file.
pub fn identity(path: &Path) -> String {
    let file = std::fs::File::open(path).expect("the file");
    datastore::storage_identity(&file).expect("it can be asked").name
}

/// Word that accepts a backing store for the current state of the sidecar; empty where there is no
/// sidecar yet.
pub fn word(backing: &Path, sidecar: &Path) -> String {
    let bytes = std::fs::read(sidecar).unwrap_or_default();
    let said = Sidecar::newest(bytes.get(..SIDECAR_BYTES).unwrap_or_default());
    said.map_or_else(String::new, |said| tier::word_for_disk(&identity(backing), &said))
}

pub fn open(cache: &Path, disks: &[Opening]) -> Result<Set, SetError> {
    // Hosts of a test that share a reserved device each have their own file as its content, so each
    // host accepts its own file.
    let reserved = disks.iter().filter(|disk| disk.reserve.is_some());
    let accept = |disk: &Opening| word(&disk.backing, disk.sidecar.as_deref().expect("shared"));
    let accepted: Vec<String> = reserved.map(accept).collect();
    Set::open(cache, tilemark_tier_service::Caching::default(), &accepted, disks)
}

impl Served {
    pub fn ask(&self, command: Command) -> Result<Option<Report>, Refusal> {
        self.control.ask(command, &self.running, Duration::from_secs(60))
    }

    pub fn report(&self) -> Report {
        self.ask(Command::Status).expect("it answers").expect("with a report")
    }
}

/// Pseudo-random numbers from a seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Sends some hundred requests of every kind; `flat` is the expected content of the disk.
pub fn play(client: &mut Client, flat: &mut [u8], dice: &mut Dice, requests: usize) {
    let sectors = (flat.len() / 512) as u64;
    for _ in 0..requests {
        let (first, count) = (dice.below(sectors), 1 + dice.below(400));
        let count = count.min(sectors - first);
        let (offset, bytes) = (first * 512, count * 512);
        let range = usize::try_from(offset).expect("small")
            ..usize::try_from(offset + bytes).expect("small");
        let length = u32::try_from(bytes).expect("short");
        match dice.below(10) {
            0 => {
                client.flush().expect("a flush is answered");
            }
            1 => {
                let (fua, no_hole) = (dice.below(4) == 0, dice.below(2) == 0);
                done(
                    client,
                    Operation::WriteZeroes { fua, no_hole, fast: false },
                    offset,
                    length,
                    &[],
                );
                flat[range].fill(0);
            }
            2..=5 => {
                let byte = u8::try_from(dice.below(255) + 1).expect("a byte");
                flat[range.clone()].fill(byte);
                let operation = Operation::Write { fua: dice.below(4) == 0 };
                done(client, operation, offset, length, &flat[range]);
            }
            _ => assert!(
                client.read(offset, length).expect("bytes come") == flat[range],
                "read at {offset}, {bytes} B"
            ),
        }
    }
}

fn done(client: &mut Client, operation: Operation, offset: u64, length: u32, data: &[u8]) {
    let cookie = client.ask(operation, offset, length, data).expect("the server is there");
    client.wait(cookie).expect("the server is there").expect("it is done");
}

#[test]
fn every_request_is_right_in_every_mode_and_over_restarts() {
    for (mode, seed) in [(Mode::Back, 11), (Mode::Through, 12)] {
        let host = Host::new(mode);
        let (mut flat, mut dice) = (vec![0; DISK_BYTES], Dice(seed));
        for round in 0..3 {
            let served = host.serve();
            assert!(served.was_clean, "it was closed, or is new");
            let mut client = host.client();
            play(&mut client, &mut flat, &mut dice, 400);
            client.flush().expect("a flush is answered");
            assert!(client.read(0, 512 << 10).expect("bytes come") == flat[..512 << 10]);
            let report = served.report();
            assert!(
                report.counters.hits > 0 && report.counters.checksum_errors == 0,
                "round {round}: {report:?}"
            );
            drop(client);
            served.running.stop().expect("it ends in order");
        }
        let served = host.serve();
        served.ask(Command::Drain { disk: "vm1".to_owned() }).expect("it drains");
        assert!(host.content() == flat, "the backing file has all of it");
        assert!(host.client().read(0, 512 << 10).expect("bytes come") == flat[..512 << 10]);
        assert_eq!(served.report().disks[0].dirty_bytes, 0);
        served.running.stop().expect("it ends in order");
    }
}

#[test]
fn what_was_read_is_there_again_after_a_clean_restart() {
    let host = Host::new(Mode::Through);
    let served = host.serve();
    let mut client = host.client();
    for offset in (0..4 << 20).step_by(64 << 10) {
        client.read(offset, 64 << 10).expect("bytes come");
    }
    drop(client);
    served.running.stop().expect("it ends in order");
    let served = host.serve();
    assert!(served.was_clean && served.pages == 64, "{} pages", served.pages);
    let mut client = host.client();
    for offset in (0..4 << 20).step_by(64 << 10) {
        client.read(offset, 64 << 10).expect("bytes come");
    }
    let report = served.report();
    assert_eq!((report.counters.hits, report.counters.misses, report.counters.partial), (64, 0, 0));
}

#[test]
fn modes_and_population_change_while_a_client_works() {
    let host = Host::new(Mode::Through);
    let (mut flat, mut dice) = (vec![0; DISK_BYTES], Dice(13));
    let served = host.serve();
    let mut client = host.client();
    for back in [true, false, true, false] {
        play(&mut client, &mut flat, &mut dice, 100);
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| served.ask(Command::Mode { disk: "vm1".to_owned(), back }));
            play(&mut client, &mut flat, &mut dice, 50);
            asked.join().expect("no panic").expect("the mode changes");
        });
        assert_eq!(served.report().disks[0].mode, if back { "back" } else { "through" });
    }
    served
        .ask(Command::Populate { disk: "vm1".to_owned(), on: false, for_s: None })
        .expect("it is taken");
    let filled = served.report().counters.filled_bytes;
    play(&mut client, &mut flat, &mut dice, 100);
    assert_eq!(served.report().counters.filled_bytes, filled);
    assert!(host.content() == flat);
}

#[test]
fn two_disks_share_a_set_and_stay_two() {
    let host = Host::new(Mode::Back);
    let second = host.directory.path().join("second.raw");
    std::fs::write(&second, vec![0; DISK_BYTES]).expect("room");
    let disks = [
        host.opening(),
        Opening {
            name: "vm2".to_owned(),
            backing: second.clone(),
            mode: Mode::Through,
            sidecar: None,
            copies: Copies::default(),
            reserve: None,
        },
    ];
    let set = open(&host.cache(), &disks).expect("it opens");
    let listen = Listen { place: host.socket(), tls: None };
    let running =
        block_server::start_with(set.offer, &[listen], Limits::default()).expect("it starts");
    let (mut one, mut two) = (vec![0; DISK_BYTES], vec![0; DISK_BYTES]);
    let mut dice = Dice(14);
    let mut clients = (host.client(), Client::open(&host.socket(), "vm2").expect("it is served"));
    for _ in 0..6 {
        play(&mut clients.0, &mut one, &mut dice, 60);
        play(&mut clients.1, &mut two, &mut dice, 60);
    }
    drop(clients);
    running.stop().expect("it ends in order");
    assert!(std::fs::read(&second).expect("the file") == two);
    let set = open(&host.cache(), &disks[..1]).expect("the second may stay away");
    assert!(set.was_clean);
}

#[test]
fn drained_writes_are_not_to_come() {
    for (is_killed, mode) in [(true, Mode::Back), (false, Mode::Back), (false, Mode::Through)] {
        let host = Host::new(mode);
        let served = host.serve();
        let mut client = host.client();
        for at in 0..20 {
            client.write(at * 4096, &[7; 4096]).expect("bytes are taken");
        }
        client.flush().expect("a flush is answered");
        served.ask(Command::Drain { disk: "vm1".to_owned() }).expect("it drains");
        // A copy of the cache file equals the file after a kill at this moment.
        let left = host.directory.path().join("left");
        std::fs::copy(host.cache(), &left).expect("room");
        served.running.stop().expect("it ends in order");
        let examined = Set::examine(&if is_killed { left } else { host.cache() });
        let disks = examined.expect("it is a set").disks;
        assert!(disks.iter().all(|disk| (disk.writes, disk.bytes) == (0, 0)), "{disks:?}");
    }
}
