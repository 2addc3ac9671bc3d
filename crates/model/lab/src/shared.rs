use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use fuser::{
    FileAttr, FileHandle, FileType, INodeNo, ReplyData, ReplyEmpty, ReplyWrite, TimeOrNow,
};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use state_machine::{IoRequest, Operation};
use units::Nanos;

use crate::content::{Bad, Content};
use crate::files::Files;
use crate::judge::{Change, Judge, JudgedRequest, Verdict};
use crate::schedule::Op;
use crate::sent::{About, Reserved, Sent};
use crate::service::Service;
use crate::space::Space;
use crate::tree::{Body, Gone, Tree};
use crate::truth::{Event, Line, Truth};

/// Reported block size, which is also the smallest unit of direct I/O that Tilemark assumes.
pub const BLOCK: u32 = 4096;

/// State of a lab, shared by its threads. Locks are taken in the order content, space, tree, judge.
#[derive(Debug)]
pub struct Lab {
    /// Model, with the sender of its answers.
    pub service: Service<Sent>,
    files: Files,
    /// Addresses of files.
    pub space: Mutex<Space>,
    /// Directories and names.
    pub tree: Mutex<Tree>,
    judge: Mutex<Judge>,
    has_faults: bool,
    truth: Truth,
    /// Number of faults.
    pub faults: AtomicU64,
    /// Reads answered with wrong bytes.
    pub wrong_reads: AtomicU64,
    /// Names of each open directory at the time of opening.
    pub listings: Mutex<HashMap<u64, Listing>>,
    last_listing: AtomicU64,
}

/// Entries of a directory: number, kind and name.
pub type Listing = Vec<(u64, FileType, OsString)>;

/// Attributes to set; `None` leaves an attribute unchanged.
pub struct SetAttributes {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub accessed: Option<TimeOrNow>,
    pub modified: Option<TimeOrNow>,
}

/// Locks a mutex, even if a holder panicked.
pub fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts an error number for FUSE.
pub fn errno(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error.raw_os_error())
}

fn of_io(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

impl Lab {
    /// Creates an empty lab; the root directory belongs to this owner.
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

    /// Applies the rules to a request, and records the faults that are already certain. A hang is
    /// certain only after it has delayed an answer.
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
        let seen = JudgedRequest { op, path: &path, offset, length, size };
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

    /// Records a fault.
    pub fn injected(&self, rule: usize, about: &About, now: Nanos, detail: Option<String>) {
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

    /// Reads data, and answers at the array's time.
    pub fn read(self: &Arc<Self>, file: INodeNo, (offset, length): (u64, u32), reply: ReplyData) {
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

    /// Writes data, and answers at the array's time.
    pub fn write(self: &Arc<Self>, file: INodeNo, offset: u64, data: &[u8], reply: ReplyWrite) {
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

    /// Flushes a file's data in the array.
    pub fn sync(self: &Arc<Self>, file: INodeNo, reply: ReplyEmpty) {
        let judged = self.judged(file, Op::Flush, (0, 0, 0));
        let parts = match self.content(file) {
            Ok(content) => {
                let content = held(&content);
                held(&self.space).parts(&content.map, Operation::Flush, (0, 0))
            }
            // For a directory: names are always durable.
            Err(_) => Vec::new(),
        };
        self.submit(&parts, judged, Reserved::Done(reply));
    }

    /// Allocates or frees addresses of a range; other modes are refused.
    pub fn allocate(
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

    /// Frees the addresses of files that can no longer be reached.
    pub fn gone(&self, gone: Gone) {
        for content in gone {
            let mut content = held(&content);
            held(&self.space).cut(&mut content.map, 0);
        }
    }

    /// Returns the attributes of a file or directory.
    pub fn attributes(&self, number: u64) -> Result<FileAttr, Errno> {
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

    /// Returns attributes as an answer to a lookup, which the kernel counts.
    pub fn entry(&self, number: Result<u64, Errno>) -> Result<FileAttr, Errno> {
        let attributes = self.attributes(number?)?;
        held(&self.tree).looked_up(attributes.ino.0);
        Ok(attributes)
    }

    /// Creates a file.
    pub fn create(
        &self,
        at: (u64, &OsStr),
        mode: u32,
        owner: (u32, u32),
    ) -> Result<FileAttr, Errno> {
        let file = self.files.make().map_err(|error| of_io(&error))?;
        let body = Body::File(Arc::new(Mutex::new(Content::new(file))));
        let number = held(&self.tree).add(at, body, (mode, owner));
        self.entry(number)
    }

    /// Removes the name of a file, or hides the file.
    pub fn unlink(&self, parent: u64, name: &OsStr) -> Result<(), Errno> {
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

    /// Changes attributes.
    pub fn set(&self, number: u64, change: &SetAttributes) -> Result<FileAttr, Errno> {
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

    /// Stores the present names of a directory.
    pub fn list(&self, directory: u64) -> Result<FileHandle, Errno> {
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

fn time(time: TimeOrNow) -> SystemTime {
    match time {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    }
}

/// Describes a change, for the truth file.
fn words(change: &Change) -> String {
    match change {
        Change::Error(number) => io::Error::from_raw_os_error(*number).to_string(),
        Change::Short(kept) => format!("{kept} B answered"),
        Change::Lost => String::from("nothing written"),
        Change::Torn(kept) => format!("{kept} B written"),
        Change::Misdirected(to) => format!("written at {to}"),
        Change::Stale => String::from("the old bytes are returned once more"),
        Change::BitFlip { byte, bit } => format!("bit {bit} of byte {byte} of the request"),
        Change::SillyRename => String::from("the data stay under another name"),
    }
}
