use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use nbd::server::{self, Handshake, Incoming, REQUEST_BYTES, Session};
use nbd::{Export, Operation, Violation};

use crate::batch::Batch;
use crate::buffer::Pool;
use crate::channel::{Channel, Encrypted};
use crate::input::Input;
use crate::{Buffer, Limits, Tls};

/// Minimum number of missing payload bytes that are received straight into the payload's buffer. A
/// shorter rest is received together with the bytes that follow it.
const DIRECT_MIN: usize = 32 << 10;

/// Connection of one NBD client.
pub(crate) struct Connection {
    pub socket: Arc<OwnedFd>,
    tls: Option<Arc<Tls>>,
    channel: Channel,
    stage: Stage,
    input: Input,
    payload: Option<Payload>,
    /// Bytes of a refused request that are still to be skipped.
    skip: usize,
    /// Answers that are not part of a send yet.
    pub out: Batch,
    /// Empty batch whose memory is reused.
    pub spare: Batch,
    /// Destination of the receive under way.
    receiving: Option<Target>,
    /// Bytes left of the send under way.
    pub sending: usize,
    /// Index of the disk that the client chose.
    pub disk: usize,
    /// Disk that was opened for this client alone, and its index.
    pub own: Option<(Export, usize)>,
    /// Number of requests that were submitted to a disk and not completed.
    pub requests: usize,
    /// Sum of the bytes of these requests.
    pub bytes: usize,
    pub life: Life,
    /// Time until which the client must choose a disk; none once it has.
    pub deadline: Option<Instant>,
}

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// The client may send requests.
    Open,
    /// The client gets its last answers and is then disconnected. It may send no more requests.
    Ending,
    /// The client is disconnected.
    Dead,
}

enum Stage {
    Shaking(Handshake),
    Serving(Box<Session>),
}

/// Write request whose data is still being received.
struct Payload {
    request: server::Request,
    data: Buffer,
    have: usize,
}

/// Destination of received bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Input,
    Payload,
    Cipher,
}

/// Result of decoding the received bytes.
pub(crate) enum Step {
    /// A request, with its data if it is a write.
    Request(server::Request, Buffer),
    /// A request was refused, and its error answer is written.
    Refused,
    /// More bytes must be received first.
    Receive,
    /// Answers must be sent first.
    Wait,
    /// The client chose a disk that is not offered, but may be in the catalog.
    Wanted(String),
    /// The client disconnects.
    End,
}

/// Disks that are offered to all clients, with their indexes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offered<'a> {
    pub exports: &'a [Export],
    pub places: &'a [usize],
}

/// Reason for disconnecting a client at once.
#[derive(Debug)]
pub(crate) enum Cut {
    Violation,
    Tls,
}

impl From<Violation> for Cut {
    fn from(_: Violation) -> Self {
        Self::Violation
    }
}

impl Connection {
    /// Accepts a client and writes the greeting.
    pub fn new(
        socket: OwnedFd,
        tls: Option<Arc<Tls>>,
        has_others: bool,
        pool: &mut Pool,
        deadline: Instant,
    ) -> Self {
        let mut out = Batch::default();
        let terms = if tls.is_some() { server::Tls::Required } else { server::Tls::None };
        let mut handshake = out.write(|heads| Handshake::new(terms, heads));
        if has_others {
            handshake.ask_for_others();
        }
        Self {
            socket: Arc::new(socket),
            tls,
            channel: Channel::Plain,
            stage: Stage::Shaking(handshake),
            input: Input::new(pool),
            payload: None,
            skip: 0,
            out,
            spare: Batch::default(),
            receiving: None,
            sending: 0,
            disk: 0,
            own: None,
            requests: 0,
            bytes: 0,
            life: Life::Open,
            deadline: Some(deadline),
        }
    }

    /// Returns the negotiated session.
    ///
    /// # Panics
    /// If the handshake is not over.
    pub fn session(&self) -> &Session {
        match &self.stage {
            Stage::Serving(session) => session,
            Stage::Shaking(_) => panic!("the handshake is complete"),
        }
    }

    /// Returns true if the client has chosen this disk.
    pub fn has(&self, disk: usize) -> bool {
        matches!(self.stage, Stage::Serving(_)) && self.disk == disk
    }

    /// Lends a buffer for the next receive. The number counts the bytes at the buffer's front that
    /// are in use. `None` if a receive is in progress or the client may not send.
    pub fn lend(&mut self) -> Option<(Buffer, usize)> {
        if self.receiving.is_some() || self.life != Life::Open {
            return None;
        }
        let (target, lent) = match (&mut self.channel, &mut self.payload) {
            (Channel::Tls(encrypted), _) => (Target::Cipher, encrypted.cipher.lend()),
            (Channel::Plain, Some(payload)) if payload.data.len() - payload.have >= DIRECT_MIN => {
                let data = std::mem::replace(&mut payload.data, Buffer::none());
                (Target::Payload, (data, payload.have))
            }
            (Channel::Plain, _) => (Target::Input, self.input.lend()),
        };
        self.receiving = Some(target);
        Some(lent)
    }

    /// Takes the lent buffer back, with `bytes` received bytes in it.
    pub fn received(&mut self, buffer: Buffer, bytes: usize) {
        match self.receiving.take().expect("memory was lent") {
            Target::Input => self.input.take_back(buffer, bytes),
            Target::Payload => {
                let payload =
                    self.payload.as_mut().expect("the payload's buffer is lent to this I/O");
                payload.data = buffer;
                payload.have += bytes;
            }
            Target::Cipher => match &mut self.channel {
                Channel::Tls(encrypted) => encrypted.cipher.take_back(buffer, bytes),
                Channel::Plain => unreachable!("a channel with cipher I/O stays encrypted"),
            },
        }
    }

    pub fn is_receiving(&self) -> bool {
        self.receiving.is_some()
    }

    /// Decodes the next step from the received bytes.
    pub fn step(
        &mut self,
        offered: Offered<'_>,
        pool: &mut Pool,
        limits: &Limits,
    ) -> Result<Step, Cut> {
        if self.receiving.is_some() {
            return Ok(Step::Receive);
        }
        loop {
            let step = self.understand(offered, pool, limits)?;
            match (&step, &mut self.channel) {
                (Step::Receive, Channel::Tls(encrypted)) => {
                    // TLS may hold more bytes that are not decrypted yet.
                    if !encrypted.decrypt(&mut self.input).map_err(|_| Cut::Tls)? {
                        return Ok(step);
                    }
                }
                _ => return Ok(step),
            }
        }
    }

    fn understand(
        &mut self,
        offered: Offered<'_>,
        pool: &mut Pool,
        limits: &Limits,
    ) -> Result<Step, Cut> {
        let unsent = self.out.left() + self.sending;
        // At least one: a limit of zero would serve nobody.
        if self.requests >= limits.requests_in_flight.max(1)
            || self.bytes + unsent >= limits.bytes_in_flight.max(1)
        {
            return Ok(Step::Wait);
        }
        if self.skip > 0 {
            let skipped = self.skip.min(self.input.bytes().len());
            self.input.consume(skipped);
            self.skip -= skipped;
            if self.skip > 0 {
                return Ok(Step::Receive);
            }
        }
        if let Some(payload) = self.payload.take() {
            return Ok(self.gather(payload));
        }
        match &mut self.stage {
            Stage::Shaking(_) => self.shake(offered, pool),
            Stage::Serving(_) => self.request(pool),
        }
    }

    /// Moves received bytes into the buffer of a write.
    fn gather(&mut self, mut payload: Payload) -> Step {
        let missing = &mut payload.data[payload.have..];
        let taken = missing.len().min(self.input.bytes().len());
        missing[..taken].copy_from_slice(&self.input.bytes()[..taken]);
        self.input.consume(taken);
        payload.have += taken;
        if payload.have == payload.data.len() {
            return Step::Request(payload.request, payload.data);
        }
        self.payload = Some(payload);
        Step::Receive
    }

    fn request(&mut self, pool: &mut Pool) -> Result<Step, Cut> {
        let Stage::Serving(session) = &self.stage else {
            unreachable!("the session was checked before")
        };
        let Some(header) = self.input.bytes().first_chunk::<REQUEST_BYTES>() else {
            return Ok(Step::Receive);
        };
        let incoming = session.incoming(header)?;
        self.input.consume(REQUEST_BYTES);
        match incoming {
            Incoming::Disconnect => Ok(Step::End),
            Incoming::Refused(refusal) => {
                let words = "the request does not fit the export";
                let (cookie, code) = (refusal.cookie, refusal.code);
                self.out.write(|heads| session.write_error(cookie, code, words, heads));
                self.skip = refusal.skip as usize;
                Ok(Step::Refused)
            }
            Incoming::Request(request) => match request.operation {
                Operation::Write { .. } => {
                    let data = pool.take(request.length as usize);
                    Ok(self.gather(Payload { request, data, have: 0 }))
                }
                _ => Ok(Step::Request(request, Buffer::none())),
            },
        }
    }

    fn shake(&mut self, offered: Offered<'_>, pool: &mut Pool) -> Result<Step, Cut> {
        let Stage::Shaking(handshake) = &mut self.stage else {
            unreachable!("the request was checked before")
        };
        // A client that never reads its answers must not make the handshake's output grow.
        if self.out.left() + self.sending >= nbd::limits::HANDSHAKE_OUTPUT {
            return Ok(Step::Wait);
        }
        let own = self.own.as_ref();
        let exports = own.map_or(offered.exports, |(export, _)| std::slice::from_ref(export));
        let bytes = self.input.bytes();
        let progress = self.out.write(|heads| handshake.feed(exports, bytes, heads))?;
        self.input.consume(progress.consumed);
        match progress.next {
            server::Next::More => Ok(Step::Receive),
            server::Next::Send => Ok(Step::Wait),
            server::Next::Close => Ok(Step::End),
            server::Next::Wanted(name) => Ok(Step::Wanted(name)),
            server::Next::Serve(session) => {
                let place = exports.iter().position(|export| export == session.export());
                let place = place.expect("the chosen export is one of the offered exports");
                self.disk = own.map_or_else(|| offered.places[place], |(_, disk)| *disk);
                self.stage = Stage::Serving(Box::new(session));
                self.deadline = None;
                self.request(pool)
            }
            server::Next::StartTls => {
                handshake.encrypted();
                let tls = self.tls.as_ref().expect("TLS is offered only with certificates");
                let begun = Encrypted::begin(tls, &mut self.out, pool).map_err(|_| Cut::Tls)?;
                self.channel = Channel::Tls(Box::new(begun));
                Ok(Step::Receive)
            }
        }
    }

    /// Takes the batch to send next. `None` if a send is in progress or there is nothing to send.
    pub fn take_out(&mut self, pool: &mut Pool) -> io::Result<Option<Batch>> {
        if self.sending > 0 || self.life == Life::Dead {
            return Ok(None);
        }
        let batch = match &mut self.channel {
            Channel::Tls(encrypted) if self.out.left() > 0 || encrypted.wants_to_send() => {
                encrypted.encrypt(&mut self.out, pool)?
            }
            Channel::Plain if self.out.left() > 0 => {
                std::mem::replace(&mut self.out, std::mem::take(&mut self.spare))
            }
            _ => return Ok(None),
        };
        self.sending = batch.left();
        Ok(Some(batch))
    }

    /// Returns true if all requests are answered and all answers are sent.
    pub fn is_settled(&self) -> bool {
        self.requests == 0 && self.sending == 0 && self.out.left() == 0
    }

    /// Sends TLS's close notification. Returns true the first time; false without TLS.
    pub fn says_goodbye(&mut self) -> bool {
        match &mut self.channel {
            Channel::Tls(encrypted) => encrypted.says_goodbye(),
            Channel::Plain => false,
        }
    }

    /// Gives the connection's memory back to the pool.
    pub fn end(mut self, pool: &mut Pool) {
        if let Some(payload) = self.payload.take() {
            pool.give(payload.data);
        }
        self.out.clear(pool);
        self.input.end(pool);
        if let Channel::Tls(encrypted) = self.channel {
            encrypted.cipher.end(pool);
        }
    }
}
