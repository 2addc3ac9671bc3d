use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, sockopt,
};
use state_machine::CallError;

use super::address::{Here, Peer};
use super::slab::Key;
use super::{Answer, Client};

/// Most reads of one connection before other connections have their turn.
const READS_MAX: usize = 16;

/// Connection to one service, and the call on it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: OwnedFd,
    /// Position of the service in the worker's list.
    pub(super) service: usize,
    /// Call on the connection.
    pub(super) call: Option<Key>,
    /// True if the kernel also reports room to write.
    pub(super) is_heard_both_ways: bool,
    /// True if the connection carried a call before. A service may close such a connection at any
    /// time, even while the next request is on its way (RFC 9112, section 9.3.1).
    was_used: bool,
    has_heard: bool,
    is_connecting: bool,
    client: Box<dyn Client>,
    out: Vec<u8>,
    sent: usize,
}

/// Reason why there is no connection.
#[derive(Debug)]
pub(super) enum NoConnection {
    /// Failure of the other side, or of the network.
    There(CallError),
    /// Failure of this host: out of files, memory or ports.
    Here(io::Error),
}

/// Result of looking at a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing new.
    Waits,
    /// The call is answered.
    Answered(Answer),
    /// The connection carried earlier calls and ended before any byte of this answer: a new
    /// connection may succeed.
    WentStale,
    /// The connection ended, or received bytes, with no call on it.
    Ended,
}

impl Connection {
    pub(super) fn open(
        peer: &Peer,
        service: usize,
        client: Box<dyn Client>,
    ) -> Result<Self, NoConnection> {
        let (stream, is_connecting) = match peer {
            Peer::There(peer) => (there(*peer)?, true),
            Peer::Here(here) => (within(&**here).map_err(NoConnection::Here)?, false),
        };
        Ok(Self {
            stream,
            service,
            call: None,
            is_heard_both_ways: true,
            was_used: false,
            has_heard: false,
            is_connecting,
            client,
            out: Vec::new(),
            sent: 0,
        })
    }

    /// Puts a call on the connection, and sends as much as possible at once.
    pub(super) fn begin(&mut self, call: Key, size: u32) -> Look {
        self.call = Some(call);
        self.has_heard = false;
        self.client.call(size, &mut self.out);
        if self.is_connecting { Look::Waits } else { self.send().unwrap_or(Look::Waits) }
    }

    /// Ends the call; the connection waits for its next one.
    pub(super) fn rest(&mut self) {
        (self.call, self.was_used) = (None, true);
    }

    /// Returns true if the connection waits for room to write, or to be established.
    pub(super) fn wants_to_write(&self) -> bool {
        self.is_connecting || self.sent < self.out.len()
    }

    /// Sends and receives as much as possible without waiting.
    pub(super) fn look(&mut self, buffer: &mut [u8]) -> Result<Look, io::Error> {
        if self.is_connecting {
            match sockopt::socket_error(&self.stream).map_err(io::Error::from)? {
                Ok(()) => self.is_connecting = false,
                Err(error) => match refusal(error) {
                    NoConnection::There(error) => return Ok(Look::Answered(Answer::failed(error))),
                    NoConnection::Here(error) => return Err(error),
                },
            }
        }
        if let Some(lost) = self.send() {
            return Ok(lost);
        }
        for _ in 0..READS_MAX {
            let got = recv(&self.stream, &mut *buffer, RecvFlags::empty());
            let count = match got.map_err(io::Error::from) {
                Ok((0, _)) => return Ok(self.ended()),
                Ok((count, _)) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Look::Waits),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Ok(self.lost(&error)),
            };
            if self.call.is_none() {
                return Ok(Look::Ended);
            }
            self.has_heard = true;
            if let Some(answer) = self.client.take(&buffer[..count], &mut self.out) {
                return Ok(Look::Answered(answer));
            }
            if let Some(lost) = self.send() {
                return Ok(lost);
            }
            if count < buffer.len() {
                break;
            }
        }
        Ok(Look::Waits)
    }

    fn send(&mut self) -> Option<Look> {
        while self.sent < self.out.len() {
            let sent = send(&self.stream, &self.out[self.sent..], SendFlags::NOSIGNAL);
            match sent.map_err(io::Error::from) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Some(self.lost(&error)),
            }
        }
        self.sent = 0;
        self.out.clear();
        None
    }

    fn ended(&mut self) -> Look {
        if self.call.is_none() {
            return Look::Ended;
        }
        if self.was_used && !self.has_heard {
            return Look::WentStale;
        }
        Look::Answered(self.client.ended())
    }

    fn lost(&mut self, error: &io::Error) -> Look {
        match self.ended() {
            Look::Answered(_) if error.kind() == ErrorKind::TimedOut => {
                Look::Answered(Answer::failed(CallError::TimedOut))
            }
            // A reset is not an orderly end: the bytes received may be only part of an answer.
            Look::Answered(_) => Look::Answered(Answer::failed(CallError::Closed)),
            other => other,
        }
    }
}

/// Begins a connection to a host in the network.
fn there(peer: SocketAddr) -> Result<OwnedFd, NoConnection> {
    let family = if peer.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let here = |error: Errno| NoConnection::Here(error.into());
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None).map_err(here)?;
    // A request is complete when it is written; delaying it to join more bytes gains nothing.
    sockopt::set_tcp_nodelay(&socket, true).map_err(here)?;
    match rustix::net::connect(&socket, &peer) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(refusal(error)),
    }
}

fn within(here: &dyn Here) -> io::Result<OwnedFd> {
    let stream = here.connect()?;
    stream.set_nonblocking(true)?;
    Ok(stream.into())
}

/// Decides if a failure to connect is this host's or the other side's.
fn refusal(error: Errno) -> NoConnection {
    match error {
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::ADDRNOTAVAIL => {
            NoConnection::Here(error.into())
        }
        Errno::TIMEDOUT => NoConnection::There(CallError::TimedOut),
        _ => NoConnection::There(CallError::Refused),
    }
}
