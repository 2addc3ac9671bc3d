//! Handshakes byte by byte.

use tilemark_nbd::client::{self, Agreed, ClientError};
use tilemark_nbd::server::{Next, Tls};
use tilemark_nbd::{Abilities, BlockSizes, Violation};

use crate::feeding::{Cuts, all, asking, exports, meet, option, replies, serve, wish};

const FIXED: [u8; 4] = [0, 0, 0, 3];

#[test]
fn the_greeting_is_the_one_of_the_specification() {
    let (out, next, _) = serve(&exports(), Tls::None, &[], Cuts::whole()).unwrap();
    assert_eq!(out, b"NBDMAGICIHAVEOPT\x00\x03");
    assert_eq!(next, Next::More);
}

#[test]
fn a_client_has_what_the_server_offers_whole_or_byte_by_byte() {
    for cuts in [vec![usize::MAX], vec![1], vec![3, 1, 7]] {
        for structured in [false, true] {
            let (session, requests) =
                meet(&exports(), wish("vm2", structured), &mut Cuts(cuts.clone(), 0)).unwrap();
            let wanted = Agreed {
                export: "vm2".to_owned(),
                size: 1 << 30,
                abilities: all(),
                blocks: BlockSizes::new(512, 4096, 1 << 20).unwrap(),
                is_structured: structured,
            };
            assert_eq!(requests.agreed(), &wanted);
            assert_eq!(session.export(), &exports()[1]);
            assert_eq!(session.is_structured(), structured);
        }
    }
}

#[test]
fn an_export_that_is_not_there_is_refused_with_its_name() {
    let error = meet(&exports(), wish("vm9", true), &mut Cuts::whole()).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ClientError::Refused { .. }), "{text}");
    assert!(text.contains("\"vm9\"") && text.contains("no such export"), "{text}");
}

#[test]
fn the_empty_name_is_the_only_export_or_none() {
    let one = &exports()[..1];
    let (session, _) = meet(one, wish("", true), &mut Cuts::whole()).unwrap();
    assert_eq!(session.export().name(), "vm1");
    assert!(meet(&exports(), wish("", true), &mut Cuts::whole()).is_err());
}

#[test]
fn export_name_reply_is_padded_unless_no_zeroes_was_agreed() {
    for (flags, padding) in [(3, 0), (1, 124), (0, 124), (2, 0)] {
        let input = [&[0, 0, 0, flags][..], &option(1, b"vm1")].concat();
        let (out, next, rest) = serve(&exports(), Tls::None, &input, Cuts::whole()).unwrap();
        let mut wanted = (1_u64 << 20).to_be_bytes().to_vec();
        wanted.extend([0b1101, 0b0110_1101]);
        wanted.extend(vec![0; padding]);
        assert_eq!(out[18..], wanted, "client flags {flags}");
        assert!(matches!(next, Next::Serve(_)) && rest.is_empty());
    }
}

#[test]
fn what_comes_behind_the_last_option_is_left_to_the_driver() {
    let input = [&FIXED[..], &option(7, &asking("vm1", &[])), b"a request"].concat();
    let (_, next, rest) = serve(&exports(), Tls::None, &input, Cuts::whole()).unwrap();
    assert!(matches!(next, Next::Serve(_)));
    assert_eq!(rest, b"a request");
}

#[test]
fn client_flags_that_nobody_offered_end_the_connection() {
    for flags in [4_u32, 0x8000_0003, u32::MAX] {
        let (_, violation) =
            serve(&exports(), Tls::None, &flags.to_be_bytes(), Cuts::whole()).unwrap_err();
        assert_eq!(violation, Violation::ClientFlags(flags));
    }
}

#[test]
fn a_client_that_is_not_fixed_has_one_option_only() {
    let input = [&[0; 4][..], &option(3, &[])].concat();
    let (_, violation) = serve(&exports(), Tls::None, &input, Cuts::whole()).unwrap_err();
    assert_eq!(violation, Violation::NotFixed(3));
}

#[test]
fn another_magic_ends_the_connection_as_soon_as_it_is_seen() {
    let input = [&FIXED[..], b"IHAVEOPX"].concat();
    let (_, violation) = serve(&exports(), Tls::None, &input, Cuts::whole()).unwrap_err();
    assert!(matches!(violation, Violation::Magic { what: "an option", .. }), "{violation}");
}

#[test]
fn starttls_discards_options_agreed_in_the_clear() {
    let mut out = Vec::new();
    let mut server = tilemark_nbd::server::Handshake::new(Tls::Offered, &mut out);
    let input = [&FIXED[..], &option(8, &[]), &option(5, &[])].concat();
    let progress = server.feed(&exports(), &input, &mut out).unwrap();
    assert_eq!((progress.consumed, progress.next), (input.len(), Next::StartTls));
    assert_eq!(replies(&out), [(8, 1, vec![]), (5, 1, vec![])]);
    server.encrypted();
    let mut out = vec![0; 18];
    let input = [option(5, &[]), option(7, &asking("vm1", &[]))].concat();
    let progress = server.feed(&exports(), &input, &mut out).unwrap();
    assert_eq!(replies(&out)[0].1, 0x8000_0003, "a second time is invalid");
    let Next::Serve(session) = progress.next else { panic!("a disk") };
    assert!(!session.is_structured(), "structured replies were agreed on in the clear");
}

#[test]
fn what_was_slipped_in_behind_starttls_ends_the_connection() {
    let input = [&FIXED[..], &option(5, &[]), &option(3, &[])].concat();
    let (_, violation) = serve(&exports(), Tls::Offered, &input, Cuts::whole()).unwrap_err();
    assert_eq!(violation, Violation::AfterTls(16));
}

#[test]
fn server_requiring_tls_reveals_no_export_in_the_clear() {
    let options =
        [option(3, &[]), option(6, &asking("vm1", &[])), option(8, &[]), option(99, b"x")];
    let input = [&FIXED[..], &options.concat()].concat();
    let (out, next, _) = serve(&exports(), Tls::Required, &input, Cuts::whole()).unwrap();
    assert_eq!(next, Next::More);
    let kinds: Vec<u32> = replies(&out).iter().map(|reply| reply.1).collect();
    assert_eq!(kinds, [0x8000_0005; 4]);
    let input = [&FIXED[..], &option(1, b"vm1")].concat();
    let (out, violation) = serve(&exports(), Tls::Required, &input, Cuts::whole()).unwrap_err();
    assert!(matches!(violation, Violation::Export(_)) && out.len() == 18, "{violation}");
}

#[test]
fn a_client_that_wants_tls_says_no_name_before_it_is_there() {
    let mut client = client::Handshake::new(client::ClientDemands {
        export: "secret".to_owned(),
        tls: true,
        structured: true,
    });
    let mut out = Vec::new();
    let progress = client.feed(b"NBDMAGICIHAVEOPT\x00\x03", &mut out).unwrap();
    assert_eq!(progress.consumed, 18);
    assert_eq!(out, [&FIXED[..], &option(5, &[])].concat());
    let mut reply = 0x0003_e889_0455_65a9_u64.to_be_bytes().to_vec();
    reply.extend([0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0]);
    let progress = client.feed(&reply, &mut out).unwrap();
    assert!(matches!(progress.next, client::Next::StartTls));
    out.clear();
    client.encrypted(&mut out);
    assert_eq!(out, option(8, &[]), "and then it goes on");
    reply[15] = 2;
    reply[12] = 0x80;
    let mut client = client::Handshake::new(client::ClientDemands {
        export: "secret".to_owned(),
        tls: true,
        structured: true,
    });
    let input = [b"NBDMAGICIHAVEOPT\x00\x03", &reply[..]].concat();
    let error = client.feed(&input, &mut out).unwrap_err();
    assert!(matches!(error, ClientError::Refused { what: "TLS", .. }), "it never goes on without");
}

#[test]
fn old_server_is_used_by_export_name_with_simple_replies() {
    let unsupported = |option: u8| {
        let mut reply = 0x0003_e889_0455_65a9_u64.to_be_bytes().to_vec();
        reply.extend([0, 0, 0, option, 0x80, 0, 0, 1, 0, 0, 0, 0]);
        reply
    };
    let told = [&(4096_u64).to_be_bytes()[..], &[0, 0b101], &[0; 124]].concat();
    let greeting = b"NBDMAGICIHAVEOPT\x00\x01".to_vec();
    let input = [greeting, unsupported(8), unsupported(7), told].concat();
    for cut in [1, input.len()] {
        let mut client = client::Handshake::new(wish("old", true));
        let (mut out, mut held, mut requests) = (Vec::new(), Vec::new(), None);
        for piece in input.chunks(cut) {
            held.extend_from_slice(piece);
            let progress = client.feed(&held, &mut out).unwrap();
            held.drain(..progress.consumed);
            if let client::Next::Ready(ready) = progress.next {
                requests = Some(ready);
            }
        }
        let agreed = requests.expect("a disk").agreed().clone();
        assert_eq!((agreed.size, agreed.abilities), (4096, Abilities::FLUSH));
        assert_eq!((agreed.blocks, agreed.is_structured), (BlockSizes::DEFAULT, false));
        let named = option(1, b"old");
        assert!(out.ends_with(&named) && held.is_empty());
    }
}

#[test]
fn older_servers_are_named_as_what_they_are() {
    let mut client = client::Handshake::new(wish("x", true));
    let oldstyle = b"NBDMAGIC\x00\x00\x42\x02\x81\x86\x12\x53".to_vec();
    let error = client.feed(&[oldstyle, vec![0; 2]].concat(), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("oldstyle"), "{error}");
    assert!(error.hint().is_some(), "{error}");
    let mut client = client::Handshake::new(client::ClientDemands { tls: true, ..wish("x", true) });
    let error = client.feed(b"NBDMAGICIHAVEOPT\x00\x02", &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("TLS"), "{error}");
    let mut client = client::Handshake::new(wish("x", true));
    let mut out = Vec::new();
    let _ = client.feed(b"NBDMAGICIHAVEOPT\x00\x00", &mut out).unwrap();
    assert_eq!(out, [&[0; 4][..], &option(1, b"x")].concat(), "newstyle: the name at once");
}
