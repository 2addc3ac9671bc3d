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
use super::{Answer, Ask, Client};

/// Maximum number of reads of one connection before other connections get their turn.
const READS_MAX: usize = 16;

/// Connection to one service, and the call on it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: OwnedFd,
    /// Position of the service in the worker's list.
    pub(super) service: usize,
    /// Call on the connection.
    pub(super) call: Option<Key>,
    /// True if the worker also listens for room to write.
    pub(super) is_heard_both_ways: bool,
    /// True if the connection has carried a call before. A service may close such a connection at
    /// any time, even while the next request is on its way (RFC 9112, section 9.3.1).
    was_used: bool,
    has_heard: bool,
    is_connecting: bool,
    client: Box<dyn Client>,
    out: Vec<u8>,
    sent: usize,
}

/// Reason why no connection was opened.
#[derive(Debug)]
pub(super) enum NoConnection {
    /// Failure of the peer, or of the network.
    There(CallError),
    /// Failure of this host: out of files, memory or ports.
    Here(io::Error),
}

/// State in which a connection was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing new.
    Waits,
    /// The call is answered.
    Answered(Answer),
    /// The connection had carried earlier calls and was closed before the first byte of this
    /// answer. A new connection may succeed.
    WentStale,
    /// The connection was closed, or received bytes, while no call was on it.
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
            Peer::Here(here) => (within(&**here)?, false),
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

    /// Starts a call on the connection, and sends as much as possible at once.
    pub(super) fn begin(&mut self, call: Key, ask: Ask<'_>) -> Look {
        self.call = Some(call);
        self.has_heard = false;
        self.client.call(ask, &mut self.out);
        if self.is_connecting { Look::Waits } else { self.send().unwrap_or(Look::Waits) }
    }

    /// Ends the call. The connection then waits for its next call.
    pub(super) fn rest(&mut self) {
        (self.call, self.was_used) = (None, true);
    }

    /// Returns the service's message in its last refusal.
    pub(super) fn refusal(&self) -> Option<String> {
        self.client.refusal()
    }

    /// Returns true if the connection waits for room to write, or for the end of connecting.
    pub(super) fn wants_to_write(&self) -> bool {
        self.is_connecting || self.sent < self.out.len()
    }

    /// Sends and receives as much as possible without blocking.
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
                if !self.client.unasked(&buffer[..count], &mut self.out) {
                    return Ok(Look::Ended);
                }
                continue;
            }
            let answer = self.client.take(&buffer[..count], &mut self.out);
            self.has_heard = self.client.has_answer_begun();
            match answer {
                Some(answer) if self.has_heard || answer.result != Err(CallError::Closed) => {
                    return Ok(Look::Answered(answer));
                }
                // TLS announces the end of a connection, also of one that went stale.
                Some(_) => return Ok(self.ended()),
                None => {}
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
        if self.was_used && !self.has_heard && self.client.may_repeat() {
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

/// Starts to connect to a host in the network.
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

fn within(here: &dyn Here) -> Result<OwnedFd, NoConnection> {
    // A server that this process started may have ended, which is no fault of this side.
    let refused = |error: io::Error| match Errno::from_io_error(&error) {
        Some(error) => refusal(error),
        None => NoConnection::Here(error),
    };
    let stream = here.connect().map_err(refused)?;
    stream.set_nonblocking(true).map_err(refused)?;
    Ok(stream.into())
}

/// Classifies a failure to connect as a failure of this host or of the peer.
fn refusal(error: Errno) -> NoConnection {
    match error {
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::ADDRNOTAVAIL => {
            NoConnection::Here(error.into())
        }
        Errno::TIMEDOUT => NoConnection::There(CallError::TimedOut),
        _ => NoConnection::There(CallError::Refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_machine::{Draws, RequestText};
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, Mutex};

    /// A session: it logs in before its first call, and is sent notices that begin with `*`.
    #[derive(Debug, Default)]
    struct Session {
        is_open: bool,
        asked: Vec<u8>,
    }

    impl Client for Session {
        fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>) {
            self.asked = ask.filled().unwrap_or_default().as_bytes().to_vec();
            out.extend_from_slice(if self.is_open { &self.asked } else { b"login" });
        }

        fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<Answer> {
            if !self.is_open {
                self.is_open = bytes == b"welcome";
                out.extend_from_slice(&self.asked);
                return None;
            }
            Some(Answer { result: Ok(bytes.len() as u64), can_go_on: true })
        }

        fn unasked(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> bool {
            bytes.starts_with(b"*")
        }
    }

    #[derive(Debug)]
    struct Socket(Mutex<Option<UnixStream>>);

    impl Here for Socket {
        fn connect(&self) -> io::Result<UnixStream> {
            Ok(self.0.lock().expect("a lock").take().expect("one connection"))
        }
    }

    /// A session that has answered one call, and the service's side of it.
    fn session() -> (Connection, UnixStream, [u8; 64]) {
        let (ours, mut service) = UnixStream::pair().expect("a pair");
        let peer = Peer::Here(Arc::new(Socket(Mutex::new(Some(ours)))));
        let opened = Connection::open(&peer, 0, Box::new(Session::default()));
        let (mut connection, mut buffer) = (opened.expect("a connection"), [0; 64]);
        let text = RequestText::parse("SELECT 1").expect("a text");
        let ask = Ask { text: Some(&text), draws: Draws::default(), size: 100 };
        assert_eq!(connection.begin(Key::of(1), ask), Look::Waits);
        for (came, answer, look) in [
            (&b"login"[..], &b"welcome"[..], Look::Waits),
            (b"SELECT 1", b"1", Look::Answered(Answer { result: Ok(1), can_go_on: true })),
        ] {
            let mut said = vec![0; came.len()];
            service.read_exact(&mut said).expect("what was sent");
            assert_eq!(said, came);
            service.write_all(answer).expect("an answer");
            assert_eq!(connection.look(&mut buffer).expect("a look"), look);
        }
        connection.rest();
        (connection, service, buffer)
    }

    #[test]
    fn session_logs_in_once_and_outlives_notices() {
        let (mut connection, mut service, mut buffer) = session();
        service.write_all(b"* shutting down soon").expect("a notice");
        assert_eq!(connection.look(&mut buffer).expect("a look"), Look::Waits);
        let text = RequestText::parse("COMMIT").expect("a text");
        let ask = Ask { text: Some(&text), draws: Draws::default(), size: 100 };
        assert_eq!(connection.begin(Key::of(2), ask), Look::Waits);
        let mut said = [0; 6];
        service.read_exact(&mut said).expect("no second login");
        assert_eq!(&said, b"COMMIT");
        connection.rest();
        service.write_all(b"?").expect("what nobody asked for");
        assert_eq!(connection.look(&mut buffer).expect("a look"), Look::Ended);
    }

    #[test]
    fn call_that_may_change_something_is_not_made_again() {
        let (mut connection, service, mut buffer) = session();
        let text = RequestText::parse("COMMIT").expect("a text");
        let ask = Ask { text: Some(&text), draws: Draws::default(), size: 100 };
        assert_eq!(connection.begin(Key::of(2), ask), Look::Waits);
        drop(service);
        let closed = Look::Answered(Answer::failed(CallError::Closed));
        assert_eq!(connection.look(&mut buffer).expect("a look"), closed);
    }
}
