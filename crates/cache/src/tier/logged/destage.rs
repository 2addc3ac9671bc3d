use machine::Operation;

use crate::tier::Tier;
use crate::tier::log::{BLOCK, Batch, Run};
use crate::tier::step::{Data, HostId, Place, Step, VmId, Wait};

impl Tier {
    /// Puts up to so many runs of what has ended into the backing store; how many.
    pub(in crate::tier) fn logged_clean(&mut self, runs: usize, steps: &mut Vec<Step>) -> usize {
        for done in 0..runs {
            if !self.destage_run(Wait::Background, steps) {
                return done;
            }
        }
        runs
    }

    /// All that is in the log is on the backing store, without any step.
    pub(in crate::tier) fn logged_settle(&mut self) {
        let vms = u16::try_from(self.vms.len()).unwrap_or(u16::MAX);
        (0..vms).for_each(|vm| self.logged().end_epoch(VmId(vm)));
        self.logged_clean(usize::MAX, &mut Vec::new());
    }

    /// Waits until the log has so much room, which what ended first gives up.
    pub(super) fn make_room(&mut self, bytes: u64, steps: &mut Vec<Step>) {
        let vms = u16::try_from(self.vms.len()).unwrap_or(u16::MAX);
        let logged = self.logged();
        if logged.used + bytes > logged.room && !logged.wants_cleaning() {
            (0..vms).for_each(|vm| logged.end_epoch(VmId(vm)));
        }
        while self.logged().used + bytes > self.logged().room {
            if !self.destage_run(Wait::Request, steps) {
                return;
            }
        }
    }

    /// Puts the next run into the backing store; whether there was one.
    fn destage_run(&mut self, wait: Wait, steps: &mut Vec<Step>) -> bool {
        if self.logged().batch.is_none() {
            self.logged().begin_batch();
        }
        let Some(mut batch) = self.logged().batch.take() else { return false };
        let Some(run) = batch.runs.pop_front() else { return false };
        self.write_run(&mut batch, run, wait, steps);
        if batch.runs.is_empty() {
            let (place, operation) = (Place::Backing, Operation::Flush);
            steps.push(Step { operation, length: 0, ..step(place, 0, 0, wait) });
            self.retire(&batch);
        } else {
            self.logged().batch = Some(batch);
        }
        true
    }

    /// Reads a run block by block out of the log, writes it as one, and fills pages with its whole
    /// blocks.
    fn write_run(&mut self, batch: &mut Batch, run: Run, wait: Wait, steps: &mut Vec<Step>) {
        let blocks = run.offset / BLOCK..(run.offset + run.bytes).div_ceil(BLOCK);
        let mut whole = Vec::new();
        for (block, layers) in batch.blocks.range(blocks) {
            for layer in layers {
                let at = self.logged().place(layer.at);
                let place = Place::Share(HostId(0));
                let read = Operation::Read;
                steps.push(Step { operation: read, ..step(place, at, block * BLOCK, wait) });
            }
            let is_whole = matches!(layers[..], [layer] if layer.is_whole());
            whole.extend(is_whole.then_some(*block));
        }
        let length = u32::try_from(run.bytes).expect("a run is short");
        steps.push(Step { length, ..step(Place::Backing, run.offset, run.offset, wait) });
        if !self.settings_of(batch.vm).lets_in(true) {
            whole.clear();
        }
        let bytes = self.fill_steps(&whole, Data::Moved, steps);
        batch.filled.extend(whole.into_iter().filter(|block| self.slot_of(*block).is_some()));
        let counters = self.count(batch.vm);
        counters.destaged_bytes += run.bytes;
        counters.placed_bytes += bytes;
        counters.tier_written_bytes += bytes;
    }

    /// The batch is on the backing store: its blocks are true where their pages have them, and gone
    /// elsewhere.
    fn retire(&mut self, batch: &Batch) {
        for block in batch.blocks.keys() {
            self.logged().overlay.retire(*block, batch.order);
            let Some((slot, bit)) = self.slot_of(*block) else { continue };
            let is_filled = batch.filled.contains(block);
            let valid = self.logged().valid(slot);
            self.logged().set_valid(slot, if is_filled { valid | bit } else { valid & !bit });
        }
        self.logged().used -= batch.log_bytes;
    }
}

/// A write of a block that is moved.
fn step(place: Place, offset: u64, address: u64, wait: Wait) -> Step {
    let (by, operation, data) = (HostId(0), Operation::Write, Data::Moved);
    Step { place, by, operation, offset, address, length: 4096, data, wait }
}
