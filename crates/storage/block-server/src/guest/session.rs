use std::collections::VecDeque;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use nbd::Code;
use nbd::server::Command;

use super::blk::{Ask, FAILED, OK, Status, Terms, UNSUPPORTED};
use super::chain::Chain;
use super::memory::Memory;
use super::queue::{Broken, GuestQueue};
use crate::buffer::Pool;
use crate::{Buffer, Limits};
use state_machine::Slab;

/// A machine that has a disk.
pub(crate) struct Guest {
    /// Which.
    pub disk: usize,
    stream: UnixStream,
    terms: Option<Terms>,
    queues: Vec<Option<GuestQueue>>,
    /// Queues in which something may be.
    ready: VecDeque<u16>,
    open: Slab<Open>,
    /// Bytes of what is open.
    bytes: u64,
    /// Who waits for a queue to be empty.
    leaving: Vec<(u16, SyncSender<u16>)>,
    /// Parts that a disk has.
    pub parts: usize,
    /// Kicks that the ring looks for.
    pub watches: usize,
    pub is_gone: bool,
    /// How often a queue of it was begun.
    pub eras: u32,
}

/// A request until it is given back.
struct Open {
    queue: u16,
    head: u16,
    chain: Chain,
    command: Command,
    bytes: u64,
    /// Parts without an answer.
    left: u64,
    result: Result<(), Code>,
}

/// What a disk is to be asked, in parts of at most so many bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub open: u32,
    pub command: Command,
    pub offset: u64,
    pub bytes: u64,
    pub most: u64,
}

/// A part of a request that a disk has: of which, and from which of its bytes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub open: u32,
    pub at: u64,
}

/// Bytes before a read's or write's in what is readable.
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

    /// Its memory is elsewhere from now on.
    pub fn moved(&mut self, memory: &Arc<Memory>) {
        for queue in self.queues.iter_mut().flatten() {
            queue.memory = Arc::clone(memory);
        }
    }

    /// A queue takes nothing new, and this is told when it is empty.
    pub fn leave(&mut self, queue: u16, reply: SyncSender<u16>) {
        if let Some(leaving) = self.queue(queue) {
            leaving.leave();
            self.leaving.push((queue, reply));
        }
    }

    /// Queues that are empty are gone, and who waits for it is told.
    pub fn let_go(&mut self) {
        let waiting = std::mem::take(&mut self.leaving);
        for (queue, reply) in waiting {
            match self.queues[usize::from(queue)].take_if(|queue| queue.has_left()) {
                Some(left) => {
                    // A front end that has gone meanwhile does not want to know.
                    let _ = reply.send(left.next());
                }
                None => self.leaving.push((queue, reply)),
            }
        }
    }

    /// Nobody is there any more; what a disk has goes on. Gives the kicks that need not be looked for.
    pub fn gone(&mut self) -> Vec<u32> {
        self.is_gone = true;
        self.ready.clear();
        self.leaving.clear();
        self.queues.drain(..).flatten().filter_map(|queue| queue.watch).collect()
    }

    /// Takes nothing more. Gives the kicks that need not be looked for.
    pub fn end(&mut self) -> Vec<u32> {
        let queues = self.queues.iter_mut().flatten();
        queues
            .filter_map(|queue| {
                queue.leave();
                queue.watch.take()
            })
            .collect()
    }

    /// Nothing more is said to its front end, whose thread tells of its end then.
    pub fn hang_up(&self) {
        // One that is gone already is not an error.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Whether all that was asked is answered, once it ends.
    pub fn is_settled(&self) -> bool {
        let is_idle = self.is_gone || self.queues.iter().flatten().all(GuestQueue::is_idle);
        is_idle && self.watches == 0
    }

    /// Something may be in a queue.
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

    /// Whether something is left that can be taken now.
    pub fn has_more(&self, limits: &Limits) -> bool {
        !self.ready.is_empty() && !self.is_full(limits)
    }

    fn is_full(&self, limits: &Limits) -> bool {
        // One at least, or nobody would ever be served.
        self.open.len() >= limits.requests_in_flight.max(1)
            || self.bytes >= limits.bytes_in_flight.max(1) as u64
    }

    /// The next thing that a disk is to be asked. What can be answered here, is; `budget` is of both.
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

    /// What a queue said, or that it is not looked at any more.
    fn keep<T>(&mut self, queue: u16, said: Result<T, Broken>) -> Option<T> {
        if said.is_err()
            && let Some(broken) = self.queue(queue)
        {
            broken.give_up();
        }
        said.ok()
    }

    fn understand(&mut self, at: u16, head: u16, most: u64) -> Option<Job> {
        let queue = self.queues[usize::from(at)].as_mut().expect("it was just asked");
        let chain = queue.chain(head).ok().filter(|chain| chain.writable.bytes() > 0);
        let Some(chain) = chain else {
            // There is no place for a word about it.
            let given = queue.give_back(head, 0);
            self.keep(at, given);
            return None;
        };
        let terms = self.terms.as_ref().expect("they came with the first queue");
        let memory = &queue.memory.guest;
        let done = match terms.understand(memory, &chain) {
            Ok(Ask::Disk { command, offset, bytes }) => {
                let is_divided = matches!(command, Command::Read | Command::Write { .. });
                let most = if is_divided { most } else { u64::MAX };
                let left = bytes.div_ceil(most).max(1);
                let open = Open { queue: at, head, chain, command, bytes, left, result: Ok(()) };
                self.bytes += if is_divided { bytes } else { 0 };
                let open = self.open.insert(open);
                return Some(Job { open, command, offset, bytes, most });
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

    /// The memory of a part: of a write, its bytes. None where the guest has no such memory.
    pub fn data(&self, job: &Job, at: u64, length: u32, pool: &mut Pool) -> Option<Buffer> {
        let bytes = length as usize;
        match job.command {
            Command::Read => Some(pool.take(bytes)),
            Command::Write { .. } => {
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

    /// A part is answered, and a request with its last.
    pub fn answered(&mut self, part: Part, result: Result<(), Code>, data: &[u8]) {
        let open = &mut self.open[part.open];
        open.left -= 1;
        let mut result = result;
        if let (Command::Read, Ok(()), Some(Some(queue))) =
            (open.command, result, self.queues.get(usize::from(open.queue)))
        {
            let written = open.chain.writable.write(&queue.memory.guest, part.at, data);
            result = written.map_err(|_| Code::Io);
        }
        open.result = open.result.and(result);
        if open.left > 0 {
            return;
        }
        let Open { queue, head, chain, command, bytes, result, .. } = self.open.remove(part.open);
        let is_read = command == Command::Read;
        if is_read || matches!(command, Command::Write { .. }) {
            self.bytes -= bytes;
        }
        let written = usize::try_from(if is_read { bytes } else { 0 }).expect("some MiB");
        let done = result.map(|()| written).map_err(|code| match code {
            Code::NotSupported => UNSUPPORTED,
            _ => FAILED,
        });
        self.give_back(queue, head, &chain, done);
    }

    /// Ends a request: so many bytes were written for it, or it failed.
    fn give_back(&mut self, at: u16, head: u16, chain: &Chain, done: Result<usize, Status>) {
        let Some(queue) = self.queue(at) else { return };
        let (status, written) = match done {
            Ok(written) => (OK, written + 1),
            // Bytes are counted from the front, where nothing was written.
            Err(Status(status)) => (status, usize::from(chain.writable.bytes() == 1)),
        };
        let last = chain.writable.bytes() - 1;
        let told = chain.writable.write(&queue.memory.guest, last, &[status]).map_err(|_| Broken);
        let written = u32::try_from(written).expect("some MiB");
        let given = queue.give_back(head, written).and(told);
        self.keep(at, given);
    }

    /// Tells the guest what was given back.
    pub fn call(&mut self) {
        for at in 0..self.queues.len() {
            let Some(queue) = &mut self.queues[at] else { continue };
            if queue.wants_call() == Ok(true)
                && let Some(call) = &queue.call
            {
                // It never waits, and one that is told so often that it cannot count it is told enough.
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
