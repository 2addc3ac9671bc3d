use std::fmt;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nbd::Export;
use rustix::fs::{Mode, chmod};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, getsockname, listen, socket_with,
    sockopt,
};

use crate::ublk::Device;
use crate::{StartError, Tls};

/// Maximum number of clients in the kernel that wait to be accepted.
const BACKLOG: i32 = 1024;
/// Maximum wait for a socket whose server may be gone.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Listening address, and its encryption.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Socket or device to listen on.
    pub place: ListenAddress,
    /// Certificates; none for a listener without TLS.
    pub tls: Option<Arc<Tls>>,
}

/// Address by which clients reach disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// Unix socket, created for its owner alone (mode 0600) and removed when the server ends.
    Unix(PathBuf),
    /// Unix socket with the same mode and lifetime, by which a VM gets this disk over vhost-user.
    Vhost {
        /// Path of the socket.
        path: PathBuf,
        /// Name of the disk.
        disk: String,
    },
    /// Block device of this host, `/dev/ublkbN`. The device is removed when the server stops,
    /// unless it is in use.
    Ublk {
        /// Number N of the device.
        number: u32,
        /// Name of the disk.
        disk: String,
        /// Identity of the disk, as text. A device that an earlier server left is taken over only
        /// for a disk of the same identity.
        owner: String,
    },
    /// TCP address of this host; port 0 is any free port. Without TLS it must be a loopback
    /// address, which all users of this host can reach.
    Tcp(SocketAddr),
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) | Self::Vhost { path, .. } => write!(f, "{}", path.display()),
            Self::Ublk { number, .. } => write!(f, "/dev/ublkb{number}"),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// Socket that listens, or block device.
#[derive(Debug)]
pub(crate) struct Listener {
    pub socket: Arc<OwnedFd>,
    /// Actual address, with the port that the kernel chose.
    pub place: ListenAddress,
    pub tls: Option<Arc<Tls>>,
    /// Name of the disk that VMs or this host get here; `None` for NBD.
    pub disk: Option<String>,
    /// Block device by which this host gets the disk; `None` for sockets.
    pub device: Option<Device>,
    /// Path to remove when the server stops, if it still has this inode number.
    remove: Option<(PathBuf, u64)>,
}

impl Listener {
    /// Opens the listener. `disks` are the disks that VMs and this host can get.
    pub fn open(listen: &Listen, disks: &[Export]) -> Result<Self, StartError> {
        let (tls, place) = (listen.tls.clone(), listen.place.clone());
        let named = |name: &String| {
            let disk = disks.iter().find(|disk| disk.name() == name);
            disk.ok_or_else(|| StartError::NoDisk { name: name.clone() })
        };
        let made =
            |socket, place, disk| Self { socket, place, tls, disk, device: None, remove: None };
        match &listen.place {
            ListenAddress::Tcp(address) if listen.tls.is_none() && !address.ip().is_loopback() => {
                Err(StartError::Clear { address: *address })
            }
            ListenAddress::Tcp(address) => {
                let (socket, address) = tcp(*address).map_err(failed(&place))?;
                Ok(made(Arc::new(socket), ListenAddress::Tcp(address), None))
            }
            ListenAddress::Ublk { number, disk, owner } => {
                let device = Device::open(*number, owner, named(disk)?);
                let device = device.map_err(|refusal| StartError::Device {
                    disk: disk.clone(),
                    place: place.to_string(),
                    why: refusal.to_string(),
                    hint: refusal.hint(),
                })?;
                let mut made = made(Arc::clone(&device.file), place, Some(disk.clone()));
                made.device = Some(device);
                Ok(made)
            }
            ListenAddress::Unix(path) | ListenAddress::Vhost { path, .. } => {
                let disk = match &place {
                    ListenAddress::Vhost { disk, .. } => Some(named(disk)?.name().to_owned()),
                    _ => None,
                };
                make_room(path)?;
                let socket = unix(path).map_err(failed(&place))?;
                let mut made = made(Arc::new(socket), place.clone(), disk);
                made.remove = inode(path).map(|inode| (path.clone(), inode));
                Ok(made)
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some((path, made)) = self.remove.take()
            && inode(&path) == Some(made)
        {
            // An error means that the socket is gone already.
            let _ = std::fs::remove_file(&path);
        }
    }
}

fn failed(place: &ListenAddress) -> impl Fn(io::Error) -> StartError + use<> {
    let place = place.to_string();
    move |source| StartError::Listen { place: place.clone(), source }
}

fn tcp(address: SocketAddr) -> io::Result<(OwnedFd, SocketAddr)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // A server that was killed leaves connections behind that keep its port for a minute.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind_patiently(&socket, address)?;
    listen(&socket, BACKLOG)?;
    let address = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok((socket, address))
}

/// Binds an address. Retries an address in use until [`PATIENCE`] is over, because its server may
/// be gone.
fn bind_patiently(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        match bind(socket, &address) {
            Err(Errno::ADDRINUSE) if Instant::now() < until => std::thread::sleep(LOOK_AGAIN),
            bound => return Ok(bound?),
        }
    }
}

/// Creates a Unix socket. No client can connect before the mode is set, because the socket does not
/// listen yet.
fn unix(path: &Path) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &address)?;
    chmod(path, Mode::RUSR | Mode::WUSR)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Removes the socket that a killed server left. Two servers that do so at the same time cannot
/// both open the disks.
///
/// A socket that accepts may also belong to a killed server: the kernel cancels the requests of its
/// ring only after the process has exited, and until then the socket listens. Over NBD, a live
/// server sends a greeting. Over vhost-user no server sends first; there a socket that still
/// accepts after [`PATIENCE`] belongs to a live server.
fn make_room(path: &Path) -> Result<(), StartError> {
    let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !there.file_type().is_socket() {
        return Err(StartError::NoSocket { path: path.to_owned() });
    }
    let failed = failed(&ListenAddress::Unix(path.to_owned()));
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return std::fs::remove_file(path).map_err(failed);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
            Ok(stream) if greets(&stream).map_err(&failed)? => break,
            Ok(_) => {}
        }
    }
    Err(StartError::Taken { path: path.to_owned() })
}

/// Returns true if the server at the other end sends a greeting.
fn greets(mut stream: &UnixStream) -> io::Result<bool> {
    stream.set_read_timeout(Some(LOOK_AGAIN))?;
    Ok(stream.read(&mut [0]).is_ok_and(|read| read > 0))
}

fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).ok().map(|there| there.ino())
}
