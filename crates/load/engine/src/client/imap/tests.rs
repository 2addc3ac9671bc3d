use proptest::prelude::*;

use super::response::{LINE_MAX, TEXT_MAX};
use super::session::{COUNT_MAX, STEPS_MAX};
use super::*;

const GREETING: &str = "* OK [CAPABILITY IMAP4rev1 SASL-IR] ready\r\n";
const LOGGED_IN: &str = "1 OK [CAPABILITY IMAP4rev1 UIDPLUS MOVE] logged in\r\n";
/// Answer to a login of a service that cannot move messages.
const PLAIN: &str = "1 OK logged in\r\n";
const NINE: &str =
    "* FLAGS (\\Seen)\r\n* 9 EXISTS\r\n* OK [UNSEEN 1] x\r\n2 OK [READ-WRITE] done\r\n";
const BYE: &str = "* BYE logging out\r\n";

/// Runs a dialogue: the client's messages for these answers, and the answer of the call.
fn dialogue(text: &str, answers: &[&str]) -> (Vec<String>, Option<Answer>) {
    let (mut client, mut said, mut out) = (Imap::new("se\"cret"), Vec::new(), Vec::new());
    client.call(Ask::of_text(text, 100), &mut out);
    assert!(out.is_empty(), "the service speaks first");
    for (at, bytes) in answers.iter().enumerate() {
        let answer = client.take(bytes.as_bytes(), &mut out);
        said.push(String::from_utf8(std::mem::take(&mut out)).expect("text"));
        if answer.is_some() {
            assert_eq!(at + 1, answers.len(), "answered before the last: {said:?}");
            return (said, answer);
        }
    }
    (said, None)
}

fn good(bytes: u64) -> Option<Answer> {
    Some(Answer { result: Ok(bytes), can_go_on: false })
}

const fn failed(error: CallError) -> Option<Answer> {
    Some(Answer::failed(error))
}

/// Commands of a session behind SELECT, to these answers. The last one ends it.
fn steps(login: &str, text: &str, answers: &[&str]) -> (Vec<String>, Option<Answer>) {
    let all: Vec<&str> = [GREETING, login, NINE].iter().chain(answers).copied().collect();
    let (mut said, answer) = dialogue(text, &all);
    assert_eq!(said[..2], ["1 LOGIN u17 \"se\\\"cret\"\r\n", "2 SELECT INBOX\r\n"]);
    (said.split_off(2), answer)
}

#[test]
fn session_reads_moves_deletes_and_logs_out() {
    let fetched = "* 8 FETCH (FLAGS (\\Seen) BODY[] {5}\r\n{9}\r\n FLAGS ())\r\n\
                   * 9 FETCH (BODY[] {3}\r\nabc)\r\n3 OK done\r\n";
    let moved = "* OK [COPYUID 1 9 1] moved\r\n* 9 EXPUNGE\r\n4 OK done\r\n";
    let marked = "5 OK done\r\n";
    let gone = "* 1 EXPUNGE\r\n* 1 EXPUNGE\r\n* 1 EXPUNGE\r\n6 OK done\r\n";
    let out = format!("{BYE}7 OK done\r\n");
    let text = "u17 read=2 move=1 delete=3";
    let (said, answer) = steps(LOGGED_IN, text, &[fetched, moved, marked, gone, &out]);
    let commands = [
        "3 FETCH 8:9 (BODY[])\r\n",
        "4 MOVE 9:9 Archive\r\n",
        "5 STORE 1:3 +FLAGS.SILENT (\\Deleted)\r\n",
        "6 EXPUNGE\r\n",
        "7 LOGOUT\r\n",
        "",
    ];
    assert_eq!((said, answer), (commands.map(str::to_owned).to_vec(), good(8)));
}

#[test]
fn service_without_move_copies_marks_and_expunges() {
    let no_archive = "3 NO [TRYCREATE] no such mailbox\r\n";
    let answers =
        [no_archive, "4 OK made\r\n", "5 OK\r\n", "6 OK x\r\n", "* 9 EXPUNGE\r\n7 OK x\r\n"];
    let (said, _) = steps(PLAIN, "u17 move=1 delete=9", &answers);
    let commands = [
        "3 COPY 9:9 Archive\r\n",
        "4 CREATE Archive\r\n",
        "5 COPY 9:9 Archive\r\n",
        "6 STORE 9:9 +FLAGS.SILENT (\\Deleted)\r\n",
        "7 EXPUNGE\r\n",
        "8 STORE 1:8 +FLAGS.SILENT (\\Deleted)\r\n",
    ];
    assert_eq!(said, commands);
    // Made by another session in between; and one that cannot be made.
    let twice = [no_archive, "4 NO [ALREADYEXISTS] x\r\n"];
    assert_eq!(steps(PLAIN, "u17 move=1", &twice).0[2], "5 COPY 9:9 Archive\r\n");
    for answers in [&[no_archive, "4 NO no\r\n"][..], &[no_archive, "4 OK\r\n", no_archive]] {
        let again = answers.iter().map(|text| text.replace("3 NO", "5 NO"));
        let mut texts: Vec<String> = again.collect();
        texts[0] = no_archive.to_owned();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert_eq!(steps(PLAIN, "u17 move=1", &texts).1, failed(CallError::Status));
    }
}

#[test]
fn capability_move_is_seen_wherever_it_is_said() {
    for (greeting, login) in [
        ("* OK [CAPABILITY IMAP4rev1 MOVE] x\r\n", PLAIN),
        (GREETING, "* CAPABILITY IMAP4rev1 move\r\n1 OK x\r\n"),
        (GREETING, "* OK [capability MOVE] x\r\n1 OK x\r\n"),
    ] {
        let (said, _) = dialogue("u17 move=2", &[greeting, login, NINE]);
        assert_eq!(said[2], "3 MOVE 8:9 Archive\r\n");
    }
    let other = "1 OK [CAPABILITY REMOVE] you may MOVE\r\n";
    assert_eq!(dialogue("u17 move=2", &[GREETING, other, NINE]).0[2], "3 COPY 8:9 Archive\r\n");
}

#[test]
fn step_without_messages_is_skipped() {
    let text = "u17 read=7 move=1 delete=3 read=0";
    let (said, _) = dialogue(text, &[GREETING, LOGGED_IN, "* 0 EXISTS\r\n2 OK x\r\n"]);
    assert_eq!(said[2], "3 LOGOUT\r\n");
    let (said, _) = steps(LOGGED_IN, "u17 read=20", &[]);
    assert_eq!(said, ["3 FETCH 1:9 (BODY[])\r\n"]);
    // Messages that another session expunged.
    let gone = "3 NO [EXPUNGEISSUED] some are gone\r\n";
    let (said, answer) = steps(LOGGED_IN, "u17 read=2", &[gone, "4 OK x\r\n"]);
    assert_eq!((said[1].as_str(), answer), ("4 LOGOUT\r\n", good(0)));
}

#[test]
fn refusal_of_a_command_fails_the_call() {
    for answers in [
        &["* BYE busy\r\n"][..],
        &[GREETING, "1 NO [AUTHENTICATIONFAILED] no\r\n"],
        &[GREETING, "1 BAD what\r\n"],
        &[GREETING, LOGGED_IN, "2 NO no such mailbox\r\n"],
        &[GREETING, LOGGED_IN, "* BYE going down\r\n"],
        &[GREETING, LOGGED_IN, NINE, "3 NO [LIMIT] no\r\n"],
        &[GREETING, LOGGED_IN, NINE, "* 9 FETCH (BODY[] {3}\r\nabc)\r\n3 NO no\r\n"],
    ] {
        assert_eq!(dialogue("u17 read=1", answers).1, failed(CallError::Status), "{answers:?}");
    }
    assert_eq!(Imap::new("").ended(), Answer::failed(CallError::Closed));
}

#[test]
fn response_that_breaks_the_protocol_is_no_answer() {
    let long = format!("* OK {}\r\n", "x".repeat(LINE_MAX));
    for answers in [
        &["220 mail\r\n"][..],
        &["+ go on\r\n"],
        &["* PREAUTH welcome\r\n"],
        &["* 3 EXISTS\r\n"],
        &[&long],
        &[GREETING, "2 OK not ours\r\n"],
        &[GREETING, "1 MAYBE\r\n"],
        &[GREETING, "+ \r\n"],
        &[GREETING, "\r\n"],
        &[GREETING, LOGGED_IN, "* 99999999999 EXISTS\r\n"],
        &[GREETING, LOGGED_IN, NINE, "3 OK but no message\r\n"],
        &[GREETING, LOGGED_IN, NINE, "* 9 FETCH (FLAGS ())\r\n3 OK\r\n"],
        &[GREETING, LOGGED_IN, NINE, "* 9 FETCH (BODY[] {101}\r\n"],
        &[GREETING, LOGGED_IN, NINE, "* 9 FETCH (BODY[] {99999999999999999999}\r\n"],
        &[GREETING, LOGGED_IN, NINE, "* 9 FETCH (X {60}\r\n", &"x".repeat(60), " X {41}\r\n"],
    ] {
        let (_, answer) = dialogue("u17 read=1", answers);
        assert_eq!(answer, failed(CallError::Protocol), "{answers:?}");
    }
}

#[test]
fn literals_are_read_only_where_they_can_be() {
    let status = "* OK take {50}\r\n1 OK [ALERT] take {50}\r\n";
    let (said, _) = dialogue("u17 read=1", &[GREETING, status, NINE]);
    assert_eq!(said[2], "3 FETCH 9:9 (BODY[])\r\n");
    let other = "* LIST () \"/\" {3}\r\na\r\n\r\n* 9 FETCH (BODY[] ~{0}\r\n)\r\n3 OK x\r\n";
    let (said, answer) = steps(LOGGED_IN, "u17 read=1", &[other, "4 OK x\r\n"]);
    assert_eq!((said[1].as_str(), answer), ("4 LOGOUT\r\n", good(3)));
}

#[test]
fn endless_text_ends_the_call_and_little_is_held() {
    let mut client = Imap::new("");
    client.call(Ask::of_text("u17", u32::MAX), &mut Vec::new());
    assert_eq!(client.take(GREETING.as_bytes(), &mut Vec::new()), None);
    let line = b"* 1 RECENT\r\n";
    let lines = (0..).find_map(|count| {
        assert!(client.responses.held.capacity() <= 2 * LINE_MAX);
        client.take(line, &mut Vec::new()).map(|answer| (count, answer))
    });
    let (count, answer) = lines.expect("an end");
    assert_eq!(Some(answer), failed(CallError::Protocol));
    assert!(count * line.len() <= TEXT_MAX);
    // A message is counted, and nothing of its text is kept.
    let mut client = Imap::new("");
    client.call(Ask::of_text("u17 read=1", u32::MAX), &mut Vec::new());
    for text in [GREETING, LOGGED_IN, NINE, "* 9 FETCH (BODY[] {1000000000}\r\n"] {
        assert_eq!(client.take(text.as_bytes(), &mut Vec::new()), None);
    }
    for _ in 0..1000 {
        assert_eq!(client.take(&[b'x'; 1_000_000], &mut Vec::new()), None);
    }
    assert!(client.responses.held.capacity() <= 2 * LINE_MAX);
    assert_eq!((client.responses.left, client.responses.literal_bytes()), (0, 1_000_000_000));
}

#[test]
fn text_that_is_no_session_logs_nobody_in() {
    let many = format!("u17{}", " read=1".repeat(STEPS_MAX + 1));
    let most = format!("u17 read={}", COUNT_MAX + 1);
    for text in [
        "",
        " ",
        "u17 ",
        "u17  read=1",
        "u17 read",
        "u17 read=",
        "u17 read=+1",
        "u17 read=-1",
        "u17 write=1",
        "u17 read=1\r\n2 LOGOUT",
        "u 17",
        "u@b read=1",
        "\"u\" read=1",
        "ü",
        &many,
        &most,
    ] {
        let (said, answer) = dialogue(text, &[GREETING]);
        assert_eq!((said[0].as_str(), answer), ("", failed(CallError::Protocol)), "{text}");
    }
    for password in ["a\r\n2 LOGOUT", "ü", "\0"] {
        let mut client = Imap::new(password);
        client.call(Ask::of_text("u17", 1), &mut Vec::new());
        let answer = client.take(GREETING.as_bytes(), &mut Vec::new());
        assert_eq!(answer, failed(CallError::Protocol), "{password}");
    }
    assert!(Session::parse(&format!("u17{}", " read=1000".repeat(STEPS_MAX))).is_some());
}

/// Everything that a client sends on these bytes, cut at these lengths, and its answer.
fn cut(bytes: &[u8], mut cut: impl FnMut() -> usize) -> (Vec<u8>, Option<Answer>) {
    let (mut client, mut out, mut rest) = (Imap::new("x"), Vec::new(), bytes);
    client.call(Ask::of_text("u1 read=2 move=1 delete=1 read=1", 100), &mut out);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(cut().clamp(1, rest.len()));
        let answer = client.take(now, &mut out);
        if answer.is_some() {
            return (out, answer);
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
                3 => (0_u32..9).prop_map(|tag| format!("{tag} OK x\r\n").into_bytes()),
                1 => (0_u32..9).prop_map(|tag| format!("{tag} NO [TRYCREATE] x\r\n").into_bytes()),
                1 => (0_u32..9).prop_map(|count| format!("* {count} EXISTS\r\n").into_bytes()),
                1 => Just(b"* 1 FETCH (BODY[] {4}\r\nab\r\n)\r\n".to_vec()),
                1 => Just(b"* 1 EXPUNGE\r\n".to_vec()),
                1 => Just(b"{4}\r\n".to_vec()),
                1 => Just(b"* CAPABILITY MOVE\n".to_vec()),
                1 => prop::collection::vec(any::<u8>(), 0..20),
            ],
            0..14,
        ),
        cuts in prop::collection::vec(1_usize..9, 1..40),
    ) {
        let begun = [GREETING, LOGGED_IN, NINE].concat();
        let bytes = [begun.as_bytes(), &pieces.concat()].concat();
        let mut cuts = cuts.iter().copied().cycle();
        let in_pieces = cut(&bytes, || cuts.next().unwrap_or(1));
        prop_assert_eq!(cut(&bytes, || usize::MAX), in_pieces);
    }
}
