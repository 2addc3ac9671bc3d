use std::collections::{BTreeMap, BTreeSet, VecDeque};

use machine::Operation;

use super::overlay::{Layer, Overlay};
use super::{BLOCK, Logged};
use crate::tier::Tier;
use crate::tier::step::{Data, HostId, Place, Step, VmId, Wait};

/// The most bytes of a run, and of the writes of several epochs in a batch, as the machine has them
/// (`tier/src/machine/batch.rs`, `destage.rs`).
const RUN_BYTES: u64 = 256 << 10;
const BATCH_BYTES: u64 = 32 << 20;

/// Epochs of a virtual machine on their way to the backing store.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    vm: VmId,
    blocks: BTreeMap<u64, Vec<Layer>>,
    runs: VecDeque<Run>,
    /// Blocks that were written into their pages.
    filled: BTreeSet<u64>,
    /// Its newest write.
    order: u64,
    log_bytes: u64,
}

/// Bytes that adjoin on the backing store.
#[derive(Debug, Clone, Copy)]
struct Run {
    offset: u64,
    bytes: u64,
}

impl Batch {
    fn runs(overlay: &Overlay) -> VecDeque<Run> {
        let mut runs: VecDeque<Run> = VecDeque::new();
        for block in overlay.0.keys() {
            let written = overlay.runs(*block, 0, 8).into_iter();
            for (from, to, _) in written.filter(|(.., layer)| layer.is_some()) {
                let offset = block * BLOCK + u64::from(from) * 512;
                let bytes = u64::from(to - from) * 512;
                match runs.back_mut() {
                    Some(last)
                        if last.offset + last.bytes == offset
                            && last.bytes + bytes <= RUN_BYTES =>
                    {
                        last.bytes += bytes;
                    }
                    _ => runs.push_back(Run { offset, bytes }),
                }
            }
        }
        runs
    }
}

impl Logged {
    /// Whether something is to go to the backing store.
    pub(in crate::tier) fn wants_cleaning(&self) -> bool {
        self.batch.is_some() || !self.closed.is_empty()
    }

    /// Makes a batch of what ended first, and of what the same virtual machine ended after it.
    fn begin_batch(&mut self) {
        let Some(vm) = self.closed.front().map(|epoch| epoch.vm) else { return };
        let mut written = Overlay::default();
        let (mut order, mut log_bytes, mut bytes) = (0, 0, 0);
        while let Some(next) = self.closed.front().filter(|next| next.vm == vm) {
            let more: u64 = next.writes.iter().map(|write| u64::from(write.length)).sum();
            if bytes > 0 && bytes + more > BATCH_BYTES {
                break;
            }
            bytes += more;
            let Some(epoch) = self.closed.pop_front() else { break };
            log_bytes += epoch.log_bytes;
            for write in epoch.writes {
                order = write.order;
                written.lay(write);
            }
        }
        let (runs, filled) = (Batch::runs(&written), BTreeSet::new());
        self.batch = Some(Batch { vm, blocks: written.0, runs, filled, order, log_bytes });
    }
}

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
