//! Random requests, many at once, against a flat array.

use std::collections::BTreeMap;

use nbd::Operation;
use tilemark_block_server::{Access, Disk, FileDisk, Limits};

use crate::client::Client;
use crate::disks::{Served, directory, file, ram};

const SIZE: u64 = 1 << 20;
const BLOCK: u64 = 4096;

/// A reproducible stream of numbers (SplitMix64).
pub(crate) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// An operation with a range, and the byte that it writes.
fn some(random: &mut Random) -> (Operation, u64, u32, u8) {
    let blocks = SIZE / BLOCK;
    let start = random.below(blocks);
    let count = 1 + random.below((blocks - start).min(24));
    let (fua, no_hole) = (random.below(8) == 0, random.below(2) == 0);
    let operation = match random.below(12) {
        0..5 => Operation::Read,
        5..9 => Operation::Write { fua },
        9 => Operation::Trim { fua },
        10 => Operation::WriteZeroes { fua, no_hole, fast: false },
        _ => return (Operation::Flush, 0, 0, 0),
    };
    let byte = u8::try_from(1 + random.below(255)).unwrap();
    (operation, start * BLOCK, u32::try_from(count * BLOCK).unwrap(), byte)
}

/// Blocks that a request which is not answered yet reads or changes.
fn overlaps(asked: &BTreeMap<u64, (u64, u64)>, offset: u64, length: u32) -> bool {
    let end = offset + u64::from(length);
    asked.values().any(|(start, other_end)| *start < end && offset < *other_end)
}

/// Keeps up to 16 requests under way, none of which overlap (their order is open), and compares
/// every read. Trimmed ranges read as zeroes on the disks here.
fn compare(mut client: Client, model: &mut [u8], seed: u64) {
    let mut random = Random(seed);
    let mut asked: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut expected = BTreeMap::new();
    for _ in 0..1500 {
        let (operation, offset, length, byte) = some(&mut random);
        while asked.len() >= 16 || overlaps(&asked, offset, length) {
            let (cookie, answer) = client.wait_any().unwrap();
            asked.remove(&cookie);
            let data = answer.unwrap();
            if let Some(wanted) = expected.remove(&cookie) {
                assert!(data == wanted, "a read differs, seed {seed}");
            }
        }
        let start = usize::try_from(offset).unwrap();
        let range = start..start + length as usize;
        let mut data = Vec::new();
        match operation {
            Operation::Write { .. } => {
                data = vec![byte; length as usize];
                model[range.clone()].fill(byte);
            }
            Operation::Trim { .. } | Operation::WriteZeroes { .. } => model[range.clone()].fill(0),
            _ => {}
        }
        let cookie = client.ask(operation, offset, length, &data).unwrap();
        asked.insert(cookie, (offset, offset + u64::from(length)));
        if operation == Operation::Read {
            expected.insert(cookie, model[range].to_vec());
        }
    }
    while client.requests.outstanding() > 0 {
        client.wait_any().unwrap().1.unwrap();
    }
}

fn try_on(disk: Box<dyn Disk>, structured: bool, seed: u64) -> (Served, Vec<u8>) {
    let served = Served::of(vec![disk], Limits::default());
    let stream = crate::client::connect(served.place()).unwrap();
    let client = Client::over(stream, "vm", structured).unwrap();
    let mut model = vec![0; usize::try_from(SIZE).unwrap()];
    compare(client, &mut model, seed);
    let mut again = Client::open(served.place(), "vm").unwrap();
    let whole = again.read(0, u32::try_from(SIZE).unwrap()).unwrap();
    assert!(whole == model, "the disk is what was written");
    assert_eq!(served.running.counts().errors, 0);
    (served, model)
}

#[test]
fn memory_does_what_a_flat_array_does() {
    for (seed, structured) in [(1, true), (2, false)] {
        try_on(ram("vm", SIZE), structured, seed);
    }
}

#[test]
fn a_file_does_what_a_flat_array_does_and_holds_it_afterwards() {
    let directory = directory();
    for (seed, buffered) in [(3, false), (4, true)] {
        let path = directory.path().join(format!("disk-{seed}"));
        let access = Access { read_only: false, buffered };
        let (served, model) = try_on(file(&path, SIZE, access), true, seed);
        served.running.stop().unwrap();
        assert!(std::fs::read(&path).unwrap() == model, "the file is what was written");
    }
}

#[test]
fn a_disk_that_is_read_only_says_so_and_stays_as_it_is() {
    let directory = directory();
    let path = directory.path().join("disk");
    std::fs::write(&path, vec![7; 8192]).unwrap();
    let access = Access { read_only: true, buffered: false };
    let disk = FileDisk::open("vm", &path, access).unwrap();
    let served = Served::of(vec![Box::new(disk)], Limits::default());
    let mut client = Client::open(served.place(), "vm").unwrap();
    assert_eq!(client.read(0, 8192).unwrap(), vec![7; 8192]);
    assert!(client.flush().is_ok());
    // This client does not even ask; so the request is made by hand.
    let refused = client.requests.submit(Operation::Write { fua: false }, 0, 512, &mut Vec::new());
    assert!(refused.is_err());
    let header = [
        &0x2560_9513_u32.to_be_bytes()[..],
        &[0, 0, 0, 1],
        &5_u64.to_be_bytes(),
        &0_u64.to_be_bytes(),
        &4096_u32.to_be_bytes(),
    ];
    client.send(&header.concat()).unwrap();
    client.send(&[1; 4096]).unwrap();
    let disconnect = [&0x2560_9513_u32.to_be_bytes()[..], &[0, 0, 0, 2], &[0; 20]].concat();
    client.send(&disconnect).unwrap();
    let reply = client.rest();
    assert_eq!(reply[..8], [0x66, 0x8e, 0x33, 0xef, 0, 1, 0x80, 1], "an error chunk, the last");
    assert_eq!(reply[20..24], 1_u32.to_be_bytes(), "EPERM");
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 8192]);
}
