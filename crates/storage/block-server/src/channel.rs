use std::io::{ErrorKind, Read, Write};

use rustls::ServerConnection;

use crate::Tls;
use crate::batch::Batch;
use crate::buffer::Pool;
use crate::input::Input;

/// Encryption between a socket and the protocol: none, or TLS.
pub(crate) enum Channel {
    Plain,
    Tls(Box<Encrypted>),
}

/// Connection encrypted by TLS.
pub(crate) struct Encrypted {
    session: ServerConnection,
    /// Received bytes that are not decrypted yet.
    pub cipher: Input,
    /// Unencrypted answers from before TLS that are not sent yet.
    clear: Vec<u8>,
    is_over: bool,
}

impl Encrypted {
    /// Begins TLS after the unencrypted answers in `clear`.
    pub fn begin(tls: &Tls, clear: &mut Batch, pool: &mut Pool) -> Result<Self, rustls::Error> {
        let mut session = ServerConnection::new(tls.config())?;
        session.set_buffer_limit(None);
        let said = clear.slices().flatten().copied().collect();
        clear.clear(pool);
        Ok(Self { session, cipher: Input::new(pool), clear: said, is_over: false })
    }

    /// Decrypts as much as `input` has room for. Returns true if any bytes were decrypted.
    pub fn decrypt(&mut self, input: &mut Input) -> Result<bool, std::io::Error> {
        let mut is_any = false;
        while input.room() > 0 {
            let read = input.fill(|room| match self.session.reader().read(room) {
                Ok(read) => Ok((read, read > 0)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Ok((0, false)),
                Err(error) => Err(error),
            })?;
            is_any |= read;
            if read {
                continue;
            }
            let mut bytes = self.cipher.bytes();
            if bytes.is_empty() {
                break;
            }
            let taken = self.session.read_tls(&mut bytes)?;
            self.cipher.consume(taken);
            self.session.process_new_packets().map_err(std::io::Error::other)?;
            if taken == 0 {
                break;
            }
        }
        Ok(is_any)
    }

    /// Queues TLS's close notification. Returns true at the first call.
    pub fn says_goodbye(&mut self) -> bool {
        let is_first = !std::mem::replace(&mut self.is_over, true);
        if is_first {
            self.session.send_close_notify();
        }
        is_first
    }

    /// Returns true if TLS itself has bytes to send.
    pub fn wants_to_send(&self) -> bool {
        !self.clear.is_empty() || self.session.wants_write()
    }

    /// Encrypts a batch. Returns the encrypted batch to send instead.
    pub fn encrypt(&mut self, plain: &mut Batch, pool: &mut Pool) -> std::io::Result<Batch> {
        let mut batch = Batch::default();
        let mut out = std::mem::take(&mut self.clear);
        for slice in plain.slices() {
            self.session.writer().write_all(slice)?;
        }
        plain.clear(pool);
        while self.session.wants_write() {
            self.session.write_tls(&mut out)?;
        }
        batch.write(|heads| heads.append(&mut out));
        Ok(batch)
    }
}
