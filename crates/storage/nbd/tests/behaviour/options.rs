//! Every option, and those who misuse them.

use proptest::prelude::*;
use tilemark_nbd::Violation;
use tilemark_nbd::limits::{HANDSHAKE_OUTPUT, OPTION_MAX, OPTION_SKIP_MAX, OPTIONS_MAX};
use tilemark_nbd::server::{Handshake, Next, Tls};

use crate::feeding::{Cuts, asking, exports, option, replies, serve};

const ACK: u32 = 1;
const UNSUPPORTED: u32 = 0x8000_0001;
const POLICY: u32 = 0x8000_0002;
const INVALID: u32 = 0x8000_0003;
const UNKNOWN: u32 = 0x8000_0006;
const TOO_BIG: u32 = 0x8000_0009;

/// Replies to these options.
fn ask(options: &[Vec<u8>]) -> (Vec<(u32, u32, Vec<u8>)>, Next) {
    let input = [&[0, 0, 0, 3][..], &options.concat()].concat();
    let (out, next, _) = serve(&exports(), Tls::None, &input, Cuts::whole()).unwrap();
    (replies(&out), next)
}

fn kinds(options: &[Vec<u8>]) -> Vec<u32> {
    ask(options).0.iter().map(|reply| reply.1).collect()
}

/// Queries of metadata contexts.
fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let counted = |text: &str| {
        [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat()
    };
    let count = u32::try_from(queries.len()).unwrap().to_be_bytes();
    let queries: Vec<u8> = queries.iter().flat_map(|query| counted(query)).collect();
    [&counted(name)[..], &count, &queries].concat()
}

#[test]
fn a_driver_is_asked_once_for_an_export_that_it_did_not_offer() {
    let mut out = Vec::new();
    let mut handshake = Handshake::new(Tls::None, &mut out);
    handshake.ask_for_others();
    let input =
        [&[0, 0, 0, 3][..], &option(6, &asking("other", &[])), &option(7, &asking("other", &[]))];
    let input = input.concat();
    let first = handshake.feed(&exports(), &input, &mut out).unwrap();
    assert_eq!(first.next, Next::Wanted("other".to_owned()), "by GO, and not by INFO");
    // The driver has none, and the client gets an error; for a further request the driver is asked
    // again.
    let rest = [&input[first.consumed..], &option(7, &asking("third", &[]))].concat();
    let second = handshake.feed(&exports(), &rest, &mut out).unwrap();
    assert_eq!(second.next, Next::Wanted("third".to_owned()));
    let kinds: Vec<u32> = replies(&out).iter().map(|reply| reply.1).collect();
    assert_eq!(kinds, [UNKNOWN, UNKNOWN]);
    let mut offered = exports();
    let third = tilemark_nbd::Export::new(
        "third",
        4096,
        tilemark_nbd::BlockSizes::DEFAULT,
        tilemark_nbd::Abilities::NONE,
    );
    offered.push(third.unwrap());
    let third = handshake.feed(&offered, &rest[second.consumed..], &mut out).unwrap();
    assert!(matches!(third.next, Next::Serve(session) if session.export().name() == "third"));
}

#[test]
fn abort_is_answered_and_ends_it_with_data_or_without() {
    for data in [&b""[..], b"farewell"] {
        let (replies, next) = ask(&[option(2, data)]);
        assert_eq!((replies, next), (vec![(2, ACK, vec![])], Next::Close));
    }
}

#[test]
fn list_names_every_export_and_its_words() {
    let (replies, next) = ask(&[option(3, &[])]);
    let texts: Vec<&[u8]> = replies.iter().map(|reply| &reply.2[..]).collect();
    let wanted: [&[u8]; 4] =
        [b"\0\0\0\x03vm1", b"\0\0\0\x03vm2the second", b"\0\0\0\x05fixed", b""];
    assert_eq!(texts, wanted);
    assert_eq!(replies.iter().map(|reply| reply.1).collect::<Vec<_>>(), [2, 2, 2, ACK]);
    assert_eq!(next, Next::More);
    assert_eq!(kinds(&[option(3, b"x")]), [INVALID]);
}

#[test]
fn info_tells_and_goes_no_further() {
    let (replies, next) = ask(&[option(6, &asking("vm2", &[1, 2, 3, 77]))]);
    assert_eq!(next, Next::More);
    let told: Vec<&[u8]> = replies.iter().map(|reply| &reply.2[..]).collect();
    let export = [&[0, 0][..], &(1_u64 << 30).to_be_bytes(), &[0b1101, 0b0110_1101]].concat();
    let sizes = [0, 3, 0, 0, 2, 0, 0, 0, 0x10, 0, 0, 0x10, 0, 0];
    let wanted: [&[u8]; 5] = [&export, b"\0\x01vm2", b"\0\x02the second", &sizes, b""];
    assert_eq!(told, wanted);
    assert_eq!(replies.last().unwrap().1, ACK);
}

#[test]
fn reads_in_one_piece_are_offered_with_structured_replies_alone() {
    let flags = |options: &[Vec<u8>]| {
        let replies = ask(options).0;
        let info = replies.iter().find(|reply| reply.1 == 3).unwrap();
        u16::from_be_bytes([info.2[10], info.2[11]])
    };
    let info = option(6, &asking("vm1", &[]));
    assert_eq!(flags(std::slice::from_ref(&info)) & 1 << 7, 0);
    assert_ne!(flags(&[option(8, &[]), info]) & 1 << 7, 0);
}

#[test]
fn malformed_export_requests_get_the_right_error() {
    let go = |data: &[u8]| kinds(&[option(7, data)]);
    assert_eq!(go(&asking("vm3", &[])), [UNKNOWN]);
    assert_eq!(go(&asking("", &[])), [UNKNOWN], "there are three");
    assert_eq!(go(&[]), [INVALID]);
    assert_eq!(go(&[0, 0, 0, 3, b'v']), [INVALID]);
    assert_eq!(go(&[0xff; 64]), [INVALID], "a name of 4 GiB");
    assert_eq!(go(&asking("vm1", &[3])[..8]), [INVALID]);
    assert_eq!(go(&[&asking("vm1", &[3])[..], &[0]].concat()), [INVALID]);
    assert_eq!(go(&asking("vm\0x", &[])), [INVALID]);
    assert_eq!(go(&asking(&"x".repeat(4097), &[])), [INVALID]);
    assert_eq!(go(&asking(&"x".repeat(4096), &[])), [UNKNOWN]);
    let mut not_utf8 = asking("vm1", &[]);
    not_utf8[4] = 0xff;
    assert_eq!(go(&not_utf8), [INVALID]);
}

#[test]
fn tls_is_refused_where_there_is_none() {
    assert_eq!(kinds(&[option(5, &[])]), [POLICY]);
    let input = [&[0, 0, 0, 3][..], &option(5, b"x")].concat();
    let (out, next, _) = serve(&exports(), Tls::Offered, &input, Cuts::whole()).unwrap();
    assert_eq!((replies(&out)[0].1, next), (INVALID, Next::More));
}

#[test]
fn structured_replies_come_without_data() {
    assert_eq!(kinds(&[option(8, &[]), option(8, &[]), option(8, b"x")]), [ACK, ACK, INVALID]);
}

#[test]
fn there_are_no_metadata_contexts_which_is_no_error() {
    let structured = option(8, &[]);
    for number in [9, 10] {
        let ask = |data: &[u8]| kinds(&[structured.clone(), option(number, data)])[1];
        assert_eq!(ask(&contexts("vm1", &["base:allocation", "qemu:"])), ACK);
        assert_eq!(ask(&contexts("vm1", &[])), ACK);
        assert_eq!(ask(&contexts("vm7", &[])), UNKNOWN);
        assert_eq!(ask(&[]), INVALID);
        let whole = contexts("vm1", &["base:allocation"]);
        assert_eq!(ask(&whole[..whole.len() - 1]), INVALID);
        assert_eq!(ask(&[&whole[..], &[0]].concat()), INVALID);
        let mut lie = whole.clone();
        lie[7..11].fill(0xff);
        assert_eq!(ask(&lie), INVALID, "four thousand million queries");
        assert_eq!(kinds(&[option(number, &whole)]), [INVALID], "not without structured replies");
    }
}

#[test]
fn unknown_options_are_said_to_be_unknown_and_the_next_is_heard() {
    let long = vec![7; 300_000];
    let options = [option(4, b"peek"), option(11, &[]), option(0, &long), option(u32::MAX, b"?")];
    assert_eq!(kinds(&options), [UNSUPPORTED; 4]);
    let (replies, next) = ask(&[option(11, &long), option(7, &asking("vm1", &[]))]);
    assert_eq!(replies[0].1, UNSUPPORTED);
    assert!(matches!(next, Next::Serve(_)));
}

#[test]
fn known_options_that_are_too_long_are_skipped_too() {
    assert_eq!(kinds(&[option(7, &vec![0; OPTION_MAX + 1]), option(8, &[])]), [TOO_BIG, ACK]);
}

#[test]
fn oversized_option_ends_the_connection_at_its_header() {
    for number in [1, 3, 7, 11, 99] {
        let mut lie = option(number, &[]);
        lie[12..].copy_from_slice(&u32::MAX.to_be_bytes());
        let input = [&[0, 0, 0, 3][..], &lie].concat();
        let (_, violation) = serve(&exports(), Tls::None, &input, Cuts::whole()).unwrap_err();
        match violation {
            Violation::Export(_) => assert_eq!(number, 1),
            Violation::OptionLength { option, length, max } => {
                assert_eq!((option, length, max), (number, u32::MAX, OPTION_SKIP_MAX));
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn options_without_end_end_the_connection() {
    let count = OPTIONS_MAX as usize;
    for flood in [option(3, &[]), option(99, b"x"), option(7, &[])] {
        let input = [&[0, 0, 0, 3][..], &flood.repeat(count)].concat();
        assert!(serve(&exports(), Tls::None, &input, Cuts::whole()).is_ok());
        let input = [&input[..], &flood].concat();
        let (_, violation) = serve(&exports(), Tls::None, &input, Cuts::whole()).unwrap_err();
        assert_eq!(violation, Violation::Options(OPTIONS_MAX));
    }
}

#[test]
fn a_client_that_asks_and_never_listens_is_answered_only_so_far() {
    let input = [&[0, 0, 0, 3][..], &option(3, &[]).repeat(4000)].concat();
    let mut out = Vec::new();
    let mut machine = Handshake::new(Tls::None, &mut out);
    let progress = machine.feed(&exports(), &input, &mut out).unwrap();
    assert_eq!(progress.next, Next::Send);
    assert!(out.len() < HANDSHAKE_OUTPUT + 1000, "{} B", out.len());
    out.clear();
    let progress = machine.feed(&exports(), &input[progress.consumed..], &mut out).unwrap();
    assert!(progress.consumed > 0, "and then it goes on");
}

#[test]
fn a_name_that_is_not_there_has_no_answer_with_export_name() {
    let input = [&[0, 0, 0, 3][..], &option(1, b"vm4")].concat();
    let (out, violation) = serve(&exports(), Tls::None, &input, Cuts::whole()).unwrap_err();
    assert!(matches!(violation, Violation::Export(_)) && out.len() == 18, "{violation}");
}

/// Mostly options that are right, so that the deeper answers are reached.
fn some_option() -> impl Strategy<Value = Vec<u8>> {
    let data = prop_oneof![
        Just(Vec::new()),
        Just(asking("vm1", &[1, 2, 3])),
        Just(contexts("vm1", &["base:allocation"])),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    (prop_oneof![0_u32..12, any::<u32>()], data).prop_map(|(number, data)| option(number, &data))
}

proptest! {
    #[test]
    fn how_the_bytes_were_cut_changes_nothing(
        options in proptest::collection::vec(some_option(), 0..8),
        garbage in proptest::collection::vec(any::<u8>(), 0..40),
        cuts in proptest::collection::vec(1_usize..20, 1..8),
        tls in prop_oneof![Just(Tls::None), Just(Tls::Required)],
    ) {
        let input = [&[0, 0, 0, 3][..], &options.concat(), &garbage].concat();
        let whole = serve(&exports(), tls, &input, Cuts::whole());
        let cut = serve(&exports(), tls, &input, Cuts(cuts, 0));
        // Data after STARTTLS are detected if they arrive with it; here they always do.
        match (whole, cut) {
            (Err((_, Violation::AfterTls(_))), _) => {}
            (whole, cut) => prop_assert_eq!(whole, cut),
        }
    }
}
