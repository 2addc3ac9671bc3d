mod open;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use nbd::{Abilities, BlockSizes, Code, Export, ExportError, Operation};
use state_machine::{IoId, Slab};

pub use self::open::{ExclusiveFile, hold};
use crate::order::{Order, Span};
use crate::{Action, Buffer, Disk, Effects, Io, OpenError, Request, Service};

/// Mode of access to a file or device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Access {
    /// True if the disk may not be written.
    pub read_only: bool,
    /// True to use the page cache even if direct I/O is possible.
    pub buffered: bool,
}

/// Disk on a file or block device, without a cache. A write is answered when the kernel has
/// completed it, a flush when fdatasync has completed.
///
/// A failed flush may have lost writes, and a repeated fdatasync cannot detect that. So after one
/// failure every flush of this disk fails.
#[derive(Debug)]
pub struct FileDisk {
    export: Export,
    file: Arc<OwnedFd>,
    is_direct: bool,
    active: Slab<Active>,
    order: Order<u32>,
    has_lost: bool,
}

#[derive(Debug)]
struct Active {
    request: Request,
    stage: Stage,
}

/// Progress of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A read or write, with the number of bytes done.
    Moving(u32),
    /// A trim or zeroing by `fallocate`.
    Allocating,
    /// Zeroing by writes, because the file system cannot zero by `fallocate`; with the number of
    /// bytes done.
    Zeroing(u32),
    /// A flush, on its own or after a zeroing or trim with FUA.
    Syncing,
}

/// Maximum size of a request, in bytes; the usual limit of the protocol.
const REQUEST_MAX: u32 = 32 << 20;
/// Length of one write of zeroes, in bytes.
const ZEROES: u32 = 1 << 20;

impl FileDisk {
    /// Opens an existing file or device exclusively, under this name for clients. A device is
    /// opened with `O_EXCL`, as a mount does. A file is locked. The lock lasts until the last write
    /// has completed, even if the server was killed.
    ///
    /// # Errors
    /// If the path does not exist, is not a disk, or is in use; if the size is not a multiple of
    /// the block size.
    pub fn open(name: &str, path: &Path, access: Access) -> Result<Self, OpenError> {
        let ExclusiveFile { file, size, alignment } = hold(path, access)?;
        let export = offer(name, size, alignment, access)
            .map_err(|source| OpenError::Export { path: path.to_owned(), source })?;
        Ok(Self {
            export,
            file: Arc::new(file.into()),
            is_direct: alignment.is_some(),
            active: Slab::new(),
            order: Order::new(),
            has_lost: false,
        })
    }

    /// Creates a disk on a file that the caller has opened and locked.
    #[must_use]
    pub fn over(export: Export, file: Arc<OwnedFd>) -> Self {
        let (active, order) = (Slab::new(), Order::new());
        Self { export, file, is_direct: false, active, order, has_lost: false }
    }

    /// Returns true if no request is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.active.len() == 0
    }

    /// Returns true if I/O bypasses the page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    fn start(&mut self, key: u32, effects: &mut Effects) {
        let request = &self.active[key].request;
        let (offset, length) = (request.offset, u64::from(request.length));
        let allocate = |mode| (Stage::Allocating, Action::Allocate { mode, offset, length });
        let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let zero = libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE;
        let (stage, action) = match request.operation {
            Operation::Read => (Stage::Moving(0), Action::Read { offset, skip: 0 }),
            Operation::Write { fua } => {
                (Stage::Moving(0), Action::Write { offset, skip: 0, durable: fua })
            }
            Operation::Trim { .. } => allocate(punch),
            Operation::WriteZeroes { no_hole, .. } => allocate(if no_hole { zero } else { punch }),
            Operation::Flush => (Stage::Syncing, Action::Flush),
            Operation::Cache => unreachable!("the export does not offer this operation"),
        };
        let data = std::mem::replace(&mut self.active[key].request.data, Buffer::none());
        self.ask(key, stage, action, data, effects);
    }

    fn ask(&mut self, key: u32, stage: Stage, action: Action, data: Buffer, effects: &mut Effects) {
        self.active[key].stage = stage;
        effects.io(Io { id: IoId(key), file: Arc::clone(&self.file), action, data });
    }

    /// Continues a read or write after `now` bytes were moved. If no bytes were moved, the file
    /// became shorter. This is an error and never reads as zeroes.
    fn moved(&mut self, key: u32, before: u32, now: u32, data: Buffer, effects: &mut Effects) {
        let request = &self.active[key].request;
        let skip = before + now;
        if now == 0 || skip >= request.length {
            let result = if skip >= request.length { Ok(()) } else { Err(Code::Io) };
            return self.finish(key, result, data, effects);
        }
        let offset = request.offset + u64::from(skip);
        let action = match request.operation {
            Operation::Write { fua } => Action::Write { offset, skip, durable: fua },
            _ => Action::Read { offset, skip },
        };
        self.ask(key, Stage::Moving(skip), action, data, effects);
    }

    /// Writes the next zeroes, or completes the request.
    fn zero(&mut self, key: u32, done: u32, data: Buffer, effects: &mut Effects) {
        let request = &self.active[key].request;
        let left = request.length - done;
        if left == 0 {
            return self.done_but_durable(key, data, effects);
        }
        let data = if data.is_empty() { Buffer::zeroed(ZEROES.min(left) as usize) } else { data };
        let whole = u32::try_from(data.len()).expect("a buffer is at most 1 MiB");
        let offset = request.offset + u64::from(done);
        let action = Action::Write { offset, skip: whole - whole.min(left), durable: false };
        self.ask(key, Stage::Zeroing(done), action, data, effects);
    }

    fn done_but_durable(&mut self, key: u32, data: Buffer, effects: &mut Effects) {
        let operation = self.active[key].request.operation;
        if matches!(
            operation,
            Operation::Trim { fua: true } | Operation::WriteZeroes { fua: true, .. }
        ) {
            return self.ask(key, Stage::Syncing, Action::Flush, data, effects);
        }
        self.finish(key, Ok(()), data, effects);
    }

    fn allocated(
        &mut self,
        key: u32,
        result: Result<u32, i32>,
        data: Buffer,
        effects: &mut Effects,
    ) {
        let is_hint = matches!(self.active[key].request.operation, Operation::Trim { .. });
        match result {
            Ok(_) => self.done_but_durable(key, data, effects),
            Err(libc::EOPNOTSUPP) if is_hint => self.finish(key, Ok(()), data, effects),
            Err(libc::EOPNOTSUPP) => self.zero(key, 0, data, effects),
            Err(errno) => self.finish(key, Err(Code::of_errno(errno)), data, effects),
        }
    }

    fn finish(&mut self, key: u32, result: Result<(), Code>, data: Buffer, effects: &mut Effects) {
        let Active { request, .. } = self.active.remove(key);
        effects.answer(request.id, result, data);
        if let Some(span) = span(&request) {
            let mut begun = Vec::new();
            self.order.end(span, &mut begun);
            for key in begun {
                self.start(key, effects);
            }
        }
    }
}

impl Disk for FileDisk {
    fn export(&self) -> &Export {
        &self.export
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        if request.operation == Operation::Flush && self.has_lost {
            return effects.answer(request.id, Err(Code::Io), request.data);
        }
        let span = span(&request);
        let key = self.active.insert(Active { request, stage: Stage::Moving(0) });
        let may_begin = span.map_or(Some(key), |span| self.order.begin(span, key));
        if let Some(key) = may_begin {
            self.start(key, effects);
        }
    }

    fn service(&mut self) -> Option<&mut dyn Service> {
        Some(self)
    }
}

impl Service for FileDisk {
    fn done(&mut self, io: IoId, result: Result<u32, i32>, data: Buffer, effects: &mut Effects) {
        let key = io.0;
        match (self.active[key].stage, result) {
            (stage, Err(libc::EAGAIN | libc::EINTR)) => self.again(key, stage, data, effects),
            (Stage::Allocating, result) => self.allocated(key, result, data, effects),
            (Stage::Moving(before), Ok(now)) => self.moved(key, before, now, data, effects),
            (Stage::Zeroing(_), Ok(0)) => self.finish(key, Err(Code::Io), data, effects),
            (Stage::Zeroing(before), Ok(now)) => self.zero(key, before + now, data, effects),
            (Stage::Syncing, Ok(_)) => self.finish(key, Ok(()), data, effects),
            (Stage::Syncing, Err(_)) => {
                self.has_lost = true;
                self.finish(key, Err(Code::Io), data, effects);
            }
            (_, Err(errno)) => self.finish(key, Err(Code::of_errno(errno)), data, effects),
        }
    }
}

impl FileDisk {
    /// Repeats an I/O that was interrupted.
    fn again(&mut self, key: u32, stage: Stage, data: Buffer, effects: &mut Effects) {
        match stage {
            Stage::Zeroing(done) => self.zero(key, done, data, effects),
            Stage::Syncing => self.ask(key, stage, Action::Flush, data, effects),
            Stage::Moving(_) | Stage::Allocating => {
                self.active[key].request.data = data;
                self.start(key, effects);
            }
        }
    }
}

/// Returns the range of bytes that a request changes; `None` if the request changes nothing.
fn span(request: &Request) -> Option<Span> {
    let end = request.offset + u64::from(request.length);
    request.operation.changes().then_some((request.offset, end))
}

fn offer(
    name: &str,
    size: u64,
    alignment: Option<u32>,
    access: Access,
) -> Result<Export, ExportError> {
    let block = alignment.unwrap_or(1);
    let blocks = BlockSizes::new(block, block.max(4096), REQUEST_MAX)?;
    let abilities = if access.read_only {
        Abilities::READ_ONLY | Abilities::FLUSH
    } else {
        Abilities::FLUSH | Abilities::FUA | Abilities::TRIM | Abilities::WRITE_ZEROES
    };
    Export::new(name, size, blocks, abilities | Abilities::MULTI_CONN)
}
