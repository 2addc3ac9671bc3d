//! IMAP4rev1 (RFC 3501). A call is a whole session of one mailbox: LOGIN, SELECT INBOX, the
//! requested steps, and LOGOUT. The next call needs a new connection.
//!
//! The text of a call is `USER STEP=COUNT...`, such as `u17 read=7 move=1 delete=3` ([`Session`]):
//!
//! - `read` fetches the newest messages completely, which marks them as seen;
//! - `move` moves the newest messages to the mailbox `Archive`, which is created if absent. If the
//!   service has no MOVE (RFC 6851), they are copied, marked and expunged;
//! - `delete` marks the oldest messages and expunges them.
//!
//! A step uses the messages that exist. It is no error if there are fewer than requested, or if
//! another session expunges a message meanwhile. An answer succeeds if every command did. Its size
//! is the size of the fetched messages, which are counted and not kept.

// The usual crates (imap-codec, imap-proto) parse a response that is whole in memory, with the
// messages in it. Here a message may be larger than everything a connection may hold.
pub(super) mod response;
mod session;
#[cfg(test)]
mod tests;

use http_client::Secret;
use state_machine::CallError;

use super::{Answer, Ask, Client, Encryption, Login, Logins, Protocol};
use response::{Code, Response, Responses, Status};
use session::{Session, Step};

pub(super) static IMAP: Protocol = Protocol {
    name: "imap",
    word: "imap",
    port: 143,
    has_path: false,
    query: Some(""),
    // IMAP without TLS sends a password in clear. Only a server that the run made on this host gets
    // one, so none can be given for an address.
    logins: Logins::None,
    encryption: Encryption::None,
    client: |_, login| Box::new(Imap::with_login(login)),
};

pub(super) static IMAPS: Protocol = Protocol {
    name: "imaps",
    port: 993,
    logins: Logins::Password,
    encryption: Encryption::AtOnce,
    ..IMAP
};

/// Creates the client side of a connection on which TLS began after the service's greeting.
pub(super) fn new_after_greeting(login: &Login) -> Box<dyn Client> {
    Box::new(Imap { is_greeted: true, ..Imap::with_login(login) })
}

/// Creates the client side of one connection, which logs in with this password.
pub fn new(password: &str) -> Box<dyn Client> {
    Box::new(Imap::new(password))
}

/// Mailbox to which messages are moved.
const ARCHIVE: &str = "Archive";

/// Client side of one connection.
#[derive(Debug)]
struct Imap {
    /// Password as a quoted string; `None` if it cannot be quoted.
    password: Option<Secret>,
    /// True if the service greets no more, so that the first call begins the session.
    is_greeted: bool,
    session: Option<Session>,
    responses: Responses,
    /// Command that awaits its answer; `None` before the greeting.
    command: Option<Command>,
    /// Number of the command, which is its tag.
    tag: u32,
    /// Number of messages in the mailbox.
    exists: u32,
    /// Messages whose text was received for the current command.
    fetched: u32,
    can_move: bool,
    has_made_archive: bool,
    /// Command that the service refused.
    refused: Option<Command>,
}

/// Command of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Login,
    Select,
    Fetch(Range),
    Move(Range),
    Copy(Range),
    /// Creates the mailbox for moved messages; the move of this range follows.
    Create(Range),
    /// Marks messages as deleted.
    Mark(Range),
    Expunge,
    Logout,
}

/// Inclusive range of message sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: u32,
    last: u32,
}

impl Range {
    /// Returns the newest messages of `exists`, at most `count`; `None` if there is none.
    fn newest(count: u32, exists: u32) -> Option<Self> {
        let count = count.min(exists);
        (count > 0).then(|| Self { first: exists - count + 1, last: exists })
    }

    /// Returns the oldest messages of `exists`, at most `count`; `None` if there is none.
    fn oldest(count: u32, exists: u32) -> Option<Self> {
        let last = count.min(exists);
        (last > 0).then_some(Self { first: 1, last })
    }

    const fn len(self) -> u32 {
        self.last - self.first + 1
    }
}

/// Next step of a session, or the failure of the call.
type Next = Result<Flow, CallError>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Wait,
    Send(Command),
    /// The session is complete.
    End,
}

impl Imap {
    fn new(password: &str) -> Self {
        Self {
            password: quoted(password).map(Secret::new),
            is_greeted: false,
            session: None,
            responses: Responses::new(0),
            command: None,
            tag: 0,
            exists: 0,
            fetched: 0,
            can_move: false,
            has_made_archive: false,
            refused: None,
        }
    }

    fn with_login(login: &Login) -> Self {
        Self::new(login.password.as_deref().map_or("", Secret::reveal))
    }

    fn follow(&mut self, response: Response) -> Next {
        let Some(command) = self.command else { return self.greet(response) };
        match response {
            Response::Tagged { tag, .. } if tag != self.tag => Err(CallError::Protocol),
            Response::Tagged { status, code, offers_move, .. } => {
                self.can_move |= offers_move;
                let next = match status {
                    Status::Ok => self.go_on(command),
                    Status::No => self.go_on_after_refusal(command, code),
                    _ => Err(CallError::Status),
                };
                self.refused = matches!(next, Err(CallError::Status)).then_some(command);
                next
            }
            Response::Untagged { status: Status::Bye, .. } if command != Command::Logout => {
                Err(CallError::Status)
            }
            Response::Untagged { offers_move, .. } | Response::Capability { offers_move } => {
                self.can_move |= offers_move;
                Ok(Flow::Wait)
            }
            Response::Exists(count) => {
                self.exists = count;
                Ok(Flow::Wait)
            }
            Response::Expunged => {
                self.exists = self.exists.saturating_sub(1);
                Ok(Flow::Wait)
            }
            Response::Fetched { has_literal } => {
                self.fetched += u32::from(has_literal);
                Ok(Flow::Wait)
            }
            Response::Other => Ok(Flow::Wait),
        }
    }

    fn greet(&mut self, response: Response) -> Next {
        match response {
            Response::Untagged { status: Status::Ok, offers_move } => {
                self.can_move |= offers_move;
                Ok(Flow::Send(Command::Login))
            }
            Response::Untagged { status: Status::Bye, .. } => Err(CallError::Status),
            // A service that reports a user as already logged in (`PREAUTH`) is refused, because
            // the mailbox would be that user's.
            _ => Err(CallError::Protocol),
        }
    }

    fn go_on(&mut self, done: Command) -> Next {
        Ok(Flow::Send(match done {
            Command::Login => Command::Select,
            // A service that answers without the messages would count as a fast one.
            Command::Fetch(range) if self.fetched != range.len() => {
                return Err(CallError::Protocol);
            }
            Command::Create(range) => self.file(range),
            Command::Copy(range) => Command::Mark(range),
            Command::Mark(_) => Command::Expunge,
            Command::Logout => return Ok(Flow::End),
            _ => self.next_step(),
        }))
    }

    fn go_on_after_refusal(&mut self, refused: Command, code: Code) -> Next {
        Ok(Flow::Send(match (refused, code) {
            (Command::Move(range) | Command::Copy(range), Code::TryCreate)
                if !self.has_made_archive =>
            {
                self.has_made_archive = true;
                Command::Create(range)
            }
            // Another session of this mailbox made the archive in between.
            (Command::Create(range), Code::AlreadyExists) => self.file(range),
            // Another session of this mailbox expunged messages (RFC 5530, section 3).
            (
                Command::Fetch(_) | Command::Move(_) | Command::Copy(_) | Command::Mark(_),
                Code::ExpungeIssued,
            ) => self.next_step(),
            _ => return Err(CallError::Status),
        }))
    }

    /// Returns the command for the next step that has messages to act on.
    fn next_step(&mut self) -> Command {
        let exists = self.exists;
        while let Some(step) = self.session.as_mut().and_then(Session::next_step) {
            let command = match step {
                Step::Read(count) => Range::newest(count, exists).map(Command::Fetch),
                Step::Move(count) => Range::newest(count, exists).map(|range| self.file(range)),
                Step::Delete(count) => Range::oldest(count, exists).map(Command::Mark),
            };
            if let Some(command) = command {
                return command;
            }
        }
        Command::Logout
    }

    const fn file(&self, range: Range) -> Command {
        if self.can_move { Command::Move(range) } else { Command::Copy(range) }
    }

    fn send(&mut self, command: Command, out: &mut Vec<u8>) -> Result<(), CallError> {
        let Some(text) = self.text_of(command) else { return Err(CallError::Protocol) };
        self.tag += 1;
        (self.command, self.fetched) = (Some(command), 0);
        out.extend_from_slice(format!("{} {text}\r\n", self.tag).as_bytes());
        Ok(())
    }

    /// Returns the text of a command; `None` if the call's text is no session, or if the password
    /// cannot be sent.
    fn text_of(&self, command: Command) -> Option<String> {
        let range = |range: Range| format!("{}:{}", range.first, range.last);
        Some(match command {
            Command::Login => {
                format!(
                    "LOGIN {} {}",
                    self.session.as_ref()?.user,
                    self.password.as_ref()?.reveal()
                )
            }
            Command::Select => "SELECT INBOX".to_owned(),
            Command::Fetch(own) => format!("FETCH {} (BODY[])", range(own)),
            Command::Move(own) => format!("MOVE {} {ARCHIVE}", range(own)),
            Command::Copy(own) => format!("COPY {} {ARCHIVE}", range(own)),
            Command::Create(_) => format!("CREATE {ARCHIVE}"),
            Command::Mark(own) => format!("STORE {} +FLAGS.SILENT (\\Deleted)", range(own)),
            Command::Expunge => "EXPUNGE".to_owned(),
            Command::Logout => "LOGOUT".to_owned(),
        })
    }

    /// Consumes bytes up to the end of a part of a response. Returns the remaining bytes, or true
    /// at the end of the session.
    fn take_part<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<(&'a [u8], bool), CallError> {
        let (rest, response) = self.responses.take(bytes)?;
        let flow = response.map_or(Ok(Flow::Wait), |response| self.follow(response))?;
        if let Flow::Send(command) = flow {
            self.send(command, out)?;
        }
        Ok((rest, flow == Flow::End))
    }
}

/// Returns the text as a quoted string (RFC 3501, section 4.3); `None` for a text that needs a
/// literal.
fn quoted(text: &str) -> Option<String> {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    is_plain.then(|| format!("\"{escaped}\""))
}

impl Client for Imap {
    fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>) {
        self.session = ask.filled().as_deref().and_then(Session::parse);
        self.responses = Responses::new(u64::from(ask.size));
        if self.is_greeted && self.send(Command::Login, out).is_err() {
            // An answer needs bytes of the service; whatever comes, the call has failed.
            out.extend_from_slice(b"0 LOGOUT\r\n");
        }
    }

    fn refusal(&self) -> Option<String> {
        let name = match self.refused? {
            Command::Login => "LOGIN",
            Command::Select => "SELECT",
            Command::Fetch(_) => "FETCH",
            Command::Move(_) => "MOVE",
            Command::Copy(_) => "COPY",
            Command::Create(_) => "CREATE",
            Command::Mark(_) => "STORE",
            Command::Expunge => "EXPUNGE",
            Command::Logout => "LOGOUT",
        };
        Some(format!("{name} failed"))
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answer> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.take_part(rest, out) {
                Ok((left, false)) => rest = left,
                Ok((_, true)) => {
                    let bytes = self.responses.literal_bytes();
                    return Some(Answer { result: Ok(bytes), can_go_on: false });
                }
                Err(error) => return Some(Answer::failed(error)),
            }
        }
        None
    }
}
