//! A batch that is on the backing store, durably, is forgotten: some of its blocks at a time, so that nobody has to wait
//! for all of one that was found in a log and is as large as that.
//!
//! First its blocks: until the last of them the log says that nothing of the batch is retired, so that a map which is
//! written meanwhile tells of less than there is. Then the slots of its pages are to be written down, and after all of
//! them where the log begins.

use units::Nanos;

use super::batch::Batch;
use super::{Fx, Tier};
use crate::format::SidecarState;

impl Tier {
    /// The batch is on the backing store, durably: some of its blocks are forgotten, which are true where the slot
    /// has the same, and gone elsewhere.
    pub(super) fn retire_some(&mut self, index: u16, fx: &mut Fx) {
        let next = Nanos(self.now.0 + 1);
        let disk = self.disks[usize::from(index)].as_mut().expect("the disk is attached");
        let batch = disk.destager.batch().expect("it is being retired");
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

    /// No block of the batch is left: all of it is on the backing store for whoever looks.
    fn retired(&mut self, index: u16, fx: &mut Fx) {
        let ends = self.batch(index).ends();
        let disk = self.disk(index);
        disk.destager.retire();
        disk.sidecar.set_applied(ends.last_epoch);
        disk.log.set_retired(disk.log.ends().retired.max(ends.last_seq));
        self.map_some(index, fx);
    }

    /// Some of its slots are to be written down; after the last of them its log may begin later.
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
