use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use nbd::{Code, Export, Operation};
use state_machine::{IoId, RequestId};

use crate::Buffer;

/// Disk behind the front ends.
///
/// Requests arrive in the order in which clients sent them. Several may be in flight, and they may
/// be answered in any order. A request continues after its client has disconnected, so that no
/// write is left half done.
pub trait Disk: Send {
    /// Returns the name, size, block sizes and features of the disk.
    fn export(&self) -> &Export;

    /// Accepts a request, which lies within the export. The disk answers the request exactly once,
    /// now or later.
    fn submit(&mut self, request: Request, effects: &mut Effects);

    /// Returns the service that carries out the disk's requests, if it is not the service of the
    /// whole server ([`crate::Offer::service`]). `None` if requests are answered at once, or by
    /// other threads.
    fn service(&mut self) -> Option<&mut dyn Service> {
        None
    }
}

/// Owner of the I/O of one or several disks. A service does no I/O itself. It orders reads and
/// writes as [`Effects`] and gets their completions, so that memory, files and state machines look
/// alike to a front end.
pub trait Service: Send {
    /// Handles the completion of an I/O that the service ordered. `result` is the number of bytes,
    /// or a Linux error number. `data` is the buffer of the I/O.
    fn done(&mut self, io: IoId, result: Result<u32, i32>, data: Buffer, effects: &mut Effects);

    /// Called once per loop turn, after all ready requests, completions and timers were delivered.
    /// A service that batches work submits the batch here.
    fn turn(&mut self, effects: &mut Effects) {
        let _ = effects;
    }

    /// Handles a timer that the service set and that is due.
    fn woken(&mut self, alarm: u64, effects: &mut Effects) {
        let _ = (alarm, effects);
    }

    /// Called when the server starts, and when its owner calls [`crate::Running::attend`].
    fn told(&mut self, effects: &mut Effects) {
        let _ = effects;
    }

    /// Begins an orderly shutdown of the service: the server stops, and no more requests come.
    fn close(&mut self, effects: &mut Effects) {
        let _ = effects;
    }

    /// Returns true once the orderly shutdown is complete.
    fn is_closed(&self) -> bool {
        true
    }
}

/// Disks that are opened only when a client asks for one by name.
pub trait Catalog: Send {
    /// Opens a disk for one client; `None` if no disk has that name. The disk is dropped when the
    /// client is gone and its requests have completed. [`Service::told`] and [`Service::close`] are
    /// never called for it.
    fn open(&mut self, name: &str) -> Option<Box<dyn Disk>>;
}

/// Request of a client.
#[derive(Debug)]
pub struct Request {
    /// Identifier that the answer must carry.
    pub id: RequestId,
    /// Operation to carry out.
    pub operation: Operation,
    /// Offset of the first byte on the disk.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    /// Bytes to write. For a read, a buffer of the read's length with arbitrary content; otherwise
    /// empty.
    pub data: Buffer,
}

/// Answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// Identifier of the request.
    pub id: RequestId,
    /// Result, or the error for the client.
    pub result: Result<(), Code>,
    /// Buffer of the request. After a successful read it holds all bytes.
    pub data: Buffer,
}

/// I/O that a service orders.
#[derive(Debug)]
pub struct Io {
    /// Identifier that the service gave the I/O.
    pub id: IoId,
    /// File or device on which the I/O is done.
    pub file: Arc<OwnedFd>,
    /// Operation to carry out.
    pub action: Action,
    /// Bytes to write, or room to read into. The buffer comes back with the completion.
    pub data: Buffer,
}

/// Operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Fills the buffer after its first `skip` bytes.
    Read {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Number of bytes at the front of the buffer that stay as they are.
        skip: u32,
    },
    /// Writes the bytes of the buffer after its first `skip` bytes.
    Write {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Number of bytes at the front of the buffer that are not written.
        skip: u32,
        /// True if the bytes must be on the medium at completion (`RWF_DSYNC`).
        durable: bool,
    },
    /// Flushes by fdatasync: on completion, all completed writes are on the medium.
    Flush,
    /// Calls `fallocate` with this mode.
    Allocate {
        /// Mode flags, `FALLOC_FL_*`.
        mode: i32,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Length in bytes.
        length: u64,
    },
}

/// Answers, I/O and timers that a disk or service orders.
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

    /// Sets a timer that is due after this time. `alarm` is the service's number for the timer.
    pub fn wake(&mut self, after: Duration, alarm: u64) {
        self.alarms.push((after, alarm));
    }

    /// Orders I/O.
    pub fn io(&mut self, io: Io) {
        self.ios.push(io);
    }
}
