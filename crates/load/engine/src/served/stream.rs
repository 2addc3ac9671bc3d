use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Address of a disk server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAddress {
    /// Unix socket on this host.
    Unix(PathBuf),
    /// TCP port.
    Tcp(SocketAddr),
    /// TCP port that is reached from another network namespace, which the file stands for. Only
    /// root may connect from there.
    TcpIn(PathBuf, SocketAddr),
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(address) | Self::TcpIn(_, address) => address.fmt(f),
        }
    }
}

/// Connection to a disk server.
pub(super) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    /// Connects to a server. Reads wait for at most `patience`.
    pub(super) fn connect(server: &ServerAddress, patience: Duration) -> io::Result<Self> {
        match server {
            ServerAddress::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(patience))?;
                Ok(Self::Unix(stream))
            }
            ServerAddress::Tcp(address) => Self::over_tcp(*address, patience),
            ServerAddress::TcpIn(namespace, address) => {
                let namespace = File::open(namespace)?;
                // A socket stays in the namespace in which it was made. The thread ends with it, so
                // nothing else of this process enters the namespace.
                let connect = || {
                    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                    Self::over_tcp(*address, patience)
                };
                std::thread::scope(|scope| scope.spawn(connect).join())
                    .unwrap_or_else(|_| Err(io::Error::other("the connecting thread panicked")))
            }
        }
    }

    fn over_tcp(address: SocketAddr, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, patience)?;
        // A request would otherwise wait for the acknowledgement of the one before it.
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Self::Tcp(stream))
    }

    /// Makes reads and writes non-blocking.
    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_nonblocking(true),
            Self::Tcp(stream) => stream.set_nonblocking(true),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(into),
            Self::Tcp(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}
