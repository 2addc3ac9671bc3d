//! Protocols that ask for TLS in clear text, with services of a test.

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fixtures::tls::{ALL_VERSIONS, Authority, Server, Stream};
use http_client::Secret;
use state_machine::{CallError, RequestText};
use tilemark_engine::client::{Address, Login, Service, ServiceError};

use crate::calls::{all_fail, callers, finish, is_good, options};
use crate::encrypted::trusting;

/// Protocol that begins in clear text, and a conversation in it.
struct Spoken {
    word: &'static str,
    /// Address around the port.
    address: [&'static str; 2],
    ask: &'static str,
    /// Texts of the service in clear text, and what it awaits after each.
    clear: &'static [(&'static [u8], &'static [u8])],
    /// Agreement to TLS.
    agrees: &'static [u8],
    /// Answer that refuses TLS.
    refuses: &'static [u8],
    /// A text that somebody on the way could add to the agreement.
    injected: &'static [u8],
}

static SMTP: Spoken = Spoken {
    word: "smtp",
    address: ["smtp+starttls://me@127.0.0.1:", ""],
    ask: "u1 u2 10",
    clear: &[
        (b"220 mx\r\n", b"EHLO client.tile.test\r\n"),
        (b"250-mx\r\n250-PIPELINING\r\n250 STARTTLS\r\n", b"STARTTLS\r\n"),
    ],
    agrees: b"220 go\r\n",
    refuses: b"454 no certificate\r\n",
    injected: b"250 mx\r\n235 ok\r\n250 ok\r\n250 ok\r\n354 ok\r\n250 ok\r\n",
};

static IMAP: Spoken = Spoken {
    word: "imap",
    address: ["imap+starttls://127.0.0.1:", ""],
    ask: "u1 read=1",
    clear: &[(b"* OK [CAPABILITY MOVE] hello\r\n", b"0 STARTTLS\r\n")],
    agrees: b"0 OK go\r\n",
    refuses: b"0 BAD what?\r\n",
    injected: b"1 OK in\r\n* 0 EXISTS\r\n2 OK\r\n3 OK out\r\n",
};

static POSTGRES: Spoken = Spoken {
    word: "postgres",
    address: ["postgres://127.0.0.1:", "/tile?sslmode=verify-full"],
    ask: "select 1;",
    clear: &[(b"", b"\0\0\0\x08\x04\xd2\x16\x2f")],
    agrees: b"S",
    refuses: b"N",
    injected: b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05IZ\0\0\0\x05I",
};

/// Speaks the conversation in clear text up to this answer. Returns false if anything else came.
fn begin(spoken: &Spoken, stream: &mut TcpStream, answer: &[u8]) -> bool {
    for (said, awaited) in spoken.clear {
        let mut came = vec![0; awaited.len()];
        if stream.write_all(said).is_err() || stream.read_exact(&mut came).is_err() {
            return false;
        }
        assert_eq!(came, *awaited, "{}", spoken.word);
    }
    stream.write_all(answer).is_ok()
}

fn login(authority: &Authority) -> Login {
    Login { password: Some(Arc::new(Secret::new("geheim".to_owned()))), ..trusting(authority) }
}

fn reach(spoken: &Spoken, port: u16, login: Login) -> Result<Arc<Service>, ServiceError> {
    let [before, behind] = spoken.address;
    let address = Address::parse(&format!("{before}{port}{behind}"), spoken.word);
    Service::reach(address.expect("an address"), login, Duration::from_secs(30)).map(Arc::new)
}

fn reason(error: &ServiceError) -> String {
    std::error::Error::source(error).expect("a reason").to_string()
}

static ALL: [&Spoken; 3] = [&SMTP, &IMAP, &POSTGRES];

#[test]
fn service_that_refuses_tls_is_named_and_gets_no_clear_text() {
    let authority = Authority::new();
    for spoken in ALL {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&heard);
        let refuse = move |stream: &mut TcpStream| {
            let mut heard = own.lock().expect("no panic");
            if begin(spoken, stream, spoken.refuses) {
                let _ = stream.read_to_end(&mut heard);
            }
            false
        };
        let config = authority.server("127.0.0.1", 2100, ALL_VERSIONS);
        let server = Server::start_after(config, refuse, |_| panic!("TLS"));
        let error = reach(spoken, server.port, login(&authority)).expect_err("no TLS");
        assert!(reason(&error).starts_with("it does not begin TLS (it answered "), "{error}");
        assert!(error.to_string().contains(spoken.address[0]), "{error}");
        assert!(error.hint().starts_with("start the service"), "{}", error.hint());
        assert!(heard.lock().expect("no panic").is_empty(), "{}: clear text", spoken.word);
    }
}

#[test]
fn certificate_is_checked_behind_starttls() {
    let (own, other) = (Authority::new(), Authority::new());
    for spoken in ALL {
        for (signer, name, until, says) in [
            (&own, "127.0.0.1", 2021, "its certificate has expired"),
            (&own, "mx.example", 2100, "its certificate is for other names"),
            (&other, "127.0.0.1", 2100, "no trusted authority signed its certificate"),
        ] {
            let server = Server::start_after(
                signer.server(name, until, ALL_VERSIONS),
                |stream| begin(spoken, stream, spoken.agrees),
                |mut stream| assert!(!matches!(stream.read(&mut [0; 1]), Ok(1)), "a call"),
            );
            let error = reach(spoken, server.port, login(&own)).expect_err(says);
            assert!(reason(&error).contains(says), "{}: {}", spoken.word, reason(&error));
            assert!(error.hint().contains("--ca NAME=FILE"), "{}", error.hint());
        }
    }
}

/// Calls a service that agreed to TLS when it was reached, and now sends these bytes instead. The
/// calls fail, and no password and no request is sent in clear text.
fn turned(spoken: &'static Spoken, bytes: Vec<u8>, error: CallError, says: &str) {
    let authority = Authority::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (own, has_turned) = (Arc::clone(&heard), Arc::new(AtomicBool::new(false)));
    let turns = Arc::clone(&has_turned);
    let server = Server::start_after(
        authority.server("127.0.0.1", 2100, ALL_VERSIONS),
        move |stream| {
            if !turns.load(Ordering::Relaxed) {
                return begin(spoken, stream, spoken.agrees);
            }
            if begin(spoken, stream, &bytes) {
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest);
                own.lock().expect("no panic").extend(rest);
            }
            false
        },
        |mut stream| assert!(!matches!(stream.read(&mut [0; 1]), Ok(1)), "a call"),
    );
    let service = reach(spoken, server.port, login(&authority)).expect("it agrees");
    has_turned.store(true, Ordering::Relaxed);
    let mut instance = callers(&service, 2, 10);
    instance.asks = vec![Some(RequestText::parse(spoken.ask).expect("a text"))];
    let (row, outcome) = finish(instance, options(), 10);
    all_fail(&row, error);
    let told = format!("{:?}", outcome.warnings);
    assert!(told.contains(says), "{}: {told}", spoken.word);
    assert!(heard.lock().expect("no panic").is_empty(), "{}: clear text", spoken.word);
}

#[test]
fn text_before_the_handshake_is_never_an_answer() {
    for spoken in ALL {
        let bytes = [spoken.agrees, spoken.injected].concat();
        let says = "it sent more in clear text after it had agreed to TLS";
        turned(spoken, bytes, CallError::Protocol, says);
    }
}

#[test]
fn service_that_stops_to_speak_tls_fails_calls_without_clear_text() {
    for spoken in ALL {
        turned(spoken, spoken.refuses.to_vec(), CallError::Status, "it does not begin TLS");
    }
}

/// Speaks SMTP under TLS, and accepts everything. Adds each line but those of a mail to `heard`.
fn speak_smtp(mut stream: Stream, heard: &Mutex<Vec<String>>) {
    let (mut line, mut is_mail) = (String::new(), false);
    while stream.read_line(&mut line).is_ok_and(|count| count > 0) {
        let answer: &[u8] = match &line[..] {
            ".\r\n" => b"250 queued\r\n",
            _ if is_mail => b"",
            "DATA\r\n" => b"354 go on\r\n",
            _ => b"250 ok\r\n",
        };
        if !is_mail {
            heard.lock().expect("no panic").push(line.trim_end().to_owned());
        }
        is_mail = if line == "DATA\r\n" { true } else { is_mail && line != ".\r\n" };
        line.clear();
        let stream = stream.get_mut();
        if stream.write_all(answer).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

#[test]
fn mail_is_sent_under_starttls_after_a_login() {
    let authority = Authority::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&heard);
    let server = Server::start_after(
        authority.server("127.0.0.1", 2100, ALL_VERSIONS),
        |stream| begin(&SMTP, stream, SMTP.agrees),
        move |stream| speak_smtp(stream, &own),
    );
    let service = reach(&SMTP, server.port, login(&authority)).expect("it agrees");
    let mut instance = callers(&service, 1, 2);
    instance.asks = vec![Some(RequestText::parse(SMTP.ask).expect("a text"))];
    let (row, _) = finish(instance, options(), 2);
    is_good(&row, 2, 24);
    let heard = heard.lock().expect("no panic");
    // "\0me\0geheim" in base64; what the service said in clear text counts no more.
    let session = ["EHLO client.tile.test", "AUTH PLAIN AG1lAGdlaGVpbQ=="];
    let mail = ["MAIL FROM:<u1@tile.test>", "RCPT TO:<u2@tile.test>", "DATA"];
    assert_eq!(heard[..], [&session[..], &mail[..], &mail[..]].concat());
}
