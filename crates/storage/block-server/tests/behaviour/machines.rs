//! Disks over vhost-user: reads and writes of VMs, false claims of VMs, and recovery when one side goes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use nbd::{Abilities, BlockSizes, Code, Export};
use rustix::fs::MemfdFlags;
use tempfile::TempDir;
use tilemark_block_server::{
    Access, Disk, Effects, FileDisk, Limits, Listen, ListenAddress, Note, RamDisk, Request,
    Running, StartError, start,
};

use crate::client::Client;
use crate::disks::{directory, file, ram, unix};
use crate::flat::Random;
use crate::gated::Gated;
use crate::machine::{
    Answer, DATA_MAX, DISCARD, ENTRIES, FLUSH, GET_ID, IN, Machine, OUT, REQUESTS, WRITE_ZEROES,
};

const SIZE: u64 = 1 << 20;
const IO_ERROR: u8 = 1;
const UNSUPPORTED: u8 = 2;
/// Descriptors of a request that comes where something else is not to come.
const SOON: Duration = Duration::from_millis(300);
/// Time after which a wait has failed.
const LATE: Duration = Duration::from_secs(60);
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

fn vhost(path: &Path, disk: &str) -> Listen {
    Listen {
        place: ListenAddress::Vhost { path: path.to_owned(), disk: disk.to_owned() },
        tls: None,
    }
}

/// A disk over both, in a directory of its own.
struct Both {
    running: Running,
    directory: TempDir,
}

impl Both {
    fn of(disk: Box<dyn Disk>) -> Self {
        Self::in_directory(disk, TempDir::new().unwrap())
    }

    fn in_directory(disk: Box<dyn Disk>, directory: TempDir) -> Self {
        let listen = [
            vhost(&directory.path().join("v"), disk.export().name()),
            unix(&directory.path().join("s")),
        ];
        let running = start(vec![disk], &listen, Limits::default()).unwrap();
        Self { running, directory }
    }

    fn machine(&self, has_events: bool) -> Machine {
        let mut machine = Machine::new(has_events);
        self.connect(&mut machine);
        machine
    }

    fn connect(&self, machine: &mut Machine) {
        machine.connect(&self.directory.path().join("v")).unwrap();
    }

    fn client(&self) -> Client {
        Client::open(&self.running.places()[1], "vm").unwrap()
    }

    /// Ends it; the directory stays.
    fn stop(self) -> TempDir {
        self.running.stop().unwrap();
        self.directory
    }
}

#[test]
fn a_machine_and_a_client_have_the_same_disk() {
    let both = Both::of(ram("vm", SIZE));
    let (mut machine, mut client) = (both.machine(false), both.client());
    let config = machine.config();
    assert_eq!(config[..8], (SIZE / 512).to_le_bytes(), "sectors");
    assert_eq!(machine.write(4096, &[7; 8192]), 0);
    assert_eq!(client.read(4096, 8192), Ok(vec![7; 8192]));
    client.write(8192, &[8; 512]).unwrap();
    assert_eq!(machine.read(7680, 1536), [vec![7; 512], vec![8; 512], vec![7; 512]].concat());
    assert_eq!(machine.call(FLUSH, 0, 0, &[]).status, 0);
    assert_eq!(machine.range(DISCARD, 4096, 4096, 0), 0);
    assert_eq!(machine.range(WRITE_ZEROES, 8192, 512, 1), 0);
    assert_eq!(client.read(4096, 8192).unwrap(), [vec![0; 4608], vec![7; 3584]].concat());
    let id = machine.call(GET_ID, 0, 20, &[]).data;
    assert_eq!(id, [&b"vm"[..], &[0; 18]].concat());
    assert_eq!(both.running.counts().errors, 0);
}

/// Random reads and writes, many at once, against a flat array.
fn compare(machine: &mut Machine, model: &mut [u8], seed: u64) {
    let mut random = Random(seed);
    let mut asked: BTreeMap<u16, (u64, u64, Option<Vec<u8>>)> = BTreeMap::new();
    for _ in 0..2000 {
        let blocks = SIZE / 4096;
        let start = random.below(blocks) * 4096;
        let bytes = (1 + random.below(24)).min(blocks - start / 4096) * 4096;
        let overlaps = |asked: &BTreeMap<_, (u64, u64, _)>| {
            asked.values().any(|(other, end, _)| *other < start + bytes && start < *end)
        };
        while !machine.has_room() || overlaps(&asked) {
            let Answer { slot, status, data } = machine.wait();
            let (_, _, expected) = asked.remove(&slot).unwrap();
            assert_eq!(status, 0);
            assert!(
                expected.is_none_or(|expected| expected == data),
                "a read differs, seed {seed}"
            );
        }
        let range = usize::try_from(start).unwrap()..usize::try_from(start + bytes).unwrap();
        let length = u32::try_from(bytes).unwrap();
        let (slot, expected) = if random.below(2) == 0 {
            let expected = model[range].to_vec();
            (machine.ask(IN, start / 512, length, &[]), Some(expected))
        } else {
            model[range.clone()].fill(u8::try_from(random.below(256)).unwrap());
            (machine.ask(OUT, start / 512, length, &model[range]), None)
        };
        asked.insert(slot, (start, start + bytes, expected));
    }
    while machine.open() > 0 {
        assert_eq!(machine.wait().status, 0);
    }
}

#[test]
fn memory_and_a_file_do_for_a_machine_what_a_flat_array_does() {
    let directory = directory();
    let path = directory.path().join("disk");
    let file = file(&path, SIZE, Access::default());
    for (disk, has_events, seed) in [(ram("vm", SIZE), false, 1), (file, true, 2)] {
        let both = Both::of(disk);
        let mut machine = both.machine(has_events);
        let mut model = vec![0; usize::try_from(SIZE).unwrap()];
        compare(&mut machine, &mut model, seed);
        let whole = both.client().read(0, u32::try_from(SIZE).unwrap()).unwrap();
        assert!(whole == model, "the disk is what was written");
    }
}

/// A disk that takes no more than 8 KiB at once.
struct Small(RamDisk, Export);

impl Disk for Small {
    fn export(&self) -> &Export {
        &self.1
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        assert!(request.length <= 8192, "no more than it says");
        self.0.submit(request, effects);
    }
}

#[test]
fn requests_that_are_longer_than_a_disk_takes_are_divided() {
    let blocks = BlockSizes::new(512, 4096, 8192).unwrap();
    let export = Export::new("vm", SIZE, blocks, Abilities::FLUSH).unwrap();
    let both = Both::of(Box::new(Small(RamDisk::new("vm", SIZE).unwrap(), export)));
    let mut machine = both.machine(false);
    let bytes: Vec<u8> =
        (0..100 * 512_u32).map(|at| u8::try_from(at / 300 % 251).unwrap()).collect();
    assert_eq!(machine.write(512, &bytes), 0);
    assert_eq!(machine.read(512, 100 * 512), bytes);
    assert_eq!(both.running.counts().requests, 14);
    assert_eq!(machine.range(DISCARD, 0, 4096, 0), UNSUPPORTED, "it said that it cannot");
}

#[test]
fn what_a_machine_asks_that_cannot_be_is_an_error_to_it() {
    let directory = directory();
    let path = directory.path().join("disk");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let access = Access { read_only: true, buffered: false };
    let both = Both::of(Box::new(FileDisk::open("vm", &path, access).unwrap()));
    let mut machine = both.machine(false);
    assert_eq!(machine.write(0, &[1; 4096]), IO_ERROR, "it is read-only");
    drop((machine, both));
    let both = Both::of(ram("vm", SIZE));
    let mut machine = both.machine(false);
    let end = SIZE / 512;
    for (kind, sector, bytes, why) in [
        (IN, end, 512, "behind the end"),
        (IN, end - 1, 1024, "over the end"),
        (OUT, end, 512, "a write behind the end"),
        (IN, u64::MAX, 512, "an offset that no number can say"),
        (IN, u64::MAX / 512, 4096, "an end that no number can say"),
        (IN, 0, 100, "no sector"),
        (IN, 0, 0, "nothing"),
        (GET_ID, 0, 19, "no room for a name"),
        (DISCARD, 0, 15, "no range"),
        (WRITE_ZEROES, 0, 32, "two ranges"),
    ] {
        let is_written = matches!(kind, OUT | DISCARD | WRITE_ZEROES);
        let data = vec![1; if is_written { bytes as usize } else { 0 }];
        assert_eq!(machine.call(kind, sector, bytes, &data).status, IO_ERROR, "{why}");
    }
    assert_eq!(machine.call(2, 0, 512, &[]).status, UNSUPPORTED, "a SCSI command");
    assert_eq!(machine.call(99, 0, 0, &[]).status, UNSUPPORTED);
    assert_eq!(machine.range(DISCARD, 0, 512, 1), UNSUPPORTED, "discards have no flags");
    assert_eq!(machine.range(WRITE_ZEROES, 0, 512, 2), UNSUPPORTED, "nor zeroing this one");
    assert_eq!(machine.range(DISCARD, SIZE, 512, 0), IO_ERROR);
    assert_eq!(both.client().read(0, 4096), Ok(vec![0; 4096]), "nothing of it was written");
}

/// Where, how many bytes, of what kind, and which one follows.
type Descriptor = (u64, u32, u16, u16);

/// Address for the descriptors of the tests below: a head that reads sector 0, and bytes.
const HEAD: u64 = (1 << 20) + 65536;
const BYTES: u64 = HEAD + 4096;

#[test]
fn invalid_chains_are_given_back_empty() {
    let both = Both::of(ram("vm", SIZE));
    let mut machine = both.machine(false);
    let outside = 1 << 40;
    let chains: [(&str, &[Descriptor], u32); 11] = [
        ("nothing to be written", &[(HEAD, 16, 0, 0)], 0),
        ("a circle", &[(HEAD, 16, NEXT, 0)], 0),
        ("out of the table", &[(HEAD, 16, NEXT, ENTRIES)], 0),
        ("a head that is too short", &[(HEAD, 15, NEXT, 1), (BYTES, 1, WRITE, 0)], 1),
        ("a head where no memory is", &[(outside, 16, NEXT, 1), (BYTES, 1, WRITE, 0)], 1),
        ("no memory for a status", &[(HEAD, 16, NEXT, 1), (outside, 1, WRITE, 0)], 0),
        (
            "no memory for bytes",
            &[(HEAD, 16, NEXT, 1), (outside, 512, WRITE | NEXT, 2), (BYTES, 1, WRITE, 0)],
            0,
        ),
        ("an end that no number can say", &[(u64::MAX - 3, 16, NEXT, 1), (BYTES, 1, WRITE, 0)], 1),
        (
            "read behind written",
            &[(HEAD, 16, NEXT, 1), (BYTES, 513, WRITE | NEXT, 2), (BYTES, 16, 0, 0)],
            0,
        ),
        (
            "a table within a table's chain",
            &[(HEAD, 16, NEXT, 1), (BYTES, 16, INDIRECT | NEXT, 2), (BYTES, 1, WRITE, 0)],
            0,
        ),
        ("a table of half a descriptor", &[(BYTES, 24, INDIRECT, 0)], 0),
    ];
    for (why, chain, written) in chains {
        for (index, &(address, bytes, flags, next)) in (0..).zip(chain) {
            machine.descriptor(index, address, bytes, flags, next);
        }
        machine.offer(0);
        let used = machine.take_used(LATE);
        if why == "no memory for a status" {
            // Where there is no place for it, the guest's memory is not what it says, and its queue is left.
            assert_eq!(used, Some((0, 1)), "{why}");
            machine = both.again(machine);
            continue;
        }
        assert_eq!(used, Some((0, written)), "{why}");
    }
    assert_eq!(both.client().read(0, 512), Ok(vec![0; 512]), "others are served");
}

impl Both {
    /// Replaces a VM by another.
    fn again(&self, machine: Machine) -> Machine {
        drop(machine);
        self.machine(false)
    }
}

#[test]
fn a_table_of_descriptors_elsewhere_is_followed_once() {
    use vm_memory::{Bytes, GuestAddress};
    let both = Both::of(ram("vm", SIZE));
    both.client().write(0, &[9; 512]).unwrap();
    let mut machine = both.machine(false);
    let table = BYTES + 65536;
    let entry = |address: u64, bytes: u32, flags: u16, next: u16| {
        [
            &address.to_le_bytes()[..],
            &bytes.to_le_bytes(),
            &flags.to_le_bytes(),
            &next.to_le_bytes(),
        ]
        .concat()
    };
    let chain = [
        entry(HEAD, 16, NEXT, 1),
        entry(BYTES, 512, WRITE | NEXT, 2),
        entry(BYTES + 512, 1, WRITE, 0),
    ];
    machine.memory.write_slice(&chain.concat(), GuestAddress(table)).unwrap();
    machine.memory.write_slice(&[0; 16], GuestAddress(HEAD)).unwrap();
    machine.descriptor(5, table, 48, INDIRECT, 0);
    machine.offer(5);
    assert_eq!(machine.take_used(LATE), Some((5, 513)));
    let mut found = vec![0; 513];
    machine.memory.read_slice(&mut found, GuestAddress(BYTES)).unwrap();
    assert_eq!(found, [vec![9; 512], vec![0]].concat());
    // A table that points to itself.
    machine.memory.write_slice(&entry(table, 48, INDIRECT, 0), GuestAddress(table)).unwrap();
    machine.offer(5);
    assert_eq!(machine.take_used(LATE), Some((5, 0)));
}

#[test]
fn broken_queue_is_ignored_and_others_are_served() {
    let both = Both::of(ram("vm", SIZE));
    for lie in ["a leap", "a head beyond the table", "a head that is in flight"] {
        let mut machine = both.machine(false);
        assert_eq!(machine.write(0, &[1; 512]), 0);
        match lie {
            "a leap" => machine.set_available(1000),
            "a head beyond the table" => machine.offer(ENTRIES),
            _ => {
                let (gated, gate) = Gated::with_gate(SIZE, None);
                let both = Both::of(gated);
                let mut machine = both.machine(false);
                machine.ask(IN, 0, 512, &[]);
                gate.wait_for(1);
                machine.offer(0);
                // The server sees the false offer before it accepts this client. So the offer is
                // seen while the first request is in flight.
                drop(both.client());
                gate.open(10);
                assert_eq!(machine.wait().status, 0, "the first is answered");
                assert_eq!(machine.take_used(SOON), None, "{lie}");
                continue;
            }
        }
        machine.ask(IN, 0, 512, &[]);
        assert_eq!(machine.take_used(SOON), None, "{lie}");
        assert_eq!(both.client().read(0, 512), Ok(vec![1; 512]), "{lie}");
    }
}

#[test]
fn memory_whose_access_may_fault_is_refused() {
    let both = Both::of(ram("vm", SIZE));
    let (ordinary, huge) = (MemfdFlags::empty(), MemfdFlags::HUGETLB);
    for (is_sealed, pages, lie, words) in [
        (false, ordinary, 0, "could shrink it"),
        (true, ordinary, 4096, "are outside the file of"),
        // Nobody has to have such pages for this: they are asked for when they are touched.
        (true, huge, 0, "huge pages"),
    ] {
        let mut machine = Machine::new(false);
        machine.memory = crate::machine::memory(is_sealed, pages);
        machine.lie = lie;
        assert!(machine.connect(&both.directory.path().join("v")).is_err());
        let mut notes = Vec::new();
        while notes.is_empty() {
            notes = both.running.notes();
            std::thread::yield_now();
        }
        let Note { text, hint } = &notes[0];
        assert!(text.contains("vm, over vhost-user") && text.contains(words), "{notes:?}");
        assert_eq!(hint.is_some(), lie == 0, "{notes:?}");
    }
    assert_eq!(both.machine(false).read(0, 512), vec![0; 512], "another one is served");
}

#[test]
fn a_disk_that_is_not_served_cannot_be_had() {
    let directory = TempDir::new().unwrap();
    let listen = [vhost(&directory.path().join("v"), "vm2")];
    let refused = start(vec![ram("vm", SIZE)], &listen, Limits::default()).unwrap_err();
    assert!(matches!(refused, StartError::NoDisk { name } if name == "vm2"));
}

#[test]
fn disk_has_one_vm_at_a_time_and_the_next_one_waits() {
    let both = Both::of(ram("vm", SIZE));
    let mut first = both.machine(false);
    let path = both.directory.path().join("v");
    assert!(Machine::new(false).connect(&path).is_err(), "it is sent away");
    assert_eq!(first.write(0, &[3; 512]), 0, "the first has it still");
    let next = std::thread::spawn(move || {
        let mut next = Machine::new(false);
        next.connect(&path).unwrap();
        next.read(0, 512)
    });
    first.hang_up();
    assert_eq!(next.join().unwrap(), vec![3; 512]);
}

#[test]
fn reconnected_vm_is_answered_what_was_in_flight() {
    let (gated, gate) = Gated::with_gate(SIZE, None);
    let both = Both::of(gated);
    let mut machine = both.machine(true);
    let slots: Vec<u16> =
        (1..=5).map(|byte| machine.ask(OUT, 8 * u64::from(byte), 4096, &[byte; 4096])).collect();
    gate.wait_for(5);
    gate.open(2);
    let mut answered = vec![machine.wait().slot, machine.wait().slot];
    machine.hang_up();
    both.connect(&mut machine);
    // Three that were in flight are asked again, beside those which the disk has still.
    gate.wait_for(3);
    gate.open(6);
    answered.extend((0..3).map(|_| machine.wait()).map(|answer| {
        assert_eq!(answer.status, 0);
        answer.slot
    }));
    answered.sort_unstable();
    let mut expected = slots;
    expected.sort_unstable();
    assert_eq!(answered, expected, "each once");
    assert_eq!(machine.take_used(SOON), None, "and no more");
    gate.open(100);
    for byte in 1..=5 {
        assert_eq!(machine.read(4096 * u64::from(byte), 4096), vec![byte; 4096]);
    }
}

#[test]
fn ending_server_answers_and_the_next_one_continues() {
    let directory = directory();
    let path = directory.path().join("disk");
    let both = Both::of(file(&path, SIZE, Access::default()));
    let mut machine = both.machine(false);
    for block in 0..REQUESTS {
        machine.ask(OUT, u64::from(block) * 8, 4096, &[1; 4096]);
    }
    let place = both.stop();
    // Requests that the first server did not take wait for the next server.
    let disk = FileDisk::open("vm", &path, Access::default()).unwrap();
    let both = Both::in_directory(Box::new(disk), place);
    both.connect(&mut machine);
    for _ in 0..REQUESTS {
        assert_eq!(machine.wait().status, 0);
    }
    assert_eq!(machine.read(0, 128 << 10), vec![1; 128 << 10]);
}

#[test]
fn stopped_queue_answers_and_reports_its_next_index() {
    let (gated, gate) = Gated::with_gate(SIZE, None);
    let both = Both::of(gated);
    let mut machine = both.machine(false);
    for block in 0..3 {
        machine.ask(OUT, block * 8, 4096, &[2; 4096]);
    }
    gate.wait_for(3);
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| machine.stop());
        gate.open(100);
        assert_eq!(stopped.join().unwrap(), 3);
    });
    assert_eq!((machine.wait().status, machine.wait().status, machine.wait().status), (0, 0, 0));
    machine.ask(IN, 0, 4096, &[]);
    assert_eq!(machine.take_used(SOON), None, "nobody serves it");
    machine.start_again();
    assert_eq!(machine.wait().data, vec![2; 4096]);
}

/// A disk that answers a request when the next one comes.
struct Pairs(RamDisk, Option<Request>);

impl Disk for Pairs {
    fn export(&self) -> &Export {
        self.0.export()
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        match self.1.take() {
            None => self.1 = Some(request),
            Some(kept) => {
                self.0.submit(kept, effects);
                self.0.submit(request, effects);
            }
        }
    }
}

/// In whatever order the front ends are served, the server does not sleep while a request of one
/// front end has made an answer for the other.
#[test]
fn request_that_unblocks_another_front_end_does_so_at_once() {
    let both = Both::of(Box::new(Pairs(RamDisk::new("vm", SIZE).unwrap(), None)));
    let (mut machine, mut client) = (both.machine(false), both.client());
    let cookie = client.ask(nbd::Operation::Read, 0, 512, &[]).unwrap();
    while both.running.counts().requests < 1 {
        std::thread::yield_now();
    }
    assert_eq!(machine.read(0, 512), vec![0; 512]);
    assert!(client.wait(cookie).unwrap().is_ok());
    let slot = machine.ask(IN, 0, 512, &[]);
    while both.running.counts().requests < 3 {
        std::thread::yield_now();
    }
    assert!(client.read(0, 512).is_ok());
    assert_eq!(machine.wait().slot, slot);
}

#[test]
fn an_error_of_the_disk_is_an_error_to_the_machine() {
    let (gated, gate) = Gated::with_gate(SIZE, Some(Code::Io));
    let both = Both::of(gated);
    let mut machine = both.machine(false);
    gate.open(100);
    let answer = machine.call(IN, 0, u32::try_from(DATA_MAX).unwrap(), &[]);
    assert_eq!((answer.status, both.running.counts().errors), (IO_ERROR, 1));
}
