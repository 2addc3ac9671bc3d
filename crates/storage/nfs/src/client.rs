//! Procedures of NFS 3 (RFC 1813, 3) that a file system needs.

use std::ffi::OsStr;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;

use crate::attributes::{Attributes, Change, after, pass_change};
use crate::call::Procedure;
use crate::connection::Connection;
use crate::error::{NfsError, Trouble};
use crate::export::Export;
use crate::nodes::Handle;
use crate::services::{self, HANDLE_MAX, NFS};
use crate::xdr::{Reader, Writer};

/// Maximum length of a name that is accepted from a server, in bytes; the maximum of Linux.
const NAME_MAX: usize = 255;
/// Maximum size of a read or write request, in bytes.
const REQUEST_MAX: u32 = 1 << 20;
/// Size of a directory listing that is requested at once, in bytes.
const LISTING: u32 = 64 << 10;
/// Bits of ACCESS (RFC 1813, 3.3.4).
const READ: u32 = 1;
const LOOK_UP: u32 = 2;
const MODIFY: u32 = 4;
const EXTEND: u32 = 8;
const DELETE: u32 = 16;
const EXECUTE: u32 = 32;

pub(crate) const fn nfs(number: u32) -> Procedure {
    Procedure { program: NFS.0, version: NFS.1, number }
}

/// Properties of a mounted export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Address of the server.
    pub address: IpAddr,
    /// TCP port of the NFS service.
    pub port: u16,
    /// Maximum size of a read, in bytes.
    pub read_max: u32,
    /// Maximum size of a write, in bytes.
    pub write_max: u32,
    /// True if the server reports that files may be created in the export's directory.
    pub may_write: bool,
}

/// Free and used space of the export's file system, in bytes, and its numbers of files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Space {
    pub bytes: [u64; 3],
    pub files: [u64; 2],
}

/// Entry of a directory, with its name.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub number: u64,
    pub name: Vec<u8>,
    pub attributes: Option<Attributes>,
    cookie: u64,
}

/// Connection to an export.
pub struct Client {
    pub(crate) connection: Connection,
    pub(crate) root: Handle,
    export: Export,
    facts: Facts,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("export", &self.export).field("facts", &self.facts).finish()
    }
}

impl Client {
    /// Mounts an export and asks for its properties; writes nothing.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, does not support NFS 3, or refuses the export.
    pub fn connect(export: &Export) -> Result<Self, NfsError> {
        let address = services::resolve(export)?;
        let root = services::root(export, address)?;
        let port = services::nfs_port(export, address)?;
        let connection = services::reach("NFS", (address, port))?;
        let facts = Facts { address, port, read_max: 0, write_max: 0, may_write: false };
        let mut client = Self { connection, root, export: export.clone(), facts };
        let call = |attempt| {
            let server = export.server.clone();
            move |trouble| NfsError::Call { attempt, server, trouble }
        };
        let (read_max, write_max) = client.limits().map_err(call("the request for its limits"))?;
        let root = client.root.clone();
        let wanted = LOOK_UP | MODIFY | EXTEND;
        let access = client.access(&root, wanted).map_err(call("the request for access"))?;
        let may_write = access & (MODIFY | EXTEND) == MODIFY | EXTEND;
        client.facts = Facts { read_max, write_max, may_write, ..facts };
        Ok(client)
    }

    /// Returns the properties of the mounted export.
    pub const fn facts(&self) -> Facts {
        self.facts
    }

    /// Waits until the connection is lost, and returns the reason.
    pub fn wait(&self) -> NfsError {
        NfsError::Lost { server: self.export.server.clone(), why: self.connection.wait() }
    }

    /// Tells the server that an export is no longer used.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached any more; then it has nothing to free.
    pub fn leave(export: &Export) -> Result<(), NfsError> {
        services::leave(export)
    }

    fn ask<T: Send + 'static>(
        &self,
        number: u32,
        body: Writer,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        self.connection.ask(nfs(number), body, |mut answer| {
            status(&mut answer)?;
            read(&mut answer)
        })
    }

    fn limits(&self) -> Result<(u32, u32), Trouble> {
        let (read, write) = self.ask(19, Writer::default().opaque(&self.root), |read| {
            after(read)?;
            let read_max = read.u32()?;
            read.bytes(8)?;
            Ok((read_max, read.u32()?))
        })?;
        // A server must allow 8 KiB (RFC 1813, 2.4), and one that says less is not believed more.
        let bounded = |most: u32| most.clamp(4096, REQUEST_MAX);
        Ok((bounded(read), bounded(write)))
    }

    pub(crate) fn space(&self) -> Result<Space, Trouble> {
        self.ask(18, Writer::default().opaque(&self.root), |read| {
            after(read)?;
            let bytes = [read.u64()?, read.u64()?, read.u64()?];
            Ok(Space { bytes, files: [read.u64()?, read.u64()?] })
        })
    }

    fn access(&self, handle: &Handle, wanted: u32) -> Result<u32, Trouble> {
        self.ask(4, Writer::default().opaque(handle).u32(wanted), |read| {
            after(read)?;
            read.u32()
        })
    }

    /// Returns true if the server allows the access that access(2) asks for. Bits 4, 2 and 1 are
    /// read, write and execute.
    pub(crate) fn may(
        &self,
        handle: &Handle,
        is_directory: bool,
        mask: u32,
    ) -> Result<bool, Trouble> {
        let write = if is_directory { MODIFY | EXTEND | DELETE } else { MODIFY | EXTEND };
        let execute = if is_directory { LOOK_UP } else { EXECUTE };
        let bits = [(4, READ), (2, write), (1, execute)];
        let wanted = bits.iter().filter(|(own, _)| mask & own != 0).fold(0, |all, own| all | own.1);
        // A server omits bits that it does not support; Linux omits DELETE in an export. DELETE is
        // not needed, because a user who may add names may also remove them.
        let needed = wanted & !DELETE;
        Ok(self.access(handle, wanted)? & needed == needed)
    }

    pub(crate) fn attributes(&self, handle: &Handle) -> Result<Attributes, Trouble> {
        self.ask(1, Writer::default().opaque(handle), Attributes::read)
    }

    pub(crate) fn change(&self, handle: &Handle, change: &Change) -> Result<(), Trouble> {
        let body = change.write(Writer::default().opaque(handle)).u32(0);
        self.ask(2, body, pass_change)
    }

    pub(crate) fn look_up(
        &self,
        parent: &Handle,
        name: &OsStr,
    ) -> Result<(Handle, Attributes), Trouble> {
        let (handle, attributes) = self.ask(3, place(parent, name), |read| {
            Ok((Handle::from(read.opaque(HANDLE_MAX)?), after(read)?))
        })?;
        self.complete(handle, attributes)
    }

    fn complete(
        &self,
        handle: Handle,
        attributes: Option<Attributes>,
    ) -> Result<(Handle, Attributes), Trouble> {
        let attributes = attributes.map_or_else(|| self.attributes(&handle), Ok)?;
        Ok((handle, attributes))
    }

    /// Creates a file. If it must be new, an existing file is an error.
    pub(crate) fn create(
        &self,
        (parent, name): (&Handle, &OsStr),
        mode: u32,
        must_be_new: bool,
    ) -> Result<(Handle, Attributes), Trouble> {
        let body = place(parent, name).u32(u32::from(must_be_new));
        self.made(8, body, (parent, name), mode)
    }

    pub(crate) fn make_directory(
        &self,
        (parent, name): (&Handle, &OsStr),
        mode: u32,
    ) -> Result<(Handle, Attributes), Trouble> {
        self.made(9, place(parent, name), (parent, name), mode)
    }

    fn made(
        &self,
        number: u32,
        body: Writer,
        (parent, name): (&Handle, &OsStr),
        mode: u32,
    ) -> Result<(Handle, Attributes), Trouble> {
        let change = Change { mode: Some(mode), ..Change::default() };
        let (handle, attributes) = self.ask(number, change.write(body), |read| {
            let handle = read.optional(|read| read.opaque(HANDLE_MAX).map(Handle::from))?;
            Ok((handle, after(read)?))
        })?;
        match handle {
            Some(handle) => self.complete(handle, attributes),
            None => self.look_up(parent, name),
        }
    }

    pub(crate) fn remove(&self, parent: &Handle, name: &OsStr) -> Result<(), Trouble> {
        self.ask(12, place(parent, name), pass_change)
    }

    pub(crate) fn remove_directory(&self, parent: &Handle, name: &OsStr) -> Result<(), Trouble> {
        self.ask(13, place(parent, name), pass_change)
    }

    pub(crate) fn rename(
        &self,
        from: (&Handle, &OsStr),
        to: (&Handle, &OsStr),
    ) -> Result<(), Trouble> {
        let body = place(from.0, from.1).opaque(to.0).opaque(to.1.as_bytes());
        self.ask(14, body, pass_change)
    }

    pub(crate) fn list(&self, directory: &Handle) -> Result<Vec<Named>, Trouble> {
        let (mut cookie, mut verifier) = (0, [0; 8]);
        let mut names: Vec<Named> = Vec::new();
        loop {
            let body = Writer::default().opaque(directory).u64(cookie).fixed(&verifier);
            let body = body.u32(LISTING / 8).u32(LISTING);
            let (own, mut found, is_end) = self.ask(17, body, listing)?;
            let Some(last) = found.last() else { return Ok(names) };
            // A server that begins again would be listed for ever.
            if last.cookie == cookie {
                return Err(Trouble::Malformed);
            }
            (cookie, verifier) = (last.cookie, own);
            names.append(&mut found);
            if is_end {
                return Ok(names);
            }
        }
    }
}

/// Parses the status of an answer; a status other than success is an error.
pub(crate) fn status(read: &mut Reader<'_>) -> Result<(), Trouble> {
    match read.u32()? {
        0 => Ok(()),
        status => Err(Trouble::Status(status)),
    }
}

fn place(parent: &Handle, name: &OsStr) -> Writer {
    Writer::default().opaque(parent).opaque(name.as_bytes())
}

fn listing(read: &mut Reader<'_>) -> Result<([u8; 8], Vec<Named>, bool), Trouble> {
    after(read)?;
    let mut verifier = [0; 8];
    verifier.copy_from_slice(read.bytes(8)?);
    let mut names = Vec::new();
    while read.bool()? {
        let number = read.u64()?;
        let name = read.opaque(NAME_MAX)?.to_vec();
        let cookie = read.u64()?;
        let attributes = after(read)?;
        read.optional(|read| read.opaque(HANDLE_MAX).map(drop))?;
        names.push(Named { number, name, attributes, cookie });
    }
    Ok((verifier, names, read.bool()?))
}
