use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::GuestAddress;

use super::chain::{Chain, Malformed};
use super::inflight::{Area, Tracker};
use super::memory::Memory;

/// A queue says what cannot be. It is not looked at any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// One queue of a guest's disk.
#[derive(Debug)]
pub(crate) struct GuestQueue {
    ring: Queue,
    pub memory: Arc<Memory>,
    tracker: Option<Tracker>,
    /// What was in flight when a server was killed, first.
    again: VecDeque<u16>,
    /// Of each head: whether it was taken, by this server or one before, and not used.
    is_taken: Vec<bool>,
    /// How many were taken by this one and are not given back.
    asked: u16,
    has_used: bool,
    /// Nothing new is taken.
    is_leaving: bool,
    is_broken: bool,
    pub kick: Arc<OwnedFd>,
    pub call: Option<Arc<OwnedFd>>,
    /// The ring's name for looking for its kicks, and which of its queues' beginnings this was.
    pub watch: Option<u32>,
    pub era: u32,
}

/// What makes a queue.
pub(crate) struct Start {
    /// Its size, its addresses, and where its driver was.
    pub ring: Queue,
    pub memory: Arc<Memory>,
    pub area: Option<Arc<Area>>,
    pub index: u16,
    pub kick: Arc<OwnedFd>,
    pub call: Option<Arc<OwnedFd>>,
}

impl GuestQueue {
    /// Goes on where the guest has seen its last request used: what was in flight is asked again, and behind
    /// that comes what nobody has taken.
    pub fn new(start: Start) -> Result<Self, Broken> {
        let Start { mut ring, memory, area, index, kick, call } = start;
        let size = ring.size();
        let used = ring.used_idx(&memory.guest, Ordering::Acquire).map_err(|_| Broken)?;
        ring.set_next_used(used.0);
        let (tracker, left) = match area {
            Some(area) => {
                let (tracker, left) = Tracker::begin(&area, index, size, used.0).ok_or(Broken)?;
                let taken = u16::try_from(left.len()).expect("no more than the queue is long");
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

    /// The head of the next request, if there is one.
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

    /// What a request says.
    pub fn chain(&self, head: u16) -> Result<Chain, Malformed> {
        let table = GuestAddress(self.ring.desc_table());
        Chain::follow(&self.memory.guest, table, self.ring.size(), head)
    }

    /// Gives a request back, in which so many bytes were written.
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

    /// Kicks are not needed for now.
    pub fn quiet(&mut self) -> Result<(), Broken> {
        self.ring.disable_notification(&self.memory.guest).map_err(|_| Broken)
    }

    /// Kicks are needed. Whether something came meanwhile, which needs none.
    pub fn listen(&mut self) -> Result<bool, Broken> {
        if self.is_broken || self.is_leaving {
            return Ok(false);
        }
        self.ring.enable_notification(&self.memory.guest).map_err(|_| Broken)
    }

    /// Whether the guest is to be told of what was given back since it was asked last.
    pub fn wants_call(&mut self) -> Result<bool, Broken> {
        if !std::mem::take(&mut self.has_used) {
            return Ok(false);
        }
        self.ring.needs_notification(&self.memory.guest).map_err(|_| Broken)
    }

    /// Takes nothing new from now on.
    pub fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// It made no sense.
    pub fn give_up(&mut self) {
        self.is_broken = true;
    }

    /// Whether it leaves, and all that was asked is answered.
    pub fn has_left(&self) -> bool {
        self.is_leaving && self.is_idle()
    }

    /// Whether nothing is asked.
    pub fn is_idle(&self) -> bool {
        self.asked == 0 && (self.again.is_empty() || self.is_broken)
    }

    /// Where its driver will find the next one.
    pub fn next(&self) -> u16 {
        self.ring.next_avail()
    }
}
