use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::GuestAddress;

use super::chain::{Chain, Malformed};
use super::inflight::{Area, Tracker};
use super::memory::Memory;

/// Error of a queue with invalid indexes or addresses. Such a queue is not read any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// Virtqueue of a guest's disk.
#[derive(Debug)]
pub(crate) struct GuestQueue {
    ring: Queue,
    pub memory: Arc<Memory>,
    tracker: Option<Tracker>,
    /// Heads of the requests that were in flight when an earlier server was killed. They are taken
    /// first.
    again: VecDeque<u16>,
    /// For each head: true if this or an earlier server has taken the request and not returned it.
    is_taken: Vec<bool>,
    /// Number of requests that this server has taken and not returned.
    asked: u16,
    has_used: bool,
    /// True once the queue takes no new requests.
    is_leaving: bool,
    is_broken: bool,
    pub kick: Arc<OwnedFd>,
    pub call: Option<Arc<OwnedFd>>,
    /// Identifier of the ring's poll for kicks.
    pub watch: Option<u32>,
    /// Number of queue starts of the VM when this queue was started. Kicks of an earlier start are
    /// ignored.
    pub era: u32,
}

/// Parts of a new queue.
pub(crate) struct QueueParts {
    /// Size, addresses and next available index.
    pub ring: Queue,
    pub memory: Arc<Memory>,
    pub area: Option<Arc<Area>>,
    pub index: u16,
    pub kick: Arc<OwnedFd>,
    pub call: Option<Arc<OwnedFd>>,
}

impl GuestQueue {
    /// Creates a queue that continues after the last request that the guest has seen used. Requests
    /// that were in flight come first, then requests that no server has taken.
    pub fn new(parts: QueueParts) -> Result<Self, Broken> {
        let QueueParts { mut ring, memory, area, index, kick, call } = parts;
        let size = ring.size();
        let used = ring.used_idx(&memory.guest, Ordering::Acquire).map_err(|_| Broken)?;
        ring.set_next_used(used.0);
        let (tracker, left) = match area {
            Some(area) => {
                let (tracker, left) = Tracker::begin(&area, index, size, used.0).ok_or(Broken)?;
                let taken =
                    u16::try_from(left.len()).expect("at most as many as the queue has entries");
                ring.set_next_avail(used.0.wrapping_add(taken));
                (Some(tracker), left)
            }
            None => (None, Vec::new()),
        };
        let mut queue = Self {
            ring,
            memory,
            tracker,
            again: left.into(),
            is_taken: vec![false; usize::from(size)],
            asked: 0,
            has_used: false,
            is_leaving: false,
            is_broken: false,
            kick,
            call,
            watch: None,
            era: 0,
        };
        for head in &queue.again {
            queue.is_taken[usize::from(*head)] = true;
        }
        Ok(queue)
    }

    /// Takes the head of the next request; `None` if there is no request.
    pub fn take(&mut self) -> Result<Option<u16>, Broken> {
        if self.is_broken {
            return Ok(None);
        }
        if let Some(head) = self.again.pop_front() {
            self.asked += 1;
            return Ok(Some(head));
        }
        if self.is_leaving {
            return Ok(None);
        }
        let mut heads = self.ring.iter(&self.memory.guest).map_err(|_| Broken)?;
        let Some(head) = heads.next().map(|chain| chain.head_index()) else { return Ok(None) };
        match self.is_taken.get_mut(usize::from(head)) {
            Some(is_taken) if !*is_taken => *is_taken = true,
            _ => return Err(Broken),
        }
        self.asked += 1;
        if let Some(tracker) = &mut self.tracker {
            tracker.take(head);
        }
        Ok(Some(head))
    }

    /// Returns the descriptor chain of a taken request.
    pub fn chain(&self, head: u16) -> Result<Chain, Malformed> {
        let table = GuestAddress(self.ring.desc_table());
        Chain::follow(&self.memory.guest, table, self.ring.size(), head)
    }

    /// Puts a request into the used ring. `written` is the number of bytes that were written into
    /// its memory.
    pub fn give_back(&mut self, head: u16, written: u32) -> Result<(), Broken> {
        if let Some(tracker) = &mut self.tracker {
            tracker.link(head);
        }
        self.ring.add_used(&self.memory.guest, head, written).map_err(|_| Broken)?;
        if let Some(tracker) = &mut self.tracker {
            tracker.done(head, self.ring.next_used());
        }
        self.is_taken[usize::from(head)] = false;
        self.asked -= 1;
        self.has_used = true;
        Ok(())
    }

    /// Tells the guest that kicks are not needed.
    pub fn quiet(&mut self) -> Result<(), Broken> {
        self.ring.disable_notification(&self.memory.guest).map_err(|_| Broken)
    }

    /// Tells the guest that kicks are needed. Returns true if a request came meanwhile. No kick
    /// will follow for that request.
    pub fn listen(&mut self) -> Result<bool, Broken> {
        if self.is_broken || self.is_leaving {
            return Ok(false);
        }
        self.ring.enable_notification(&self.memory.guest).map_err(|_| Broken)
    }

    /// Returns true if the guest wants an interrupt for the requests that were returned since the
    /// last call.
    pub fn wants_call(&mut self) -> Result<bool, Broken> {
        if !std::mem::take(&mut self.has_used) {
            return Ok(false);
        }
        self.ring.needs_notification(&self.memory.guest).map_err(|_| Broken)
    }

    /// Stops taking new requests.
    pub fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// Marks the queue as broken: it is not read any more.
    pub fn give_up(&mut self) {
        self.is_broken = true;
    }

    /// Returns true if the queue takes no new requests and all of its requests are answered.
    pub fn has_left(&self) -> bool {
        self.is_leaving && self.is_idle()
    }

    /// Returns true if no request is under way.
    pub fn is_idle(&self) -> bool {
        self.asked == 0 && (self.again.is_empty() || self.is_broken)
    }

    /// Returns the index of the next available entry, at which another server can continue.
    pub fn next(&self) -> u16 {
        self.ring.next_avail()
    }
}
