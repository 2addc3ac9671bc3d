//! Retirement of a batch that is durable on the backing store. It is done in steps so that requests
//! need not wait for all of it: a batch that was recovered from a log may be as large as the log.
//!
//! First the blocks of the batch are retired. Until the last block, the log records no group of the
//! batch as retired. So a map that is written meanwhile claims less than the backing store has.
//! Then the slots of the batch's pages are mapped. At last the start of the log may move.

use units::Nanos;

use super::batch::Batch;
use super::{Fx, Tier};
use crate::format::SidecarState;

impl Tier {
    /// Retires the next blocks of the batch. A block becomes valid if its slot has the same data,
    /// and invalid otherwise.
    pub(super) fn retire_some(&mut self, index: u16, fx: &mut Fx) {
        let next = Nanos(self.now.0 + 1);
        let disk = self.disks[usize::from(index)].as_mut().expect("the disk is attached");
        let batch = disk.destager.batch().expect("the disk has a batch to retire");
        let last_order = batch.ends().last_order;
        for block in batch.take_blocks(next) {
            disk.overlay.retire(block, last_order);
            if let Some(slot) = self.pages.settle(index, block, batch.filled_blocks()) {
                batch.add_slot(slot);
            }
        }
        if batch.is_settled() {
            return self.retired(index, fx);
        }
        self.time_changed();
    }

    /// Marks the batch as retired after its last block. From then on reads use the backing store.
    fn retired(&mut self, index: u16, fx: &mut Fx) {
        let ends = self.batch(index).ends();
        let disk = self.disk(index);
        disk.destager.retire();
        disk.sidecar.set_applied(ends.last_epoch);
        disk.log.set_retired(disk.log.ends().retired.max(ends.last_seq));
        self.map_some(index, fx);
    }

    /// Maps the next slots of the batch. After the last one the start of the log may move.
    pub(super) fn map_some(&mut self, index: u16, fx: &mut Fx) {
        let (now, next) = (self.now, Nanos(self.now.0 + 1));
        let (some, is_last) = self.batch(index).take_slots(next);
        for slot in some {
            self.queue_map(slot);
        }
        if !is_last {
            return self.time_changed();
        }
        let batch = self.disk(index).destager.end_batch(now);
        self.pages.close_fills(&batch.map(Batch::into_open).unwrap_or_default());
        self.start_log_later(index);
        if self.disk(index).sidecar.is_applying() {
            self.write_sidecar(index, SidecarState::Dirty, fx);
        }
        self.time_changed();
        self.stir();
    }
}
