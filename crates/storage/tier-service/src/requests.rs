use std::time::Instant;

use block_server::{Buffer, RequestId};
use nbd::Code;
use rustc_hash::FxHashMap;
use tier::{Buf, Op};

/// Client request that is not completely answered.
#[derive(Debug)]
pub(crate) struct Open {
    /// Buffer of the request, which is returned with the answer.
    pub(crate) buf: Option<Buf>,
    /// Number of parts that are not answered yet.
    pub(crate) left: u32,
    pub(crate) result: Result<(), Code>,
    pub(crate) disk: u16,
    pub(crate) op: Op,
    pub(crate) bytes: u32,
    pub(crate) since: Instant,
}

/// Requests in progress, and their buffers.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) open: FxHashMap<RequestId, Open>,
    /// Buffers, by the number that the state machine uses.
    pub(crate) bufs: FxHashMap<u32, Buffer>,
    next_buf: u32,
}

impl Requests {
    pub(crate) fn add(
        &mut self,
        id: RequestId,
        (disk, op, bytes): (u16, Op, u32),
        parts: u32,
        buf: Option<Buf>,
    ) {
        let (since, result) = (Instant::now(), Ok(()));
        self.open.insert(id, Open { buf, left: parts, result, disk, op, bytes, since });
    }

    /// Registers a buffer under a new number.
    pub(crate) fn lend(&mut self, buffer: Buffer) -> Buf {
        loop {
            self.next_buf = (self.next_buf + 1) % (1 << 31);
            if !self.bufs.contains_key(&self.next_buf) {
                self.bufs.insert(self.next_buf, buffer);
                return Buf(self.next_buf);
            }
        }
    }

    /// Handles the answer to a part. Returns the request if this was its last part.
    pub(crate) fn answered(&mut self, id: RequestId, result: Result<(), Code>) -> Option<Open> {
        let open = self.open.get_mut(&id).expect("a request with parts is open");
        open.left -= 1;
        open.result = open.result.and(result);
        if open.left > 0 { None } else { self.open.remove(&id) }
    }

    /// Returns true if a request for the disk is in progress.
    pub(crate) fn has(&self, disk: u16) -> bool {
        self.open.values().any(|open| open.disk == disk)
    }
}
