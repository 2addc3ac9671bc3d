//! Servers that lie to a client.

use proptest::prelude::*;
use tilemark_nbd::client::{Handshake, Next, Received, Requests, Unfit};
use tilemark_nbd::limits::{OPTION_REPLIES_MAX, REPLY_BUFFER};
use tilemark_nbd::{Code, Operation, Progress};

use crate::feeding::{Cuts, exports, meet, wish};

fn requests(name: &str, structured: bool) -> Requests {
    meet(&exports(), wish(name, structured), &mut Cuts::whole()).unwrap().1
}

/// A reader of 100 bytes at 1000, and the request's cookie.
fn reading(structured: bool) -> (Requests, u64) {
    let mut requests = requests("vm1", structured);
    let cookie = requests.submit(Operation::Read, 1000, 100, &mut Vec::new()).unwrap();
    (requests, cookie)
}

fn simple(error: u32, cookie: u64) -> Vec<u8> {
    [&0x6744_6698_u32.to_be_bytes()[..], &error.to_be_bytes(), &cookie.to_be_bytes()].concat()
}

fn chunk(flags: u16, kind: u16, cookie: u64, length: u32, payload: &[u8]) -> Vec<u8> {
    let parts = [
        &0x668e_33ef_u32.to_be_bytes()[..],
        &flags.to_be_bytes(),
        &kind.to_be_bytes(),
        &cookie.to_be_bytes(),
        &length.to_be_bytes(),
        payload,
    ];
    parts.concat()
}

fn data(flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    chunk(flags, 1, cookie, length + 8, &offset.to_be_bytes())
}

fn hole(flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    chunk(flags, 2, cookie, 12, &[&offset.to_be_bytes()[..], &length.to_be_bytes()].concat())
}

/// Why the connection ends.
fn broken(requests: &mut Requests, input: &[u8]) -> String {
    let mut rest = input;
    loop {
        match requests.receive(rest) {
            Err(violation) => return violation.to_string(),
            Ok(Progress { next: Received::More | Received::Done { .. }, .. }) => {
                panic!("nothing wrong was seen")
            }
            Ok(Progress { consumed, .. }) => rest = &rest[consumed..],
        }
    }
}

#[test]
fn replies_to_nobody_end_the_connection() {
    for structured in [false, true] {
        for cookie in [1, 1 << 32, u64::MAX] {
            let (mut client, mine) = reading(structured);
            assert_ne!(mine, cookie);
            let text = broken(&mut client, &simple(0, cookie));
            assert!(text.contains("cookie"), "{text}");
        }
    }
    let (mut client, cookie) = reading(true);
    assert!(broken(&mut client, &chunk(1, 0, cookie + 1, 0, &[])).contains("cookie"));
}

#[test]
fn a_second_reply_is_none_to_the_request_that_came_in_its_place() {
    let mut client = requests("vm1", false);
    let first = client.submit(Operation::Flush, 0, 0, &mut Vec::new()).unwrap();
    let Progress { consumed, next } = client.receive(&simple(0, first)).unwrap();
    assert_eq!((consumed, next), (16, Received::Done { cookie: first, result: Ok(()) }));
    let second = client.submit(Operation::Flush, 0, 0, &mut Vec::new()).unwrap();
    assert_ne!(first, second);
    assert!(broken(&mut client, &simple(0, first)).contains("cookie"));
}

#[test]
fn replies_of_the_other_kind_end_the_connection() {
    let (mut client, cookie) = reading(false);
    assert!(broken(&mut client, &chunk(1, 0, cookie, 0, &[])).contains("0x67446698"));
    let (mut client, cookie) = reading(true);
    assert!(broken(&mut client, &simple(0, cookie)).contains("simple"));
    let (mut client, _) = reading(true);
    assert!(broken(&mut client, b"GET / HTTP/1.1").contains("a reply begins with"));
}

#[test]
fn parts_outside_of_the_read_end_the_connection() {
    let cases = [(999, 1), (1100, 1), (1099, 2), (0, 100), (1000, 101), (1000, u32::MAX - 8)];
    for (offset, length) in cases {
        let (mut client, cookie) = reading(true);
        assert!(broken(&mut client, &data(0, cookie, offset, length)).contains("part of a read"));
        let (mut client, cookie) = reading(true);
        assert!(broken(&mut client, &hole(0, cookie, offset, length)).contains("part of a read"));
    }
    let (mut client, cookie) = reading(true);
    assert!(broken(&mut client, &data(0, cookie, u64::MAX, 100)).contains("part of a read"));
}

#[test]
fn parts_that_overlap_or_are_missing_end_the_connection() {
    let (mut client, cookie) = reading(true);
    let twice = [hole(0, cookie, 1000, 50), hole(1, cookie, 1049, 51)].concat();
    assert!(broken(&mut client, &twice).contains("came before"));
    let (mut client, cookie) = reading(true);
    let short = [hole(0, cookie, 1000, 50), hole(1, cookie, 1051, 49)].concat();
    assert!(broken(&mut client, &short).contains("a part of them"));
    let (mut client, cookie) = reading(true);
    assert!(broken(&mut client, &chunk(1, 0, cookie, 0, &[])).contains("a part of them"));
}

#[test]
fn data_for_what_is_no_read_end_the_connection() {
    let mut client = requests("vm1", true);
    let cookie = client.submit(Operation::Write { fua: false }, 0, 100, &mut Vec::new()).unwrap();
    assert!(broken(&mut client, &data(1, cookie, 0, 100)).contains("part of a read"));
}

#[test]
fn chunks_whose_length_lies_end_the_connection() {
    let kinds: [(u16, u32, &[u8]); 9] = [
        (0, 4, b"more"),
        (1, 8, &[0; 8]),
        (1, 0, b""),
        (2, 11, &[0; 11]),
        (2, 12, &[0; 12]),
        (0x8001, 5, &[0, 0, 0, 5, 0]),
        (0x8001, 6, &[0, 0, 0, 5, 0, 1]),
        (0x8001, 6, &[0, 0, 0, 0, 0, 0]),
        (7, 0, b""),
    ];
    for (kind, length, payload) in kinds {
        let (mut client, cookie) = reading(true);
        let _ = broken(&mut client, &chunk(1, kind, cookie, length, payload));
    }
    let (mut client, cookie) = reading(true);
    let text = broken(&mut client, &chunk(1, 0x8001, cookie, u32::MAX, &[]));
    assert!(text.contains("4294967295"), "before a byte of it came: {text}");
    let (mut client, cookie) = reading(true);
    let _ = broken(&mut client, &chunk(0, 0, cookie, 0, &[]));
}

#[test]
fn error_chunk_ends_only_its_own_read() {
    let (mut client, cookie) = reading(true);
    let other = client.submit(Operation::Flush, 0, 0, &mut Vec::new()).unwrap();
    let message = [&[0, 0, 0, 5, 0, 3][..], b"bad", &1000_u64.to_be_bytes()].concat();
    let input = [
        hole(0, cookie, 1000, 10),
        chunk(0, 0x8002, cookie, 17, &message),
        chunk(0, 0x8765, cookie, 6, &[0, 0, 0, 28, 0, 0]),
        simple(0, other),
        chunk(1, 0, cookie, 0, &[]),
    ]
    .concat();
    let mut rest = &input[..];
    let mut seen = Vec::new();
    while !rest.is_empty() {
        let Progress { consumed, next } = client.receive(rest).unwrap();
        rest = &rest[consumed..];
        seen.push(next);
    }
    assert_eq!(seen[0], Received::Zeroes { cookie, at: 0, length: 10 });
    assert_eq!(seen[1], Received::Done { cookie: other, result: Ok(()) });
    let Received::Done { result: Err(failure), .. } = &seen[2] else { panic!("{seen:?}") };
    assert_eq!((failure.code, failure.to_string().as_str()), (Code::Io, "input/output error: bad"));
    assert_eq!(client.outstanding(), 0);
}

#[test]
fn requests_that_do_not_fit_are_not_sent() {
    let mut out = Vec::new();
    let mut fixed = requests("fixed", true);
    let refused = |error: Unfit| error.to_string();
    let error = fixed.submit(Operation::Write { fua: false }, 0, 512, &mut out).unwrap_err();
    assert!(refused(error).contains("\"fixed\" does not support the operation write"));
    assert!(fixed.submit(Operation::Trim { fua: false }, 0, 512, &mut out).is_err());
    let mut vm2 = requests("vm2", true);
    for (offset, length) in [(1, 512), (0, 100), (0, 0), (1 << 30, 512), (0, (1 << 20) + 512)] {
        let error = vm2.submit(Operation::Read, offset, length, &mut out).unwrap_err();
        assert!(matches!(error, Unfit::Range { .. }), "{error}");
    }
    assert!(vm2.submit(Operation::Flush, 0, 512, &mut out).is_err());
    assert!(out.is_empty() && vm2.outstanding() == 0);
}

fn option_reply(option: u32, kind: u32, length: u32, data: &[u8]) -> Vec<u8> {
    let parts = [
        &0x0003_e889_0455_65a9_u64.to_be_bytes()[..],
        &option.to_be_bytes(),
        &kind.to_be_bytes(),
        &length.to_be_bytes(),
        data,
    ];
    parts.concat()
}

/// Reaction of a client that has requested an export to these bytes.
fn told(replies: &[Vec<u8>]) -> String {
    let mut client = Handshake::new(wish("vm1", false));
    let input = [&b"NBDMAGICIHAVEOPT\x00\x03"[..], &replies.concat()].concat();
    match client.feed(&input, &mut Vec::new()) {
        Err(error) => error.to_string(),
        Ok(Progress { next: Next::Ready(requests), .. }) => format!("{:?}", requests.agreed()),
        Ok(progress) => format!("{:?}", progress.next),
    }
}

#[test]
fn a_handshake_that_lies_is_seen_through() {
    let ack = option_reply(7, 1, 0, &[]);
    let export = option_reply(7, 3, 12, &[0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 1]);
    let sizes = |bytes: [u8; 12]| option_reply(7, 3, 14, &[&[0, 3][..], &bytes].concat());
    let cases = [
        (vec![ack.clone()], "none before the end"),
        (vec![option_reply(6, 1, 0, &[])], "the option that is replied to"),
        (vec![option_reply(7, 3, u32::MAX, &[])], "at most 16384"),
        (vec![option_reply(7, 3, 1, &[0])], "no kind"),
        (vec![option_reply(7, 3, 11, &[0; 11])], "about an export"),
        (vec![option_reply(7, 2, 0, &[])], "fits the option"),
        (vec![sizes([0; 12])], "minimum block size is 0 B"),
        (vec![sizes([0, 1, 0, 1, 0, 0, 16, 0, 0, 0, 32, 0])], "minimum block size is 65537 B"),
        (vec![sizes([0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 32, 0])], "preferred block size is 256 B"),
        (vec![sizes([0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1])], "maximum block size is 513 B"),
        (vec![b"XXXXXXXX".to_vec()], "a reply to an option begins"),
        (vec![option_reply(7, 0x8000_4242, 3, b"odd")], "not in the specification: odd"),
        (vec![option_reply(7, 0x8000_0007, 3, b"\x1b[2")], "shutting down: \\u{1b}[2"),
        (vec![export.clone(), ack.clone()], "size: 4096"),
    ];
    for (replies, words) in cases {
        let text = told(&replies);
        assert!(text.contains(words), "{words}: {text}");
    }
    let flood = vec![export; OPTION_REPLIES_MAX as usize + 1];
    assert!(told(&flood).contains("replies to one option"));
}

proptest! {
    #[test]
    fn nothing_a_server_sends_makes_a_client_panic_or_wait_for_ever(
        input in proptest::collection::vec(any::<u8>(), 0..200),
        structured in any::<bool>(),
    ) {
        let (mut client, cookie) = reading(structured);
        // Often the right cookie follows a right beginning.
        let mut reply = if structured { data(0, cookie, 1000, 3) } else { simple(0, cookie) };
        reply.truncate(input.len().min(reply.len()));
        let input = [reply, input].concat();
        let mut rest = &input[..];
        for _ in 0..1000 {
            let Ok(Progress { consumed, next }) = client.receive(rest) else { return Ok(()) };
            rest = &rest[consumed..];
            match next {
                Received::More => {
                    prop_assert!(rest.len() < REPLY_BUFFER);
                    return Ok(());
                }
                Received::Data { length, .. } => {
                    rest = &rest[(length as usize).min(rest.len())..];
                }
                Received::Zeroes { .. } | Received::Done { .. } => {}
            }
        }
        prop_assert!(false, "it never asks for more");
    }

    #[test]
    fn nothing_a_server_says_first_makes_a_client_panic(
        input in proptest::collection::vec(any::<u8>(), 0..200),
        keep in 0_usize..60,
    ) {
        let mut said = b"NBDMAGICIHAVEOPT\x00\x03".to_vec();
        said.extend(option_reply(7, 3, 12, &[0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 1]));
        said.truncate(keep);
        said.extend(input);
        let _ = Handshake::new(wish("vm1", false)).feed(&said, &mut Vec::new());
    }
}
