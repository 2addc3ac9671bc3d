//! A tier that keeps writes in a log: the shape of the served one (`tilemark-tier`).
//!
//! What it does: places requests as that machine places them. Writes that are kept go to a log and
//! to nowhere else; pages hold clean data only, each block of 4 KiB for itself; a read that misses
//! fills what it has read and no more. A flush ends an epoch, and so may the driver's clock
//! ([`Tier::end_epoch`]); epochs reach the backing store in batches of sorted runs, out of the log,
//! and whole blocks of them their pages: a small write reaches the fast device twice.
//!
//! What it leaves out: what the machine writes to find its pages again (maps, tables), the flushes
//! of the fast device that belong to that, and requests that share a group (here each write has a
//! head of its own). All of them are small beside what is modelled; none changes what is a hit.
//!
//! Invariants: what is in the log is not lost by eviction, and a block of a page is never older
//! than the backing store, unless a layer of the log lies over it.
//!
//! [`Tier::end_epoch`]: super::Tier::end_epoch

mod batch;
mod overlay;

use std::collections::VecDeque;

use super::config::Config;
use super::step::VmId;
use crate::page::Slot;

use overlay::Overlay;

pub(super) use batch::{Batch, Run};
pub(super) use overlay::blocks_of;

/// What is valid, and what the log is read by.
pub(super) const BLOCK: u64 = 4096;

/// The log, and what of it is not on the backing store.
#[derive(Debug, Clone)]
pub(super) struct Logged {
    /// By slot of the policy: which blocks of the page are there.
    valid: Vec<u16>,
    valid_blocks: u64,
    pub(super) overlay: Overlay,
    /// Where the log lies in the share, its room, where it goes on, and what of it is in use.
    pub(super) base: u64,
    pub(super) room: u64,
    head: u64,
    pub(super) used: u64,
    /// By virtual machine: the epoch that its writes belong to now.
    open: Vec<Option<Epoch>>,
    /// Oldest first.
    closed: VecDeque<Epoch>,
    pub(super) batch: Option<Batch>,
    epochs: u32,
}

/// Writes of one virtual machine between two flushes.
#[derive(Debug, Clone)]
struct Epoch {
    vm: VmId,
    number: u32,
    writes: Vec<Write>,
    log_bytes: u64,
}

/// A write, and where its first block lies in the log.
#[derive(Debug, Clone, Copy)]
struct Write {
    offset: u64,
    length: u32,
    at: u64,
    order: u64,
}

impl Logged {
    /// The log of one host's share, behind its pages.
    pub(super) fn new(config: &Config) -> Self {
        let (pages, log, spare) = config.parts(0);
        let page_bytes = u64::from(config.page_bytes);
        Self {
            valid: Vec::new(),
            valid_blocks: 0,
            overlay: Overlay::default(),
            base: (pages + spare) * page_bytes,
            room: log * page_bytes,
            head: 0,
            used: 0,
            open: Vec::new(),
            closed: VecDeque::new(),
            batch: None,
            epochs: 0,
        }
    }

    /// Bytes that only the log has, in whole blocks.
    pub(super) fn dirty_bytes(&self) -> u64 {
        self.overlay.blocks() as u64 * BLOCK
    }

    /// Bytes of blocks that pages have.
    pub(super) fn valid_bytes(&self) -> u64 {
        self.valid_blocks * BLOCK
    }

    /// The epoch that a virtual machine's writes belong to now, if it has written since the last.
    pub(super) fn open_epoch(&self, vm: VmId) -> Option<u32> {
        self.open.get(usize::from(vm.0))?.as_ref().map(|epoch| epoch.number)
    }

    /// Ends it.
    pub(super) fn end_epoch(&mut self, vm: VmId) {
        let open = self.open.get_mut(usize::from(vm.0)).and_then(Option::take);
        self.closed.extend(open);
    }

    /// A page leaves.
    pub(super) fn forget(&mut self, slot: Slot) {
        self.set_valid(slot, 0);
    }

    pub(super) fn valid(&self, slot: Slot) -> u16 {
        self.valid.get(slot.position()).copied().unwrap_or(0)
    }

    pub(super) fn set_valid(&mut self, slot: Slot, valid: u16) {
        if self.valid.len() <= slot.position() {
            self.valid.resize(slot.position() + 1, 0);
        }
        let before = std::mem::replace(&mut self.valid[slot.position()], valid);
        self.valid_blocks += u64::from(valid.count_ones());
        self.valid_blocks -= u64::from(before.count_ones());
    }

    /// Takes room in the log for a write, in the epoch that is open, and lays it over what was
    /// there. Where it begins in the share and how long it is, with its head.
    pub(super) fn write(&mut self, vm: VmId, offset: u64, length: u32, order: u64) -> (u64, u64) {
        let bytes = log_bytes(offset, length);
        let start = self.head;
        self.head = (self.head + bytes) % self.room;
        self.used += bytes;
        let at = start + BLOCK;
        let write = Write { offset, length, at, order };
        self.overlay.lay(write);
        let of = usize::from(vm.0);
        if self.open.len() <= of {
            self.open.resize_with(of + 1, || None);
        }
        let epoch = self.open[of].get_or_insert_with(|| {
            self.epochs = self.epochs.wrapping_add(1);
            Epoch { vm, number: self.epochs, writes: Vec::new(), log_bytes: 0 }
        });
        epoch.writes.push(write);
        epoch.log_bytes += bytes;
        (start, bytes)
    }

    /// Where a place of the log lies in the share.
    pub(super) fn place(&self, at: u64) -> u64 {
        self.base + at % self.room
    }
}

/// What a write takes of the log: a head, and every block that it touches.
pub(super) fn log_bytes(offset: u64, length: u32) -> u64 {
    let end = offset + u64::from(length);
    BLOCK + (end.div_ceil(BLOCK) - offset / BLOCK) * BLOCK
}
