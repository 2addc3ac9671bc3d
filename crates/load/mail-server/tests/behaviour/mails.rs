//! Mails from the project's own clients through Exim into Dovecot's mailboxes and out again.

use std::collections::BTreeSet;
use std::fs;

use tilemark_mail_server::{MailServerError, PATTERN_MAILBOXES, Pattern, Session};

use crate::bench::{bench, wait_until};

#[test]
fn mail_goes_through_the_queue_into_two_mailboxes() {
    let Some(bench) = bench() else { return };
    let mut server = bench.ready();
    let mut sender = Session::smtp(server.ports().smtp).expect("connected");
    for _ in 0..20 {
        sender.call("u1 u17,u204 3900").expect("accepted");
    }
    let mut all = server.delivered().expect("a log");
    wait_until("the delivery", || {
        let more = server.delivered().expect("a log");
        all.accepted += more.accepted;
        all.failed += more.failed;
        all.delays.extend(more.delays);
        all.delays.len() == 40 && server.queue_length().expect("a queue") == 0
    });
    assert_eq!((all.accepted, all.failed), (20, 0));
    assert!(all.delays.iter().all(|delay| delay.as_secs() < 30), "{:?}", all.delays);
    let read = |user: &str, steps: &str| {
        let session = Session::imap(server.ports().imap, server.password());
        session.expect("connected").call(&format!("{user} {steps}")).expect("read")
    };
    // 3,900 bytes of text, and the headers of the client, Exim and Dovecot.
    let bytes = read("u17", "read=1");
    assert!((3900..5500).contains(&bytes), "{bytes}");
    assert_eq!(read("u204", "read=20") / 20, bytes, "one mail is as long as the other");
    // The archive is not there at first: 20 messages become 15, and one more session finds them.
    read("u17", "move=2 delete=3");
    read("u17", "move=1");
    assert_eq!(read("u17", "read=1000") / bytes, 14);
    assert_eq!(read("u17", "delete=1000 read=5 move=1 delete=1"), 0, "an empty mailbox is fine");
    server.health().expect("well");
    server.stop().expect("stopped");
}

#[test]
fn wrong_password_and_foreign_domain_are_refused() {
    let Some(bench) = bench() else { return };
    let server = bench.ready();
    let mut stranger = Session::imap(server.ports().imap, "guess").expect("connected");
    let error = stranger.call("u1 read=1").expect_err("no such password");
    assert!(matches!(error, MailServerError::Call { .. }), "{error}");
    assert!(error.to_string().contains("reports a failed request"), "{error}");
    let answer = say(
        server.ports().smtp,
        &["EHLO x", "MAIL FROM:<u1@tile.test>", "RCPT TO:<a@example.com>"],
    );
    assert!(answer.lines().last().expect("a line").starts_with("550 "), "{answer}");
    server.stop().expect("stopped");
}

/// Answers to some lines, each after the answer to the one before.
fn say(port: u16, lines: &[&str]) -> String {
    use std::io::{BufRead, BufReader, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("connected");
    let mut answers = BufReader::new(stream.try_clone().expect("a handle"));
    let mut said = String::new();
    for line in ["", lines[0], lines[1], lines[2]] {
        if !line.is_empty() {
            stream.write_all(format!("{line}\r\n").as_bytes()).expect("sent");
        }
        loop {
            let before = said.len();
            answers.read_line(&mut said).expect("an answer");
            if said.as_bytes().get(before + 3) == Some(&b' ') {
                break;
            }
        }
    }
    said
}

#[test]
fn pattern_is_copied_into_mailboxes_of_their_own_that_serve() {
    let Some(bench) = bench() else { return };
    let (from, runtime) = (bench.path("pattern"), bench.runtime());
    fs::create_dir(&from).expect("made");
    let setup = bench.setup(&from, &runtime);
    let pattern = Pattern::make(&bench.programs, &setup, (7, 12), &|| true).expect("made");
    assert!(!runtime.exists() && bench.processes().is_empty());
    let (data, other) = (bench.data(), bench.path("other"));
    fs::create_dir(&other).expect("made");
    let count = 2 * PATTERN_MAILBOXES + 1;
    let bytes = pattern.copy(&data, &bench.account, count, 1, &|| true).expect("copied");
    assert_eq!(pattern.copy(&other, &bench.account, count, 2, &|| true).expect("copied"), bytes);
    let third = bench.path("third");
    fs::create_dir(&third).expect("made");
    let stopped = pattern.copy(&third, &bench.account, count, 3, &|| false);
    assert!(matches!(stopped, Err(MailServerError::Stopped)), "{stopped:?}");
    assert!(
        pattern.copy(&data, &bench.account, 1, 1, &|| true).is_err(),
        "no mailbox is written over"
    );

    // No two mailboxes of any tile share a line of text.
    let lines = |tile: &std::path::Path, user: u32| -> BTreeSet<String> {
        let storage = tile.join(format!("mail/u{user}/storage"));
        let files = fs::read_dir(storage).expect("a mailbox").map(|entry| entry.expect("read"));
        let mails = files.filter(|own| own.file_name().as_encoded_bytes().starts_with(b"m."));
        let text = mails.map(|own| fs::read(own.path()).expect("mails"));
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let is_text = |line: &&str| line.len() == 76 && !line.contains([' ', ':']);
        text.flat_map(|all| all.lines().filter(is_text).map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    let sets = [lines(&data, 1), lines(&data, 9), lines(&data, 17), lines(&other, 1)];
    assert!(sets[0].len() > 100, "{} lines", sets[0].len());
    for (at, one) in sets.iter().enumerate() {
        for other in &sets[at + 1..] {
            assert!(one.is_disjoint(other) && one.len() == other.len());
        }
    }

    let mut server = bench.ready();
    let read = |user: u32| {
        let session = Session::imap(server.ports().imap, server.password());
        session.expect("connected").call(&format!("u{user} read=12 move=1")).expect("read")
    };
    assert_eq!(read(1), read(17), "sizes stay");
    assert!(read(2) > 12_000);
    // A delivery into a copied mailbox.
    let mut mailbox = Session::lmtp(server.ports().lmtp).expect("connected");
    mailbox.call("u3 u9 1000").expect("delivered");
    drop(mailbox);
    let session = Session::imap(server.ports().imap, server.password());
    session.expect("connected").call("u9 read=13").expect("all 13");
    server.health().expect("well");
    server.stop().expect("stopped");
}
