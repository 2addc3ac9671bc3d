use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use rustix::io::Errno;

use crate::shared::{BLOCK, Lab, SetAttributes, errno, held};
use crate::tree::Body;

/// Time for which the kernel may cache names and sizes. It is safe because all changes go through
/// the kernel.
const KEPT: Duration = Duration::from_secs(1);
/// Maximum size of a request, in bytes; the kernel splits larger ones.
const REQUEST_MAX: u32 = 1 << 20;
/// Maximum number of requests in flight before the kernel blocks further ones. Our choice: the
/// engine's limit.
const BACKGROUND: u16 = 4096;

/// File system for FUSE.
#[derive(Debug, Clone)]
pub struct LabFs(pub Arc<Lab>);

const fn opened() -> FopenFlags {
    FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES)
}

fn answer(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

fn answer_entry(result: Result<FileAttr, Errno>, reply: ReplyEntry) {
    match result {
        Ok(attributes) => reply.entry(&KEPT, &attributes, Generation(0)),
        Err(error) => reply.error(errno(error)),
    }
}

fn answer_attributes(result: Result<FileAttr, Errno>, reply: ReplyAttr) {
    match result {
        Ok(attributes) => reply.attr(&KEPT, &attributes),
        Err(error) => reply.error(errno(error)),
    }
}

impl Filesystem for LabFs {
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
        let _ = config.set_max_write(REQUEST_MAX);
        let _ = config.set_max_background(BACKGROUND);
        let _ = config.set_congestion_threshold(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let number = held(&self.0.tree).find(parent.0, name);
        answer_entry(self.0.entry(number), reply);
    }

    fn forget(&self, _: &Request, node: INodeNo, times: u64) {
        let gone = held(&self.0.tree).forgotten(node.0, times);
        self.0.gone(gone);
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer_attributes(self.0.attributes(node.0), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        node: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
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
        let change = SetAttributes { mode, uid, gid, size, accessed, modified };
        answer_attributes(self.0.set(node.0, &change), reply);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let body = Body::Directory(BTreeMap::new());
        let owner = (request.uid(), request.gid());
        let number = held(&self.0.tree).add((parent.0, name), body, (mode & !umask, owner));
        answer_entry(self.0.entry(number), reply);
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        if !rustix::fs::FileType::from_raw_mode(mode).is_file() {
            return reply.error(fuser::Errno::EPERM);
        }
        let owner = (request.uid(), request.gid());
        answer_entry(self.0.create((parent.0, name), mode & !umask, owner), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(self.0.unlink(parent.0, name), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut tree = held(&self.0.tree);
        let is_empty = tree.find(parent.0, name).and_then(|number| {
            let names = tree.node(number)?.names()?;
            if names.is_empty() { Ok(()) } else { Err(Errno::NOTEMPTY) }
        });
        answer(is_empty.and_then(|()| tree.remove(parent.0, name)).map(drop), reply);
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
        if !RenameFlags::RENAME_NOREPLACE.contains(flags) {
            return reply.error(fuser::Errno::EINVAL);
        }
        let keep = flags.contains(RenameFlags::RENAME_NOREPLACE);
        let (from, to) = ((parent.0, name), (new_parent.0, new_name));
        let renamed = held(&self.0.tree).rename(from, to, keep);
        answer(renamed.map(|gone| self.0.gone(gone)), reply);
    }

    fn open(&self, _: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let result = held(&self.0.tree).opened(node.0);
        match result {
            Ok(()) => reply.opened(FileHandle(0), opened()),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let owner = (request.uid(), request.gid());
        let created = self.0.create((parent.0, name), mode & !umask, owner);
        let created = created.and_then(|attributes| {
            held(&self.0.tree).opened(attributes.ino.0).map(|()| attributes)
        });
        match created {
            Ok(attributes) => {
                reply.created(&KEPT, &attributes, Generation(0), FileHandle(0), opened());
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn release(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        let gone = held(&self.0.tree).closed(node.0);
        self.0.gone(gone);
        reply.ok();
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
        self.0.read(node, (offset, size), reply);
    }

    fn write(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.0.write(node, offset, data, reply);
    }

    /// Handles the close of a descriptor. It does not make data durable; [`Self::fsync`] does.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.0.sync(node, reply);
    }

    fn fsyncdir(&self, _: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.0.sync(node, reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        answer(self.0.allocate(node, (offset, length), mode), reply);
    }

    fn opendir(&self, _: &Request, node: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.0.list(node.0) {
            Ok(handle) => reply.opened(handle, FopenFlags::empty()),
            Err(error) => reply.error(errno(error)),
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
        let listings = held(&self.0.listings);
        let Some(listing) = listings.get(&handle.0) else {
            return reply.error(fuser::Errno::EBADF);
        };
        let rest = (1..).zip(listing).skip(usize::try_from(offset).unwrap_or(usize::MAX));
        for (next, (number, kind, name)) in rest {
            if reply.add(INodeNo(*number), next, *kind, name) {
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
        held(&self.0.listings).remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let space = held(&self.0.space);
        let blocks = |bytes: u64| bytes / u64::from(BLOCK);
        let (all, free) = (blocks(space.size().get()), blocks(space.free().get()));
        reply.statfs(all, free, free, 0, 0, BLOCK, 255, BLOCK);
    }
}
