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

/// Clients that the kernel lets wait.
const BACKLOG: i32 = 1024;
/// How long a socket is waited for whose server may be gone.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Where clients come in, and on what terms.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Where.
    pub place: Place,
    /// Certificates, where nothing is said in the clear.
    pub tls: Option<Arc<Tls>>,
}

/// Where clients come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A Unix socket, made here for its owner alone (mode 0600) and removed when the server ends.
    Unix(PathBuf),
    /// A Unix socket of the same kind, where a machine gets this disk over vhost-user.
    Vhost {
        /// The socket.
        path: PathBuf,
        /// The disk's name.
        disk: String,
    },
    /// A block device of this host, `/dev/ublkbN`, which is removed when the server ends and nobody uses it.
    Ublk {
        /// N.
        number: u32,
        /// The disk's name.
        disk: String,
        /// Identity of the disk, as a text: a device that an earlier server left is taken over only for a disk of
        /// the same identity.
        owner: String,
    },
    /// An address of this machine; port 0 is any that is free. Without TLS it must be a loopback
    /// address, and all users of this machine can reach it.
    Tcp(SocketAddr),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) | Self::Vhost { path, .. } => write!(f, "{}", path.display()),
            Self::Ublk { number, .. } => write!(f, "/dev/ublkb{number}"),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// A socket that listens, or a device.
#[derive(Debug)]
pub(crate) struct Listener {
    pub socket: Arc<OwnedFd>,
    /// Where it came to be.
    pub place: Place,
    pub tls: Option<Arc<Tls>>,
    /// Name of the disk that machines get here; none where NBD is spoken.
    pub disk: Option<String>,
    /// The device by which this host gets it.
    pub device: Option<Device>,
    /// Removed when it ends, as long as it is this one.
    remove: Option<(PathBuf, u64)>,
}

impl Listener {
    /// Opens one for these disks.
    pub fn open(listen: &Listen, disks: &[Export]) -> Result<Self, StartError> {
        let (tls, place) = (listen.tls.clone(), listen.place.clone());
        let named = |name: &String| {
            let disk = disks.iter().find(|disk| disk.name() == name);
            disk.ok_or_else(|| StartError::NoDisk { name: name.clone() })
        };
        let made =
            |socket, place, disk| Self { socket, place, tls, disk, device: None, remove: None };
        match &listen.place {
            Place::Tcp(address) if listen.tls.is_none() && !address.ip().is_loopback() => {
                Err(StartError::Clear { address: *address })
            }
            Place::Tcp(address) => {
                let (socket, address) = tcp(*address).map_err(failed(&place))?;
                Ok(made(Arc::new(socket), Place::Tcp(address), None))
            }
            Place::Ublk { number, disk, owner } => {
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
            Place::Unix(path) | Place::Vhost { path, .. } => {
                let disk = match &place {
                    Place::Vhost { disk, .. } => Some(named(disk)?.name().to_owned()),
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
            // One that is gone already is not an error.
            let _ = std::fs::remove_file(&path);
        }
    }
}

fn failed(place: &Place) -> impl Fn(io::Error) -> StartError + use<> {
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

/// Takes an address; one in use is tried again for a while, as its server may be gone.
fn bind_patiently(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        match bind(socket, &address) {
            Err(Errno::ADDRINUSE) if Instant::now() < until => std::thread::sleep(LOOK_AGAIN),
            bound => return Ok(bound?),
        }
    }
}

/// Nobody can connect before the mode is set, for it does not listen yet.
fn unix(path: &Path) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &address)?;
    chmod(path, Mode::RUSR | Mode::WUSR)?;
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Removes what a killed server left. Two servers that do so at once cannot both have the disks.
///
/// A socket that accepts may be that of a killed server, too: what its ring had asked for is called off
/// only after the process is gone, and until then it listens. One that is alive greets, over NBD; over vhost-user
/// nobody does, and one that still listens when that must be over is alive.
fn make_room(path: &Path) -> Result<(), StartError> {
    let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !there.file_type().is_socket() {
        return Err(StartError::NoSocket { path: path.to_owned() });
    }
    let failed = failed(&Place::Unix(path.to_owned()));
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

/// Whether somebody says something.
fn greets(mut stream: &UnixStream) -> io::Result<bool> {
    stream.set_read_timeout(Some(LOOK_AGAIN))?;
    Ok(stream.read(&mut [0]).is_ok_and(|read| read > 0))
}

fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).ok().map(|there| there.ino())
}
