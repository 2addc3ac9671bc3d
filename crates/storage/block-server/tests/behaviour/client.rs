//! Blocking client: sockets of the standard library around the protocol's state machine.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nbd::client::{ClientDemands, Failure, Handshake, Next, Received, Requests};
use nbd::{Code, Operation};
use tilemark_block_server::ListenAddress;

/// A test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

pub(crate) struct Client {
    stream: Box<dyn Stream>,
    pub requests: Requests,
    held: Vec<u8>,
    data: BTreeMap<u64, Vec<u8>>,
    ended: BTreeMap<u64, Result<Vec<u8>, Failure>>,
}

pub(crate) fn connect(place: &ListenAddress) -> io::Result<Box<dyn Stream>> {
    Ok(match place {
        ListenAddress::Unix(path) | ListenAddress::Vhost { path, .. } => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
        ListenAddress::Tcp(address) => {
            let stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
        ListenAddress::Ublk { .. } => unreachable!("the kernel is its client"),
    })
}

impl Client {
    pub fn open(place: &ListenAddress, export: &str) -> io::Result<Self> {
        Self::over(connect(place)?, export, true)
    }

    /// Shakes hands over a stream.
    pub fn over(mut stream: Box<dyn Stream>, export: &str, structured: bool) -> io::Result<Self> {
        let wish = ClientDemands { export: export.to_owned(), tls: false, structured };
        let mut handshake = Handshake::new(wish);
        let (mut held, mut out) = (Vec::new(), Vec::new());
        loop {
            let progress = handshake.feed(&held, &mut out).map_err(io::Error::other)?;
            held.drain(..progress.consumed);
            stream.write_all(&out)?;
            out.clear();
            if let Next::Ready(requests) = progress.next {
                let (data, ended) = (BTreeMap::new(), BTreeMap::new());
                return Ok(Self { stream, requests: *requests, held, data, ended });
            }
            more(&mut *stream, &mut held)?;
        }
    }

    /// Asks, and does not wait.
    pub fn ask(
        &mut self,
        operation: Operation,
        offset: u64,
        length: u32,
        data: &[u8],
    ) -> io::Result<u64> {
        let mut out = Vec::new();
        let asked = self.requests.submit(operation, offset, length, &mut out);
        let cookie = asked.map_err(io::Error::other)?;
        out.extend_from_slice(data);
        self.data.insert(cookie, vec![0xee; length as usize]);
        self.stream.write_all(&out)?;
        Ok(cookie)
    }

    /// Waits for an answer; other answers are kept.
    pub fn wait(&mut self, cookie: u64) -> io::Result<Result<Vec<u8>, Failure>> {
        loop {
            if let Some(result) = self.ended.remove(&cookie) {
                return Ok(result);
            }
            self.hear()?;
        }
    }

    /// Waits for whichever answer comes first.
    pub fn wait_any(&mut self) -> io::Result<(u64, Result<Vec<u8>, Failure>)> {
        while self.ended.is_empty() {
            self.hear()?;
        }
        Ok(self.ended.pop_first().unwrap())
    }

    /// Returns true if the connection ends without another answer.
    pub fn wait_any_is_over(&mut self) -> bool {
        self.wait_any().is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock)
    }

    fn hear(&mut self) -> io::Result<()> {
        let progress = self.requests.receive(&self.held).map_err(io::Error::other)?;
        self.held.drain(..progress.consumed);
        match progress.next {
            Received::More => more(&mut *self.stream, &mut self.held)?,
            Received::Data { cookie, at, length } => {
                while self.held.len() < length as usize {
                    more(&mut *self.stream, &mut self.held)?;
                }
                let bytes: Vec<u8> = self.held.drain(..length as usize).collect();
                let at = at as usize;
                self.data.get_mut(&cookie).unwrap()[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            Received::Zeroes { cookie, at, length } => {
                let range = at as usize..(at + length) as usize;
                self.data.get_mut(&cookie).unwrap()[range].fill(0);
            }
            Received::Done { cookie, result } => {
                let data = self.data.remove(&cookie).unwrap();
                assert!(self.ended.insert(cookie, result.map(|()| data)).is_none(), "ended twice");
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        operation: Operation,
        offset: u64,
        length: u32,
        data: &[u8],
    ) -> Result<Vec<u8>, Code> {
        let cookie = self.ask(operation, offset, length, data).expect("the server is there");
        let answer = self.wait(cookie).expect("the server is there");
        answer.map_err(|failure| failure.code)
    }

    pub fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, Code> {
        self.call(Operation::Read, offset, length, &[])
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Code> {
        let length = u32::try_from(data.len()).unwrap();
        self.call(Operation::Write { fua: false }, offset, length, data).map(drop)
    }

    pub fn flush(&mut self) -> Result<(), Code> {
        self.call(Operation::Flush, 0, 0, &[]).map(drop)
    }

    /// Bytes that no client of this protocol would send.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Reads until the server has closed; nothing but answers that are not understood comes before.
    pub fn rest(&mut self) -> Vec<u8> {
        rest(&mut *self.stream)
    }
}

fn more(stream: &mut dyn Stream, held: &mut Vec<u8>) -> io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    let read = stream.read(&mut bytes)?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    held.extend_from_slice(&bytes[..read]);
    Ok(())
}

/// Bytes received until the other side closes, orderly or not.
pub(crate) fn rest(stream: &mut dyn Stream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("it does not close"),
        _ => bytes,
    }
}
