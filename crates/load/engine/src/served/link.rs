use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::time::Duration;

use nbd::Operation as Asked;
use nbd::client::{ClientDemands, Handshake, Next, Received, Requests};
use state_machine::Operation;

use crate::backend::Submission;
use crate::blocking::with_bytes;
use crate::served::stream::{ServerAddress, Stream};

/// Maximum time for the server's handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connection to the server, and the requests on it.
pub(super) struct Link {
    stream: Stream,
    requests: Requests,
    out: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
    /// Open requests, by slot.
    open: BTreeMap<u32, Open>,
    /// Parts of requests, by the protocol's cookie: the slot, and the offset in its request.
    parts: BTreeMap<u64, (u32, u32)>,
    /// Read data being received: slot, offset in the request, remaining bytes.
    taking: Option<(u32, u32, u32)>,
    is_gone: bool,
}

/// Request, which may be split into several requests of the protocol.
struct Open {
    submission: Submission,
    left: u32,
    result: i32,
}

impl Link {
    /// Connects and completes the handshake for an export.
    pub(super) fn connect(server: &ServerAddress, export: &str) -> io::Result<Self> {
        let mut stream = Stream::connect(server, PATIENCE)?;
        let wish = ClientDemands { export: export.to_owned(), tls: false, structured: true };
        let mut handshake = Handshake::new(wish);
        let (mut input, mut out) = (Vec::new(), Vec::new());
        let requests = loop {
            let progress = handshake.feed(&input, &mut out).map_err(io::Error::other)?;
            input.drain(..progress.consumed);
            stream.write_all(&out)?;
            out.clear();
            if let Next::Ready(requests) = progress.next {
                break requests;
            }
            let mut more = [0; 4096];
            match stream.read(&mut more)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => input.extend_from_slice(&more[..read]),
            }
        };
        stream.set_nonblocking()?;
        Ok(Self {
            stream,
            requests: *requests,
            out,
            sent: 0,
            input,
            open: BTreeMap::new(),
            parts: BTreeMap::new(),
            taking: None,
            is_gone: false,
        })
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Returns true if encoded bytes are still to be sent.
    pub(super) fn is_full(&self) -> bool {
        self.sent < self.out.len()
    }

    /// Encodes a request; [`Link::send`] sends it.
    pub(super) fn push(&mut self, submission: &Submission, done: &mut VecDeque<(u32, i32)>) {
        let Submission { slot, operation, offset, length, durable, .. } = *submission;
        if self.is_gone {
            return done.push_back((slot, -libc::EIO));
        }
        let asked = match operation {
            Operation::Read => Asked::Read,
            Operation::Write => Asked::Write { fua: durable },
            Operation::Flush => Asked::Flush,
        };
        let result = i32::try_from(length).unwrap_or(i32::MAX);
        let mut open = Open { submission: *submission, left: 0, result };
        let most = self.requests.agreed().blocks.maximum();
        for part in 0..length.div_ceil(most).max(1) {
            let at = part * most;
            let bytes = (length - at).min(most);
            let offset = if asked == Asked::Flush { 0 } else { offset + u64::from(at) };
            match self.requests.submit(asked, offset, bytes, &mut self.out) {
                Ok(cookie) => {
                    self.parts.insert(cookie, (slot, at));
                    open.left += 1;
                }
                Err(_) => {
                    open.result = -libc::EINVAL;
                    break;
                }
            }
            if operation == Operation::Write {
                let range = at as usize..(at + bytes) as usize;
                with_bytes(submission, |data| self.out.extend_from_slice(&data[range]));
            }
        }
        match open.left {
            0 => done.push_back((slot, open.result)),
            _ => drop(self.open.insert(slot, open)),
        }
    }

    /// Sends as much as the socket has room for.
    pub(super) fn send(&mut self) {
        while self.is_full() && !self.is_gone {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(sent) if sent > 0 => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => self.is_gone = true,
            }
        }
        self.out.clear();
        self.sent = 0;
    }

    /// Receives bytes, using `room` as the read buffer, and decodes them. If the connection is
    /// lost, all open requests fail.
    pub(super) fn receive(&mut self, room: &mut [u8], done: &mut VecDeque<(u32, i32)>) {
        while !self.is_gone {
            if self.understand(done).is_err() {
                self.is_gone = true;
                break;
            }
            match self.stream.read(room) {
                Ok(read @ 1..) => self.input.extend_from_slice(&room[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => self.is_gone = true,
            }
        }
        self.parts.clear();
        done.extend(std::mem::take(&mut self.open).into_keys().map(|slot| (slot, -libc::EIO)));
    }

    /// Decodes received bytes.
    fn understand(&mut self, done: &mut VecDeque<(u32, i32)>) -> Result<(), nbd::Violation> {
        let mut from = 0;
        loop {
            if let Some((slot, at, left)) = self.taking.take() {
                let here = (self.input.len() - from).min(left as usize);
                let bytes = &self.input[from..from + here];
                self.fill(slot, at, |into| into.copy_from_slice(bytes), here);
                from += here;
                let here = u32::try_from(here).unwrap_or(left);
                if here < left {
                    self.taking = Some((slot, at + here, left - here));
                    break;
                }
            }
            let progress = self.requests.receive(&self.input[from..])?;
            from += progress.consumed;
            match progress.next {
                Received::More => break,
                Received::Data { cookie, at, length } => {
                    let (slot, start) = self.parts.get(&cookie).copied().unwrap_or_default();
                    self.taking = Some((slot, start + at, length));
                }
                Received::Zeroes { cookie, at, length } => {
                    let (slot, start) = self.parts.get(&cookie).copied().unwrap_or_default();
                    self.fill(slot, start + at, |into| into.fill(0), length as usize);
                }
                Received::Done { cookie, result } => {
                    let failed = result.err().map(|failure| failure.code.to_wire());
                    self.end(cookie, failed.map(|code| -i32::try_from(code).unwrap_or(5)), done);
                }
            }
        }
        self.input.drain(..from);
        Ok(())
    }

    /// Calls `write` with `bytes` bytes of a read request's buffer.
    fn fill(&self, slot: u32, at: u32, write: impl FnOnce(&mut [u8]), bytes: usize) {
        if let Some(open) = self.open.get(&slot) {
            let range = at as usize..at as usize + bytes;
            with_bytes(&open.submission, |data| write(&mut data[range]));
        }
    }

    /// Completes a part. The last part completes its request.
    fn end(&mut self, cookie: u64, failed: Option<i32>, done: &mut VecDeque<(u32, i32)>) {
        let Some((slot, _)) = self.parts.remove(&cookie) else { return };
        let Some(open) = self.open.get_mut(&slot) else { return };
        open.left -= 1;
        open.result = failed.unwrap_or(open.result);
        if open.left == 0 {
            done.push_back((slot, open.result));
            self.open.remove(&slot);
        }
    }
}
