//! Mails and sessions of mailboxes, with small services on loopback.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use run_store::slice::CallRow;
use state_machine::CallError;
use tilemark_engine::client::{Address, Login, Service};
use tilemark_engine::{BackendChoice, Options};

use crate::calls::{all_fail, callers, finish, is_good, options};

/// Service's end of a connection.
struct Wire {
    lines: BufReader<TcpStream>,
    stream: TcpStream,
}

impl Wire {
    /// Next line without its end; `None` when the client is gone.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).ok().filter(|count| *count > 0)?;
        Some(line.strip_suffix("\r\n").expect("an end of line").to_owned())
    }

    fn say(&mut self, text: &str) -> Option<()> {
        self.stream.write_all(text.as_bytes()).ok()
    }
}

/// A service that holds this dialogue on each connection. Its threads end with the connections, its
/// listener with the test.
fn serve(
    protocol: &str,
    dialogue: impl Fn(&mut Wire) -> Option<()> + Send + Sync + 'static,
) -> Arc<Service> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let text = format!("{protocol}://{}", listener.local_addr().expect("an address"));
    let dialogue = Arc::new(dialogue);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let dialogue = Arc::clone(&dialogue);
            std::thread::spawn(move || {
                // Else each second write of a service waits 40 ms for the client's kernel.
                let _ = stream.set_nodelay(true);
                let lines = BufReader::new(stream.try_clone().expect("a second handle"));
                dialogue(&mut Wire { lines, stream })
            });
        }
    });
    let address = Address::parse(&text, protocol).expect("an address");
    Arc::new(
        Service::reach(address, Login::default(), Duration::from_secs(30)).expect("it listens"),
    )
}

/// Calls of two users who ask this.
fn called(service: &Arc<Service>, options: Options, ask: &str, calls: u64) -> CallRow {
    let mut instance = callers(service, 2, calls);
    instance.asks = vec![Some(state_machine::RequestText::parse(ask).expect("a text"))];
    finish(instance, options, calls).0
}

/// Takes mails, and counts sessions and bytes of text.
fn take_mails(wire: &mut Wire, seen: &MailCounts) -> Option<()> {
    wire.say("220 mail ready\r\n")?;
    assert_eq!(wire.line()?, "EHLO client.tile.test");
    wire.say("250-mail\r\n250 PIPELINING\r\n")?;
    for count in 0.. {
        assert_eq!(wire.line()?, "MAIL FROM:<u1@tile.test>");
        seen.sessions.fetch_add(usize::from(count == 0), Ordering::Relaxed);
        for expected in ["RCPT TO:<u17@tile.test>", "RCPT TO:<u204@tile.test>", "DATA"] {
            assert_eq!(wire.line()?, expected);
        }
        wire.say("250 ok\r\n250 ok\r\n250 ok\r\n354 go on\r\n")?;
        let (mut is_text, mut bytes) = (false, 0);
        loop {
            let line = wire.line()?;
            match line.as_str() {
                "." => break,
                "" if !is_text => is_text = true,
                line if is_text => bytes += line.strip_prefix('.').unwrap_or(line).len() + 2,
                _ => {}
            }
        }
        seen.texts.lock().expect("a lock").push(bytes);
        wire.say("250 queued\r\n")?;
    }
    None
}

#[derive(Default)]
struct MailCounts {
    sessions: AtomicUsize,
    /// Bytes of the text of each mail.
    texts: Mutex<Vec<usize>>,
}

#[test]
fn mails_are_sent_in_one_session_for_each_user() {
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let seen = Arc::new(MailCounts::default());
        let of_service = Arc::clone(&seen);
        let service = serve("smtp", move |wire| take_mails(wire, &of_service));
        let options = Options { backend, ..options() };
        let row = called(&service, options, "u1 u17,u204 3900", 300);
        is_good(&row, 300, 300 * 12);
        assert_eq!(*seen.texts.lock().expect("a lock"), [3900; 300]);
        assert!((1..=2).contains(&seen.sessions.load(Ordering::Relaxed)));
    }
}

#[test]
fn refused_mails_keep_their_session() {
    let sessions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sessions);
    let service = serve("smtp", move |wire| {
        wire.say("220 mail\r\n")?;
        wire.line()?;
        counted.fetch_add(1, Ordering::Relaxed);
        wire.say("250 mail\r\n")?;
        loop {
            let answer = if wire.line()? == "RSET" { "250 ok\r\n" } else { "452 full\r\n" };
            wire.say(answer)?;
        }
    });
    all_fail(&called(&service, options(), "u1 u2 100", 10), CallError::Status);
    assert!((1..=2).contains(&sessions.load(Ordering::Relaxed)));
}

#[test]
fn mail_whose_service_goes_away_is_not_sent_again() {
    let mails = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&mails);
    let service = serve("smtp", move |wire| {
        wire.say("220 mail\r\n")?;
        wire.line()?;
        wire.say("250 mail\r\n")?;
        wire.line()?;
        counted.fetch_add(1, Ordering::Relaxed);
        None
    });
    all_fail(&called(&service, options(), "u1 u2 100", 10), CallError::Closed);
    assert_eq!(mails.load(Ordering::Relaxed), 10);
}

#[test]
fn each_session_of_a_mailbox_is_one_connection() {
    let sessions = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sessions);
    let service = serve("imap", move |wire| {
        wire.say("* OK [CAPABILITY IMAP4rev1 MOVE] ready\r\n")?;
        assert_eq!(wire.line()?, "1 LOGIN u17 \"\"");
        wire.say("1 OK in\r\n")?;
        assert_eq!(wire.line()?, "2 SELECT INBOX");
        wire.say("* 3 EXISTS\r\n2 OK selected\r\n")?;
        assert_eq!(wire.line()?, "3 FETCH 2:3 (BODY[])");
        let text = "x".repeat(400);
        for (number, cut) in [(2, 100), (3, 7)] {
            wire.say(&format!("* {number} FETCH (BODY[] {{400}}\r\n{}", &text[..cut]))?;
            wire.say(&format!("{})\r\n", &text[cut..]))?;
        }
        wire.say("3 OK fetched\r\n")?;
        assert_eq!(wire.line()?, "4 LOGOUT");
        counted.fetch_add(1, Ordering::Relaxed);
        wire.say("* BYE\r\n4 OK out\r\n")
    });
    is_good(&called(&service, options(), "u17 read=2", 50), 50, 50 * 800);
    assert_eq!(sessions.load(Ordering::Relaxed), 50);
}

#[test]
fn wrong_password_fails_each_session() {
    let service = serve("imap", |wire| {
        wire.say("* OK ready\r\n")?;
        wire.line()?;
        wire.say("1 NO [AUTHENTICATIONFAILED] no\r\n")
    });
    all_fail(&called(&service, options(), "u17 read=1", 10), CallError::Status);
    all_fail(
        &called(&serve("imap", |wire| wire.say("220 mail\r\n")), options(), "u17", 10),
        CallError::Protocol,
    );
}
