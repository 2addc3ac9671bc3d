//! A batch that is on the backing store, durably, is forgotten: some of its blocks at a time, so that nobody has to wait
//! for all of one that was found in a log and is as large as that.
//!
//! First its blocks: until the last of them the log says that nothing of the batch is retired, so that a map which is
//! written meanwhile tells of less than there is. Then the slots of its pages are to be written down, and after all of
//! them where the log begins.

use std::collections::BTreeMap;

use units::Nanos;

use super::batch::{Batch, Phase};
use super::destage::REST;
use super::overlay::Layers;
use super::{Fx, Tier};
use crate::format::SidecarState;

/// Blocks that are forgotten at once, or slots that are to be written down.
const STEP: usize = 64;

impl Tier {
    fn retiring(&mut self, index: u16) -> &mut Batch {
        self.disk(index).batch.as_mut().expect("it is being retired")
    }

    /// The batch is on the backing store, durably: some of its blocks are forgotten.
    pub(super) fn retire_some(&mut self, index: u16, fx: &mut Fx) {
        let next = Nanos(self.now.0 + 1);
        let batch = self.retiring(index);
        let rest = match batch.blocks.keys().nth(STEP).copied() {
            Some(block) => batch.blocks.split_off(&block),
            None => BTreeMap::new(),
        };
        let is_last = rest.is_empty();
        let some = std::mem::replace(&mut batch.blocks, rest);
        batch.phase = Phase::Retiring(next);
        let last_order = batch.last_order;
        let overlay = &mut self.disk(index).overlay;
        some.keys().for_each(|block| overlay.retire(*block, last_order));
        self.retire_pages(index, &some);
        if is_last {
            return self.retired(index, fx);
        }
        self.time_changed();
    }

    /// Blocks that the batch changed are true where the slot has the same, and gone elsewhere.
    fn retire_pages(&mut self, index: u16, blocks: &BTreeMap<u64, Layers>) {
        let (good, mut slots) = {
            let batch = self.retiring(index);
            (std::mem::take(&mut batch.filled), std::mem::take(&mut batch.slots))
        };
        for block in blocks.keys() {
            let Some(slot) = self.pages.settle(index, *block, &good) else { continue };
            if slots.last() != Some(&slot) {
                slots.push(slot);
            }
        }
        let batch = self.retiring(index);
        (batch.filled, batch.slots) = (good, slots);
    }

    /// No block of the batch is left: all of it is on the backing store for whoever looks.
    fn retired(&mut self, index: u16, fx: &mut Fx) {
        let batch = self.retiring(index);
        let (last, last_seq) = (batch.last, batch.last_seq);
        let disk = self.disk(index);
        disk.epochs.retain(|epoch| epoch.number > last);
        disk.sidecar.applied = last;
        if let Some(log) = disk.log.as_mut() {
            log.set_retired(log.ends().retired.max(last_seq));
        }
        self.map_some(index, fx);
    }

    /// Some of its slots are to be written down; after the last of them its log may begin later.
    pub(super) fn map_some(&mut self, index: u16, fx: &mut Fx) {
        let (now, next) = (self.now, Nanos(self.now.0 + 1));
        let batch = self.retiring(index);
        let some = batch.slots.split_off(batch.slots.len().saturating_sub(STEP));
        batch.phase = Phase::Mapping(next);
        let is_last = batch.slots.is_empty();
        for slot in some {
            self.queue_map(slot);
        }
        if !is_last {
            return self.time_changed();
        }
        let disk = self.disk(index);
        let batch = disk.batch.take().expect("it was retired");
        disk.rests_until = Some(now + REST);
        self.pages.close_fills(&batch.open);
        self.start_log_later(index);
        if matches!(self.disk(index).sidecar.state, SidecarState::Applying { .. }) {
            self.write_sidecar(index, SidecarState::Dirty, fx);
        }
        self.time_changed();
        self.stir();
    }
}
