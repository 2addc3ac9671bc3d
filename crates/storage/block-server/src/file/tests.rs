//! Tests of the file disk as a state machine: the I/O that it orders, and its use of completions.

use nbd::{Code, Operation};
use tempfile::TempDir;

use crate::{
    Access, Action, Answer, Buffer, Disk, Effects, FileDisk, Io, Request, RequestId, Service,
};

const SIZE: u64 = 4 << 20;

struct Tried {
    disk: FileDisk,
    effects: Effects,
    _directory: TempDir,
}

impl Tried {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("disk");
        std::fs::File::create(&path).unwrap().set_len(SIZE).unwrap();
        let access = Access { read_only: false, buffered: true };
        let disk = FileDisk::open("vm", &path, access).unwrap();
        Self { disk, effects: Effects::default(), _directory: directory }
    }

    fn submit(&mut self, id: u32, operation: Operation, offset: u64, length: u32) {
        let moves = matches!(operation, Operation::Read | Operation::Write { .. });
        let data = if moves { Buffer::zeroed(length as usize) } else { Buffer::none() };
        self.request(Request { id: RequestId(id), operation, offset, length, data });
    }

    fn request(&mut self, request: Request) {
        self.disk.submit(request, &mut self.effects);
    }

    /// The one thing that it asks for.
    fn asked(&mut self) -> Io {
        assert_eq!(self.effects.ios.len(), 1, "{:?}", self.effects);
        self.effects.ios.pop().unwrap()
    }

    fn done(&mut self, io: Io, result: Result<u32, i32>) {
        self.disk.done(io.id, result, io.data, &mut self.effects);
    }

    /// The answers, by request.
    fn answers(&mut self) -> Vec<(u32, Result<(), Code>)> {
        assert!(self.effects.ios.is_empty(), "{:?}", self.effects);
        self.effects.answers.drain(..).map(|Answer { id, result, .. }| (id.0, result)).collect()
    }

    /// Result of a request whose only I/O ends with `result`.
    fn tried(&mut self, operation: Operation, result: Result<u32, i32>) -> Result<(), Code> {
        let length = if operation == Operation::Flush { 0 } else { 4096 };
        self.submit(7, operation, 0, length);
        let io = self.asked();
        self.done(io, result);
        self.answers().pop().expect("one answer").1
    }
}

const WRITE: Operation = Operation::Write { fua: false };

#[test]
fn what_moved_in_part_goes_on_where_it_stopped() {
    for operation in [Operation::Read, Operation::Write { fua: true }] {
        let mut tried = Tried::new();
        tried.submit(1, operation, 8192, 10_000);
        let mut places = Vec::new();
        for moved in [4096, 4096, 1808] {
            let io = tried.asked();
            places.push(io.action);
            tried.done(io, Ok(moved));
        }
        let wanted = [0, 4096, 8192].map(|skip: u32| {
            let offset = 8192 + u64::from(skip);
            match operation {
                Operation::Read => Action::Read { offset, skip },
                _ => Action::Write { offset, skip, durable: true },
            }
        });
        assert_eq!(places, wanted);
        assert_eq!(tried.answers(), [(1, Ok(()))]);
    }
}

#[test]
fn what_was_interrupted_is_asked_for_once_more() {
    for operation in [Operation::Read, WRITE, Operation::Flush, Operation::Trim { fua: false }] {
        let mut tried = Tried::new();
        tried.submit(1, operation, 0, if operation == Operation::Flush { 0 } else { 512 });
        for errno in [libc::EAGAIN, libc::EINTR] {
            let io = tried.asked();
            tried.done(io, Err(errno));
        }
        let io = tried.asked();
        tried.done(io, Ok(512));
        assert_eq!(tried.answers(), [(1, Ok(()))], "{operation:?}");
    }
}

#[test]
fn an_error_and_an_end_that_is_too_early_are_errors() {
    let mut tried = Tried::new();
    assert_eq!(tried.tried(Operation::Read, Err(libc::EIO)), Err(Code::Io));
    assert_eq!(tried.tried(Operation::Read, Ok(0)), Err(Code::Io), "the file is shorter now");
    assert_eq!(tried.tried(WRITE, Ok(0)), Err(Code::Io));
    assert_eq!(tried.tried(WRITE, Err(libc::ENOSPC)), Err(Code::NoSpace));
    assert_eq!(tried.tried(Operation::Trim { fua: false }, Err(libc::EIO)), Err(Code::Io));
    assert_eq!(tried.tried(Operation::Flush, Ok(0)), Ok(()), "none of them was a flush");
}

#[test]
fn failed_flush_fails_all_later_flushes_and_nothing_else() {
    let mut tried = Tried::new();
    assert_eq!(tried.tried(Operation::Flush, Err(libc::EIO)), Err(Code::Io));
    tried.submit(2, Operation::Flush, 0, 0);
    assert_eq!(tried.answers(), [(2, Err(Code::Io))], "the kernel is not even asked");
    assert_eq!(tried.tried(Operation::Read, Ok(4096)), Ok(()));
    assert_eq!(tried.tried(WRITE, Ok(4096)), Ok(()));
}

#[test]
fn what_must_be_durable_is_before_it_is_answered() {
    let commands = [
        Operation::Trim { fua: true },
        Operation::WriteZeroes { fua: true, no_hole: false, fast: false },
    ];
    for operation in commands {
        let mut tried = Tried::new();
        tried.submit(1, operation, 0, 4096);
        let io = tried.asked();
        assert!(matches!(io.action, Action::Allocate { .. }));
        tried.done(io, Ok(0));
        let io = tried.asked();
        assert_eq!(io.action, Action::Flush);
        tried.done(io, Err(libc::EIO));
        assert_eq!(tried.answers(), [(1, Err(Code::Io))]);
        tried.submit(2, Operation::Flush, 0, 0);
        assert_eq!(tried.answers(), [(2, Err(Code::Io))]);
    }
}

#[test]
fn zeroes_that_the_file_system_cannot_make_are_written() {
    let mut tried = Tried::new();
    let length = (2 << 20) + 512;
    let zeroes = Operation::WriteZeroes { fua: true, no_hole: true, fast: false };
    tried.submit(1, zeroes, 1024, length);
    let io = tried.asked();
    tried.done(io, Err(libc::EOPNOTSUPP));
    let mut at = 1024;
    while at < 1024 + u64::from(length) {
        let io = tried.asked();
        let Action::Write { offset, skip, .. } = io.action else { panic!("{:?}", io.action) };
        assert_eq!(offset, at);
        let bytes = &io.data[skip as usize..];
        assert!(!bytes.is_empty() && bytes.iter().all(|byte| *byte == 0));
        // Half of the bytes are written; the rest is submitted again.
        let moved = u32::try_from(bytes.len()).unwrap().div_ceil(2);
        at += u64::from(moved);
        assert!(at <= 1024 + u64::from(length), "nothing is zeroed beside the range");
        tried.done(io, Ok(moved));
    }
    let io = tried.asked();
    assert_eq!(io.action, Action::Flush);
    tried.done(io, Ok(0));
    assert_eq!(tried.answers(), [(1, Ok(()))]);
}

#[test]
fn a_trim_that_the_file_system_cannot_do_is_done() {
    let mut tried = Tried::new();
    assert_eq!(tried.tried(Operation::Trim { fua: true }, Err(libc::EOPNOTSUPP)), Ok(()));
}

/// File in memory that executes operations in any order, and always only a part of each.
struct Fake {
    bytes: Vec<u8>,
    random: u64,
}

impl Fake {
    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        usize::try_from(self.random >> 33).unwrap() % bound
    }

    fn carry_out(&mut self, io: &mut Io) -> Result<u32, i32> {
        let at = |offset: u64| usize::try_from(offset).unwrap();
        match io.action {
            Action::Read { offset, skip } => {
                let bytes = &mut io.data[skip as usize..];
                let part = 1 + self.below(bytes.len());
                bytes[..part].copy_from_slice(&self.bytes[at(offset)..at(offset) + part]);
                Ok(u32::try_from(part).unwrap())
            }
            Action::Write { offset, skip, .. } => {
                let bytes = &io.data[skip as usize..];
                let part = 1 + self.below(bytes.len());
                self.bytes[at(offset)..at(offset) + part].copy_from_slice(&bytes[..part]);
                Ok(u32::try_from(part).unwrap())
            }
            Action::Allocate { .. } if self.below(2) == 0 => Err(libc::EOPNOTSUPP),
            Action::Allocate { offset, length, .. } => {
                self.bytes[at(offset)..at(offset + length)].fill(0);
                Ok(0)
            }
            Action::Flush => Ok(0),
        }
    }
}

/// Writes of the same bytes are applied in the order in which they were sent, even if some are
/// slow. So the disk equals a flat array, although hundreds of writes overlap.
#[test]
fn changes_that_overlap_land_in_their_order() {
    for seed in 0..20 {
        let mut tried = Tried::new();
        let mut fake = Fake { bytes: vec![0; 2000], random: seed };
        let mut model = vec![0_u8; 2000];
        let (mut waiting, mut ended) = (Vec::<Io>::new(), 0);
        for id in 0..400 {
            let start = fake.below(1900);
            let length = 1 + fake.below(99);
            let byte = u8::try_from(1 + fake.below(255)).unwrap();
            let range = start..start + length;
            let (operation, bytes) = match fake.below(4) {
                0 => (Operation::WriteZeroes { fua: false, no_hole: false, fast: false }, 0),
                _ => (WRITE, byte),
            };
            model[range].fill(bytes);
            let mut data = Buffer::none();
            if operation == WRITE {
                data = Buffer::zeroed(length);
                data.fill(byte);
            }
            let (offset, length) = (u64::try_from(start).unwrap(), u32::try_from(length).unwrap());
            tried.request(Request { id: RequestId(id), operation, offset, length, data });
            waiting.append(&mut tried.effects.ios);
            for _ in 0..fake.below(4) {
                step(&mut tried, &mut fake, &mut waiting);
            }
            ended += tried.effects.answers.drain(..).count();
        }
        while !waiting.is_empty() {
            step(&mut tried, &mut fake, &mut waiting);
        }
        ended += tried.effects.answers.drain(..).count();
        assert_eq!(ended, 400, "each is answered once, seed {seed}");
        assert!(fake.bytes == model, "seed {seed}");
    }
}

fn step(tried: &mut Tried, fake: &mut Fake, waiting: &mut Vec<Io>) {
    if waiting.is_empty() {
        return;
    }
    let which = fake.below(waiting.len());
    let mut io = waiting.swap_remove(which);
    let result = fake.carry_out(&mut io);
    tried.done(io, result);
    waiting.append(&mut tried.effects.ios);
}
