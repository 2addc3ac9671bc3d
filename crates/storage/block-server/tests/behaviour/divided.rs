//! Requests of a client that did not ask for block sizes, and so sends longer ones than its disk takes.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nbd::{Abilities, BlockSizes, Code, Export, Operation};
use tilemark_block_server::{Disk, Effects, Limits, Request};

use crate::disks::Served;

/// Bytes that the disk takes at once, and has.
const MOST: usize = 64 << 10;
const SIZE: usize = 4 << 20;
/// A part that begins here fails.
const BAD: u64 = 3 << 20;

const READ: u16 = 0;
const WRITE: u16 = 1;
const EIO: u32 = 5;
const EINVAL: u32 = 22;

/// Memory that takes short requests alone.
struct Short {
    export: Export,
    bytes: Vec<u8>,
}

impl Disk for Short {
    fn export(&self) -> &Export {
        &self.export
    }

    fn submit(&mut self, mut request: Request, effects: &mut Effects) {
        let (from, length) = (usize::try_from(request.offset).unwrap(), request.length as usize);
        assert!(length <= MOST, "{length} B at once");
        let own = &mut self.bytes[from..from + length];
        let mut result = Ok(());
        match request.operation {
            _ if request.offset == BAD => result = Err(Code::Io),
            Operation::Read => request.data.copy_from_slice(own),
            Operation::Write { .. } => own.copy_from_slice(&request.data),
            _ => result = Err(Code::NotSupported),
        }
        effects.answer(request.id, result, request.data);
    }
}

struct Raw(UnixStream);

impl Raw {
    /// Chooses the disk with `GO`, asking for these kinds of information.
    fn open(served: &Served, kinds: &[u16]) -> Self {
        let mut raw = Self(UnixStream::connect(served.socket()).unwrap());
        raw.0.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        raw.read(18);
        let kinds: Vec<u8> = kinds.iter().flat_map(|kind| kind.to_be_bytes()).collect();
        let count = u16::try_from(kinds.len() / 2).unwrap();
        let data = [&2_u32.to_be_bytes()[..], b"vm", &count.to_be_bytes(), &kinds].concat();
        let length = u32::try_from(data.len()).unwrap();
        let option = [&3_u32.to_be_bytes()[..], b"IHAVEOPT", &7_u32.to_be_bytes()].concat();
        raw.0.write_all(&[option, length.to_be_bytes().to_vec(), data].concat()).unwrap();
        loop {
            let head = raw.read(20);
            let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
            raw.read(number(16) as usize);
            match number(12) {
                1 => return raw,
                3 => {}
                other => panic!("a reply of type {other:#x}"),
            }
        }
    }

    fn read(&mut self, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        self.0.read_exact(&mut data).unwrap();
        data
    }

    /// Asks, and waits for the answer: an error, or the bytes of a read.
    fn ask(&mut self, kind: u16, offset: u64, length: usize, data: &[u8]) -> Result<Vec<u8>, u32> {
        let length_be = u32::try_from(length).unwrap().to_be_bytes();
        let head = [&0x2560_9513_u32.to_be_bytes()[..], &[0; 2], &kind.to_be_bytes(), &[7; 8]];
        let request = [&head.concat()[..], &offset.to_be_bytes(), &length_be, data].concat();
        self.0.write_all(&request).unwrap();
        let reply = self.read(16);
        match u32::from_be_bytes(reply[4..8].try_into().unwrap()) {
            0 if kind == READ => Ok(self.read(length)),
            0 => Ok(Vec::new()),
            error => Err(error),
        }
    }
}

fn served() -> Served {
    let blocks = BlockSizes::new(512, 4096, u32::try_from(MOST).unwrap()).unwrap();
    let abilities = Abilities::FLUSH | Abilities::FUA;
    let export = Export::new("vm", SIZE as u64, blocks, abilities).unwrap();
    Served::of(vec![Box::new(Short { export, bytes: vec![0; SIZE] })], Limits::default())
}

#[test]
fn client_without_block_sizes_is_served_long_requests() {
    let served = served();
    let mut client = Raw::open(&served, &[]);
    let written: Vec<u8> = (0..BAD).map(|at| u8::try_from(at % 251).unwrap()).collect();
    // From the middle of a part on, and with a short one at its end.
    let range = 512..written.len() - 1024;
    client.ask(WRITE, 512, range.len(), &written[range.clone()]).unwrap();
    assert!(client.ask(READ, 512, range.len(), &[]).unwrap() == written[range]);
    assert_eq!(client.ask(READ, 0, 512, &[]).unwrap(), vec![0; 512]);
    assert_eq!(served.running.counts().errors, 0);
}

#[test]
fn error_of_one_part_is_the_error_of_the_request() {
    let served = served();
    let mut client = Raw::open(&served, &[]);
    let long = 1 << 20;
    assert_eq!(client.ask(READ, BAD - MOST as u64, long, &[]), Err(EIO));
    assert_eq!(client.ask(WRITE, BAD - MOST as u64, long, &vec![1; long]), Err(EIO));
    client.ask(READ, 0, long, &[]).unwrap();
}

#[test]
fn client_that_asked_for_block_sizes_keeps_to_them() {
    let served = served();
    let mut client = Raw::open(&served, &[3]);
    assert_eq!(client.ask(READ, 0, MOST + 512, &[]), Err(EINVAL));
    assert_eq!(client.ask(WRITE, 0, MOST + 512, &vec![1; MOST + 512]), Err(EINVAL));
    client.ask(READ, 0, MOST, &[]).unwrap();
}
