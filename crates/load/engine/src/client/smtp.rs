//! SMTP (RFC 5321). A call sends one mail in a session that stays open. The greeting and EHLO are
//! exchanged once, then each mail is MAIL, RCPT and DATA. Under TLS, a user may log in with AUTH
//! PLAIN (RFC 4616), which sends the password itself.
//!
//! The text of a call is `FROM TO[,TO...] BYTES`, such as `u1 u17,u204 3900` ([`Mail`]). An answer
//! succeeds if every recipient and then the mail itself was accepted. Its size is the size of the
//! service's last reply. An accepted mail is in the service's queue and may be delivered later.
//!
//! A reply of 4xx or 5xx fails the call. The session continues, after RSET if the service has
//! discarded the mail. Commands are sent together if the service offers PIPELINING (RFC 2920).
//! Services without EHLO are not supported.

mod mail;
pub(super) mod reply;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_client::Secret;
use state_machine::{CallError, mix};

use super::{Address, Answer, Ask, Client, Encryption, Login, Logins, Protocol};
use mail::Mail;
use reply::{Replies, Reply};

pub(super) static SMTP: Protocol = Protocol {
    name: "smtp",
    word: "smtp",
    port: 25,
    has_path: false,
    query: Some(""),
    logins: Logins::None,
    encryption: Encryption::None,
    client: |_, _| new(),
};

pub(super) static SMTPS: Protocol = Protocol {
    name: "smtps",
    port: 465,
    logins: Logins::UserWithPassword,
    encryption: Encryption::AtOnce,
    client: |address, login| Box::new(Smtp::with_login(address, login)),
    ..SMTP
};

/// Creates the client side of a connection on which TLS began after the service's greeting.
pub(super) fn new_after_greeting(address: &Address, login: &Login) -> Box<dyn Client> {
    Box::new(Smtp { awaits: Awaits::FirstCall, ..Smtp::with_login(address, login) })
}

/// Appends the command that begins a session.
pub(super) fn write_hello(hello: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{hello} {}\r\n", mail::CLIENT).as_bytes());
}

/// Creates the client side of one connection.
pub fn new() -> Box<dyn Client> {
    Box::new(Smtp::new())
}

/// Creates the client side of one connection to a service that delivers into mailboxes by LMTP (RFC
/// 2033). Each mail has one recipient, because such a service sends one reply to the text per
/// recipient.
pub fn new_lmtp() -> Box<dyn Client> {
    Box::new(Smtp { hello: "LHLO", recipients_max: 1, ..Smtp::new() })
}

/// Client side of one connection.
#[derive(Debug)]
struct Smtp {
    /// Greeting command, such as EHLO.
    hello: &'static str,
    /// Argument of AUTH PLAIN; `None` without a login.
    auth: Option<Secret>,
    recipients_max: usize,
    replies: Replies,
    /// Reply that is awaited next.
    awaits: Awaits,
    mail: Option<Mail>,
    /// Maximum size of the last reply, in bytes.
    size: u64,
    is_pipelined: bool,
    /// Recipients of this mail that the service accepted.
    accepted: usize,
    /// True if the service refused any part of this mail.
    is_refused: bool,
    /// Seed of a mail's content: number of mails on this connection so far, and a number unique to
    /// the connection.
    sent: u64,
    connection: u64,
    /// Random number of the call.
    draw: u64,
    /// Code of the first reply of this call that refused something.
    refusal: Option<u16>,
}

/// Reply that the client awaits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    Greeting,
    Ehlo,
    Auth,
    Mail,
    /// Reply to the recipient at this position.
    Recipient(usize),
    Data,
    /// Reply to the mail itself.
    End,
    Reset,
    /// None, because no call is in progress.
    Call,
    /// None, because the first call begins the session of a service that greets no more.
    FirstCall,
}

/// Next step after a reply.
enum Next {
    Await(Awaits),
    Answer(Answer),
}

impl Smtp {
    fn new() -> Self {
        static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
        Self {
            hello: "EHLO",
            auth: None,
            recipients_max: mail::RECIPIENTS_MAX,
            replies: Replies::default(),
            awaits: Awaits::Greeting,
            mail: None,
            size: 0,
            is_pipelined: false,
            accepted: 0,
            is_refused: false,
            sent: 0,
            connection: CONNECTIONS.fetch_add(1, Ordering::Relaxed),
            draw: 0,
            refusal: None,
        }
    }

    /// Creates a client that logs in, if there are a user and a password.
    fn with_login(address: &Address, login: &Login) -> Self {
        let named = address.user().zip(login.password.as_ref());
        let plain = |(user, password): (&str, &Arc<Secret>)| {
            Secret::new(STANDARD.encode(format!("\0{user}\0{}", password.reveal())))
        };
        Self { auth: named.map(plain), ..Self::new() }
    }

    /// Returns the seed of the next mail's content. All mails of this process have different seeds.
    fn next_seed(&mut self) -> u64 {
        self.sent += 1;
        mix(mix(mix(self.connection) ^ self.sent) ^ self.draw)
    }

    /// Sends the first commands of a mail, as many as the service allows at once.
    fn begin(&mut self, out: &mut Vec<u8>) -> Next {
        let Some(mail) = &self.mail else {
            // Nothing to send: the text of the call is no mail.
            return Next::Answer(Answer::failed(CallError::Protocol));
        };
        mail.write_sender(out);
        if self.is_pipelined {
            (0..mail.recipients()).for_each(|at| mail.write_recipient(at, out));
            out.extend_from_slice(b"DATA\r\n");
        }
        Next::Await(Awaits::Mail)
    }

    fn follow(&mut self, reply: Reply, out: &mut Vec<u8>) -> Next {
        if reply.code >= 400 {
            // Later replies of a pipeline only follow from it.
            self.refusal.get_or_insert(reply.code);
        }
        // 421 may be the reply to anything, and the service closes the connection behind it.
        if reply.code == 421 {
            return Next::Answer(Answer::failed(CallError::Status));
        }
        // Only the first digit decides (RFC 5321, section 4.2.1).
        let is_good = reply.code / 100 == 2;
        match self.awaits {
            Awaits::Greeting if is_good => {
                write_hello(self.hello, out);
                Next::Await(Awaits::Ehlo)
            }
            Awaits::Ehlo if is_good => {
                self.is_pipelined = reply.offers_pipelining;
                match &self.auth {
                    Some(plain) => {
                        out.extend_from_slice(
                            format!("AUTH PLAIN {}\r\n", plain.reveal()).as_bytes(),
                        );
                        Next::Await(Awaits::Auth)
                    }
                    None => self.begin(out),
                }
            }
            Awaits::Auth if is_good => self.begin(out),
            Awaits::Greeting | Awaits::Ehlo | Awaits::Auth => {
                Next::Answer(Answer::failed(CallError::Status))
            }
            Awaits::Mail => {
                self.is_refused |= !is_good;
                match is_good || self.is_pipelined {
                    true => self.await_recipient(0, out),
                    false => reset(out),
                }
            }
            Awaits::Recipient(at) => {
                self.is_refused |= !is_good;
                self.accepted += usize::from(is_good);
                self.await_recipient(at + 1, out)
            }
            Awaits::Data => self.send_text(reply, out),
            Awaits::End => {
                let is_good = is_good && !self.is_refused;
                let result = if is_good { Ok(reply.bytes) } else { Err(CallError::Status) };
                Next::Answer(Answer { result, can_go_on: true })
            }
            Awaits::Reset => {
                Next::Answer(Answer { result: Err(CallError::Status), can_go_on: is_good })
            }
            Awaits::Call | Awaits::FirstCall => Next::Answer(Answer::failed(CallError::Protocol)),
        }
    }

    /// Awaits the reply to the recipient at a position, or starts the text after the last
    /// recipient.
    fn await_recipient(&self, at: usize, out: &mut Vec<u8>) -> Next {
        let Some(mail) = &self.mail else { return reset(out) };
        if at < mail.recipients() {
            if !self.is_pipelined {
                mail.write_recipient(at, out);
            }
            return Next::Await(Awaits::Recipient(at));
        }
        if self.is_pipelined {
            return Next::Await(Awaits::Data);
        }
        if self.accepted == 0 {
            return reset(out);
        }
        out.extend_from_slice(b"DATA\r\n");
        Next::Await(Awaits::Data)
    }

    /// Sends the text of the mail, to the recipients that were accepted, as other clients do.
    fn send_text(&mut self, reply: Reply, out: &mut Vec<u8>) -> Next {
        if reply.code / 100 != 3 {
            self.is_refused = true;
            return reset(out);
        }
        let seed = self.next_seed();
        if let Some(mail) = self.mail.as_ref().filter(|_| self.accepted > 0) {
            mail.write_text(seed, out);
        }
        // A service may say "go on" with no recipient accepted. In this case the text is empty,
        // which the service refuses (RFC 2920, section 3.1).
        out.extend_from_slice(b".\r\n");
        Next::Await(Awaits::End)
    }

    fn take_one<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<u8>) -> Step<'a> {
        let most = if self.awaits == Awaits::End { self.size } else { u64::MAX };
        let (rest, reply) = match self.replies.take(bytes, most) {
            Ok(taken) => taken,
            Err(error) => return (&[], Some(Answer::failed(error))),
        };
        let Some(reply) = reply else { return (rest, None) };
        match self.follow(reply, out) {
            Next::Await(awaits) => {
                self.awaits = awaits;
                (rest, None)
            }
            Next::Answer(answer) => {
                self.awaits = Awaits::Call;
                // Bytes behind an answer belong to no call, so the connection cannot be trusted.
                let can_go_on = answer.can_go_on && rest.is_empty();
                (rest, Some(Answer { can_go_on, ..answer }))
            }
        }
    }
}

/// Remaining bytes, and the answer if it is complete.
type Step<'a> = (&'a [u8], Option<Answer>);

/// Sends RSET to end a mail that the service refused before its text.
fn reset(out: &mut Vec<u8>) -> Next {
    out.extend_from_slice(b"RSET\r\n");
    Next::Await(Awaits::Reset)
}

impl Client for Smtp {
    fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>) {
        (self.draw, self.refusal) = (ask.draws.call, None);
        let mail = ask.filled().as_deref().and_then(Mail::parse);
        self.mail = mail.filter(|mail| mail.recipients() <= self.recipients_max);
        (self.size, self.accepted, self.is_refused) = (u64::from(ask.size), 0, false);
        match self.awaits {
            Awaits::Call => match self.begin(out) {
                Next::Await(awaits) => self.awaits = awaits,
                // An answer needs bytes of the service; whatever comes, the call has failed.
                Next::Answer(_) => out.extend_from_slice(b"QUIT\r\n"),
            },
            Awaits::FirstCall => {
                write_hello(self.hello, out);
                self.awaits = Awaits::Ehlo;
            }
            _ => {}
        }
    }

    fn refusal(&self) -> Option<String> {
        self.refusal.map(|code| format!("reply {code}"))
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answer> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (left, answer) = self.take_one(rest, out);
            if answer.is_some() {
                return answer;
            }
            rest = left;
        }
        None
    }
}
