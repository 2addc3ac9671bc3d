//! Connection to an export of another host: sockets and TLS around the client side of the protocol.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use block_server::ClientTls;
use nbd::client::{ClientDemands, Failure, Handshake, Next, Received, Requests};
use nbd::{NbdAddress, Operation, Uri};
use rustls::ClientConnection;

/// Maximum time for a handshake, and for an answer that a caller waits for.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    fn connect(place: &NbdAddress, is_clear: bool) -> io::Result<Self> {
        let socket = match place {
            NbdAddress::Unix(path) => Self::Unix(UnixStream::connect(path)?),
            NbdAddress::Tcp(host, port) => {
                let stream = connect(host, *port)?;
                if is_clear && !stream.peer_addr()?.ip().is_loopback() {
                    return Err(io::Error::new(
                        ErrorKind::PermissionDenied,
                        "connections to other hosts must be encrypted: use nbds and certificates",
                    ));
                }
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
        };
        socket.wait_at_most(Some(PATIENCE))?;
        Ok(socket)
    }

    fn wait_at_most(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => {
                stream.set_read_timeout(time)?;
                stream.set_write_timeout(time)
            }
            Self::Tcp(stream) => {
                stream.set_read_timeout(time)?;
                stream.set_write_timeout(time)
            }
        }
    }
}

/// Connects to the first address of a host that answers within the time limit.
fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(into),
            Self::Tcp(stream) => stream.read(into),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(from),
            Self::Tcp(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Completed request.
pub(crate) struct Ended {
    pub(crate) cookie: u64,
    pub(crate) result: Result<Vec<u8>, Failure>,
}

/// Connection on which an export was chosen.
pub(crate) struct ExportConnection {
    pipe: Pipe,
    pub(crate) requests: Requests,
    held: Vec<u8>,
    /// Bytes received so far for reads in progress, by cookie.
    reads: BTreeMap<u64, Vec<u8>>,
}

struct Pipe {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    out: Vec<u8>,
    sent: usize,
}

impl ExportConnection {
    /// Connects, and chooses an export.
    ///
    /// # Errors
    /// If no server answers, it is not an NBD server, or it has no such export.
    pub(crate) fn open(uri: &Uri, export: &str, tls: Option<&ClientTls>) -> io::Result<Self> {
        let socket = Socket::connect(&uri.place, !uri.tls)?;
        let mut pipe = Pipe { socket, tls: None, out: Vec::new(), sent: 0 };
        let wish = ClientDemands { export: export.to_owned(), tls: uri.tls, structured: false };
        let (mut handshake, mut held) = (Handshake::new(wish), Vec::new());
        loop {
            let progress = handshake.feed(&held, &mut pipe.out).map_err(io::Error::other)?;
            held.drain(..progress.consumed);
            pipe.send()?;
            match progress.next {
                Next::More => pipe.receive(&mut held)?,
                Next::StartTls => {
                    pipe.tls = Some(Box::new(session(uri, tls)?));
                    handshake.encrypted(&mut pipe.out);
                }
                Next::Ready(requests) => {
                    return Ok(Self { pipe, requests: *requests, held, reads: BTreeMap::new() });
                }
            }
        }
    }

    /// Limits the time for which reads of the socket block.
    pub(crate) fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        self.pipe.socket.wait_at_most(Some(time.max(Duration::from_millis(1))))
    }

    /// Switches the socket to non-blocking.
    pub(crate) fn do_not_wait(&self) -> io::Result<()> {
        match &self.pipe.socket {
            Socket::Unix(stream) => stream.set_nonblocking(true),
            Socket::Tcp(stream) => stream.set_nonblocking(true),
        }
    }

    /// Queues a request; [`ExportConnection::send`] sends it.
    pub(crate) fn ask(
        &mut self,
        operation: Operation,
        offset: u64,
        length: u32,
        data: &[u8],
    ) -> io::Result<u64> {
        let asked = self.requests.submit(operation, offset, length, &mut self.pipe.out);
        let cookie = asked.map_err(io::Error::other)?;
        self.pipe.out.extend_from_slice(data);
        if operation == Operation::Read {
            self.reads.insert(cookie, vec![0; length as usize]);
        }
        Ok(cookie)
    }

    /// Sends queued bytes, as far as possible. Returns true if some are left.
    pub(crate) fn send(&mut self) -> io::Result<bool> {
        self.pipe.send()
    }

    /// Receives bytes. Waits for some if the socket is in blocking mode.
    pub(crate) fn receive(&mut self) -> io::Result<()> {
        self.pipe.receive(&mut self.held)
    }

    /// Returns the next completed request among the received bytes.
    pub(crate) fn next(&mut self) -> io::Result<Option<Ended>> {
        loop {
            let progress = self.requests.receive(&self.held).map_err(io::Error::other)?;
            self.held.drain(..progress.consumed);
            match progress.next {
                Received::More => return Ok(None),
                Received::Data { cookie, at, length } => {
                    while self.held.len() < length as usize {
                        self.pipe.receive(&mut self.held)?;
                    }
                    let bytes: Vec<u8> = self.held.drain(..length as usize).collect();
                    let into = self.reads.get_mut(&cookie).expect("only reads receive bytes");
                    into[at as usize..at as usize + bytes.len()].copy_from_slice(&bytes);
                }
                Received::Zeroes { cookie, at, length } => {
                    let into = self.reads.get_mut(&cookie).expect("only reads receive zeros");
                    into[at as usize..(at + length) as usize].fill(0);
                }
                Received::Done { cookie, result } => {
                    let data = self.reads.remove(&cookie).unwrap_or_default();
                    return Ok(Some(Ended { cookie, result: result.map(|()| data) }));
                }
            }
        }
    }

    /// Reads bytes of the export, and waits for their arrival.
    pub(crate) fn read(&mut self, offset: u64, length: u32) -> io::Result<Vec<u8>> {
        let cookie = self.ask(Operation::Read, offset, length, &[])?;
        self.send()?;
        loop {
            match self.next()? {
                Some(ended) if ended.cookie == cookie => {
                    return ended.result.map_err(io::Error::other);
                }
                Some(_) => {}
                None => self.receive()?,
            }
        }
    }
}

impl AsFd for ExportConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.pipe.socket {
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Tcp(stream) => stream.as_fd(),
        }
    }
}

fn session(uri: &Uri, tls: Option<&ClientTls>) -> io::Result<ClientConnection> {
    let tls = tls.ok_or_else(|| io::Error::other("TLS needs certificates"))?;
    let host = match &uri.place {
        NbdAddress::Tcp(host, _) => host.as_str(),
        NbdAddress::Unix(_) => "localhost",
    };
    let mut session = tls.session(host).map_err(io::Error::other)?;
    session.set_buffer_limit(None);
    Ok(session)
}

impl Pipe {
    fn send(&mut self) -> io::Result<bool> {
        let result = match &mut self.tls {
            Some(tls) => {
                tls.writer().write_all(&self.out)?;
                self.out.clear();
                loop {
                    if !tls.wants_write() {
                        break Ok(());
                    }
                    if let Err(error) = tls.write_tls(&mut self.socket) {
                        break Err(error);
                    }
                }
            }
            None => loop {
                if self.sent == self.out.len() {
                    self.out.clear();
                    self.sent = 0;
                    break Ok(());
                }
                match self.socket.write(&self.out[self.sent..]) {
                    Ok(sent) => self.sent += sent,
                    Err(error) => break Err(error),
                }
            },
        };
        match result {
            Ok(()) => Ok(false),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Reads from the socket once. A non-blocking socket may have no bytes.
    fn receive(&mut self, held: &mut Vec<u8>) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            let before = held.len();
            held.resize(before + (64 << 10), 0);
            let read = self.socket.read(&mut held[before..]);
            held.truncate(before + *read.as_ref().unwrap_or(&0));
            return if read? == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) };
        };
        let before = held.len();
        while held.len() == before {
            // A handshake must send its own bytes before the other side answers.
            while tls.wants_write() {
                tls.write_tls(&mut self.socket)?;
            }
            if tls.read_tls(&mut self.socket)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            tls.process_new_packets().map_err(io::Error::other)?;
            match tls.reader().read_to_end(held) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
