use std::collections::{BTreeMap, VecDeque};

use units::Nanos;

use super::epoch::Epoch;
use super::overlay::{Layer, Layers, Source, blocks_of, cover, spans};
use crate::event::Buf;

/// The most bytes of a run.
const RUN_BYTES: u32 = 256 << 10;

/// Epochs on their way to the backing store.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) last_seq: u64,
    pub(super) last_order: u64,
    pub(super) blocks: BTreeMap<u64, Layers>,
    pub(super) phase: Phase,
    pub(super) todo: VecDeque<Span>,
    pub(super) runs: BTreeMap<u32, Run>,
    pub(super) next_run: u32,
    pub(super) is_failed: bool,
    /// Blocks that are in their slot as the backing store has them: bits by slot.
    pub(super) filled: BTreeMap<u32, u16>,
    /// Slots of its pages, when they say what the backing store has.
    pub(super) slots: Vec<u32>,
    /// Slots that are closed to others until the batch is retired.
    pub(super) open: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The sidecar is to say that several epochs are being put in.
    Sidecar,
    Writing,
    Flushing,
    /// It is on the backing store, durably, and is forgotten; some of its blocks at this time.
    Retiring(Nanos),
    /// Its slots are to be written down, some of them at this time.
    Mapping(Nanos),
}

/// Adjoining bytes of a disk that go there in one write.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    /// Nothing but zeros; whether their room may be given back.
    pub(super) zero: Option<bool>,
}

#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) span: Span,
    pub(super) buf: Option<Buf>,
    pub(super) reads: u32,
    pub(super) writes: u32,
    pub(super) is_failed: bool,
    /// Slots that are filled out of it.
    pub(super) fills: Vec<u32>,
}

impl Batch {
    pub(super) fn new<'a>(epochs: impl Iterator<Item = &'a Epoch>) -> Self {
        let mut batch = Self {
            first: 0,
            last: 0,
            last_seq: 0,
            last_order: 0,
            blocks: BTreeMap::new(),
            phase: Phase::Sidecar,
            todo: VecDeque::new(),
            runs: BTreeMap::new(),
            next_run: 0,
            is_failed: false,
            filled: BTreeMap::new(),
            slots: Vec::new(),
            open: Vec::new(),
        };
        for epoch in epochs {
            if batch.first == 0 {
                batch.first = epoch.number;
            }
            (batch.last, batch.last_seq) = (epoch.number, epoch.last_seq);
            for write in &epoch.writes {
                batch.last_order = batch.last_order.max(write.order);
                for (block, layer) in write.layers() {
                    cover(batch.blocks.entry(block).or_default(), layer);
                }
            }
        }
        batch.todo = batch.spans();
        batch
    }

    /// What is to be written, in order of its place.
    fn spans(&self) -> VecDeque<Span> {
        let mut found: VecDeque<Span> = VecDeque::new();
        for (block, layers) in &self.blocks {
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

    /// What a run of bytes is made of: layer, place on the disk, bytes, what of the layer's block is
    /// left out before.
    pub(super) fn pieces(&self, span: &Span) -> Vec<(Layer, u64, u32, u32)> {
        let mut found = Vec::new();
        for (block, from, to) in blocks_of(span.offset, span.bytes) {
            for (from, to, layer) in spans(&self.blocks[&block], from, to) {
                let layer = layer.expect("a run is of what was written");
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

    /// Blocks of a run that one write covers, with their place in it and their sum.
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
