use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::overlay::{Layer, Overlay};
use super::{BLOCK, Logged};
use crate::tier::step::VmId;

/// The most bytes of a run, and of the writes of several epochs in a batch, as the machine has them
/// (`tier/src/machine/batch.rs`, `destage.rs`).
const RUN_BYTES: u64 = 256 << 10;
const BATCH_BYTES: u64 = 32 << 20;

/// Epochs of a virtual machine on their way to the backing store.
#[derive(Debug, Clone)]
pub(in crate::tier) struct Batch {
    pub(in crate::tier) vm: VmId,
    pub(in crate::tier) blocks: BTreeMap<u64, Vec<Layer>>,
    pub(in crate::tier) runs: VecDeque<Run>,
    /// Blocks that were written into their pages.
    pub(in crate::tier) filled: BTreeSet<u64>,
    /// Its newest write.
    pub(in crate::tier) order: u64,
    pub(in crate::tier) log_bytes: u64,
}

/// Bytes that adjoin on the backing store.
#[derive(Debug, Clone, Copy)]
pub(in crate::tier) struct Run {
    pub(in crate::tier) offset: u64,
    pub(in crate::tier) bytes: u64,
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
    pub(in crate::tier) fn begin_batch(&mut self) {
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
