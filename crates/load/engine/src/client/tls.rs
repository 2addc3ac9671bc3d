//! TLS below a protocol. [`Tls`] wraps the client of the protocol: it decrypts what arrives and
//! encrypts what is sent. It has no socket, clock or thread either, so connections, deadlines and
//! counts are common to both.
//!
//! The handshake of a connection begins with its first call and counts as time of that call, as
//! connecting and logins do. Later connections to the same service resume the session of an earlier
//! one if the service allows it, as browsers do.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use http_client::{RemoteError, Trust};
use rustls::{CertificateError, ClientConnection, IoState};
use state_machine::CallError;

use super::{Answer, Ask, Client};

/// Client of a protocol on a connection with TLS.
#[derive(Debug)]
pub(super) struct Tls {
    inner: Box<dyn Client>,
    connection: ClientConnection,
    /// Bytes that the inner client sends, before encryption.
    sends: Vec<u8>,
    /// Received bytes, after decryption.
    received: Vec<u8>,
    /// True if bytes of the current answer arrived. TLS has messages of its own, which may arrive
    /// at any time.
    has_answer_begun: bool,
    /// True if the service announced the end of the connection.
    is_closed: bool,
    fault: Option<rustls::Error>,
}

impl Tls {
    /// Wraps the client of a protocol on a connection to `host`.
    pub(super) fn new(
        inner: Box<dyn Client>,
        trust: &Trust,
        host: &str,
    ) -> Result<Self, RemoteError> {
        let mut connection = trust.connection(host)?;
        // The limit is for streams. A request is bounded by its protocol, and the whole of it waits
        // here for the end of the handshake.
        connection.set_buffer_limit(None);
        Ok(Self {
            inner,
            connection,
            sends: Vec::new(),
            received: Vec::new(),
            has_answer_begun: false,
            is_closed: false,
            fault: None,
        })
    }

    /// Encrypts what the inner client sends, and appends all bytes for the service to `out`.
    fn send(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.connection.writer().write_all(&self.sends)?;
        self.sends.clear();
        while self.connection.wants_write() {
            self.connection.write_tls(out)?;
        }
        Ok(())
    }

    /// Decrypts the next received bytes into `received`.
    fn receive(&mut self, bytes: &mut &[u8]) -> Result<(), rustls::Error> {
        self.received.clear();
        let general = |error: io::Error| rustls::Error::General(error.to_string());
        if self.connection.read_tls(bytes).map_err(general)? == 0 {
            // Bytes behind the announced end of a connection have no meaning.
            *bytes = &[];
        }
        let state: IoState = self.connection.process_new_packets()?;
        self.is_closed = state.peer_has_closed();
        self.received.resize(state.plaintext_bytes_to_read(), 0);
        self.connection.reader().read_exact(&mut self.received).map_err(general)
    }

    fn fail(&mut self, fault: rustls::Error) -> Answer {
        self.fault = Some(fault);
        Answer::failed(CallError::Protocol)
    }
}

impl Client for Tls {
    fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>) {
        self.has_answer_begun = false;
        self.inner.call(ask, &mut self.sends);
        if let Err(error) = self.send(out) {
            self.fault = Some(rustls::Error::General(error.to_string()));
        }
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answer> {
        let (mut rest, mut answer) = (bytes, None::<Answer>);
        while !rest.is_empty() {
            if let Err(fault) = self.receive(&mut rest) {
                return Some(self.fail(fault));
            }
            self.has_answer_begun |= !self.received.is_empty();
            answer = match answer {
                // Bytes behind an answer belong to no call.
                Some(whole) => {
                    let can_go_on = whole.can_go_on && self.received.is_empty();
                    Some(Answer { can_go_on, ..whole })
                }
                None if self.received.is_empty() => None,
                None => self.inner.take(&self.received, &mut self.sends),
            };
        }
        if let Err(error) = self.send(out) {
            return Some(self.fail(rustls::Error::General(error.to_string())));
        }
        match answer {
            Some(whole) => Some(Answer { can_go_on: whole.can_go_on && !self.is_closed, ..whole }),
            None => self.is_closed.then(|| self.ended()),
        }
    }

    fn unasked(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let mut rest = bytes;
        while !rest.is_empty() {
            let is_usable = self.receive(&mut rest).is_ok()
                && !self.is_closed
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
            Some(fault) => Some(told(fault)),
            None => self.inner.refusal(),
        }
    }

    /// Handles the end of the connection. An end that was not announced may be somebody else's work
    /// (RFC 8446, section 6.1), so what arrived is not taken as a whole answer.
    fn ended(&mut self) -> Answer {
        if self.is_closed { self.inner.ended() } else { Answer::failed(CallError::Closed) }
    }
}

/// Does the handshake on a new connection, in at most `within`, and closes it. The error of a
/// certificate that is not accepted has the kind `InvalidData`.
pub(super) fn shake_hands(
    mut connection: ClientConnection,
    mut stream: &TcpStream,
    within: Duration,
) -> io::Result<()> {
    let until = Instant::now() + within;
    let late = || io::Error::from(ErrorKind::TimedOut);
    while connection.is_handshaking() {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or_else(late)?))?;
        while connection.wants_write() {
            connection.write_tls(&mut stream)?;
        }
        match connection.read_tls(&mut stream) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(late()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if let Err(fault) = connection.process_new_packets() {
            // The service learns the reason, if it still listens.
            let _ = connection.write_tls(&mut stream);
            let kind = match fault {
                rustls::Error::InvalidCertificate(_) => ErrorKind::InvalidData,
                _ => ErrorKind::Other,
            };
            return Err(io::Error::new(kind, told(&fault)));
        }
    }
    connection.send_close_notify();
    while connection.wants_write() {
        connection.write_tls(&mut stream)?;
    }
    Ok(())
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
