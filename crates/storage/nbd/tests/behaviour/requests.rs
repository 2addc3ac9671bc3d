//! Headers of requests: accepted ones, and the text of each refusal.

use proptest::prelude::*;
use tilemark_nbd::limits::PAYLOAD_SKIP_MAX;
use tilemark_nbd::server::{Incoming, Next, Refusal, Request, Session, Tls};
use tilemark_nbd::{BlockSizes, Code, Export, Operation, Violation};

use crate::feeding::{Cuts, all, asking, exports, meet, option, serve, wish};

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISC: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const CACHE: u16 = 5;
const ZEROES: u16 = 6;
const FUA: u16 = 1;
const NO_HOLE: u16 = 2;
const DF: u16 = 4;
const FAST: u16 = 16;

fn session(name: &str, structured: bool) -> Session {
    meet(&exports(), wish(name, structured), &mut Cuts::whole()).unwrap().0
}

pub(crate) fn header(flags: u16, kind: u16, offset: u64, length: u32) -> [u8; 28] {
    let bytes = [
        &0x2560_9513_u32.to_be_bytes()[..],
        &flags.to_be_bytes(),
        &kind.to_be_bytes(),
        &77_u64.to_be_bytes(),
        &offset.to_be_bytes(),
        &length.to_be_bytes(),
    ];
    bytes.concat().try_into().unwrap()
}

fn ask(session: &Session, flags: u16, kind: u16, offset: u64, length: u32) -> Incoming {
    session.incoming(&header(flags, kind, offset, length)).unwrap()
}

fn refused(code: Code, skip: u32) -> Incoming {
    Incoming::Refused(Refusal { cookie: 77, code, skip })
}

#[test]
fn every_request_is_understood_with_its_flags() {
    let session = session("vm1", true);
    let (fua, no_hole, fast) = (true, true, true);
    let cases = [
        (0, READ, Operation::Read),
        (DF | FUA, READ, Operation::Read),
        (0, WRITE, Operation::Write { fua: false }),
        (FUA, WRITE, Operation::Write { fua }),
        (FUA, TRIM, Operation::Trim { fua }),
        (FUA, CACHE, Operation::Cache),
        (0, ZEROES, Operation::WriteZeroes { fua: false, no_hole: false, fast: false }),
        (FUA | NO_HOLE | FAST, ZEROES, Operation::WriteZeroes { fua, no_hole, fast }),
    ];
    for (flags, kind, operation) in cases {
        let wanted = Request { cookie: 77, operation, offset: 4096, length: 100 };
        assert_eq!(ask(&session, flags, kind, 4096, 100), Incoming::Request(wanted));
    }
    let flush = Request { cookie: 77, operation: Operation::Flush, offset: 0, length: 0 };
    assert_eq!(ask(&session, FUA, FLUSH, 0, 0), Incoming::Request(flush));
    assert_eq!(ask(&session, 0, DISC, 0, 0), Incoming::Disconnect);
}

#[test]
fn flags_that_do_not_belong_to_the_request_are_invalid() {
    let structured = session("vm1", true);
    let cases = [
        (NO_HOLE, READ),
        (FAST, READ),
        (8, READ),
        (DF, WRITE),
        (NO_HOLE, TRIM),
        (DF, FLUSH),
        (DF, ZEROES),
        (1 << 15, CACHE),
    ];
    for (flags, kind) in cases {
        let skip = if kind == WRITE { 8 } else { 0 };
        let length = if kind == FLUSH { 0 } else { 8 };
        assert_eq!(ask(&structured, flags, kind, 0, length), refused(Code::Invalid, skip));
    }
    let simple = session("vm1", false);
    assert_eq!(ask(&simple, DF, READ, 0, 8), refused(Code::Invalid, 0), "not agreed on");
}

#[test]
fn what_the_export_does_not_offer_is_invalid_or_not_permitted() {
    let fixed = session("fixed", true);
    for kind in [TRIM, ZEROES, CACHE, 7, 8, 999] {
        assert_eq!(ask(&fixed, 0, kind, 0, 512), refused(Code::Invalid, 0), "request {kind}");
    }
    assert_eq!(ask(&fixed, FUA, READ, 0, 512), refused(Code::Invalid, 0), "no FUA here");
    assert_eq!(ask(&fixed, 0, WRITE, 0, 512), refused(Code::NotPermitted, 512));
}

#[test]
fn ranges_beyond_the_end_say_so_as_the_specification_has_it() {
    let session = session("vm1", true);
    let size = 1 << 20;
    for (offset, length) in [(size, 1), (size - 1, 2), (u64::MAX, 1), (u64::MAX - 5, 100)] {
        assert_eq!(ask(&session, 0, READ, offset, length), refused(Code::Invalid, 0));
        assert_eq!(ask(&session, 0, TRIM, offset, length), refused(Code::Invalid, 0));
        assert_eq!(ask(&session, 0, CACHE, offset, length), refused(Code::Invalid, 0));
        assert_eq!(ask(&session, 0, WRITE, offset, length), refused(Code::NoSpace, length));
        assert_eq!(ask(&session, 0, ZEROES, offset, length), refused(Code::NoSpace, 0));
    }
    assert!(matches!(ask(&session, 0, READ, size - 1, 1), Incoming::Request(_)));
}

#[test]
fn block_size_binds_offsets_and_maximum_binds_payloads() {
    let session = session("vm2", true);
    assert_eq!(ask(&session, 0, READ, 256, 512), refused(Code::Invalid, 0));
    assert_eq!(ask(&session, 0, READ, 512, 256), refused(Code::Invalid, 0));
    assert_eq!(ask(&session, 0, WRITE, 512, 100), refused(Code::Invalid, 100));
    let (max, more) = (1 << 20, (1 << 20) + 512);
    assert!(matches!(ask(&session, 0, READ, 0, max), Incoming::Request(_)));
    assert_eq!(ask(&session, 0, READ, 0, more), refused(Code::Invalid, 0));
    assert_eq!(ask(&session, 0, WRITE, 0, more), refused(Code::Invalid, more));
    assert!(matches!(ask(&session, 0, TRIM, 0, more), Incoming::Request(_)));
    assert!(matches!(ask(&session, 0, ZEROES, 0, 1 << 29), Incoming::Request(_)));
}

#[test]
fn lengths_of_nothing_and_flushes_of_something_are_invalid() {
    let session = session("vm1", true);
    for kind in [READ, WRITE, TRIM, CACHE, ZEROES] {
        assert_eq!(ask(&session, 0, kind, 0, 0), refused(Code::Invalid, 0));
    }
    assert_eq!(ask(&session, 0, FLUSH, 0, 1), refused(Code::Invalid, 0));
    assert_eq!(ask(&session, 0, FLUSH, 1, 0), refused(Code::Invalid, 0));
}

#[test]
fn payloads_that_nobody_throws_away_end_the_connection() {
    let session = session("vm1", true);
    let most = header(0, WRITE, 0, PAYLOAD_SKIP_MAX + 1);
    let wanted = Violation::Payload { length: PAYLOAD_SKIP_MAX + 1, max: PAYLOAD_SKIP_MAX };
    assert_eq!(session.incoming(&most), Err(wanted));
    assert!(session.incoming(&header(0, WRITE, 0, u32::MAX)).is_err());
    assert_eq!(
        ask(&session, 0, WRITE, 0, PAYLOAD_SKIP_MAX),
        refused(Code::NoSpace, PAYLOAD_SKIP_MAX)
    );
    assert_eq!(ask(&session, 0, READ, 0, u32::MAX), refused(Code::Invalid, 0));
}

#[test]
fn another_magic_ends_the_connection() {
    let mut bytes = header(0, READ, 0, 1);
    bytes[3] ^= 1;
    let error = session("vm1", true).incoming(&bytes).unwrap_err();
    assert!(matches!(error, Violation::Magic { what: "a request", .. }), "{error}");
}

proptest! {
    #[test]
    fn what_is_let_through_is_within_the_export(
        flags in prop_oneof![Just(0_u16), any::<u16>()],
        kind in 0_u16..9,
        offset in prop_oneof![0_u64..(1 << 20) + 10, any::<u64>()],
        length in prop_oneof![0_u32..5000, any::<u32>()],
    ) {
        for name in ["vm1", "vm2", "fixed"] {
            let session = session(name, true);
            let Ok(incoming) = session.incoming(&header(flags, kind, offset, length)) else {
                prop_assert!(kind == WRITE && length > PAYLOAD_SKIP_MAX);
                continue;
            };
            match incoming {
                Incoming::Request(request) if request.operation == Operation::Flush => {
                    prop_assert_eq!((request.offset, request.length), (0, 0));
                }
                Incoming::Request(request) => {
                    let size = session.export().size();
                    prop_assert!(length > 0 && offset + u64::from(length) <= size);
                    prop_assert!(name != "fixed" || !request.operation.changes());
                }
                Incoming::Refused(refusal) => {
                    prop_assert_eq!(refusal.skip, if kind == WRITE { length } else { 0 });
                }
                Incoming::Disconnect => prop_assert_eq!(kind, DISC),
            }
        }
    }
}

#[test]
fn clients_that_know_no_block_sizes_may_send_32_mib() {
    let small = BlockSizes::new(512, 4096, 4096).unwrap();
    let small = Export::new("small", 1 << 30, small, all()).unwrap();
    let exports = [exports(), vec![small]].concat();
    let longest = |options: &[Vec<u8>]| {
        let input = [&[0, 0, 0, 3][..], &options.concat()].concat();
        let (_, next, _) = serve(&exports, Tls::None, &input, Cuts::whole()).unwrap();
        let Next::Serve(session) = next else { panic!("{next:?}") };
        let fits = |length| matches!(ask(&session, 0, READ, 0, length), Incoming::Request(_));
        assert!(fits(session.longest()) && !fits(session.longest() + 512));
        session.longest()
    };
    assert_eq!(longest(&[option(1, b"vm2")]), 32 << 20, "EXPORT_NAME asks for nothing");
    assert_eq!(longest(&[option(7, &asking("vm2", &[]))]), 32 << 20);
    assert_eq!(longest(&[option(7, &asking("vm2", &[3]))]), 1 << 20);
    let asked = [option(6, &asking("vm2", &[3])), option(7, &asking("vm2", &[]))];
    assert_eq!(longest(&asked), 1 << 20, "it was asked before");
    assert_eq!(longest(&[option(1, b"small")]), 4096, "it would be divided too often");
}
