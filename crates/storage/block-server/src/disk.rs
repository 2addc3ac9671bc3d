use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use nbd::server::Command;
use nbd::{Code, Export};

use crate::Buffer;

/// A disk, as clients speak to it.
///
/// Requests come in the order in which clients sent them, several at once; they may be answered in any.
/// They outlive their client: a client that is gone is no reason to leave a write half done.
pub trait Disk: Send {
    /// How it is offered.
    fn export(&self) -> &Export;

    /// Takes a request, which is within the export. It is answered exactly once, here or later.
    fn submit(&mut self, request: Request, effects: &mut Effects);

    /// What carries the disk's requests out, where that is not the service of the whole server ([`crate::Offer::service`]);
    /// none where requests are answered at once, or by other threads.
    fn service(&mut self) -> Option<&mut dyn Service> {
        None
    }
}

/// What owns I/O and gets turns, for one disk or for several. It has no I/O of its own: it asks for what it wants read or
/// written and is told when that is done, so that memory, files and state machines look alike to a front end.
pub trait Service: Send {
    /// Some I/O that it asked for has ended: bytes moved, or an error number of Linux. The buffer comes
    /// back.
    fn done(&mut self, io: u64, result: Result<u32, i32>, data: Buffer, effects: &mut Effects);

    /// Everything that there was for now has been handed over: requests, ends of I/O, alarms. A service that gathers
    /// work begins it here.
    fn turn(&mut self, effects: &mut Effects) {
        let _ = effects;
    }

    /// A time that it asked for has come.
    fn woken(&mut self, alarm: u64, effects: &mut Effects) {
        let _ = (alarm, effects);
    }

    /// The server begins, or its owner wants attention ([`crate::Running::attend`]).
    fn told(&mut self, effects: &mut Effects) {
        let _ = effects;
    }

    /// The server ends, and no request comes any more: what is to be put in order is begun.
    fn close(&mut self, effects: &mut Effects) {
        let _ = effects;
    }

    /// Whether that is done.
    fn is_closed(&self) -> bool {
        true
    }
}

/// Disks that are not offered to all and always: whoever chooses one by its name gets it opened for himself.
pub trait Catalog: Send {
    /// Opens a disk for one client; `None` where there is none of that name. It is let go of when that
    /// client is gone and what he asked has ended. Its service is never told, and never closed.
    fn open(&mut self, name: &str) -> Option<Box<dyn Disk>>;
}

/// A front end's name for a request until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(pub(crate) u32);

/// What a client wants done.
#[derive(Debug)]
pub struct Request {
    /// Its name.
    pub id: RequestId,
    /// What to do.
    pub command: Command,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Of a write, its bytes; of a read, as many to be filled, in which anything may be; else none.
    pub data: Buffer,
}

/// A request's end.
#[derive(Debug)]
pub struct Answer {
    /// Which.
    pub id: RequestId,
    /// How.
    pub result: Result<(), Code>,
    /// The request's buffer: of a read that ended well, all of its bytes.
    pub data: Buffer,
}

/// I/O that a disk asks for.
#[derive(Debug)]
pub struct Io {
    /// The disk's name for it.
    pub id: u64,
    /// On what.
    pub file: Arc<OwnedFd>,
    /// What to do.
    pub action: Action,
    /// The bytes that are read or written; comes back.
    pub data: Buffer,
}

/// What to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Fill the buffer, except for so many bytes at its front.
    Read {
        /// Where in the file.
        offset: u64,
        /// Bytes of the buffer that are left as they are.
        skip: u32,
    },
    /// Write the buffer, except for so many bytes at its front.
    Write {
        /// Where in the file.
        offset: u64,
        /// Bytes of the buffer that are not written.
        skip: u32,
        /// It is on the medium when it is done (`RWF_DSYNC`).
        durable: bool,
    },
    /// What was written is on the medium when it is done (fdatasync).
    Flush,
    /// `fallocate`, with its mode.
    Allocate {
        /// `FALLOC_FL_*`.
        mode: i32,
        /// Where in the file.
        offset: u64,
        /// Bytes.
        length: u64,
    },
}

/// What a disk wants of the front end.
#[derive(Debug, Default)]
pub struct Effects {
    pub(crate) answers: Vec<Answer>,
    pub(crate) ios: Vec<Io>,
    pub(crate) alarms: Vec<(Duration, u64)>,
}

impl Effects {
    /// Ends a request.
    pub fn answer(&mut self, id: RequestId, result: Result<(), Code>, data: Buffer) {
        self.answers.push(Answer { id, result, data });
    }

    /// Asks to be told after this time, by a name of the disk's own.
    pub fn wake(&mut self, after: Duration, alarm: u64) {
        self.alarms.push((after, alarm));
    }

    /// Asks for I/O.
    pub fn io(&mut self, io: Io) {
        self.ios.push(io);
    }
}
