//! TLS below a protocol. [`Tls`] wraps the client of the protocol: it decrypts what arrives and
//! encrypts what is sent. It has no socket, clock or thread either, so connections, deadlines and
//! counts are common to all protocols.
//!
//! The handshake of a connection begins with its first call and counts as time of that call, as
//! connecting and logins do. Later connections to the same service resume the session of an earlier
//! one if the service allows it, as browsers do.
//!
//! Some protocols ask for TLS in clear text first ([`Upgrade`]). A service that does not agree is
//! never called: there is no way back to clear text.

use std::fmt::Debug;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use http_client::{RemoteError, Trust};
use rustls::{CertificateError, ClientConnection};
use state_machine::CallError;

use super::{Answer, Ask, Client};

/// Exchange in clear text by which a service agrees to TLS.
pub(super) trait Upgrade: Debug + Send {
    /// Returns the bytes that are sent before the service says anything.
    fn request(&self) -> &'static [u8] {
        &[]
    }

    /// Consumes received bytes, which may be split anywhere, and appends bytes to send in return to
    /// `out`. Returns true once the service has agreed.
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, UpgradeError>;
}

/// Reason why a service is not called over TLS.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UpgradeError {
    /// The service answered that it does not begin TLS.
    #[error("it does not begin TLS (it answered {0})")]
    Refused(String),
    /// The answer does not follow the protocol.
    #[error("its answer to the request for TLS is not valid")]
    Invalid,
    /// Bytes followed the agreement in clear text.
    #[error("it sent more in clear text after it had agreed to TLS")]
    Injected,
}

/// Encrypted connection to a service, without its socket.
#[derive(Debug)]
pub(super) struct Channel {
    /// Exchange in clear text by which the service agrees to TLS, until it has agreed.
    upgrade: Option<Box<dyn Upgrade>>,
    /// Bytes that are sent in clear text before anything is received.
    request: &'static [u8],
    connection: ClientConnection,
    /// True if the service announced the end of the connection.
    is_closed: bool,
}

/// Reason why an encrypted connection cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// TLS failed.
    #[error("{}", told(.0))]
    Tls(#[from] rustls::Error),
    /// The service did not agree to TLS.
    #[error(transparent)]
    Upgrade(#[from] UpgradeError),
}

impl Fault {
    fn general(error: &io::Error) -> Self {
        Self::Tls(rustls::Error::General(error.to_string()))
    }

    const fn call_error(&self) -> CallError {
        match self {
            Self::Upgrade(UpgradeError::Refused(_)) => CallError::Status,
            Self::Upgrade(_) | Self::Tls(_) => CallError::Protocol,
        }
    }
}

impl Channel {
    /// Creates the client side of a connection to `host`, which begins in clear text if there is an
    /// upgrade.
    pub(super) fn new(
        upgrade: Option<Box<dyn Upgrade>>,
        trust: &Trust,
        host: &str,
    ) -> Result<Self, RemoteError> {
        let mut connection = trust.connection(host)?;
        // The limit is for streams. A request is bounded by its protocol, and the whole of it waits
        // here for the end of the handshake.
        connection.set_buffer_limit(None);
        let request = upgrade.as_ref().map_or(&[][..], |upgrade| upgrade.request());
        Ok(Self { upgrade, request, connection, is_closed: false })
    }

    /// Encrypts `plain`, and appends all bytes for the service to `out`. Before the handshake is
    /// complete, the encrypted bytes wait in the connection.
    fn send(&mut self, plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), Fault> {
        let general = |error| Fault::general(&error);
        self.connection.writer().write_all(plain).map_err(general)?;
        plain.clear();
        out.extend_from_slice(std::mem::take(&mut self.request));
        while self.upgrade.is_none() && self.connection.wants_write() {
            self.connection.write_tls(out).map_err(general)?;
        }
        Ok(())
    }

    /// Consumes the next received bytes. Appends their decrypted content to `plain`, and replies in
    /// clear text to `out`. After a fault, `plain` has the content before the fault.
    fn receive(
        &mut self,
        bytes: &mut &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if let Some(upgrade) = &mut self.upgrade {
            if upgrade.take(std::mem::take(bytes), out)? {
                self.upgrade = None;
            }
            return Ok(());
        }
        let general = |error| Fault::general(&error);
        if self.connection.read_tls(bytes).map_err(general)? == 0 {
            // Bytes behind the announced end of a connection have no meaning.
            *bytes = &[];
        }
        let state = self.connection.process_new_packets();
        self.is_closed = state.as_ref().is_ok_and(rustls::IoState::peer_has_closed);
        match self.connection.reader().read_to_end(plain) {
            // More may follow, or the end was not announced.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) if state.is_err() => {}
            other => other.map(drop).map_err(general)?,
        }
        state.map(drop).map_err(Fault::Tls)
    }

    fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }
}

/// Client of a protocol on a connection with TLS.
#[derive(Debug)]
pub(super) struct Tls {
    inner: Box<dyn Client>,
    channel: Channel,
    /// Bytes that the inner client sends, before encryption.
    sends: Vec<u8>,
    /// Received bytes, after decryption.
    received: Vec<u8>,
    /// True if bytes of the current answer arrived. TLS has messages of its own, which may arrive
    /// at any time.
    has_answer_begun: bool,
    fault: Option<Fault>,
}

impl Tls {
    /// Wraps the client of a protocol.
    pub(super) fn new(inner: Box<dyn Client>, channel: Channel) -> Self {
        let (sends, received) = (Vec::new(), Vec::new());
        Self { inner, channel, sends, received, has_answer_begun: false, fault: None }
    }

    fn send(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.channel.send(&mut self.sends, out)
    }

    /// Decrypts the next received bytes into `received`.
    fn receive(&mut self, bytes: &mut &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        self.received.clear();
        self.channel.receive(bytes, &mut self.received, out)
    }

    /// Hands received content to the inner client, whose answer may be complete already.
    fn take_received(&mut self, answer: Option<Answer>) -> Option<Answer> {
        self.has_answer_begun |= !self.received.is_empty();
        match answer {
            // Bytes behind an answer belong to no call.
            Some(whole) => {
                let can_go_on = whole.can_go_on && self.received.is_empty();
                Some(Answer { can_go_on, ..whole })
            }
            None if self.received.is_empty() => None,
            None => self.inner.take(&self.received, &mut self.sends),
        }
    }

    /// Ends a call after a fault. An answer that was complete before it still counts.
    fn fail(&mut self, answer: Option<Answer>, fault: Fault) -> Answer {
        match answer {
            Some(whole) => Answer { can_go_on: false, ..whole },
            None => {
                let failed = Answer::failed(fault.call_error());
                self.fault = Some(fault);
                failed
            }
        }
    }
}

impl Client for Tls {
    fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>) {
        self.has_answer_begun = false;
        self.inner.call(ask, &mut self.sends);
        self.fault = self.send(out).err();
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answer> {
        let (mut rest, mut answer) = (bytes, None::<Answer>);
        while !rest.is_empty() {
            let received = self.receive(&mut rest, out);
            answer = self.take_received(answer);
            if let Err(fault) = received {
                // The service learns the reason, if it still listens.
                let _ = self.send(out);
                return Some(self.fail(answer, fault));
            }
        }
        if let Err(fault) = self.send(out) {
            return Some(self.fail(answer, fault));
        }
        let is_closed = self.channel.is_closed;
        match answer {
            Some(whole) => Some(Answer { can_go_on: whole.can_go_on && !is_closed, ..whole }),
            None => is_closed.then(|| self.ended()),
        }
    }

    fn unasked(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let mut rest = bytes;
        while !rest.is_empty() {
            let is_usable = self.receive(&mut rest, out).is_ok()
                && !self.channel.is_closed
                && (self.received.is_empty()
                    || self.inner.unasked(&self.received, &mut self.sends));
            if !is_usable {
                return false;
            }
        }
        self.send(out).is_ok()
    }

    fn may_repeat(&self) -> bool {
        self.inner.may_repeat()
    }

    fn has_answer_begun(&self) -> bool {
        self.has_answer_begun
    }

    fn refusal(&self) -> Option<String> {
        match &self.fault {
            Some(fault) => Some(fault.to_string()),
            None => self.inner.refusal(),
        }
    }

    /// Handles the end of the connection. An end that was not announced may be somebody else's work
    /// (RFC 8446, section 6.1), so what arrived is not taken as a whole answer.
    fn ended(&mut self) -> Answer {
        if self.channel.is_closed { self.inner.ended() } else { Answer::failed(CallError::Closed) }
    }
}

/// Does the handshake on a new connection, in at most `within`, and closes it. The error of a
/// certificate that is not accepted has the kind `InvalidData`.
pub(super) fn shake_hands(
    mut channel: Channel,
    mut stream: &TcpStream,
    within: Duration,
) -> io::Result<()> {
    let until = Instant::now() + within;
    let late = || io::Error::from(ErrorKind::TimedOut);
    let (mut out, mut plain, mut buffer) = (Vec::new(), Vec::new(), [0; 4096]);
    let mut received = Ok(());
    loop {
        let sent = channel.send(&mut Vec::new(), &mut out);
        // After a fault the service learns the reason, if it still listens.
        let written = stream.write_all(&out);
        received.and(sent).map_err(failure)?;
        written?;
        out.clear();
        if !channel.is_handshaking() {
            break;
        }
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or_else(late)?))?;
        received = match stream.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => take_all(&mut channel, &buffer[..count], &mut plain, &mut out),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(late()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => return Err(error),
        };
    }
    channel.connection.send_close_notify();
    channel.send(&mut Vec::new(), &mut out).map_err(failure)?;
    stream.write_all(&out)
}

fn take_all(
    channel: &mut Channel,
    mut bytes: &[u8],
    plain: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    while !bytes.is_empty() {
        channel.receive(&mut bytes, plain, out)?;
        // A service may speak first, but nothing is called here.
        plain.clear();
    }
    Ok(())
}

fn failure(fault: Fault) -> io::Error {
    let kind = match &fault {
        Fault::Tls(rustls::Error::InvalidCertificate(_)) => ErrorKind::InvalidData,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, fault)
}

/// Returns the text of an error of TLS, for display.
fn told(fault: &rustls::Error) -> String {
    use CertificateError::{
        BadSignature, Expired, ExpiredContext, NotValidForName, NotValidForNameContext,
        UnknownIssuer,
    };
    let meaning = match fault {
        // What every service without TLS answers.
        rustls::Error::InvalidMessage(_) => "it does not speak TLS",
        rustls::Error::InvalidCertificate(wrong) => match wrong {
            // Another authority may have the name of a trusted one.
            UnknownIssuer | BadSignature => "no trusted authority signed its certificate",
            Expired | ExpiredContext { .. } => "its certificate has expired",
            NotValidForName | NotValidForNameContext { .. } => "its certificate is for other names",
            _ => "its certificate is not accepted",
        },
        _ => return fault.to_string(),
    };
    format!("{meaning} ({fault})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Address, Login};
    use fixtures::tls::{ALL_VERSIONS, Authority};
    use rustls::ServerConnection;
    use std::sync::Arc;

    const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

    /// Client with a call in progress, and the service's side after the handshake.
    fn calling() -> (Tls, ServerConnection) {
        let authority = Authority::new();
        let trust = Trust::authority(authority.pem().as_bytes()).expect("an authority");
        let address = Address::parse("https://web/", "http").expect("an address");
        let inner = (address.protocol.client)(&address, &Login::default());
        let channel = Channel::new(None, &trust, "web").expect("a channel");
        let mut client = Tls::new(inner, channel);
        let config = authority.server("web", 2100, ALL_VERSIONS);
        let mut server = ServerConnection::new(Arc::clone(&config)).expect("a connection");
        let mut out = Vec::new();
        client
            .call(Ask { text: None, draws: state_machine::Draws::default(), size: 100 }, &mut out);
        while !out.is_empty() {
            let mut sent = &out[..];
            while !sent.is_empty() {
                server.read_tls(&mut sent).expect("bytes");
                server.process_new_packets().expect("valid");
            }
            out.clear();
            assert_eq!(client.take(&written(&mut server), &mut out), None);
        }
        assert!(!server.is_handshaking());
        (client, server)
    }

    fn written(server: &mut ServerConnection) -> Vec<u8> {
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).expect("room");
        }
        bytes
    }

    #[test]
    fn answer_before_a_bad_record_counts_and_ends_the_connection() {
        // A record of application data that nobody encrypted.
        let bad = [23, 3, 3, 0, 20].iter().copied().chain([7; 20]).collect::<Vec<u8>>();
        let (mut client, mut server) = calling();
        server.writer().write_all(PAGE).expect("room");
        let bytes = [written(&mut server), bad.clone()].concat();
        let answer = client.take(&bytes, &mut Vec::new());
        assert_eq!(answer, Some(Answer { result: Ok(5), can_go_on: false }));
        assert_eq!(client.refusal(), None);

        // Half an answer is none.
        let (mut client, mut server) = calling();
        server.writer().write_all(&PAGE[..PAGE.len() - 1]).expect("room");
        let bytes = [written(&mut server), bad].concat();
        let answer = client.take(&bytes, &mut Vec::new());
        assert_eq!(answer, Some(Answer::failed(CallError::Protocol)));
        assert!(client.refusal().is_some_and(|text| text.contains("decrypt")), "{client:?}");
    }

    #[test]
    fn answer_does_not_depend_on_the_cuts_of_records() {
        let (mut client, mut server) = calling();
        server.writer().write_all(PAGE).expect("room");
        let bytes = written(&mut server);
        let taken = bytes.iter().filter_map(|byte| client.take(&[*byte], &mut Vec::new()));
        assert_eq!(taken.collect::<Vec<_>>(), [Answer { result: Ok(5), can_go_on: true }]);
    }
}
