use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs,
    ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::OFlags;

use crate::attributes::{Attributes, Change};
use crate::client::{Client, Named};
use crate::error::Trouble;
use crate::nodes::{Handle, Nodes, ROOT};
use crate::transfer::{Reading, Transfers, errno};

/// Time for which the kernel may cache names and sizes. Our choice: only the run itself changes the
/// files that it created.
const KEPT: Duration = Duration::from_secs(1);
/// Maximum number of requests in flight before the kernel blocks the senders. Our choice: the
/// engine's limit.
const BACKGROUND: u16 = 4096;
/// Unit in which free space is reported, in bytes.
const BLOCK: u32 = 4096;
/// Error for a file that this client does not know any more.
const STALE: Trouble = Trouble::Status(70);

/// Export as a FUSE file system.
pub(crate) struct ExportFs {
    client: Arc<Client>,
    transfers: Arc<Transfers>,
    nodes: Mutex<Nodes>,
    listings: Mutex<BTreeMap<u64, Vec<Named>>>,
    last_listing: AtomicU64,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(result: Result<(), Trouble>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(trouble) => reply.error(errno(trouble)),
    }
}

fn answer_entry(result: Result<FileAttr, Trouble>, reply: ReplyEntry) {
    match result {
        Ok(shown) => reply.entry(&KEPT, &shown, Generation(0)),
        Err(trouble) => reply.error(errno(trouble)),
    }
}

/// Returns the flags of opened files: no page cache on this side. So the load reaches the server,
/// and so does I/O on programs' own files.
const fn opened() -> FopenFlags {
    FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES)
}

impl ExportFs {
    pub fn new(client: Arc<Client>) -> io::Result<Self> {
        let transfers = Transfers::new(Arc::clone(&client))?;
        let nodes = Mutex::new(Nodes::new(Handle::clone(&client.root)));
        let listings = Mutex::default();
        Ok(Self { client, transfers, nodes, listings, last_listing: AtomicU64::new(0) })
    }

    fn handle(&self, node: INodeNo) -> Result<Handle, Trouble> {
        held(&self.nodes).handle(node.0).ok_or(STALE)
    }

    /// Registers a file in the table of nodes, and returns its attributes for the kernel.
    fn told(&self, (handle, attributes): (Handle, Attributes)) -> FileAttr {
        let number = held(&self.nodes).tell(&handle, attributes.number);
        attributes.shown(number, BLOCK)
    }

    fn found(&self, parent: INodeNo, name: &OsStr) -> Result<FileAttr, Trouble> {
        let parent = self.handle(parent)?;
        Ok(self.told(self.client.look_up(&parent, name)?))
    }

    fn shown(&self, node: INodeNo) -> Result<FileAttr, Trouble> {
        let attributes = self.client.attributes(&self.handle(node)?)?;
        Ok(attributes.shown(node.0, BLOCK))
    }

    fn made(
        &self,
        (parent, name): (INodeNo, &OsStr),
        mode: u32,
        must_be_new: bool,
    ) -> Result<FileAttr, Trouble> {
        let parent = self.handle(parent)?;
        Ok(self.told(self.client.create((&parent, name), mode, must_be_new)?))
    }

    fn may(&self, node: INodeNo, mask: AccessFlags) -> Result<bool, Trouble> {
        let handle = self.handle(node)?;
        let is_directory =
            node.0 == ROOT || self.client.attributes(&handle)?.kind == FileType::Directory;
        let bits = [(AccessFlags::R_OK, 4), (AccessFlags::W_OK, 2), (AccessFlags::X_OK, 1)];
        let mask = bits.iter().filter(|(own, _)| mask.contains(*own)).map(|(_, bit)| bit).sum();
        self.client.may(&handle, is_directory, mask)
    }

    /// Reads the names of a directory and stores them under a new number. `.` and `..` are included
    /// if the server lists them.
    fn listed(&self, directory: INodeNo) -> Result<u64, Trouble> {
        let names = self.client.list(&self.handle(directory)?)?;
        let number = self.last_listing.fetch_add(1, Ordering::Relaxed) + 1;
        held(&self.listings).insert(number, names);
        Ok(number)
    }
}

impl Filesystem for ExportFs {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = [
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_PARALLEL_DIROPS,
            // Programs map state files; Linux 6.6 and later.
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
        ];
        for capability in wanted {
            // A kernel without one of them is slower, or cannot map files.
            let _ = config.add_capabilities(capability);
        }
        let _ = config.set_max_write(self.client.facts().write_max);
        let _ = config.set_max_background(BACKGROUND);
        let _ = config.set_congestion_threshold(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer_entry(self.found(parent, name), reply);
    }

    fn forget(&self, _: &Request, node: INodeNo, times: u64) {
        held(&self.nodes).forget(node.0, times);
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.shown(node) {
            Ok(shown) => reply.attr(&KEPT, &shown),
            Err(trouble) => reply.error(errno(trouble)),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        node: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = Change { mode, user, group, size, accessed, modified };
        let changed = self.handle(node).and_then(|handle| self.client.change(&handle, &change));
        match changed.and_then(|()| self.shown(node)) {
            Ok(shown) => reply.attr(&KEPT, &shown),
            Err(trouble) => reply.error(errno(trouble)),
        }
    }

    fn access(&self, _: &Request, node: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let allowed = self.may(node, mask);
        answer(allowed.and_then(|may| if may { Ok(()) } else { Err(Trouble::Status(13)) }), reply);
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let made = self
            .handle(parent)
            .and_then(|parent| self.client.make_directory((&parent, name), mode & !umask));
        answer_entry(made.map(|made| self.told(made)), reply);
    }

    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        if !rustix::fs::FileType::from_raw_mode(mode).is_file() {
            return reply.error(Errno::EPERM);
        }
        answer_entry(self.made((parent, name), mode & !umask, true), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed = self.handle(parent).and_then(|parent| self.client.remove(&parent, name));
        answer(removed, reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let parent = self.handle(parent);
        answer(parent.and_then(|parent| self.client.remove_directory(&parent, name)), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let renamed = self.handle(parent).and_then(|parent| {
            let new_parent = self.handle(new_parent)?;
            self.client.rename((&parent, name), (&new_parent, new_name))
        });
        answer(renamed, reply);
    }

    fn open(&self, _: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.handle(node) {
            Ok(_) => reply.opened(FileHandle(0), opened()),
            Err(trouble) => reply.error(errno(trouble)),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let must_be_new = has(flags, OFlags::EXCL);
        match self.made((parent, name), mode & !umask, must_be_new) {
            Ok(shown) => reply.created(&KEPT, &shown, Generation(0), FileHandle(0), opened()),
            Err(trouble) => reply.error(errno(trouble)),
        }
    }

    fn read(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.handle(node) {
            Ok(handle) => {
                let read = Vec::new();
                self.transfers.read(Reading { handle, offset, left: size, read, reply });
            }
            Err(trouble) => reply.error(errno(trouble)),
        }
    }

    fn write(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.handle(node) {
            Ok(handle) => {
                let is_synchronous = has(flags.0, OFlags::DSYNC);
                self.transfers.write(&handle, (offset, data), is_synchronous, reply);
            }
            Err(trouble) => reply.error(errno(trouble)),
        }
    }

    /// Does nothing at the close of a descriptor, because [`Self::fsync`] makes data durable.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.handle(node) {
            Ok(handle) => self.transfers.flush(&handle, reply),
            Err(trouble) => reply.error(errno(trouble)),
        }
    }

    /// Does nothing: a server makes names stable before it answers (RFC 1813, 4.8).
    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn opendir(&self, _: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.listed(node) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(trouble) => reply.error(errno(trouble)),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let listings = held(&self.listings);
        let Some(listing) = listings.get(&handle.0) else { return reply.error(Errno::EBADF) };
        let rest = (1..).zip(listing).skip(usize::try_from(offset).unwrap_or(usize::MAX));
        for (next, named) in rest {
            let name = OsString::from_vec(named.name.clone());
            let kind = named.attributes.map_or(FileType::RegularFile, |own| own.kind);
            if reply.add(INodeNo(named.number), next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        held(&self.listings).remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        match self.client.space() {
            Ok(space) => {
                let [all, free, usable] = space.bytes.map(|bytes| bytes / u64::from(BLOCK));
                let [files, free_files] = space.files;
                reply.statfs(all, free, usable, files, free_files, BLOCK, 255, BLOCK);
            }
            Err(trouble) => reply.error(errno(trouble)),
        }
    }
}

fn has(flags: i32, flag: OFlags) -> bool {
    i32::try_from(flag.bits()).is_ok_and(|flag| flags & flag == flag)
}
