use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use machine::{IoError, IoRequest, Operation};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use units::Nanos;

use crate::content::{Bad, Content};
use crate::files::Files;
use crate::judge::{Change, Judge, Seen, Verdict};
use crate::schedule::Op;
use crate::service::{Reply, Service};
use crate::space::Space;
use crate::tree::{Body, Gone, Tree};
use crate::truth::{Event, Line, Truth};

/// How long the kernel may keep names and sizes: all changes go through it.
const KEPT: Duration = Duration::from_secs(1);
/// Most bytes of a request; the kernel splits larger ones.
const REQUEST_MAX: u32 = 1 << 20;
/// Requests under way before the kernel lets their senders wait. Our choice: the engine's most.
const BACKGROUND: u16 = 4096;
const BLOCK: u32 = 4096;

/// Everything a lab is made of, shared by the threads that serve it. Locks are taken in the order
/// content, space, tree, judge.
#[derive(Debug)]
pub struct Lab {
    pub service: Service<Sent>,
    files: Files,
    space: Mutex<Space>,
    tree: Mutex<Tree>,
    judge: Mutex<Judge>,
    has_faults: bool,
    truth: Truth,
    pub faults: AtomicU64,
    pub wrong_reads: AtomicU64,
    /// Names of open directories as they were when they were opened.
    listings: Mutex<HashMap<u64, Vec<(u64, FileType, OsString)>>>,
    last_listing: AtomicU64,
}

/// The file system, as FUSE wants it.
#[derive(Debug, Clone)]
pub struct LabFs(pub Arc<Lab>);

/// What is left to send when the model has answered.
#[derive(Debug)]
pub struct Sent {
    lab: Arc<Lab>,
    answer: Reserved,
    failure: Option<i32>,
    about: Option<About>,
}

/// What the truth says of a request.
#[derive(Debug, Clone)]
struct About {
    op: Op,
    path: String,
    offset: u64,
    length: u64,
}

#[derive(Debug)]
enum Reserved {
    Data(ReplyData, Vec<u8>),
    Written(ReplyWrite, u32),
    Done(ReplyEmpty),
}

impl Reply for Sent {
    fn send(self, now: Nanos, result: Result<(), IoError>, held: Option<usize>) {
        if let (Some(rule), Some(about)) = (held, &self.about) {
            let detail = format!("held until {now}");
            self.lab.injected(rule, about, now, Some(detail));
        }
        let failure = self.failure.or(result.err().map(|_| Errno::IO.raw_os_error()));
        match (self.answer, failure.map(fuser::Errno::from_i32)) {
            (Reserved::Data(reply, bytes), None) => reply.data(&bytes),
            (Reserved::Written(reply, length), None) => reply.written(length),
            (Reserved::Done(reply), None) => reply.ok(),
            (Reserved::Data(reply, _), Some(error)) => reply.error(error),
            (Reserved::Written(reply, _), Some(error)) => reply.error(error),
            (Reserved::Done(reply), Some(error)) => reply.error(error),
        }
    }
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

fn errno(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error.raw_os_error())
}

fn of_io(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

impl Lab {
    pub fn new(
        service: Service<Sent>,
        (files, space): (Files, Space),
        (judge, truth): (Judge, Truth),
        owner: (u32, u32),
    ) -> Self {
        Self {
            service,
            files,
            space: Mutex::new(space),
            tree: Mutex::new(Tree::new(owner)),
            has_faults: !judge.is_idle(),
            judge: Mutex::new(judge),
            truth,
            faults: AtomicU64::new(0),
            wrong_reads: AtomicU64::new(0),
            listings: Mutex::default(),
            last_listing: AtomicU64::new(0),
        }
    }

    fn content(&self, file: INodeNo) -> Result<Arc<Mutex<Content>>, Errno> {
        held(&self.tree).node(file.0)?.content().map(Arc::clone)
    }

    /// What the rules say of a request; writes down what is certain now. A hang is certain when
    /// it has held an answer.
    fn judged(
        &self,
        file: INodeNo,
        op: Op,
        (offset, length, size): (u64, u64, u64),
    ) -> (Verdict, Option<About>) {
        if !self.has_faults {
            return (Verdict::default(), None);
        }
        let path = held(&self.tree).path(file.0);
        let now = self.service.now();
        let seen = Seen { op, path: &path, offset, length, size };
        let verdict = held(&self.judge).verdict(now, &seen);
        let about = About { op, path, offset, length };
        for rule in &verdict.delays {
            self.injected(*rule, &about, now, None);
        }
        if let Some((rule, change)) = &verdict.change {
            self.injected(*rule, &about, now, Some(words(change)));
        }
        (verdict, Some(about))
    }

    fn injected(&self, rule: usize, about: &About, now: Nanos, detail: Option<String>) {
        self.faults.fetch_add(1, Ordering::Relaxed);
        self.truth.write(&Line { detail, ..self.line(Event::Injected, rule, about, now) });
    }

    fn returned(&self, bad: &[Bad], about: &About) {
        let now = self.service.now();
        self.wrong_reads.fetch_add(u64::from(!bad.is_empty()), Ordering::Relaxed);
        for bad in bad {
            self.truth.write(&Line {
                bad_offset: Some(bad.offset),
                bad_length: Some(bad.length),
                ..self.line(Event::Returned, bad.rule, about, now)
            });
        }
    }

    fn line(&self, event: Event, rule: usize, about: &About, now: Nanos) -> Line {
        let fault = held(&self.judge).kind(rule);
        let About { op, path, offset, length } = about.clone();
        let (t_ns, rule) = (now.0, rule + 1);
        let (detail, bad_offset, bad_length) = (None, None, None);
        Line { t_ns, event, fault, rule, op, path, offset, length, detail, bad_offset, bad_length }
    }

    fn submit(
        self: &Arc<Self>,
        parts: &[(usize, IoRequest)],
        (verdict, about): (Verdict, Option<About>),
        answer: Reserved,
    ) {
        let failure = match verdict.change {
            Some((_, Change::Error(error))) => Some(error),
            _ => None,
        };
        let sent = Sent { lab: Arc::clone(self), answer, failure, about };
        self.service.submit(parts, verdict.hold, sent);
    }

    fn read(self: &Arc<Self>, file: INodeNo, (offset, length): (u64, u32), reply: ReplyData) {
        let found = self.content(file).and_then(|content| {
            let mut content = held(&content);
            let size = content.size().map_err(|error| of_io(&error))?;
            let length = u64::from(length).min(size.saturating_sub(offset));
            let judged = self.judged(file, Op::Read, (offset, length, size));
            let read = content.read((offset, length), judged.0.change);
            let (bytes, bad) = read.map_err(|error| of_io(&error))?;
            let is_error = matches!(judged.0.change, Some((_, Change::Error(_))));
            if let (Some(about), false) = (&judged.1, is_error) {
                self.returned(&bad, about);
            }
            let parts = held(&self.space).parts(&content.map, Operation::Read, (offset, length));
            Ok((parts, judged, bytes))
        });
        match found {
            Ok((parts, judged, bytes)) => self.submit(&parts, judged, Reserved::Data(reply, bytes)),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn write(self: &Arc<Self>, file: INodeNo, offset: u64, data: &[u8], reply: ReplyWrite) {
        let length = data.len() as u64;
        let written = self.content(file).and_then(|content| {
            let mut content = held(&content);
            let mut space = held(&self.space);
            space.ensure(&mut content.map, offset, length).map_err(|_| Errno::NOSPC)?;
            let parts = space.parts(&content.map, Operation::Write, (offset, length));
            drop(space);
            let size = content.size().map_err(|error| of_io(&error))?;
            let judged = self.judged(file, Op::Write, (offset, length, size));
            let written = content.write(offset, data, judged.0.change);
            Ok((parts, judged, written.map_err(|error| of_io(&error))?))
        });
        match written {
            Ok((parts, judged, written)) => {
                if let Ok(node) = held(&self.tree).node_mut(file.0) {
                    node.modified = SystemTime::now();
                }
                let written = u32::try_from(written).unwrap_or(u32::MAX);
                self.submit(&parts, judged, Reserved::Written(reply, written));
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn sync(self: &Arc<Self>, file: INodeNo, reply: ReplyEmpty) {
        let judged = self.judged(file, Op::Flush, (0, 0, 0));
        let parts = match self.content(file) {
            Ok(content) => held(&self.space).parts(&held(&content).map, Operation::Flush, (0, 0)),
            // A directory: names are durable when they are given.
            Err(_) => Vec::new(),
        };
        self.submit(&parts, judged, Reserved::Done(reply));
    }

    fn allocate(
        &self,
        file: INodeNo,
        (offset, length): (u64, u64),
        mode: i32,
    ) -> Result<(), Errno> {
        let flags = FallocateFlags::from_bits_retain(mode.unsigned_abs());
        let content = self.content(file)?;
        let mut content = held(&content);
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if flags == punch {
            content.forget(offset, offset.saturating_add(length));
            return fallocate(&content.file, punch, offset, length);
        }
        if !FallocateFlags::KEEP_SIZE.contains(flags) {
            return Err(Errno::OPNOTSUPP);
        }
        held(&self.space).ensure(&mut content.map, offset, length).map_err(|_| Errno::NOSPC)?;
        let size = content.size().map_err(|error| of_io(&error))?;
        if flags.is_empty() && size < offset + length {
            content.resize(offset + length).map_err(|error| of_io(&error))?;
        }
        Ok(())
    }

    fn resize(&self, file: INodeNo, size: u64) -> Result<(), Errno> {
        let content = self.content(file)?;
        let mut content = held(&content);
        let mut space = held(&self.space);
        if size > space.size().get() {
            return Err(Errno::FBIG);
        }
        space.cut(&mut content.map, size);
        content.resize(size).map_err(|error| of_io(&error))
    }

    /// Gives back the addresses of files that nobody can reach any more.
    fn gone(&self, gone: Gone) {
        for content in gone {
            let mut content = held(&content);
            held(&self.space).cut(&mut content.map, 0);
        }
    }

    fn attributes(&self, number: u64) -> Result<FileAttr, Errno> {
        let (content, mut attributes) = {
            let tree = held(&self.tree);
            let node = tree.node(number)?;
            let is_directory = node.names().is_ok();
            let kind = if is_directory { FileType::Directory } else { FileType::RegularFile };
            let attributes = FileAttr {
                ino: INodeNo(number),
                size: 0,
                blocks: 0,
                atime: node.accessed,
                mtime: node.modified,
                ctime: node.modified,
                crtime: node.modified,
                kind,
                perm: u16::try_from(node.mode).unwrap_or(0o600),
                nlink: if is_directory { 2 } else { u32::from(node.is_named) },
                uid: node.owner.0,
                gid: node.owner.1,
                rdev: 0,
                blksize: BLOCK,
                flags: 0,
            };
            (node.content().map(Arc::clone).ok(), attributes)
        };
        if let Some(content) = content {
            let content = held(&content);
            attributes.size = content.size().map_err(|error| of_io(&error))?;
            attributes.blocks = content.map.held() / 512;
        }
        Ok(attributes)
    }

    fn entry(&self, number: Result<u64, Errno>) -> Result<FileAttr, Errno> {
        let attributes = self.attributes(number?)?;
        held(&self.tree).looked_up(attributes.ino.0);
        Ok(attributes)
    }

    fn create(&self, at: (u64, &OsStr), mode: u32, owner: (u32, u32)) -> Result<FileAttr, Errno> {
        let file = self.files.make().map_err(|error| of_io(&error))?;
        let body = Body::File(Arc::new(Mutex::new(Content::new(file))));
        let number = held(&self.tree).add(at, body, (mode, owner));
        self.entry(number)
    }

    fn unlink(&self, parent: u64, name: &OsStr) -> Result<(), Errno> {
        let (number, is_open) = {
            let tree = held(&self.tree);
            let number = tree.find(parent, name)?;
            tree.node(number)?.content()?;
            (number, tree.node(number)?.opens > 0)
        };
        let is_hidden = is_open && {
            let (verdict, _) = self.judged(INodeNo(number), Op::Unlink, (0, 0, 0));
            verdict.change.is_some()
        };
        let mut tree = held(&self.tree);
        if is_hidden {
            return tree.hide(parent, name).map(drop);
        }
        let gone = tree.remove(parent, name)?;
        drop(tree);
        self.gone(gone);
        Ok(())
    }

    fn set(&self, number: u64, change: &SetAttributes) -> Result<FileAttr, Errno> {
        if let Some(size) = change.size {
            self.resize(INodeNo(number), size)?;
        }
        {
            let mut tree = held(&self.tree);
            let node = tree.node_mut(number)?;
            node.mode = change.mode.map_or(node.mode, |mode| mode & 0o7777);
            node.owner.0 = change.uid.unwrap_or(node.owner.0);
            node.owner.1 = change.gid.unwrap_or(node.owner.1);
            node.accessed = change.accessed.map_or(node.accessed, time);
            let modified = change.modified.or(change.size.map(|_| TimeOrNow::Now));
            node.modified = modified.map_or(node.modified, time);
        }
        self.attributes(number)
    }

    /// Keeps the names of a directory as they are now.
    fn list(&self, directory: u64) -> Result<FileHandle, Errno> {
        let tree = held(&self.tree);
        let node = tree.node(directory)?;
        let kind_of = |number: u64| match tree.node(number).map(|node| &node.body) {
            Ok(Body::Directory(_)) => FileType::Directory,
            _ => FileType::RegularFile,
        };
        let own = [(directory, "."), (node.parent, "..")];
        let own = own.map(|(number, name)| (number, FileType::Directory, name.into()));
        let names = node.names()?.iter();
        let names = names.map(|(name, number)| (*number, kind_of(*number), name.clone()));
        let listing = own.into_iter().chain(names).collect();
        let handle = self.last_listing.fetch_add(1, Ordering::Relaxed) + 1;
        held(&self.listings).insert(handle, listing);
        Ok(FileHandle(handle))
    }
}

struct SetAttributes {
    mode: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
    size: Option<u64>,
    accessed: Option<TimeOrNow>,
    modified: Option<TimeOrNow>,
}

fn time(time: TimeOrNow) -> SystemTime {
    match time {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    }
}

/// What was done, for the truth.
fn words(change: &Change) -> String {
    match change {
        Change::Error(number) => io::Error::from_raw_os_error(*number).to_string(),
        Change::Short(kept) => format!("{kept} B answered"),
        Change::Lost => String::from("nothing written"),
        Change::Torn(kept) => format!("{kept} B written"),
        Change::Misdirected(to) => format!("written at {to}"),
        Change::Stale => String::from("the old bytes are read once more"),
        Change::BitFlip { byte, bit } => format!("bit {bit} of byte {byte} of the request"),
        Change::SillyRename => String::from("it stays under another name"),
    }
}

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
            // State files are mapped; Linux 6.6 and later.
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

    /// The end of a descriptor; what is durable is another question ([`Self::fsync`]).
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
