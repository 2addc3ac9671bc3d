use proptest::prelude::*;

use super::mail::{BYTES_MAX, BYTES_MIN, LINE, RECIPIENTS_MAX};
use super::reply::{LINE_MAX, LINES_MAX};
use super::*;

const GREETING: &str = "220-mail ready\r\n220 come in\r\n";
const PLAIN: &str = "250-mail\r\n250 8BITMIME\r\n";
const PIPELINED: &str = "250-mail\r\n250-SIZE 1000\r\n250-PIPELINING\r\n250 HELP\r\n";

fn ask(text: &str) -> Ask<'_> {
    Ask::of_text(text, 100)
}

/// Client in an open session, with the service's answer to EHLO.
fn session(ehlo: &str) -> Smtp {
    let mut client = Smtp::new();
    let mut out = Vec::new();
    client.call(ask("u1 u2 2"), &mut out);
    let replies = [GREETING, ehlo, "250 ok\r\n", "250 ok\r\n", "354 go on\r\n", "250 queued\r\n"];
    let answers: Vec<_> =
        replies.iter().map(|reply| client.take(reply.as_bytes(), &mut out)).collect();
    let good = Answer { result: Ok(12), can_go_on: true };
    assert_eq!(answers, [None, None, None, None, None, Some(good)]);
    client
}

/// Runs a dialogue: the client's messages for these replies, and the answer at their end.
fn dialogue(client: &mut Smtp, text: &str, replies: &[&str]) -> (Vec<String>, Option<Answer>) {
    let text_of = |out: Vec<u8>| String::from_utf8(out).expect("text");
    let (mut said, mut out) = (Vec::new(), Vec::new());
    client.call(ask(text), &mut out);
    said.push(text_of(std::mem::take(&mut out)));
    for (at, reply) in replies.iter().enumerate() {
        let answer = client.take(reply.as_bytes(), &mut out);
        said.push(text_of(std::mem::take(&mut out)));
        if answer.is_some() {
            assert_eq!(at + 1, replies.len(), "answered before the last reply: {said:?}");
            return (said, answer);
        }
    }
    (said, None)
}

const REFUSED: Option<Answer> = Some(Answer { result: Err(CallError::Status), can_go_on: true });
const ENDED: Option<Answer> = Some(Answer::failed(CallError::Status));

/// Header and text that a client sent, without the dots that were added.
fn text_of(sent: &str) -> (String, String) {
    let sent = sent.strip_suffix(".\r\n").expect("a dot at the end");
    let lines = sent.split_inclusive("\r\n").map(|line| line.strip_prefix('.').unwrap_or(line));
    let whole: String = lines.collect();
    let (header, text) = whole.split_once("\r\n\r\n").expect("a header and a text");
    (header.to_owned(), text.to_owned())
}

#[test]
fn first_mail_begins_the_session_and_the_next_goes_at_once() {
    let mut client = Smtp::new();
    let replies =
        [GREETING, PLAIN, "250 ok\r\n", "250 ok\r\n", "251 there\r\n", "354 go\r\n", "250 2 x\r\n"];
    let (said, answer) = dialogue(&mut client, "u1 u17,u204 3900", &replies);
    assert_eq!(said[0], "", "the service speaks first");
    let steps = [
        "EHLO client.tile.test\r\n",
        "MAIL FROM:<u1@tile.test>\r\n",
        "RCPT TO:<u17@tile.test>\r\n",
        "RCPT TO:<u204@tile.test>\r\n",
        "DATA\r\n",
    ];
    assert_eq!(said[1..6], steps);
    let (header, text) = text_of(&said[6]);
    assert!(header.contains("To:\r\n <u17@tile.test>,\r\n <u204@tile.test>\r\n"), "{header}");
    assert_eq!(text.len(), 3900);
    assert_eq!(answer, Some(Answer { result: Ok(9), can_go_on: true }));
    let (said, _) = dialogue(&mut client, "u3 u4 10", &[]);
    assert_eq!(said, ["MAIL FROM:<u3@tile.test>\r\n"]);
}

#[test]
fn commands_go_together_if_the_service_offers_pipelining() {
    let replies = ["250 ok\r\n250 ok\r\n250 ok\r\n354 go on\r\n", "250 queued\r\n"];
    let (said, answer) = dialogue(&mut session(PIPELINED), "u1 u2,u3 100", &replies);
    let together =
        "MAIL FROM:<u1@tile.test>\r\nRCPT TO:<u2@tile.test>\r\nRCPT TO:<u3@tile.test>\r\nDATA\r\n";
    assert_eq!(said[0], together);
    assert_eq!(text_of(&said[1]).1.len(), 100);
    assert_eq!(answer, Some(Answer { result: Ok(12), can_go_on: true }));
    // Not an extension, but the greeting of a service of that name.
    let named = "250-PIPELINING\r\n250 8BITMIME\r\n";
    assert_eq!(dialogue(&mut session(named), "u1 u2 9", &[]).0, ["MAIL FROM:<u1@tile.test>\r\n"]);
}

#[test]
fn text_is_exactly_as_long_and_differs_by_seed() {
    let write = |bytes: usize, seed| {
        let mut out = Vec::new();
        let mail = Mail::parse(&format!("u1 u2 {bytes}")).expect("a mail");
        mail.write_text(seed, &mut out);
        String::from_utf8(out).expect("text") + ".\r\n"
    };
    let mut dots = 0;
    for bytes in (BYTES_MIN..400).chain([3900, 43_000, BYTES_MAX]) {
        let sent = write(bytes, bytes as u64);
        let (_, text) = text_of(&sent);
        assert_eq!(text.len(), bytes);
        assert!(text.ends_with("\r\n") && text.lines().all(|line| line.len() <= LINE), "{bytes}");
        assert_eq!(sent.lines().filter(|line| *line == ".").count(), 1, "ends in {sent:.300}");
        dots += sent.lines().filter(|line| line.starts_with("..")).count();
    }
    assert!(dots > 100, "lines that begin with a dot: {dots}");
    assert_eq!(write(3900, 1), write(3900, 1));
    let (one, other) = (write(3900, 1), write(3900, 2));
    let same = one.lines().filter(|line| other.lines().any(|own| own == *line)).count();
    assert!(same < 8, "{same} lines of two mails are the same");
}

#[test]
fn mails_of_all_connections_differ() {
    let replies = ["250 ok\r\n250 ok\r\n354 go on\r\n", "250 queued\r\n"];
    let mut sent = Vec::new();
    for mut client in [session(PIPELINED), session(PIPELINED)] {
        for _ in 0..2 {
            sent.push(dialogue(&mut client, "u1 u2 100", &replies).0.remove(1));
        }
    }
    sent.sort();
    sent.dedup();
    assert_eq!(sent.len(), 4);
}

#[test]
fn refused_mail_fails_and_the_session_goes_on() {
    for (replies, said_last) in [
        (&["550 no\r\n", "250 reset\r\n"][..], "RSET\r\n"),
        (&["250 ok\r\n", "550 no\r\n", "452 full\r\n", "250 reset\r\n"], "RSET\r\n"),
        (&["250 ok\r\n", "250 ok\r\n", "250 ok\r\n", "451 later\r\n", "250 ok\r\n"], "RSET\r\n"),
    ] {
        let mut client = session(PLAIN);
        let (said, answer) = dialogue(&mut client, "u1 u2,u3 100", replies);
        assert_eq!((said[said.len() - 2].as_str(), answer), (said_last, REFUSED));
        let good = ["250 ok\r\n", "250 ok\r\n", "354 go on\r\n", "250 queued\r\n"];
        let (_, answer) = dialogue(&mut client, "u1 u2 100", &good);
        assert_eq!(answer, Some(Answer { result: Ok(12), can_go_on: true }));
    }
    let full = ["250 ok\r\n", "250 ok\r\n", "354 go on\r\n", "452 no room\r\n"];
    assert_eq!(dialogue(&mut session(PLAIN), "u1 u2 100", &full).1, REFUSED);
    // A service that does not even reset is left.
    assert_eq!(dialogue(&mut session(PLAIN), "u1 u2 9", &["550 no\r\n", "500 no\r\n"]).1, ENDED);
}

#[test]
fn refused_mail_in_a_pipeline_fails_after_all_replies() {
    let no_sender = ["550 no\r\n503 no\r\n503 no\r\n503 no\r\n", "250 reset\r\n"];
    let (said, answer) = dialogue(&mut session(PIPELINED), "u1 u2,u3 100", &no_sender);
    assert_eq!((said[1].as_str(), answer), ("RSET\r\n", REFUSED));
    let nobody = ["250 ok\r\n550 no\r\n354 go on\r\n", "554 nobody\r\n"];
    let (said, answer) = dialogue(&mut session(PIPELINED), "u1 u2 100", &nobody);
    assert_eq!((said[1].as_str(), answer), (".\r\n", REFUSED), "an empty text");
    // Those whom the service took get their mail, and the call has failed all the same.
    let some = ["250 ok\r\n550 no\r\n250 ok\r\n354 go on\r\n", "250 queued\r\n"];
    let (said, answer) = dialogue(&mut session(PIPELINED), "u1 u2,u3 100", &some);
    assert_eq!((text_of(&said[1]).1.len(), answer), (100, REFUSED));
}

#[test]
fn service_that_closes_or_rejects_ends_the_session() {
    let busy = "421-busy\r\n421 try later\r\n";
    for replies in [
        &["554 no service\r\n"][..],
        &[busy],
        &[GREETING, "502 what\r\n"],
        &[GREETING, PLAIN, busy],
        &[GREETING, PLAIN, "250 ok\r\n", busy],
        &[GREETING, PLAIN, "250 ok\r\n", "250 ok\r\n", busy],
        &[GREETING, PLAIN, "250 ok\r\n", "250 ok\r\n", "354 go\r\n", busy],
    ] {
        assert_eq!(dialogue(&mut Smtp::new(), "u1 u2 100", replies).1, ENDED, "{replies:?}");
    }
    let mut client = session(PLAIN);
    client.call(ask("u1 u2 100"), &mut Vec::new());
    assert_eq!(client.ended(), Answer::failed(CallError::Closed));
    assert!(!client.may_repeat(), "it would be sent twice");
}

#[test]
fn reply_beyond_its_bounds_is_no_answer() {
    let long = format!("250 {}\r\n", "x".repeat(LINE_MAX));
    let many = "250-x\r\n".repeat(LINES_MAX + 1);
    for first in ["SSH-2.0-x\r\n", "220\t\r\n", "22\r\n", "999 x\r\n", "120 x\r\n", &long, &many] {
        let (_, answer) = dialogue(&mut Smtp::new(), "u1 u2 9", &[first]);
        assert_eq!(answer, Some(Answer::failed(CallError::Protocol)), "{first:.40}");
    }
    let mixed = dialogue(&mut Smtp::new(), "u1 u2 9", &["220-a\r\n250 b\r\n"]).1;
    assert_eq!(mixed, Some(Answer::failed(CallError::Protocol)));
    // The reply to the mail is longer than asked for (100).
    let wordy = format!("250 {}\r\n", "x".repeat(100));
    let replies = ["250 ok\r\n", "250 ok\r\n", "354 go on\r\n", &wordy];
    let (_, answer) = dialogue(&mut session(PLAIN), "u1 u2 9", &replies);
    assert_eq!(answer, Some(Answer::failed(CallError::Protocol)));
    let two = ["250 ok\r\n", "250 ok\r\n", "354 go on\r\n", "250 queued\r\n250 twice\r\n"];
    let (_, answer) = dialogue(&mut session(PLAIN), "u1 u2 9", &two);
    assert_eq!(answer, Some(Answer { result: Ok(12), can_go_on: false }), "out of step");
}

#[test]
fn text_that_is_no_mail_sends_nothing() {
    let many = format!("u1 {} 100", vec!["u2"; RECIPIENTS_MAX + 1].join(","));
    let (large, long) = (format!("u1 u2 {}", BYTES_MAX + 1), format!("{} u2 9", "u".repeat(65)));
    for text in [
        "",
        "u1",
        "u1 u2",
        "u1 u2 1",
        "u1 u2 +9",
        "u1 u2 x",
        "u1 u2 9 9",
        "u1  u2 9",
        "u1 u2, 9",
        "u1 a@b 9",
        "u1 <u2> 9",
        "u1 u2\r\nRCPT 9",
        "u1 ü 9",
        &many,
        &large,
        &long,
    ] {
        let (said, answer) = dialogue(&mut session(PLAIN), text, &["221 bye\r\n"]);
        let failed = Some(Answer::failed(CallError::Protocol));
        assert_eq!((said[0].as_str(), answer), ("QUIT\r\n", failed), "{text:.40}");
        let (said, answer) = dialogue(&mut Smtp::new(), text, &[GREETING, PLAIN]);
        assert_eq!((said[2].as_str(), answer), ("", failed), "{text:.40}");
    }
    assert!(Mail::parse(&format!("u1 {} 100", vec!["u2"; RECIPIENTS_MAX].join(","))).is_some());
}

#[test]
fn mailbox_service_gets_each_mail_for_one_user() {
    let client = || Smtp { hello: "LHLO", recipients_max: 1, ..Smtp::new() };
    let replies = [GREETING, PIPELINED, "250 ok\r\n250 ok\r\n354 go on\r\n", "250 saved\r\n"];
    let (said, answer) = dialogue(&mut client(), "u1 u2 100", &replies);
    assert_eq!(said[1], "LHLO client.tile.test\r\n");
    assert_eq!(answer, Some(Answer { result: Ok(11), can_go_on: true }));
    let (said, answer) = dialogue(&mut client(), "u1 u2,u3 100", &replies[..2]);
    assert_eq!((said[2].as_str(), answer), ("", Some(Answer::failed(CallError::Protocol))));
}

/// Everything that a client sends on these bytes, cut at these lengths, and its answer.
fn cut(bytes: &[u8], mut cut: impl FnMut() -> usize) -> (Vec<u8>, Option<Answer>) {
    let (mut client, mut out, mut rest) = (Smtp::new(), Vec::new(), bytes);
    client.connection = 7;
    client.call(ask("u1 u2,u3 300"), &mut out);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(cut().clamp(1, rest.len()));
        if let Some(answer) = client.take(now, &mut out) {
            let can_go_on = answer.can_go_on && later.is_empty();
            return (out, Some(Answer { can_go_on, ..answer }));
        }
        rest = later;
    }
    (out, None)
}

proptest! {
    #[test]
    fn cuts_change_no_answer_and_no_bytes_panic(
        pieces in prop::collection::vec(
            prop_oneof![
                4 => Just(b"250 ok\r\n".to_vec()),
                1 => Just(b"220 hello\r\n".to_vec()),
                1 => Just(b"250-PIPELINING\r\n".to_vec()),
                1 => Just(b"354 go on\r\n".to_vec()),
                1 => Just(b"550 no\r\n".to_vec()),
                1 => Just(b"421 bye\n".to_vec()),
                1 => prop::collection::vec(any::<u8>(), 0..20),
            ],
            0..12,
        ),
        cuts in prop::collection::vec(1_usize..9, 1..40),
    ) {
        let bytes = [&b"220 hello\r\n"[..], &pieces.concat()].concat();
        let mut cuts = cuts.iter().copied().cycle();
        let in_pieces = cut(&bytes, || cuts.next().unwrap_or(1));
        prop_assert_eq!(cut(&bytes, || usize::MAX), in_pieces);
    }
}
