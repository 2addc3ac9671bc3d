//! Services besides NFS itself: the portmapper (RFC 1833, 3) and the mount service (RFC 1813,
//! appendix I).

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use crate::call::Procedure;
use crate::connection::Connection;
use crate::error::{NfsError, Trouble};
use crate::export::Export;
use crate::nodes::Handle;
use crate::xdr::Writer;

const PORTMAPPER_PORT: u16 = 111;
const GET_PORT: Procedure = Procedure { program: 100_000, version: 2, number: 3 };
/// Program and version of NFS 3.
pub(crate) const NFS: (u32, u32) = (100_003, 3);
const MOUNT: (u32, u32) = (100_005, 3);
/// Protocol number of TCP for the portmapper.
const TCP: u32 = 6;
/// Maximum size of a handle, in bytes (RFC 1813, 2.4).
pub(crate) const HANDLE_MAX: usize = 64;
/// Accepted security flavours: by user number (RFC 5531, 8.2), and none.
const FLAVOURS: [u32; 2] = [1, 0];

const fn mount(number: u32) -> Procedure {
    Procedure { program: MOUNT.0, version: MOUNT.1, number }
}

/// Resolves the address of the server.
pub(crate) fn resolve(export: &Export) -> Result<IpAddr, NfsError> {
    let server = || export.server.clone();
    let found = (export.server.as_str(), 0).to_socket_addrs();
    let mut found = found.map_err(|source| NfsError::Resolve { server: server(), source })?;
    let none = || std::io::ErrorKind::NotFound.into();
    let first = found.next().map(|address| address.ip());
    first.ok_or_else(|| NfsError::Resolve { server: server(), source: none() })
}

/// Connects to a service.
pub(crate) fn reach(
    service: &'static str,
    (address, port): (IpAddr, u16),
) -> Result<Connection, NfsError> {
    let address = SocketAddr::new(address, port);
    Connection::new(address).map_err(|source| NfsError::Connect {
        service,
        server: address.to_string(),
        source,
    })
}

/// Returns the port of NFS: from the export's name, or from the portmapper.
pub(crate) fn nfs_port(export: &Export, address: IpAddr) -> Result<u16, NfsError> {
    export.port.map_or_else(|| ask_port(export, address, NFS, "NFS 3"), Ok)
}

fn mount_port(export: &Export, address: IpAddr) -> Result<u16, NfsError> {
    export.mount_port.map_or_else(|| ask_port(export, address, MOUNT, "mount service"), Ok)
}

fn ask_port(
    export: &Export,
    address: IpAddr,
    (program, version): (u32, u32),
    service: &'static str,
) -> Result<u16, NfsError> {
    let portmapper = reach("the portmapper", (address, PORTMAPPER_PORT))?;
    let body = Writer::default().u32(program).u32(version).u32(TCP).u32(0);
    let port = portmapper.ask(GET_PORT, body, |mut read| read.u32());
    let server = || export.server.clone();
    let attempt = "the request for its ports";
    let port = port.map_err(|trouble| NfsError::Call { attempt, server: server(), trouble })?;
    let port = u16::try_from(port).ok().filter(|port| *port != 0);
    port.ok_or_else(|| NfsError::NoService { service, server: server() })
}

/// Asks the mount service for the handle of the export's directory.
pub(crate) fn root(export: &Export, address: IpAddr) -> Result<Handle, NfsError> {
    let service = reach("the mount service", (address, mount_port(export, address)?))?;
    let body = Writer::default().opaque(export.path.as_bytes());
    let answer = service.ask(mount(1), body, |mut read| {
        match read.u32()? {
            0 => {}
            status => return Err(Trouble::Status(status)),
        }
        let handle = Handle::from(read.opaque(HANDLE_MAX)?);
        let count = read.u32()?;
        let flavours: Vec<u32> =
            (0..count.min(64)).map(|_| read.u32()).collect::<Result<_, _>>()?;
        let is_known = flavours.is_empty() || FLAVOURS.iter().any(|own| flavours.contains(own));
        let refused = Trouble::Rejected("it requires Kerberos, but only sys is supported");
        if is_known { Ok(handle) } else { Err(refused) }
    });
    answer.map_err(|trouble| NfsError::Mount {
        server: export.server.clone(),
        path: export.path.clone(),
        trouble,
    })
}

/// Tells the mount service that the export is no longer used. The service only keeps a list.
pub(crate) fn leave(export: &Export) -> Result<(), NfsError> {
    let address = resolve(export)?;
    let service = reach("the mount service", (address, mount_port(export, address)?))?;
    let body = Writer::default().opaque(export.path.as_bytes());
    let (attempt, server) = ("the unmount request", export.server.clone());
    let answer = service.ask(mount(3), body, |_| Ok(()));
    answer.map_err(|trouble| NfsError::Call { attempt, server, trouble })
}
