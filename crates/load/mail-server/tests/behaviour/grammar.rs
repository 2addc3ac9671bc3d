//! The clients accept exactly the calls that the language allows.

use engine::client::{Ask, Client, imap, smtp};
use proptest::prelude::*;
use spec::workload::Protocol;
use state_machine::{Draws, RequestText};

/// Returns true if a client sends anything for a call, after the service's greeting.
fn is_sent(mut client: Box<dyn Client>, ask: &RequestText, greeting: &[&str], word: &str) -> bool {
    let mut out = Vec::new();
    client.call(Ask { text: Some(ask), draws: Draws::default(), size: 1000 }, &mut out);
    for line in greeting {
        out.clear();
        client.take(line.as_bytes(), &mut out);
    }
    out.starts_with(word.as_bytes())
}

fn is_mail(ask: &RequestText) -> bool {
    is_sent(smtp(), ask, &["220 mail\r\n", "250 mail\r\n"], "MAIL FROM:")
}

fn is_session(ask: &RequestText) -> bool {
    is_sent(imap("x"), ask, &["* OK ready\r\n"], "1 LOGIN ")
}

fn same(ask: &str) {
    // Braces that do not match are refused before any protocol is asked.
    let Ok(ask) = &RequestText::parse(ask) else { return };
    assert_eq!(Protocol::Smtp.refuses(ask).is_none(), is_mail(ask), "mail {ask:?}");
    assert_eq!(Protocol::Imap.refuses(ask).is_none(), is_session(ask), "session {ask:?}");
}

#[test]
fn language_and_clients_agree_at_every_bound() {
    let to = |count| vec!["u2"; count].join(",");
    let name = |length| "u".repeat(length);
    for ask in [
        format!("u1 {} 9", to(100)),
        format!("u1 {} 9", to(101)),
        format!("{} u2 9", name(64)),
        format!("{} u2 9", name(65)),
        format!("{} read=1", name(64)),
        format!("{} read=1", name(65)),
        format!("u1{}", " move=1000".repeat(16)),
        format!("u1{}", " move=1".repeat(17)),
    ] {
        same(&ask);
    }
    for ask in [
        "u1 u2 1",
        "u1 u2 2",
        "u1 u2 1048576",
        "u1 u2 1048577",
        "u1 u2 4294967298",
        "u1 u2 02",
        "u1 read=1000",
        "u1 read=1001",
        "u1 read=4294967297",
        "u1 read=01",
        "u1 delete=0",
        "u1",
    ] {
        same(ask);
    }
    let text = |ask| RequestText::parse(ask).expect("a request text");
    assert!(is_mail(&text("u1 u2 2")) && is_session(&text("u1 read=1000 move=0")));
}

proptest! {
    #[test]
    fn language_and_clients_agree_on_any_words(
        words in prop::collection::vec(
            prop_oneof![
                Just("u1".to_owned()),
                Just("u2,u3".to_owned()),
                Just("3900".to_owned()),
                Just("read=7".to_owned()),
                Just("move=".to_owned()),
                Just(String::new()),
                "[a-z0-9=,.@+ \r\n-]{0,6}",
            ],
            0..5,
        ),
    ) {
        same(&words.join(" "));
    }
}
