//! Batch of epochs on the way from the log to the backing store: written in runs, flushed, then
//! retired in steps.
//!
//! Invariant: each sector is written with the newest content in the batch. No part of the batch is
//! dropped from the log until all of it was written, and a flush of the backing store that began
//! afterwards has completed.

use std::collections::{BTreeMap, VecDeque};

use units::Nanos;

use super::epoch::Epoch;
use super::overlay::{Layer, Layers, Source, blocks_of, cover, spans};
use crate::event::Buf;

/// Maximum size of a run, in bytes.
const RUN_BYTES: u32 = 256 << 10;

/// Maximum number of a batch's runs in progress at once.
const RUNS: usize = 8;
/// Number of blocks retired, or slots mapped, in one step. A batch that was recovered from a log
/// may be as large as the log, and requests must not wait until all of it is processed.
const STEP: usize = 64;

/// Batch of epochs that is destaged to the backing store.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    ends: BatchEnds,
    blocks: BTreeMap<u64, Layers>,
    phase: Phase,
    todo: VecDeque<Span>,
    runs: BTreeMap<u32, Run>,
    next_run: u32,
    is_failed: bool,
    /// Blocks of slots that were filled with the bytes destaged, as bits by slot.
    filled: BTreeMap<u32, u16>,
    /// Slots to be mapped once the batch is durable on the backing store.
    slots: Vec<u32>,
    /// Slots that are closed to other fills until the batch is retired.
    open: Vec<u32>,
}

/// First and last epoch, group and write of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BatchEnds {
    pub(super) first_epoch: u64,
    pub(super) last_epoch: u64,
    pub(super) last_seq: u64,
    pub(super) last_order: u64,
}

/// State of all runs of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Runs {
    UnderWay,
    Failed,
    Written,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The batch waits until the sidecar records that several epochs are being written.
    Sidecar,
    Writing,
    /// All runs are written, and the backing store is being flushed.
    Flushing,
    /// The batch is durable on the backing store. The next blocks are retired at this time.
    Retiring(Nanos),
    /// The next slots are mapped at this time.
    Mapping(Nanos),
}

/// Adjoining bytes of a disk that are destaged in one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    /// `None` for data. For zeros, true if the backing store may deallocate them.
    pub(super) zero: Option<bool>,
}

/// Run in progress.
#[derive(Debug, Clone)]
struct Run {
    span: Span,
    buf: Option<Buf>,
    reads: u32,
    writes: u32,
    is_failed: bool,
    /// Slots that are filled from the run's buffer.
    fills: Vec<u32>,
}

impl Batch {
    pub(super) fn new<'a>(epochs: impl Iterator<Item = &'a Epoch>) -> Self {
        let (mut ends, mut blocks) = (BatchEnds::default(), BTreeMap::new());
        for epoch in epochs {
            if ends.first_epoch == 0 {
                ends.first_epoch = epoch.number;
            }
            (ends.last_epoch, ends.last_seq) = (epoch.number, epoch.last_seq);
            for write in &epoch.writes {
                ends.last_order = ends.last_order.max(write.order);
                for (block, layer) in write.layers() {
                    cover(blocks.entry(block).or_default(), layer);
                }
            }
        }
        Self {
            ends,
            todo: spans_of(&blocks),
            blocks,
            phase: Phase::Sidecar,
            runs: BTreeMap::new(),
            next_run: 0,
            is_failed: false,
            filled: BTreeMap::new(),
            slots: Vec::new(),
            open: Vec::new(),
        }
    }

    pub(super) fn ends(&self) -> BatchEnds {
        self.ends
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Allows writing, because the sidecar is in the required state.
    pub(super) fn may_write(&mut self) {
        if self.phase == Phase::Sidecar {
            self.phase = Phase::Writing;
        }
    }

    /// Marks the batch as failed: no further run begins.
    pub(super) fn fail(&mut self) {
        self.is_failed = true;
    }

    /// Begins the next run, unless too many are in progress or the batch has failed. Returns its
    /// number and span.
    pub(super) fn begin_run(&mut self) -> Option<(u32, Span)> {
        if self.runs.len() >= RUNS || self.is_failed {
            return None;
        }
        let (run, span) = (self.next_run, self.todo.pop_front()?);
        self.next_run += 1;
        let new = Run {
            span: span.clone(),
            buf: None,
            reads: 0,
            writes: 1,
            is_failed: false,
            fills: Vec::new(),
        };
        self.runs.insert(run, new);
        Some((run, span))
    }

    fn run(&mut self, run: u32) -> &mut Run {
        self.runs.get_mut(&run).expect("the run is in flight")
    }

    /// Records the buffer in which the run gathers its bytes, and the number of reads for that.
    pub(super) fn run_reads(&mut self, run: u32, buf: Buf, reads: u32) {
        let found = self.run(run);
        (found.buf, found.reads) = (Some(buf), reads);
    }

    /// Records the completion of a read. After the last one, returns true if all succeeded.
    pub(super) fn read_done(&mut self, run: u32, is_ok: bool) -> Option<bool> {
        let found = self.run(run);
        found.reads -= 1;
        found.is_failed |= !is_ok;
        (found.reads == 0).then_some(!found.is_failed)
    }

    /// Returns the span of a run, and its buffer.
    pub(super) fn run_bytes(&mut self, run: u32) -> (Span, Buf) {
        let found = self.run(run);
        (found.span.clone(), found.buf.expect("a run of bytes has a buffer"))
    }

    pub(super) fn run_length(&mut self, run: u32) -> u32 {
        self.run(run).span.bytes
    }

    /// Records the slots that are filled from the run's buffer, and the number of writes for that.
    pub(super) fn run_fills(&mut self, run: u32, fills: Vec<u32>, writes: u16) {
        let found = self.run(run);
        found.writes += u32::from(writes);
        found.fills = fills;
    }

    /// Records blocks of a slot that were filled with the bytes of a run.
    pub(super) fn filled(&mut self, slot: u32, bits: u16) {
        *self.filled.entry(slot).or_default() |= bits;
    }

    /// Records the completion of a write. After the last one, returns the buffer to release.
    pub(super) fn write_done(&mut self, run: u32, is_ok: bool) -> Option<Buf> {
        let found = self.run(run);
        found.writes -= 1;
        found.is_failed |= !is_ok;
        if found.writes == 0 { self.end_run(run) } else { None }
    }

    /// Ends a run and returns its buffer. The slots that it filled stay closed to other fills until
    /// the batch is retired.
    pub(super) fn end_run(&mut self, run: u32) -> Option<Buf> {
        let Run { buf, is_failed, fills, .. } = self.runs.remove(&run).expect("it was there");
        self.open.extend(fills);
        self.is_failed |= is_failed;
        buf
    }

    /// Returns the state of the runs. Once all are written, the backing store must be flushed.
    pub(super) fn end_runs(&mut self) -> Runs {
        if !self.runs.is_empty() {
            return Runs::UnderWay;
        }
        if self.is_failed {
            return Runs::Failed;
        }
        self.phase = Phase::Flushing;
        Runs::Written
    }

    /// Removes and returns the next blocks to retire, once the batch is durable on the backing
    /// store. `next` is the time of the next step.
    pub(super) fn take_blocks(&mut self, next: Nanos) -> Vec<u64> {
        assert!(self.todo.is_empty() && self.runs.is_empty(), "all was written");
        self.phase = Phase::Retiring(next);
        let rest = self.blocks.keys().nth(STEP).copied();
        let rest = rest.map(|block| self.blocks.split_off(&block)).unwrap_or_default();
        std::mem::replace(&mut self.blocks, rest).into_keys().collect()
    }

    /// Returns true if no block is left to retire.
    pub(super) fn is_settled(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the blocks of slots that were filled, as bits by slot.
    pub(super) fn filled_blocks(&self) -> &BTreeMap<u32, u16> {
        &self.filled
    }

    /// Adds a slot to be mapped.
    pub(super) fn add_slot(&mut self, slot: u32) {
        if self.slots.last() != Some(&slot) {
            self.slots.push(slot);
        }
    }

    /// Removes and returns the next slots to map, and true if none is left. `next` is the time of
    /// the next step.
    pub(super) fn take_slots(&mut self, next: Nanos) -> (Vec<u32>, bool) {
        self.phase = Phase::Mapping(next);
        let some = self.slots.split_off(self.slots.len().saturating_sub(STEP));
        (some, self.slots.is_empty())
    }

    /// Returns the slots that were closed to other fills.
    pub(super) fn into_open(self) -> Vec<u32> {
        self.open
    }

    /// Returns the pieces of a run: layer, offset on the disk, bytes, and bytes to skip in the
    /// layer's block.
    pub(super) fn pieces(&self, span: &Span) -> Vec<(Layer, u64, u32, u32)> {
        let mut found = Vec::new();
        for (block, from, to) in blocks_of(span.offset, span.bytes) {
            for (from, to, layer) in spans(&self.blocks[&block], from, to) {
                let layer = layer.expect("every part of a run was written");
                let skip = u32::from(from) * 512;
                found.push((
                    layer,
                    block * 4096 + u64::from(skip),
                    u32::from(to - from) * 512,
                    skip,
                ));
            }
        }
        found
    }

    /// Returns the blocks of a run that a single write covers: block, offset in the run, and
    /// checksum.
    pub(super) fn whole_blocks(&self, span: &Span) -> Vec<(u64, u32, u32)> {
        blocks_of(span.offset, span.bytes)
            .filter(|(_, from, to)| (*from, *to) == (0, 8))
            .filter_map(|(block, ..)| match self.blocks[&block].as_slice() {
                [layer] if layer.is_whole() && matches!(layer.source, Source::Flash { .. }) => {
                    let at = u32::try_from(block * 4096 - span.offset).unwrap_or(u32::MAX);
                    Some((block, at, layer.sum))
                }
                _ => None,
            })
            .collect()
    }
}

/// Returns the spans to write, in order of their offset.
fn spans_of(blocks: &BTreeMap<u64, Layers>) -> VecDeque<Span> {
    let mut found: VecDeque<Span> = VecDeque::new();
    for (block, layers) in blocks {
        for (from, to, layer) in spans(layers, 0, 8) {
            let Some(layer) = layer else { continue };
            let offset = block * 4096 + u64::from(from) * 512;
            let bytes = u32::from(to - from) * 512;
            let zero = match layer.source {
                Source::Zero { unmap } => Some(unmap),
                _ => None,
            };
            match found.back_mut() {
                Some(last)
                    if last.offset + u64::from(last.bytes) == offset
                        && last.zero == zero
                        && last.bytes + bytes <= RUN_BYTES =>
                {
                    last.bytes += bytes;
                }
                _ => found.push_back(Span { offset, bytes, zero }),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::epoch::Logged;

    fn logged(order: u64, offset: u64, bytes: u32) -> Logged {
        let source = Source::Flash { at: order << 20 };
        Logged { order, offset, bytes, source, sums: vec![0; 64].into() }
    }

    /// Returns a batch of two epochs, the second of which writes into a block of the first, with a
    /// gap behind it.
    fn batch() -> Batch {
        let writes =
            [vec![logged(1, 0, 8192)], vec![logged(2, 4096, 512), logged(3, 65_536, 4096)]];
        let epochs: Vec<Epoch> = (7..)
            .zip(writes)
            .map(|(number, writes)| Epoch {
                number,
                last_seq: number + 10,
                writes,
                ..Epoch::default()
            })
            .collect();
        Batch::new(epochs.iter())
    }

    #[test]
    fn runs_are_of_the_newest_writes_and_of_adjoining_bytes() {
        let mut batch = batch();
        let ends = BatchEnds { first_epoch: 7, last_epoch: 8, last_seq: 18, last_order: 3 };
        assert_eq!(batch.ends(), ends);
        let (_, span) = batch.begin_run().expect("a run");
        assert_eq!((span.offset, span.bytes), (0, 8192));
        let orders: Vec<_> = batch.pieces(&span).iter().map(|(layer, ..)| layer.order).collect();
        assert_eq!(orders, [1, 2, 1]);
        assert_eq!(batch.whole_blocks(&span).len(), 1, "the second block is of two writes");
        let (_, span) = batch.begin_run().expect("behind the gap");
        assert_eq!((span.offset, batch.begin_run()), (65_536, None));
    }

    #[test]
    fn flush_follows_the_last_write_of_the_last_run() {
        let mut batch = batch();
        batch.may_write();
        let (first, _) = batch.begin_run().expect("a run");
        batch.run_reads(first, Buf(9), 1);
        assert_eq!(batch.read_done(first, true), Some(true));
        batch.run_fills(first, vec![5], 1);
        let (second, _) = batch.begin_run().expect("a run");
        assert_eq!(batch.write_done(first, true), None, "its slot is filled still");
        batch.write_done(second, true);
        assert_eq!((batch.end_runs(), batch.phase()), (Runs::UnderWay, Phase::Writing));
        assert_eq!(batch.write_done(first, true), Some(Buf(9)));
        assert_eq!((batch.end_runs(), batch.phase()), (Runs::Written, Phase::Flushing));
        let mut blocks = batch.take_blocks(Nanos(1));
        blocks.sort_unstable();
        assert_eq!((blocks, batch.is_settled()), (vec![0, 1, 16], true));
    }

    #[test]
    fn failed_run_lets_no_other_begin_and_none_be_flushed() {
        let mut batch = batch();
        batch.may_write();
        let (run, _) = batch.begin_run().expect("a run");
        batch.write_done(run, false);
        assert_eq!((batch.begin_run(), batch.end_runs()), (None, Runs::Failed));
    }

    #[test]
    #[should_panic(expected = "all was written")]
    fn batch_is_not_forgotten_before_it_is_written() {
        batch().take_blocks(Nanos(1));
    }
}
