use std::collections::VecDeque;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use nbd::{Code, Operation};

use super::blk::{Ask, FAILED, OK, Status, Terms, UNSUPPORTED};
use super::chain::Chain;
use super::memory::Memory;
use super::queue::{Broken, GuestQueue};
use crate::buffer::Pool;
use crate::{Buffer, Limits};
use state_machine::Slab;

/// VM that has a disk over vhost-user.
pub(crate) struct Guest {
    /// Index of the disk.
    pub disk: usize,
    stream: UnixStream,
    terms: Option<Terms>,
    queues: Vec<Option<GuestQueue>>,
    /// Queues that may have new requests.
    ready: VecDeque<u16>,
    open: Slab<Open>,
    /// Sum of the bytes of the open requests.
    bytes: u64,
    /// Queues that are to stop, each with the channel for its reply.
    leaving: Vec<(u16, SyncSender<u16>)>,
    /// Number of parts that were submitted to a disk and not completed.
    pub parts: usize,
    /// Number of active polls for kicks.
    pub watches: usize,
    pub is_gone: bool,
    /// Number of queue starts so far.
    pub eras: u32,
}

/// Request that is not in the used ring yet.
struct Open {
    queue: u16,
    head: u16,
    chain: Chain,
    operation: Operation,
    bytes: u64,
    /// Number of parts that are not completed.
    left: u64,
    result: Result<(), Code>,
}

/// Request to submit to a disk, in parts of at most `most` bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub open: u32,
    pub operation: Operation,
    pub offset: u64,
    pub bytes: u64,
    pub most: u64,
}

/// Part of a request that was submitted to a disk: the number of the open request, and the offset
/// of the part in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestPart {
    pub open: u32,
    pub at: u64,
}

/// Length of the request head before the data, in bytes.
const HEAD: u64 = 16;

impl Guest {
    pub fn new(disk: usize, stream: UnixStream) -> Self {
        Self {
            disk,
            stream,
            terms: None,
            queues: Vec::new(),
            ready: VecDeque::new(),
            open: Slab::new(),
            bytes: 0,
            leaving: Vec::new(),
            parts: 0,
            watches: 0,
            is_gone: false,
            eras: 0,
        }
    }

    pub fn begin(&mut self, queue: u16, made: GuestQueue, terms: Terms) {
        let at = usize::from(queue);
        if self.queues.len() <= at {
            self.queues.resize_with(at + 1, || None);
        }
        self.queues[at] = Some(made);
        self.terms = Some(terms);
        self.is_ready(queue);
    }

    pub fn queue(&mut self, queue: u16) -> Option<&mut GuestQueue> {
        self.queues.get_mut(usize::from(queue))?.as_mut()
    }

    /// Replaces the memory of all queues.
    pub fn moved(&mut self, memory: &Arc<Memory>) {
        for queue in self.queues.iter_mut().flatten() {
            queue.memory = Arc::clone(memory);
        }
    }

    /// Stops taking requests of a queue. The reply is sent once the queue is empty.
    pub fn leave(&mut self, queue: u16, reply: SyncSender<u16>) {
        if let Some(leaving) = self.queue(queue) {
            leaving.leave();
            self.leaving.push((queue, reply));
        }
    }

    /// Removes the leaving queues that are empty, and sends their replies.
    pub fn let_go(&mut self) {
        let waiting = std::mem::take(&mut self.leaving);
        for (queue, reply) in waiting {
            match self.queues[usize::from(queue)].take_if(|queue| queue.has_left()) {
                Some(left) => {
                    // An error means that the front end has gone meanwhile.
                    let _ = reply.send(left.next());
                }
                None => self.leaving.push((queue, reply)),
            }
        }
    }

    /// Drops all queues of a front end that disconnected. Parts that a disk has continue. Returns
    /// the polls to cancel.
    pub fn gone(&mut self) -> Vec<u32> {
        self.is_gone = true;
        self.ready.clear();
        self.leaving.clear();
        self.queues.drain(..).flatten().filter_map(|queue| queue.watch).collect()
    }

    /// Stops taking requests. Returns the polls to cancel.
    pub fn end(&mut self) -> Vec<u32> {
        let queues = self.queues.iter_mut().flatten();
        queues
            .filter_map(|queue| {
                queue.leave();
                queue.watch.take()
            })
            .collect()
    }

    /// Closes the connection. The front end's thread then reports the disconnection.
    pub fn hang_up(&self) {
        // An error means that the front end has gone already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Returns true if no request is in flight and no poll is active.
    pub fn is_settled(&self) -> bool {
        let is_idle = self.is_gone || self.queues.iter().flatten().all(GuestQueue::is_idle);
        is_idle && self.watches == 0
    }

    /// Marks a queue that may have new requests.
    pub fn is_ready(&mut self, queue: u16) {
        if self.ready.contains(&queue) {
            return;
        }
        if let Some(kicked) = self.queue(queue) {
            let is_quiet = kicked.quiet();
            self.keep(queue, is_quiet);
            self.ready.push_back(queue);
        }
    }

    /// Returns true if more requests can be taken now.
    pub fn has_more(&self, limits: &Limits) -> bool {
        !self.ready.is_empty() && !self.is_full(limits)
    }

    fn is_full(&self, limits: &Limits) -> bool {
        // At least one: a limit of zero would serve nobody.
        self.open.len() >= limits.requests_in_flight.max(1)
            || self.bytes >= limits.bytes_in_flight.max(1) as u64
    }

    /// Takes the next request for a disk, and answers requests that need no disk. Each request,
    /// with or without a disk, reduces `budget` by one.
    pub fn next(&mut self, limits: &Limits, most: u64, budget: &mut usize) -> Option<Job> {
        while let Some(&at) = self.ready.front() {
            if self.is_full(limits) || *budget == 0 {
                self.ready.rotate_left(1);
                return None;
            }
            let taken = self.queue(at).map_or(Ok(None), GuestQueue::take);
            match self.keep(at, taken).flatten() {
                Some(head) => {
                    *budget -= 1;
                    if let Some(job) = self.understand(at, head, most) {
                        return Some(job);
                    }
                }
                None => {
                    let is_more = self.queue(at).map_or(Ok(false), GuestQueue::listen);
                    if self.keep(at, is_more) != Some(true) {
                        self.ready.pop_front();
                    }
                }
            }
        }
        None
    }

    /// Unwraps a queue's result; an error marks the queue as broken.
    fn keep<T>(&mut self, queue: u16, said: Result<T, Broken>) -> Option<T> {
        if said.is_err()
            && let Some(broken) = self.queue(queue)
        {
            broken.give_up();
        }
        said.ok()
    }

    fn understand(&mut self, at: u16, head: u16, most: u64) -> Option<Job> {
        let queue = self.queues[usize::from(at)].as_mut().expect("the queue was just polled");
        let chain = queue.chain(head).ok().filter(|chain| chain.writable.bytes() > 0);
        let Some(chain) = chain else {
            // The chain has no room for a status.
            let given = queue.give_back(head, 0);
            self.keep(at, given);
            return None;
        };
        let terms = self.terms.as_ref().expect("the terms were set with the first queue");
        let memory = &queue.memory.guest;
        let done = match terms.understand(memory, &chain) {
            Ok(Ask::Disk { operation, offset, bytes }) => {
                let is_divided = matches!(operation, Operation::Read | Operation::Write { .. });
                let most = if is_divided { most } else { u64::MAX };
                let left = bytes.div_ceil(most).max(1);
                let open = Open { queue: at, head, chain, operation, bytes, left, result: Ok(()) };
                self.bytes += if is_divided { bytes } else { 0 };
                let open = self.open.insert(open);
                return Some(Job { open, operation, offset, bytes, most });
            }
            Ok(Ask::Id) => match chain.writable.write(memory, 0, &terms.id()) {
                Ok(()) => Ok(terms.id().len()),
                Err(malformed) => Err(malformed.into()),
            },
            Err(status) => Err(status),
        };
        self.give_back(at, head, &chain, done);
        None
    }

    /// Returns a buffer for a part; for a write it holds the data. `None` if the segments are not
    /// in the guest's memory.
    pub fn data(&self, job: &Job, at: u64, length: u32, pool: &mut Pool) -> Option<Buffer> {
        let bytes = length as usize;
        match job.operation {
            Operation::Read => Some(pool.take(bytes)),
            Operation::Write { .. } => {
                let mut data = pool.take(bytes);
                let open = &self.open[job.open];
                let memory = &self.queues[usize::from(open.queue)].as_ref()?.memory.guest;
                let read = open.chain.readable.read(memory, HEAD + at, &mut data);
                if read.is_err() {
                    pool.give(data);
                    return None;
                }
                Some(data)
            }
            _ => Some(Buffer::none()),
        }
    }

    /// Records the completion of a part. The last part answers the request.
    pub fn answered(&mut self, part: RequestPart, result: Result<(), Code>, data: &[u8]) {
        let open = &mut self.open[part.open];
        open.left -= 1;
        let mut result = result;
        if let (Operation::Read, Ok(()), Some(Some(queue))) =
            (open.operation, result, self.queues.get(usize::from(open.queue)))
        {
            let written = open.chain.writable.write(&queue.memory.guest, part.at, data);
            result = written.map_err(|_| Code::Io);
        }
        open.result = open.result.and(result);
        if open.left > 0 {
            return;
        }
        let Open { queue, head, chain, operation, bytes, result, .. } = self.open.remove(part.open);
        let is_read = operation == Operation::Read;
        if is_read || matches!(operation, Operation::Write { .. }) {
            self.bytes -= bytes;
        }
        let written = usize::try_from(if is_read { bytes } else { 0 }).expect("some MiB");
        let done = result.map(|()| written).map_err(|code| match code {
            Code::NotSupported => UNSUPPORTED,
            _ => FAILED,
        });
        self.give_back(queue, head, &chain, done);
    }

    /// Answers a request. `done` is the number of bytes written into the request's memory, or the
    /// status of a failure.
    fn give_back(&mut self, at: u16, head: u16, chain: &Chain, done: Result<usize, Status>) {
        let Some(queue) = self.queue(at) else { return };
        let (status, written) = match done {
            Ok(written) => (OK, written + 1),
            // The used ring counts bytes from the front, where a failed request wrote nothing.
            Err(Status(status)) => (status, usize::from(chain.writable.bytes() == 1)),
        };
        let last = chain.writable.bytes() - 1;
        let told = chain.writable.write(&queue.memory.guest, last, &[status]).map_err(|_| Broken);
        let written = u32::try_from(written).expect("some MiB");
        let given = queue.give_back(head, written).and(told);
        self.keep(at, given);
    }

    /// Interrupts the guest for the queues that returned requests.
    pub fn call(&mut self) {
        for at in 0..self.queues.len() {
            let Some(queue) = &mut self.queues[at] else { continue };
            if queue.wants_call() == Ok(true)
                && let Some(call) = &queue.call
            {
                // The eventfd does not block. If its counter is full, the guest has enough calls
                // to read.
                let _ = rustix::io::write(call, &1_u64.to_ne_bytes());
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.hang_up();
    }
}
