//! A client and a server over a wire that cuts as it likes, against a flat array.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tilemark_nbd::client::{Failure, Received, Requests};
use tilemark_nbd::server::{Incoming, REQUEST_BYTES, Request, Session};
use tilemark_nbd::{Code, Operation, Progress};

use crate::feeding::{Cuts, export, meet, wish};

const SIZE: u32 = 4096;

/// Operation of a client, with its range and the byte it writes.
type Wanted = (Operation, u32, u32, u8);

/// A server's driver with a disk in memory. Answers wait until they are drawn.
struct Server {
    session: Session,
    disk: Vec<u8>,
    held: Vec<u8>,
    write: Option<(Request, Vec<u8>)>,
    waiting: Vec<(Request, Option<Code>, Vec<u8>)>,
}

impl Server {
    fn hear(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        while self.step() {}
    }

    fn step(&mut self) -> bool {
        if let Some((request, mut data)) = self.write.take() {
            let missing = request.length as usize - data.len();
            let taken = missing.min(self.held.len());
            data.extend(self.held.drain(..taken));
            if taken < missing {
                self.write = Some((request, data));
                return false;
            }
            self.carry_out(request, &data);
            return true;
        }
        let Some(header) = self.held.first_chunk::<REQUEST_BYTES>() else { return false };
        let incoming = self.session.incoming(header).unwrap();
        self.held.drain(..REQUEST_BYTES);
        match incoming {
            Incoming::Request(request) if matches!(request.operation, Operation::Write { .. }) => {
                self.write = Some((request, Vec::new()));
            }
            Incoming::Request(request) => self.carry_out(request, &[]),
            other => panic!("this client asks for nothing that is refused: {other:?}"),
        }
        true
    }

    /// A range that begins at a multiple of 31 fails.
    fn carry_out(&mut self, request: Request, data: &[u8]) {
        let fails = request.length > 0 && request.offset.is_multiple_of(31);
        let start = usize::try_from(request.offset).unwrap();
        let range = start..start + request.length as usize;
        match request.operation {
            _ if fails => {}
            Operation::Write { .. } => self.disk[range.clone()].copy_from_slice(data),
            Operation::Trim { .. } | Operation::WriteZeroes { .. } => {
                self.disk[range.clone()].fill(0)
            }
            Operation::Read | Operation::Flush | Operation::Cache => {}
        }
        let data = self.disk[range].to_vec();
        self.waiting.push((request, fails.then_some(Code::Io), data));
    }

    /// Sends one of the waiting answers, in parts of so many bytes where replies have parts.
    fn answer(&mut self, which: usize, part: usize, out: &mut Vec<u8>) {
        if self.waiting.is_empty() {
            return;
        }
        let (request, code, data) = self.waiting.swap_remove(which % self.waiting.len());
        let cookie = request.cookie;
        match (request.operation, code) {
            (_, Some(code)) => self.session.write_error(cookie, code, "it is one of those", out),
            (Operation::Read, None) if self.session.is_structured() && part > 0 => {
                self.in_parts(&request, &data, part, out);
            }
            (Operation::Read, None) => {
                self.session.write_data_header(&request, out);
                out.extend_from_slice(&data);
            }
            (_, None) => self.session.write_done(cookie, out),
        }
    }

    /// Sends the last part first, with zeroes as holes.
    fn in_parts(&self, request: &Request, data: &[u8], part: usize, out: &mut Vec<u8>) {
        let mut parts: Vec<(usize, &[u8])> = data.chunks(part).enumerate().collect();
        parts.reverse();
        for (index, bytes) in parts {
            let offset = request.offset + u64::try_from(index * part).unwrap();
            let length = u32::try_from(bytes.len()).unwrap();
            if bytes.iter().all(|byte| *byte == 0) {
                self.session.write_hole(request.cookie, offset, length, index == 0, out);
            } else {
                self.session.write_chunk_header(request.cookie, offset, length, index == 0, out);
                out.extend_from_slice(bytes);
            }
        }
    }
}

/// Client's driver with the result of each request.
struct Client {
    requests: Requests,
    held: Vec<u8>,
    reading: Option<(u64, usize, usize)>,
    data: BTreeMap<u64, Vec<u8>>,
    ended: BTreeMap<u64, Result<Vec<u8>, Failure>>,
}

impl Client {
    fn hear(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        while self.step() {}
    }

    fn step(&mut self) -> bool {
        if let Some((cookie, at, left)) = self.reading.take() {
            let taken = left.min(self.held.len());
            let data = self.data.get_mut(&cookie).unwrap();
            data[at..at + taken].copy_from_slice(&self.held[..taken]);
            self.held.drain(..taken);
            if taken < left {
                self.reading = Some((cookie, at + taken, left - taken));
                return false;
            }
        }
        let Progress { consumed, next } = self.requests.receive(&self.held).unwrap();
        self.held.drain(..consumed);
        match next {
            Received::More => return false,
            Received::Data { cookie, at, length } => {
                self.reading = Some((cookie, at as usize, length as usize));
            }
            Received::Zeroes { cookie, at, length } => {
                let range = at as usize..(at + length) as usize;
                self.data.get_mut(&cookie).unwrap()[range].fill(0);
            }
            Received::Done { cookie, result } => {
                let data = self.data.remove(&cookie).unwrap();
                let is_new = self.ended.insert(cookie, result.map(|()| data)).is_none();
                assert!(is_new, "a request ended twice");
            }
        }
        true
    }
}

fn some_request() -> impl Strategy<Value = Wanted> {
    let (fua, no_hole) = (any::<bool>(), any::<bool>());
    let operation = prop_oneof![
        3 => Just(Operation::Read),
        3 => fua.prop_map(|fua| Operation::Write { fua }),
        1 => Just(Operation::Flush),
        1 => fua.prop_map(|fua| Operation::Trim { fua }),
        1 => (fua, no_hole).prop_map(|(fua, no_hole)| Operation::WriteZeroes { fua, no_hole, fast: false }),
        1 => Just(Operation::Cache),
    ];
    (operation, 0..SIZE - 300, 1_u32..300, 1_u8..).prop_map(|(operation, offset, length, byte)| {
        match operation {
            Operation::Flush => (operation, 0, 0, byte),
            _ => (operation, offset, length, byte),
        }
    })
}

proptest! {
    /// Reads and writes are in flight together, answers may overtake each other, and every request
    /// ends once with the result of a flat array: a read returns the content at its execution by
    /// the server, which follows the order of the wire.
    #[test]
    fn requests_end_once_with_what_a_flat_array_says(
        wanted in proptest::collection::vec(some_request(), 1..40),
        structured in any::<bool>(),
        cuts in proptest::collection::vec(1_usize..200, 1..10),
        draws in proptest::collection::vec((any::<usize>(), 0_usize..100), 1..20),
    ) {
        let exports = [export("vm", SIZE.into())];
        let (session, requests) =
            meet(&exports, wish("vm", structured), &mut Cuts(cuts.clone(), 0)).unwrap();
        let disk = vec![0; SIZE as usize];
        let mut server =
            Server { session, disk, held: vec![], write: None, waiting: vec![] };
        let mut client = Client {
            requests,
            held: vec![],
            reading: None,
            data: BTreeMap::new(),
            ended: BTreeMap::new(),
        };
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        let mut model = vec![0_u8; SIZE as usize];
        let mut expected = BTreeMap::new();
        let mut cuts = Cuts(cuts, 0);
        let mut turn = 0;
        let mut wanted = wanted.into_iter();
        loop {
            if let Some((operation, offset, length, byte)) = wanted.next() {
                let cookie =
                    client.requests.submit(operation, offset.into(), length, &mut to_server).unwrap();
                let range = offset as usize..(offset + length) as usize;
                let is_write = matches!(operation, Operation::Write { .. });
                if is_write {
                    to_server.extend(std::iter::repeat_n(byte, length as usize));
                }
                let fails = length > 0 && offset.is_multiple_of(31);
                match operation {
                    _ if fails => {}
                    Operation::Write { .. } => model[range.clone()].fill(byte),
                    Operation::Trim { .. } | Operation::WriteZeroes { .. } => {
                        model[range.clone()].fill(0);
                    }
                    _ => {}
                }
                client.data.insert(cookie, vec![0xee; length as usize]);
                let is_read = operation == Operation::Read;
                expected.insert(cookie, (is_read, (!fails).then(|| model[range].to_vec())));
            }
            let length = cuts.next(to_server.len());
            server.hear(&to_server.drain(..length).collect::<Vec<_>>());
            let (which, part) = draws[turn % draws.len()];
            turn += 1;
            server.answer(which, part, &mut to_client);
            let length = cuts.next(to_client.len());
            client.hear(&to_client.drain(..length).collect::<Vec<_>>());
            for (cookie, result) in std::mem::take(&mut client.ended) {
                let (is_read, data) = expected.remove(&cookie).expect("an answer to a request");
                match (result, data) {
                    (Ok(seen), Some(data)) if is_read => prop_assert_eq!(seen, data),
                    (Ok(_), Some(_)) => {}
                    (Err(failure), None) => {
                        prop_assert_eq!(failure.code, Code::Io);
                        let words = if structured { ": it is one of those" } else { "" };
                        prop_assert_eq!(failure.message, words);
                    }
                    (result, data) => prop_assert!(false, "{result:?} where {data:?} was due"),
                }
            }
            if wanted.len() == 0 && expected.is_empty() {
                break;
            }
            prop_assert!(turn < 200_000, "the two never came to an end");
        }
        prop_assert_eq!(client.requests.outstanding(), 0);
        prop_assert_eq!(server.disk, model);
    }
}
