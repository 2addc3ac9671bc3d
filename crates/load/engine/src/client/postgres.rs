//! PostgreSQL's protocol, version 3.0 ("Frontend/Backend Protocol" in its manual).
//!
//! A call is one statement. It is prepared at its first use in a session, so a server plans it
//! once, as for a real client. A text with `;` is sent as a simple query: its statements form one
//! transaction unless they specify otherwise.
//!
//! Refuses: to send a password in clear text; a server that requires more than 100,000 hash
//! iterations; rows beyond the call's size limit. A session whose transaction is still open after a
//! call is closed.

use bytes::{Buf, BytesMut};
use fallible_iterator::FallibleIterator as _;
use http_client::Secret;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{
    DATA_ROW_TAG, ErrorResponseBody, Header, Message, NOTICE_RESPONSE_TAG,
};
use postgres_protocol::message::frontend;
use state_machine::CallError;

use super::{Address, Answer, Ask, Client, Encryption, Login, Logins, Protocol};

pub(super) static POSTGRES: Protocol = Protocol {
    name: "postgres",
    word: "postgres",
    port: 5432,
    has_path: true,
    query: Some(""),
    logins: Logins::User,
    encryption: Encryption::None,
    client: |address, login| Box::new(Postgres::new(address, login)),
};

/// Maximum size of a buffered message, in bytes. Rows and notices are counted and not buffered. Our
/// choice: messages of a login and ends of statements have some hundred bytes.
const MESSAGE_MAX: usize = 64 << 10;
/// Maximum number of prepared statements of a session. Further statements are prepared at each use.
/// Our choice.
const PREPARED_MAX: usize = 64;
/// Maximum number of iterations of SCRAM's key derivation (PostgreSQL's default is 4,096). Without
/// this limit, a server could keep this thread busy for any time.
const ROUNDS_MAX: u32 = 100_000;

/// Client side of one session.
struct Postgres {
    user: String,
    database: String,
    login: Login,
    scram: Option<ScramSha256>,
    state: State,
    /// Request that is sent when the login is complete.
    waiting: BytesMut,
    /// Received bytes of an incomplete message.
    held: BytesMut,
    /// Bytes of a row or notice that are still to be skipped.
    skip: usize,
    /// Prepared statements, indexed by the number in their name.
    prepared: Vec<String>,
    /// Statement that is being prepared.
    preparing: Option<String>,
    size: u64,
    bytes: u64,
    failure: Option<CallError>,
    /// Code and message of the server's last refusal.
    refusal: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    LoggingIn,
    Calling,
    Resting,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Postgres {
    fn new(address: &Address, login: &Login) -> Self {
        let user = address.user().unwrap_or("postgres").to_owned();
        let path = address.path().trim_matches('/');
        let database = if path.is_empty() { user.clone() } else { path.to_owned() };
        Self {
            user,
            database,
            login: login.clone(),
            scram: None,
            state: State::New,
            waiting: BytesMut::new(),
            held: BytesMut::new(),
            skip: 0,
            prepared: Vec::new(),
            preparing: None,
            size: 0,
            bytes: 0,
            failure: None,
            refusal: None,
        }
    }

    /// Encodes the messages of a call.
    fn request(&mut self, ask: Ask<'_>) -> Result<BytesMut, CallError> {
        let mut out = BytesMut::new();
        // Only a text with a zero byte fails below, and the language refuses it.
        let refused = |_| CallError::Protocol;
        let Some(text) = ask.text.filter(|text| !text.numbered().contains(';')) else {
            let text = ask.filled().unwrap_or_default();
            frontend::query(&text, &mut out).map_err(refused)?;
            return Ok(out);
        };
        let statement = text.numbered();
        let known = self.prepared.iter().position(|own| own == statement);
        let number = known.unwrap_or(self.prepared.len());
        let has_room = number < PREPARED_MAX;
        let name = if has_room { format!("s{number}") } else { String::new() };
        if known.is_none() {
            frontend::parse(&name, statement, [], &mut out).map_err(refused)?;
            self.preparing = has_room.then(|| statement.to_owned());
        }
        let values = text.values(ask.draws);
        let write = |value: &str, out: &mut BytesMut| {
            out.extend_from_slice(value.as_bytes());
            Ok(IsNull::No)
        };
        // Without formats all values and results are texts, which the server converts.
        let values = values.iter().map(AsRef::as_ref);
        frontend::bind("", &name, [], values, write, [], &mut out)
            .map_err(|_| CallError::Protocol)?;
        frontend::execute("", 0, &mut out).map_err(refused)?;
        frontend::sync(&mut out);
        Ok(out)
    }

    /// Takes the next complete message from `held`; `None` if there is none yet.
    fn next_message(&mut self) -> Result<Option<Message>, CallError> {
        let invalid = |_| CallError::Protocol;
        loop {
            let skipped = self.skip.min(self.held.len());
            self.held.advance(skipped);
            self.skip -= skipped;
            let Some(header) = Header::parse(&self.held).map_err(invalid)? else { return Ok(None) };
            // The length counts itself and not the tag.
            let length = usize::try_from(header.len()).map_err(|_| CallError::Protocol)? + 1;
            match header.tag() {
                DATA_ROW_TAG if self.state == State::Calling => {
                    self.bytes = self.bytes.saturating_add(length as u64);
                    if self.bytes > self.size {
                        return Err(CallError::Protocol);
                    }
                    self.skip = length;
                }
                NOTICE_RESPONSE_TAG if length <= MESSAGE_MAX => self.skip = length,
                _ if length > MESSAGE_MAX => return Err(CallError::Protocol),
                _ => return Message::parse(&mut self.held).map_err(invalid),
            }
        }
    }

    /// Handles a message. Returns true if it ends the call.
    fn message(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<bool, CallError> {
        if self.state == State::LoggingIn {
            return self.login_message(message, out).map(|()| false);
        }
        match message {
            Message::ParseComplete => self.prepared.extend(self.preparing.take()),
            Message::ErrorResponse(body) => {
                self.refusal = Some(words(body));
                self.preparing = None;
                self.failure = Some(CallError::Status);
            }
            Message::ReadyForQuery(_) => return Ok(true),
            // No statement copies: the client has nothing to send, and the server would wait.
            Message::CopyInResponse(_) | Message::CopyOutResponse(_) => {
                return Err(CallError::Protocol);
            }
            _ => {}
        }
        Ok(false)
    }

    fn login_message(&mut self, message: &Message, out: &mut Vec<u8>) -> Result<(), CallError> {
        let mut reply = BytesMut::new();
        match message {
            Message::AuthenticationMd5Password(body) => {
                let password = self.password()?.reveal().as_bytes();
                let hash = md5_hash(self.user.as_bytes(), password, body.salt());
                let sent = frontend::password_message(hash.as_bytes(), &mut reply);
                sent.map_err(|_| CallError::Protocol)?;
            }
            Message::AuthenticationSasl(_) => {
                let password = self.password()?.reveal().as_bytes();
                let scram = ScramSha256::new(password, ChannelBinding::unsupported());
                let sent =
                    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut reply);
                sent.map_err(|_| CallError::Protocol)?;
                self.scram = Some(scram);
            }
            Message::AuthenticationSaslContinue(body) => {
                let scram = self.scram.as_mut().ok_or(CallError::Protocol)?;
                if rounds(body.data()).is_none_or(|rounds| rounds > ROUNDS_MAX) {
                    return Err(CallError::Protocol);
                }
                scram.update(body.data()).map_err(|_| CallError::Protocol)?;
                let sent = frontend::sasl_response(scram.message(), &mut reply);
                sent.map_err(|_| CallError::Protocol)?;
            }
            Message::AuthenticationSaslFinal(body) => {
                let mut scram = self.scram.take().ok_or(CallError::Protocol)?;
                // A server that does not know the password cannot sign this.
                scram.finish(body.data()).map_err(|_| CallError::Protocol)?;
            }
            Message::ErrorResponse(body) => {
                self.refusal = Some(words(body));
                return Err(CallError::Status);
            }
            Message::ReadyForQuery(_) => {
                self.state = State::Calling;
                reply = std::mem::take(&mut self.waiting);
            }
            Message::AuthenticationOk
            | Message::ParameterStatus(_)
            | Message::BackendKeyData(_) => {}
            // Also every way to log in that would send the password in clear.
            _ => return Err(CallError::Protocol),
        }
        out.extend_from_slice(&reply);
        Ok(())
    }

    /// Returns the password of the caller. Refuses the call if the server needs a password and none
    /// was given.
    fn password(&self) -> Result<&Secret, CallError> {
        self.login.password.as_deref().ok_or(CallError::Status)
    }
}

/// Formats the code and message of a refusal: `42P01: relation "stock" does not exist`.
fn words(body: &ErrorResponseBody) -> String {
    let (mut code, mut message) = (String::new(), String::new());
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => code = text(),
            b'M' => message = text(),
            _ => {}
        }
    }
    format!("{code}: {message}")
}

/// Returns the number of key derivation iterations in a server's first SCRAM message (RFC 5802,
/// section 5.1).
fn rounds(message: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(message).ok()?;
    text.split(',').find_map(|part| part.strip_prefix("i="))?.parse().ok()
}

impl Client for Postgres {
    fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>) {
        (self.size, self.bytes, self.failure) = (u64::from(ask.size), 0, None);
        let request = match self.request(ask) {
            Ok(request) => request,
            Err(error) => {
                self.failure = Some(error);
                let mut sync = BytesMut::new();
                frontend::sync(&mut sync);
                sync
            }
        };
        if self.state == State::New {
            let parameters = [
                ("user", self.user.as_str()),
                ("database", &self.database),
                ("client_encoding", "UTF8"),
                ("application_name", "tilemark"),
            ];
            let mut startup = BytesMut::new();
            if frontend::startup_message(parameters, &mut startup).is_err() {
                self.failure = Some(CallError::Protocol);
            }
            out.extend_from_slice(&startup);
            self.waiting = request;
            self.state = State::LoggingIn;
        } else {
            out.extend_from_slice(&request);
            self.state = State::Calling;
        }
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answer> {
        // Skipped bytes are never buffered, no matter how many arrive at once.
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        self.held.extend_from_slice(&bytes[skipped..]);
        loop {
            let message = match self.next_message() {
                Ok(Some(message)) => message,
                Ok(None) => return None,
                Err(error) => return Some(Answer::failed(error)),
            };
            match self.message(&message, out) {
                Ok(false) => {}
                Ok(true) => {
                    let Message::ReadyForQuery(ready) = message else { return None };
                    self.state = State::Resting;
                    // An open transaction would hold its locks while nobody calls, and bytes
                    // behind the end belong to no call.
                    let can_go_on = ready.status() == b'I' && self.held.is_empty();
                    let result = self.failure.map_or(Ok(self.bytes), Err);
                    return Some(Answer { result, can_go_on });
                }
                Err(error) => return Some(Answer::failed(error)),
            }
        }
    }

    fn refusal(&self) -> Option<String> {
        self.refusal.clone()
    }

    /// Accepts notices and changed parameters, which a server may send at any time.
    fn unasked(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> bool {
        self.held.extend_from_slice(bytes);
        loop {
            match self.next_message() {
                Ok(Some(Message::ParameterStatus(_) | Message::NotificationResponse(_))) => {}
                Ok(None) => return true,
                Ok(Some(_)) | Err(_) => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use state_machine::{Draws, RequestText};
    use std::sync::Arc;

    fn client(password: Option<&str>) -> Postgres {
        let address = Address::parse("postgres://shop@db/tile", "postgres").expect("an address");
        let password = password.map(|text| Arc::new(Secret::new(text.to_owned())));
        Postgres::new(&address, &Login { password, trust: None })
    }

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
        [&[tag], &length[..], body].concat()
    }

    fn welcome() -> Vec<u8> {
        let ready = message(b'Z', b"I");
        [message(b'R', &0_u32.to_be_bytes()), message(b'S', b"a\0b\0"), ready].concat()
    }

    fn row(bytes: usize) -> Vec<u8> {
        message(b'D', &vec![0; bytes - 5])
    }

    fn call(client: &mut Postgres, text: &str, size: u32) -> Vec<u8> {
        let (text, mut out) = (RequestText::parse(text).expect("a text"), Vec::new());
        client.call(Ask { text: Some(&text), draws: Draws { call: 5, action: 5 }, size }, &mut out);
        out
    }

    /// Returns a logged-in client with a call in progress.
    fn calling(text: &str, size: u32) -> (Postgres, Vec<u8>) {
        let (mut client, mut out) = (client(None), Vec::new());
        assert!(call(&mut client, text, size).starts_with(&[0, 0, 0]), "a startup message first");
        assert_eq!(client.take(&welcome(), &mut out), None);
        (client, out)
    }

    fn finished(client: &mut Postgres, messages: &[Vec<u8>]) -> Option<Answer> {
        client.take(&messages.concat(), &mut Vec::new())
    }

    fn tags(mut sent: &[u8]) -> Vec<u8> {
        let mut tags = Vec::new();
        while let [tag, a, b, c, d, ..] = *sent {
            tags.push(tag);
            sent = &sent[1 + u32::from_be_bytes([a, b, c, d]) as usize..];
        }
        tags
    }

    #[test]
    fn statement_is_prepared_once_in_a_session() {
        let (mut client, sent) = calling("select f({1..9})", 100);
        assert_eq!(tags(&sent), b"PBES");
        assert!(sent.windows(13).any(|part| part == b"select f($1)\0"));
        let done = [message(b'1', b""), message(b'2', b""), row(30), message(b'Z', b"I")];
        let good = Some(Answer { result: Ok(30), can_go_on: true });
        assert_eq!(finished(&mut client, &done), good);
        assert_eq!(tags(&call(&mut client, "select f({1..9})", 100)), b"BES");
        let done = [message(b'2', b""), row(30), message(b'Z', b"I")];
        assert_eq!(finished(&mut client, &done), good);
        assert_eq!(tags(&call(&mut client, "select g()", 100)), b"PBES");
    }

    #[test]
    fn failed_preparation_is_made_again() {
        let (mut client, _) = calling("select f()", 100);
        let text = b"SERROR\0C42883\0Mfunction f() does not exist\0\0";
        let answer = finished(&mut client, &[message(b'E', text), message(b'Z', b"I")]);
        assert_eq!(client.refusal().as_deref(), Some("42883: function f() does not exist"));
        assert_eq!(answer, Some(Answer { result: Err(CallError::Status), can_go_on: true }));
        assert_eq!(tags(&call(&mut client, "select f()", 100)), b"PBES");
    }

    #[test]
    fn several_statements_are_one_query() {
        let (mut client, sent) = calling("insert into a values ({7..7}); select 1", 100);
        assert_eq!(sent, message(b'Q', b"insert into a values (7); select 1\0"));
        // A transaction that was left open ends with its session.
        let answer = finished(&mut client, &[message(b'Z', b"T")]);
        assert_eq!(answer, Some(Answer { result: Ok(0), can_go_on: false }));
    }

    #[test]
    fn rows_beyond_the_size_are_no_answer() {
        let (mut client, _) = calling("select 1", 100);
        assert_eq!(finished(&mut client, &[row(100)]), None);
        let answer = finished(&mut client, &[row(6)]);
        assert_eq!(answer, Some(Answer::failed(CallError::Protocol)));
        let (mut client, _) = calling("select 1", 100);
        let long = [b'C', 0x7f, 0xff, 0xff, 0xff];
        assert_eq!(
            finished(&mut client, &[long.to_vec()]),
            Some(Answer::failed(CallError::Protocol))
        );
    }

    #[test]
    fn password_is_sent_hashed_or_not_at_all() {
        let asks = |kind: u32, more: &[u8]| message(b'R', &[&kind.to_be_bytes(), more].concat());
        let scram = asks(10, b"SCRAM-SHA-256\0\0");
        for (question, reply) in [
            (asks(5, b"salt"), Ok(b"md5".as_slice())),
            (scram.clone(), Ok(b"SCRAM-SHA-256\0")),
            (asks(3, b""), Err(CallError::Protocol)),
            (asks(7, b""), Err(CallError::Protocol)),
        ] {
            let (mut client, mut out) = (client(Some("geheim")), Vec::new());
            call(&mut client, "select 1", 100);
            let answer = client.take(&question, &mut out);
            assert_eq!(answer, reply.err().map(Answer::failed));
            assert!(out.get(5..).unwrap_or_default().starts_with(reply.unwrap_or_default()));
            assert!(!out.windows(6).any(|part| part == b"geheim"), "a password in clear");
            assert!(!format!("{client:?}").contains("geheim"));
        }
        let mut nobody = client(None);
        call(&mut nobody, "select 1", 100);
        assert_eq!(
            finished(&mut nobody, std::slice::from_ref(&scram)),
            Some(Answer::failed(CallError::Status))
        );
        let mut busy = client(Some("geheim"));
        call(&mut busy, "select 1", 100);
        let many = asks(11, b"r=abc,s=c2FsdA==,i=100001");
        let answer = finished(&mut busy, &[scram, many]);
        assert_eq!(answer, Some(Answer::failed(CallError::Protocol)));
    }

    #[test]
    fn refused_login_is_a_status_and_copies_are_no_answer() {
        let mut refused = client(None);
        call(&mut refused, "select 1", 100);
        let answer = finished(&mut refused, &[message(b'E', b"SFATAL\0\0")]);
        assert_eq!(answer, Some(Answer::failed(CallError::Status)));
        let (mut copying, _) = calling("copy a from stdin", 100);
        let answer = finished(&mut copying, &[message(b'G', &[0, 0, 0])]);
        assert_eq!(answer, Some(Answer::failed(CallError::Protocol)));
    }

    #[test]
    fn session_outlives_notices_and_nothing_else() {
        let (mut client, _) = calling("select 1", 100);
        finished(&mut client, &[message(b'Z', b"I")]).expect("an answer");
        let mut unasked = |bytes: &[u8]| client.unasked(bytes, &mut Vec::new());
        assert!(unasked(&[message(b'N', b"\0"), message(b'S', b"a\0b\0")].concat()));
        assert!(!unasked(&message(b'E', b"SFATAL\0\0")));
    }

    proptest! {
        #[test]
        fn answer_does_not_depend_on_the_cuts(cuts in proptest::collection::vec(0_usize..120, 0..8)) {
            let all = [
                message(b'1', b""), message(b'2', b""), message(b'N', &[1; 40]), row(20), row(9),
                message(b'C', b"SELECT 2\0"), message(b'Z', b"I"),
            ].concat();
            let (mut client, _) = calling("select 1", 29);
            let (mut at, mut cuts) = (0, cuts);
            cuts.push(all.len());
            cuts.sort_unstable();
            let mut answer = None;
            for cut in cuts {
                let cut = cut.min(all.len());
                answer = answer.or(client.take(&all[at..cut], &mut Vec::new()));
                at = cut;
            }
            prop_assert_eq!(answer, Some(Answer { result: Ok(29), can_go_on: true }));
        }

        #[test]
        fn any_bytes_are_taken_without_panic(bytes: Vec<u8>, is_calling: bool) {
            let mut client = if is_calling { calling("select 1", 99).0 } else { client(Some("x")) };
            if !is_calling {
                call(&mut client, "select 1", 99);
            }
            let answer = client.take(&bytes, &mut Vec::new());
            prop_assert!(client.held.len() <= bytes.len());
            prop_assert!(answer.is_none_or(|answer| answer.result.is_err() || answer.can_go_on));
        }
    }
}
