use std::time::Instant;

use block_server::{Buffer, RequestId};
use nbd::Code;
use rustc_hash::FxHashMap;
use tier::{Buf, Op, ReqId};

/// Request of a client, until all of its parts are answered.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) id: RequestId,
    /// Buffer of the request, which goes back with the answer.
    pub(crate) buf: Option<Buf>,
    /// Parts that are not answered yet.
    pub(crate) left: u32,
    pub(crate) result: Result<(), Code>,
    pub(crate) disk: u16,
    pub(crate) op: Op,
    pub(crate) bytes: u32,
    pub(crate) since: Instant,
}

/// Requests under way, their parts, and the buffers of both.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) open: Vec<Option<Open>>,
    free: Vec<u32>,
    /// Buffers, by the number that the state machine uses.
    pub(crate) bufs: FxHashMap<u32, Buffer>,
    /// Slot of the request, by part.
    parts: FxHashMap<u64, u32>,
    next: u64,
    next_buf: u32,
}

impl Requests {
    pub(crate) fn add(
        &mut self,
        id: RequestId,
        (disk, op, bytes): (u16, Op, u32),
        parts: u32,
    ) -> u32 {
        let (since, result) = (Instant::now(), Ok(()));
        let open = Open { id, buf: None, left: parts, result, disk, op, bytes, since };
        if let Some(at) = self.free.pop() {
            self.open[at as usize] = Some(open);
            return at;
        }
        self.open.push(Some(open));
        u32::try_from(self.open.len() - 1).expect("fewer than 2^32 requests are under way")
    }

    /// Makes a number for a part of a request.
    pub(crate) fn part(&mut self, request: u32) -> ReqId {
        self.next += 1;
        self.parts.insert(self.next, request);
        ReqId(self.next)
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
    pub(crate) fn answered(&mut self, part: ReqId, result: Result<(), Code>) -> Option<Open> {
        let at = self.parts.remove(&part.0).expect("a part is answered once");
        let place = &mut self.open[at as usize];
        let open = place.as_mut().expect("a request with parts is open");
        open.left -= 1;
        open.result = open.result.and(result);
        if open.left > 0 {
            return None;
        }
        self.free.push(at);
        place.take()
    }

    /// True if a request for the disk is under way.
    pub(crate) fn has(&self, disk: u16) -> bool {
        self.open.iter().flatten().any(|open| open.disk == disk)
    }

    pub(crate) fn count(&self) -> usize {
        self.open.len() - self.free.len()
    }
}
