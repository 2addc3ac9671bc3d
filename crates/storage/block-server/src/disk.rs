use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use nbd::{Code, Export, Operation};
use state_machine::{IoId, RequestId};

use crate::Buffer;

/// Disk, as front ends use it.
///
/// Requests arrive in the order in which clients sent them, and several may be under way. They may
/// be answered in any order. A request goes on after its client is gone, so that no write is left
/// half done.
pub trait Disk: Send {
    /// Name, size, block sizes and abilities of the disk.
    fn export(&self) -> &Export;

    /// Takes a request, which lies within the export. The disk answers it exactly once, now or
    /// later.
    fn submit(&mut self, request: Request, effects: &mut Effects);

    /// Service that carries out the disk's requests, if it is not the service of the whole server
    /// ([`crate::Offer::service`]). None if requests are answered at once, or by other threads.
    fn service(&mut self) -> Option<&mut dyn Service> {
        None
    }
}

/// Owner of I/O for one disk or several. A service does no I/O itself: it orders reads and writes
/// as [`Effects`] and gets their completions, so that memory, files and state machines look alike
/// to a front end.
pub trait Service: Send {
    /// Takes the completion of an I/O that the service ordered: the number of bytes, or a Linux
    /// error number. The buffer comes back.
    fn done(&mut self, io: IoId, result: Result<u32, i32>, data: Buffer, effects: &mut Effects);

    /// Turn after all requests, completions and alarms that were ready were handed over. A service
    /// that gathers work submits it here.
    fn turn(&mut self, effects: &mut Effects) {
        let _ = effects;
    }

    /// Takes an alarm that the service set and that is due.
    fn woken(&mut self, alarm: u64, effects: &mut Effects) {
        let _ = (alarm, effects);
    }

    /// Called when the server begins, and when its owner asks for attention
    /// ([`crate::Running::attend`]).
    fn told(&mut self, effects: &mut Effects) {
        let _ = effects;
    }

    /// Begins an orderly end: the server ends, and no more requests come.
    fn close(&mut self, effects: &mut Effects) {
        let _ = effects;
    }

    /// Returns true once the orderly end is done.
    fn is_closed(&self) -> bool {
        true
    }
}

/// Disks that are opened only for a client that asks for one by name.
pub trait Catalog: Send {
    /// Opens a disk for one client; `None` if no disk has that name. The disk is dropped when the
    /// client is gone and its requests have ended. [`Service::told`] and [`Service::close`] are
    /// never called for it.
    fn open(&mut self, name: &str) -> Option<Box<dyn Disk>>;
}

/// Request of a client.
#[derive(Debug)]
pub struct Request {
    /// Number to answer with.
    pub id: RequestId,
    /// Operation.
    pub operation: Operation,
    /// Offset of the first byte on the disk.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// Bytes of a write. For a read, a buffer of that length with arbitrary content; otherwise
    /// empty.
    pub data: Buffer,
}

/// Answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// Number of the request.
    pub id: RequestId,
    /// Result, or the error for the client.
    pub result: Result<(), Code>,
    /// Buffer of the request. After a successful read it holds all bytes.
    pub data: Buffer,
}

/// I/O that a service orders.
#[derive(Debug)]
pub struct Io {
    /// Service's number for the I/O.
    pub id: IoId,
    /// File or device.
    pub file: Arc<OwnedFd>,
    /// Operation.
    pub action: Action,
    /// Bytes to write, or room to read into. The buffer comes back with the completion.
    pub data: Buffer,
}

/// Operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Fills the buffer behind its first `skip` bytes.
    Read {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Number of bytes at the front of the buffer that stay as they are.
        skip: u32,
    },
    /// Writes the buffer behind its first `skip` bytes.
    Write {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Number of bytes at the front of the buffer that are not written.
        skip: u32,
        /// True if the bytes must be on the medium at completion (`RWF_DSYNC`).
        durable: bool,
    },
    /// Flushes: all completed writes are on the medium at completion (fdatasync).
    Flush,
    /// Calls `fallocate` with this mode.
    Allocate {
        /// Mode, of `FALLOC_FL_*`.
        mode: i32,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Length in bytes.
        length: u64,
    },
}

/// Answers, I/O and alarms that a disk or service orders.
#[derive(Debug, Default)]
pub struct Effects {
    pub(crate) answers: Vec<Answer>,
    pub(crate) ios: Vec<Io>,
    pub(crate) alarms: Vec<(Duration, u64)>,
}

impl Effects {
    /// Answers a request.
    pub fn answer(&mut self, id: RequestId, result: Result<(), Code>, data: Buffer) {
        self.answers.push(Answer { id, result, data });
    }

    /// Sets an alarm after this time. `alarm` is the service's number for it.
    pub fn wake(&mut self, after: Duration, alarm: u64) {
        self.alarms.push((after, alarm));
    }

    /// Orders I/O.
    pub fn io(&mut self, io: Io) {
        self.ios.push(io);
    }
}
