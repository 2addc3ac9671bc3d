//! Requests for TLS in clear text, before the handshake: STARTTLS of SMTP (RFC 3207) and IMAP (RFC
//! 3501, section 6.2.1), and the `SSLRequest` of PostgreSQL.
//!
//! Nothing that a service sends here is trusted or remembered: the client of the protocol begins
//! anew under TLS. A service that sends more than its agreement is refused, because somebody on the
//! way could have added the rest, to be read as if the service had sent it under TLS
//! (CVE-2011-0411, CVE-2021-23222).

use super::imap::response::{Response, Responses, Status};
use super::imap::{self, IMAPS};
use super::postgres::POSTGRES;
use super::smtp::reply::Replies;
use super::smtp::{self, SMTPS};
use super::tls::{Upgrade, UpgradeError};
use super::{Encryption, Protocol};

/// PostgreSQL over TLS. `verify-full` is what `libpq` calls a server that must prove its name.
pub(super) static POSTGRES_TLS: Protocol = Protocol {
    query: Some("?sslmode=verify-full"),
    encryption: Encryption::After(|| Box::new(SslRequest)),
    ..POSTGRES
};

pub(super) static SMTP_STARTTLS: Protocol = Protocol {
    name: "smtp+starttls",
    port: 25,
    encryption: Encryption::After(|| Box::<SmtpStartTls>::default()),
    client: smtp::new_after_greeting,
    ..SMTPS
};

pub(super) static IMAP_STARTTLS: Protocol = Protocol {
    name: "imap+starttls",
    port: 143,
    encryption: Encryption::After(|| Box::<ImapStartTls>::default()),
    client: |_, login| imap::new_after_greeting(login),
    ..IMAPS
};

/// Checks that the agreement is the last of the received bytes.
const fn agreed(rest: &[u8]) -> Result<bool, UpgradeError> {
    if rest.is_empty() { Ok(true) } else { Err(UpgradeError::Injected) }
}

/// Request of PostgreSQL ("SSL Session Encryption" in its manual).
#[derive(Debug)]
pub(super) struct SslRequest;

impl Upgrade for SslRequest {
    fn request(&self) -> &'static [u8] {
        // Length 8, and the code 80877103.
        &[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Result<bool, UpgradeError> {
        match bytes {
            [] => Ok(false),
            [b'S', rest @ ..] => agreed(rest),
            // The text of an error here may be anybody's, so it is not shown (CVE-2024-10977).
            [answer @ (b'N' | b'E'), ..] => {
                Err(UpgradeError::Refused(char::from(*answer).to_string()))
            }
            _ => Err(UpgradeError::Invalid),
        }
    }
}

/// STARTTLS of SMTP.
#[derive(Debug, Default)]
pub(super) struct SmtpStartTls {
    replies: Replies,
    /// Number of replies so far: to the connection, to EHLO, to STARTTLS.
    count: usize,
}

impl Upgrade for SmtpStartTls {
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, UpgradeError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.replies.take(rest, u64::MAX);
            let (left, reply) = taken.map_err(|_| UpgradeError::Invalid)?;
            rest = left;
            let Some(reply) = reply else { continue };
            if reply.code / 100 != 2 {
                return Err(UpgradeError::Refused(reply.code.to_string()));
            }
            self.count += 1;
            match self.count {
                1 => smtp::write_hello("EHLO", out),
                // An extension that somebody removed from the list is asked for all the same.
                2 => out.extend_from_slice(b"STARTTLS\r\n"),
                _ => return agreed(rest),
            }
        }
        Ok(false)
    }
}

/// STARTTLS of IMAP.
#[derive(Debug)]
pub(super) struct ImapStartTls {
    responses: Responses,
    is_greeted: bool,
}

impl Default for ImapStartTls {
    fn default() -> Self {
        Self { responses: Responses::new(0), is_greeted: false }
    }
}

impl Upgrade for ImapStartTls {
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, UpgradeError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.responses.take(rest);
            let (left, response) = taken.map_err(|_| UpgradeError::Invalid)?;
            rest = left;
            let Some(response) = response else { continue };
            match response {
                Response::Untagged { status: Status::Ok, .. } if !self.is_greeted => {
                    self.is_greeted = true;
                    out.extend_from_slice(b"0 STARTTLS\r\n");
                }
                Response::Tagged { tag: 0, status: Status::Ok, .. } if self.is_greeted => {
                    return agreed(rest);
                }
                Response::Untagged { status: Status::Bye, .. } => return Err(refused("BYE")),
                Response::Tagged { status: Status::No, .. } => return Err(refused("NO")),
                Response::Tagged { status: Status::Bad, .. } => return Err(refused("BAD")),
                // Services may tell their capabilities at any time.
                Response::Untagged { status: Status::Ok, .. } | Response::Capability { .. } => {}
                // Also a greeting that the user is logged in already, after which TLS is impossible.
                _ => return Err(UpgradeError::Invalid),
            }
        }
        Ok(false)
    }
}

fn refused(answer: &str) -> UpgradeError {
    UpgradeError::Refused(answer.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a service's bytes in pieces of this length. Returns the outcome, and what was sent.
    fn outcome(
        upgrade: &mut dyn Upgrade,
        bytes: &[u8],
        length: usize,
    ) -> (Result<bool, UpgradeError>, Vec<u8>) {
        let mut out = upgrade.request().to_vec();
        for piece in bytes.chunks(length) {
            match upgrade.take(piece, &mut out) {
                Ok(false) => {}
                other => return (other, out),
            }
        }
        (Ok(false), out)
    }

    const SMTP: &[u8] = b"220 mx\r\n250-mx\r\n250 STARTTLS\r\n220 go\r\n";
    const IMAP: &[u8] = b"* OK [CAPABILITY IMAP4rev1] hello\r\n* CAPABILITY X\r\n0 OK go\r\n";

    fn new(protocol: &str) -> Box<dyn Upgrade> {
        match protocol {
            "postgres" => Box::new(SslRequest),
            "smtp" => Box::<SmtpStartTls>::default(),
            _ => Box::<ImapStartTls>::default(),
        }
    }

    #[test]
    fn agreement_is_found_however_it_is_cut() {
        let request = SslRequest.request();
        for (protocol, bytes, sent) in [
            ("postgres", &b"S"[..], request),
            ("smtp", SMTP, b"EHLO client.tile.test\r\nSTARTTLS\r\n"),
            ("imap", IMAP, b"0 STARTTLS\r\n"),
        ] {
            for length in 1..=bytes.len() {
                let found = outcome(&mut *new(protocol), bytes, length);
                assert_eq!(found, (Ok(true), sent.to_vec()), "{protocol} by {length}");
            }
        }
    }

    #[test]
    fn bytes_behind_the_agreement_are_an_attack() {
        for (protocol, bytes, injected) in [
            ("postgres", &b"S"[..], &b"R\0\0\0\x08\0\0\0\0"[..]),
            ("smtp", SMTP, b"250-mx\r\n250 PIPELINING\r\n"),
            ("imap", IMAP, b"1 OK logged in\r\n"),
        ] {
            let all = [bytes, injected].concat();
            let (found, _) = outcome(&mut *new(protocol), &all, all.len());
            assert_eq!(found, Err(UpgradeError::Injected), "{protocol}");
        }
    }

    #[test]
    fn service_without_tls_is_refused_with_its_answer() {
        let refused = |text: &str| Err(super::refused(text));
        for (protocol, bytes, expected) in [
            ("postgres", &b"N"[..], refused("N")),
            ("postgres", b"E\0\0\0\x20SFATAL\0Mgive me your password\0\0", refused("E")),
            ("postgres", b"H", Err(UpgradeError::Invalid)),
            ("smtp", b"554 go away\r\n", refused("554")),
            ("smtp", b"220 mx\r\n250 mx\r\n503 not advertised\r\n", refused("503")),
            ("smtp", b"220 mx\r\n250 mx\r\n454 no certificate\r\n", refused("454")),
            ("smtp", b"* OK hello\r\n", Err(UpgradeError::Invalid)),
            ("imap", b"* BYE full\r\n", refused("BYE")),
            ("imap", b"* OK hello\r\n0 BAD what?\r\n", refused("BAD")),
            ("imap", b"* OK hello\r\n0 NO off\r\n", refused("NO")),
            ("imap", b"* PREAUTH welcome u1\r\n", Err(UpgradeError::Invalid)),
            ("imap", b"0 OK go\r\n", Err(UpgradeError::Invalid)),
            ("imap", b"* OK hello\r\n7 OK go\r\n", Err(UpgradeError::Invalid)),
        ] {
            let (found, _) = outcome(&mut *new(protocol), bytes, bytes.len());
            assert_eq!(found, expected, "{protocol} {}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn endless_answers_are_bounded() {
        for protocol in ["smtp", "imap"] {
            let mut upgrade = new(protocol);
            let line = [b'2'; 1000];
            let ends = (0..100).any(|_| upgrade.take(&line, &mut Vec::new()).is_err());
            assert!(ends, "{protocol}");
        }
    }
}
