//! Calls over one connection, one after another, to fill mailboxes and to try out a server.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use engine::client::{Ask, Client, imap, lmtp, smtp};
use state_machine::CallError;
use state_machine::{Draws, RequestText};

use crate::MailServerError;

/// Maximum wait for bytes of an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum size of an answer, in bytes, for sessions that read mails.
const ANSWER_MAX: u32 = 256 << 20;

/// Connection with the client of a protocol. Calls have the same syntax as in a workload.
#[derive(Debug)]
pub struct Session {
    stream: TcpStream,
    client: Box<dyn Client>,
    port: u16,
}

impl Session {
    /// Connects to an SMTP port. Each call sends a mail, and many calls are possible.
    ///
    /// # Errors
    /// If nothing listens there.
    pub fn smtp(port: u16) -> Result<Self, MailServerError> {
        Self::connect(port, smtp())
    }

    /// Connects to an LMTP port. Each call sends a mail to one mailbox, and many calls are
    /// possible. A successful answer means that the mail is in the mailbox.
    ///
    /// # Errors
    /// If nothing listens there.
    pub fn lmtp(port: u16) -> Result<Self, MailServerError> {
        Self::connect(port, lmtp())
    }

    /// Connects to an IMAP port. Only one call is possible, which is a whole session of a mailbox.
    ///
    /// # Errors
    /// If nothing listens there.
    pub fn imap(port: u16, password: &str) -> Result<Self, MailServerError> {
        Self::connect(port, imap(password))
    }

    fn connect(port: u16, client: Box<dyn Client>) -> Result<Self, MailServerError> {
        let failed = |source| MailServerError::Io {
            attempt: "connect to",
            path: PathBuf::from(format!("127.0.0.1:{port}")),
            source,
        };
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { stream, client, port })
    }

    /// Makes a call and waits for its answer. Returns the size of the answer in bytes.
    ///
    /// # Errors
    /// If the call fails, or no answer comes within 30 s.
    pub fn call(&mut self, ask: &str) -> Result<u64, MailServerError> {
        let result = self.make(ask);
        result.map_err(|cause| MailServerError::Call {
            ask: ask.to_owned(),
            port: self.port,
            cause,
        })
    }

    fn make(&mut self, ask: &str) -> Result<u64, CallError> {
        let (mut out, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
        // A text that is no request is refused by the client, as one that is absent.
        let text = RequestText::parse(ask).ok();
        let ask = Ask { text: text.as_ref(), draws: Draws::default(), size: ANSWER_MAX };
        self.client.call(ask, &mut out);
        loop {
            self.stream.write_all(&out).map_err(|_| CallError::Closed)?;
            out.clear();
            let count = match self.stream.read(&mut buffer) {
                Ok(0) => return self.client.ended().result,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(CallError::TimedOut);
                }
                Err(_) => return Err(CallError::Closed),
            };
            if let Some(answer) = self.client.take(&buffer[..count], &mut out) {
                return answer.result;
            }
        }
    }
}
