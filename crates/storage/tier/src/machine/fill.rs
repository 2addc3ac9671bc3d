use super::io::{Holder, Io};
use super::{Fx, Tier};
use crate::event::{Buf, Effect, IoTarget, Piece};

/// Number of bytes being written into pages at which requests fill no more pages. If the cache
/// device is slower than the reads, all of their bytes would otherwise wait in memory. Our choice:
/// a hundred pages, more than any device needs at once.
const FILLING_MAX: u64 = 8 << 20;

impl Tier {
    /// Opens the resident pages of these blocks for filling, unless another request or batch has
    /// opened them. Returns the opened slots;
    /// [`PageIndex::close_fills`](super::pages::PageIndex::close_fills) closes them.
    pub(super) fn open_fills(&mut self, disk: u16, blocks: impl Iterator<Item = u64>) -> Vec<u32> {
        let mut open: Vec<u32> = Vec::new();
        if !self.disk(disk).populate || self.is_failed {
            return open;
        }
        for block in blocks {
            if !self.is_written_through(disk, block) {
                self.pages.open_fill(disk, block, &mut open);
            }
        }
        open
    }

    /// Writes blocks (number, offset in `buf`, checksum) into the slots that were opened for them.
    /// Returns the number of I/Os. Blocks of a request are left out while too many bytes are being
    /// filled. Blocks of a batch are not, because the number of its runs is limited.
    pub(super) fn fill(
        &mut self,
        disk: u16,
        blocks: &[(u64, u32, u32)],
        open: &[u32],
        buf: Buf,
        holder: Holder,
        fx: &mut Fx,
    ) -> u16 {
        // Slot, first bit, number of bits, offset in memory.
        let mut runs: Vec<(u32, u16, u16, u32)> = Vec::new();
        if self.filling >= FILLING_MAX && !matches!(holder, Holder::Run { .. }) {
            return 0;
        }
        let found = self.disk(disk);
        let unbacked = (found.written > found.flushed).then_some(found.written);
        for (block, at, sum) in blocks.iter().copied() {
            let place = self.pages.fill((disk, block), sum, open, unbacked);
            let Some((slot, bit)) = place else { continue };
            match runs.last_mut() {
                Some((last, first, count, _)) if *last == slot && *first + *count == bit => {
                    *count += 1
                }
                _ => runs.push((slot, bit, 1, at)),
            }
        }
        for (slot, first, count, at) in runs.iter().copied() {
            let bits = (first..first + count).fold(0_u16, |bits, bit| bits | 1 << bit);
            let io = self.start_io(Io::Fill { slot, bits, holder });
            let bytes = u32::from(count) * 4096;
            self.filling += u64::from(bytes);
            let counters = self.count(disk);
            counters.filled_bytes += u64::from(bytes);
            if !matches!(holder, Holder::Read(_)) {
                counters.placed_bytes += u64::from(bytes);
            }
            let to = self.geometry.slot_at(slot) + u64::from(first) * 4096;
            let from = vec![Piece::Buf { buf, at, bytes }];
            fx.push(Effect::write(io, IoTarget::Cache, to, from));
        }
        u16::try_from(runs.len()).unwrap_or(u16::MAX)
    }

    pub(super) fn fill_done(
        &mut self,
        slot: u32,
        bits: u16,
        holder: Holder,
        is_ok: bool,
        fx: &mut Fx,
    ) {
        self.filling -= u64::from(bits.count_ones()) * 4096;
        let key = self.pages.key(slot);
        let flushed = key.map_or(0, |key| self.disk(key.disk).flushed);
        let good = self.pages.end_fill(slot, bits, flushed);
        match holder {
            // The blocks are valid only when the backing store has them, which is later.
            Holder::Run { disk, run } => {
                return self.run_filled(disk, run, slot, if is_ok { good } else { 0 }, fx);
            }
            _ if !is_ok => {}
            _ => {
                if let Some(disk) = self.pages.serve(slot, good) {
                    self.tell(slot, disk);
                }
            }
        }
        match holder {
            Holder::Read(read) => {
                self.reads[read].holds -= 1;
                self.finish_read(read, fx);
            }
            Holder::Write(write) => self.let_go(write, fx),
            Holder::Run { .. } => {}
        }
    }
}
