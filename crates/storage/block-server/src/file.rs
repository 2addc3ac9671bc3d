mod open;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use nbd::server::Command;
use nbd::{Abilities, BlockSizes, Code, Export, ExportError};

pub use self::open::{Held, hold};
use crate::order::{Order, Span};
use crate::{Action, Buffer, Disk, Effects, Io, OpenError, Request, Service};
use state_machine::Slab;

/// How a file or device is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Access {
    /// Nothing is written.
    pub read_only: bool,
    /// Through the page cache, even where direct I/O can be had.
    pub buffered: bool,
}

/// A file or block device, through: a write is answered when the kernel has carried it out, a flush when
/// fdatasync has. What a flush that failed was to keep may be lost, and whoever asks again cannot make it
/// good: from then on every flush of this disk fails.
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

/// Where a request is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Bytes are moved; so many were.
    Moving(u32),
    /// The file system is asked to do it.
    Allocating,
    /// Zeroes are written, for the file system could not; so many are.
    Zeroing(u32),
    /// What was done becomes durable.
    Syncing,
}

/// Most bytes of one request; the protocol's usual limit.
const REQUEST_MAX: u32 = 32 << 20;
/// Zeroes written at once where they must be.
const ZEROES: u32 = 1 << 20;

impl FileDisk {
    /// Opens what is there, under this name for clients. Nobody else may have it: a device is held as
    /// mounts hold theirs, and a file by a lock that lasts until the last write has landed, even of a
    /// server that was killed.
    ///
    /// # Errors
    /// When it is not there, no disk, or in use; when it has a size that is no multiple of its block.
    pub fn open(name: &str, path: &Path, access: Access) -> Result<Self, OpenError> {
        let Held { file, size, alignment } = hold(path, access)?;
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

    /// One of a file that somebody else opened and guards.
    #[must_use]
    pub fn over(export: Export, file: Arc<OwnedFd>) -> Self {
        let (active, order) = (Slab::new(), Order::new());
        Self { export, file, is_direct: false, active, order, has_lost: false }
    }

    /// Whether nothing that was asked is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.active.len() == 0
    }

    /// Whether it goes past the page cache.
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
        let (stage, action) = match request.command {
            Command::Read => (Stage::Moving(0), Action::Read { offset, skip: 0 }),
            Command::Write { fua } => {
                (Stage::Moving(0), Action::Write { offset, skip: 0, durable: fua })
            }
            Command::Trim { .. } => allocate(punch),
            Command::WriteZeroes { no_hole, .. } => allocate(if no_hole { zero } else { punch }),
            Command::Flush => (Stage::Syncing, Action::Flush),
            Command::Cache => unreachable!("it is not offered"),
        };
        let data = std::mem::replace(&mut self.active[key].request.data, Buffer::none());
        self.ask(key, stage, action, data, effects);
    }

    fn ask(&mut self, key: u32, stage: Stage, action: Action, data: Buffer, effects: &mut Effects) {
        self.active[key].stage = stage;
        effects.io(Io { id: key.into(), file: Arc::clone(&self.file), action, data });
    }

    /// Bytes were moved. None at all means that the file has become shorter: an error, not zeroes.
    fn moved(&mut self, key: u32, before: u32, now: u32, data: Buffer, effects: &mut Effects) {
        let request = &self.active[key].request;
        let skip = before + now;
        if now == 0 || skip >= request.length {
            let result = if skip >= request.length { Ok(()) } else { Err(Code::Io) };
            return self.finish(key, result, data, effects);
        }
        let offset = request.offset + u64::from(skip);
        let action = match request.command {
            Command::Write { fua } => Action::Write { offset, skip, durable: fua },
            _ => Action::Read { offset, skip },
        };
        self.ask(key, Stage::Moving(skip), action, data, effects);
    }

    /// The next zeroes, or the end of them.
    fn zero(&mut self, key: u32, done: u32, data: Buffer, effects: &mut Effects) {
        let request = &self.active[key].request;
        let left = request.length - done;
        if left == 0 {
            return self.done_but_durable(key, data, effects);
        }
        let data = if data.is_empty() { Buffer::zeroed(ZEROES.min(left) as usize) } else { data };
        let whole = u32::try_from(data.len()).expect("at most a mebibyte");
        let offset = request.offset + u64::from(done);
        let action = Action::Write { offset, skip: whole - whole.min(left), durable: false };
        self.ask(key, Stage::Zeroing(done), action, data, effects);
    }

    fn done_but_durable(&mut self, key: u32, data: Buffer, effects: &mut Effects) {
        let command = self.active[key].request.command;
        if matches!(command, Command::Trim { fua: true } | Command::WriteZeroes { fua: true, .. }) {
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
        let is_hint = matches!(self.active[key].request.command, Command::Trim { .. });
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
        if request.command == Command::Flush && self.has_lost {
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
    fn done(&mut self, io: u64, result: Result<u32, i32>, data: Buffer, effects: &mut Effects) {
        let key = u32::try_from(io).expect("what was asked for has 32 bits");
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
    /// Asks once more for what was interrupted.
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

/// The bytes that a request changes.
fn span(request: &Request) -> Option<Span> {
    let end = request.offset + u64::from(request.length);
    request.command.changes().then_some((request.offset, end))
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
