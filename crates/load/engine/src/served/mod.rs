//! Disks that a server on this host exports over NBD: a backend that wraps another backend.
//!
//! What it does: requests for files that have a link go over a socket, as the requests of a virtual
//! machine would. All other requests go to the inner backend. There is one connection for each file
//! and worker, and there are no threads.
//!
//! What it refuses: to reconnect. If the server is gone, open and later requests fail: a load
//! without its server measures nothing.
//!
//! Invariants: every request completes once; bytes are moved only between a request's submission
//! and its completion.

mod link;
mod stream;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use units::Nanos;

use crate::backend::{Backend, Completion, Submission, Wait};
use crate::disks::DiskTable;
use link::Link;

pub use stream::ServerAddress;

/// Maximum size of one read, in bytes.
const READ_BYTES: usize = 256 << 10;

/// Disks that are reached over a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Address of the server.
    pub server: ServerAddress,
    /// Exports, keyed by the disks' names. Each export is as long as the file that its disk fills.
    pub exports: BTreeMap<String, String>,
}

impl Served {
    /// Connects a link for each file whose disk is served.
    pub(crate) fn connect(&self, table: &DiskTable) -> io::Result<Links> {
        let mut by_file: Vec<Option<Link>> = table.files.iter().map(|_| None).collect();
        for disk in &table.disks {
            if let Some(export) = self.exports.get(&disk.name) {
                by_file[disk.file as usize] = Some(Link::connect(&self.server, export)?);
            }
        }
        Links::new(by_file)
    }
}

/// Connections, indexed by the position of the file that each replaces.
pub(crate) struct Links {
    by_file: Vec<Option<Link>>,
    ready: Arc<OwnedFd>,
    /// Buffer for one event of each link, and one of the other file.
    events: Vec<Event>,
    /// Read buffer, which all links use in turn.
    room: Box<[u8]>,
}

impl Links {
    fn new(by_file: Vec<Option<Link>>) -> io::Result<Self> {
        let ready = epoll::create(CreateFlags::CLOEXEC)?;
        for (file, link) in (0..).zip(&by_file) {
            if let Some(link) = link {
                epoll::add(&ready, link.stream(), EventData::new_u64(file), EventFlags::IN)?;
            }
        }
        let events = Vec::with_capacity(by_file.len() + 1);
        let room = vec![0; READ_BYTES].into_boxed_slice();
        Ok(Self { by_file, ready: Arc::new(ready), events, room })
    }

    /// Returns a file that becomes readable when a link or `other` has data.
    pub(crate) fn watched(&self, other: Option<Arc<OwnedFd>>) -> io::Result<Arc<OwnedFd>> {
        if let Some(other) = other {
            epoll::add(&self.ready, &*other, EventData::new_u64(u64::MAX), EventFlags::IN)?;
        }
        Ok(Arc::clone(&self.ready))
    }

    /// Receives pending answers. Reads only links that have data. With a disk for each of many VMs,
    /// reading all links would be most of the work.
    fn receive(&mut self, done: &mut VecDeque<(u32, i32)>) {
        let Self { by_file, ready, events, room } = self;
        events.clear();
        let found = epoll::wait(&**ready, spare_capacity(events), Some(&Timespec::default()));
        if found.is_err() {
            // Interrupted, or out of memory: then all are read, which misses nothing.
            by_file.iter_mut().flatten().for_each(|link| link.receive(room, done));
        }
        for event in events.iter() {
            let file = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
            if let Some(Some(link)) = by_file.get_mut(file) {
                link.receive(room, done);
            }
        }
        // A link that could not be written to has open requests, which fail here.
        let gone = by_file.iter_mut().flatten().filter(|link| link.is_gone());
        gone.for_each(|link| link.receive(room, done));
    }

    /// Sends the encoded requests. A link whose socket is full also polls for room.
    fn send(&mut self) -> io::Result<()> {
        for (file, link) in (0..).zip(&mut self.by_file) {
            let Some(link) = link else { continue };
            let was_full = link.is_full();
            link.send();
            if link.is_full() != was_full && !link.is_gone() {
                let room = if link.is_full() { EventFlags::OUT } else { EventFlags::empty() };
                let (data, flags) = (EventData::new_u64(file), EventFlags::IN | room);
                epoll::modify(&self.ready, link.stream(), data, flags)?;
            }
        }
        Ok(())
    }
}

/// Backend that serves some of its files over links.
pub(crate) struct WithServed<B> {
    inner: B,
    links: Links,
    done: VecDeque<(u32, i32)>,
}

impl<B: Backend> WithServed<B> {
    pub(crate) fn new(inner: B, links: Links) -> Self {
        Self { inner, links, done: VecDeque::new() }
    }
}

impl<B: Backend> Backend for WithServed<B> {
    fn now(&mut self) -> Nanos {
        self.inner.now()
    }

    fn push(&mut self, submission: &Submission) {
        match &mut self.links.by_file[submission.file as usize] {
            Some(link) => link.push(submission, &mut self.done),
            None => self.inner.push(submission),
        }
    }

    fn submit(&mut self) -> io::Result<()> {
        self.links.send()?;
        self.inner.submit()
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        self.links.send()?;
        let until = if self.done.is_empty() { wait.until } else { wait.now };
        // Answers over sockets arrive one by one, so the first one must end the wait.
        self.inner.enter(Wait { until, want: 1, ..wait })
    }

    fn reap(&mut self, done: &mut Vec<Completion>, limit: usize) {
        self.links.receive(&mut self.done);
        let at = self.inner.now();
        let many = self.done.len().min(limit);
        done.extend(self.done.drain(..many).map(|(slot, result)| Completion { slot, result, at }));
        if many < limit {
            self.inner.reap(done, limit - many);
        }
    }

    fn add_chunk(&mut self, chunk: u16, start: NonNull<u8>, length: usize) {
        self.inner.add_chunk(chunk, start, length);
    }

    fn cpu(&mut self) -> Nanos {
        self.inner.cpu()
    }

    fn burn(&mut self, span: Nanos) {
        self.inner.burn(span);
    }
}
