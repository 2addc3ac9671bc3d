//! Newest version of each dirty block of a disk: writes that are not on the backing store yet.
//!
//! Invariant: a read returns each sector as the newest accepted write left it. So a layer of an
//! older write never hides a layer of a newer write, independent of where their bytes are. A layer
//! is removed only when its write failed, or when the backing store has that write and all writes
//! before it.

use rustc_hash::FxHashMap;

use crate::event::Buf;

/// Number of sectors of a block.
pub(crate) const SECTORS: u8 = 8;

/// Location of a layer's bytes. For a write, the location of the bytes in its first block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Buffer of a write whose group is not on the log yet; `at` is the offset of the first sector.
    Ram { buf: Buf, at: u32 },
    /// Log; `at` is the address of the block that holds the layer, at the same offset in the block
    /// as on the disk.
    Flash { at: u64 },
    /// Zeros, which are not stored.
    Zero { unmap: bool },
}

/// Sectors of a block that one write changed and that are not on the backing store yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layer {
    /// Position of the write in the order of acceptance.
    pub(crate) order: u64,
    /// First sector, and the sector behind the last.
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) source: Source,
    /// Checksum of the layer's bytes.
    pub(crate) sum: u32,
}

impl Layer {
    pub(crate) fn is_whole(&self) -> bool {
        self.from == 0 && self.to == SECTORS
    }
}

/// Layers of one block, oldest first. Layers below a layer that covers the whole block are dropped.
pub(crate) type Layers = Vec<Layer>;

/// Adds a newer layer on top.
pub(crate) fn cover(layers: &mut Layers, layer: Layer) {
    layers.retain(|older| older.from < layer.from || older.to > layer.to);
    layers.push(layer);
}

/// Returns the visible layers as runs of sectors: first sector, sector behind the last, and the
/// layer, or `None` where there is none. Empty if the block has no layer at all.
pub(crate) fn spans(layers: &[Layer], from: u8, to: u8) -> Vec<(u8, u8, Option<Layer>)> {
    match layers {
        [] => return Vec::new(),
        // Most blocks were written whole.
        [.., newest] if from < to && newest.from <= from && to <= newest.to => {
            return vec![(from, to, Some(*newest))];
        }
        _ => {}
    }
    let owner =
        |sector: u8| layers.iter().rev().find(|l| (l.from..l.to).contains(&sector)).copied();
    let mut found: Vec<(u8, u8, Option<Layer>)> = Vec::new();
    for sector in from..to {
        let layer = owner(sector);
        match found.last_mut() {
            Some((_, end, last)) if *last == layer => *end = sector + 1,
            _ => found.push((sector, sector + 1, layer)),
        }
    }
    found
}

/// Dirty blocks of a disk, with their layers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overlay {
    blocks: FxHashMap<u64, Layers>,
}

impl Overlay {
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the size of the blocks that wait to be destaged, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.blocks.len() as u64 * 4096
    }

    pub(crate) fn get(&self, block: u64) -> &[Layer] {
        self.blocks.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Adds the layers of a write, so that later reads see it.
    pub(crate) fn write(&mut self, layers: impl Iterator<Item = (u64, Layer)>) {
        for (block, layer) in layers {
            cover(self.blocks.entry(block).or_default(), layer);
        }
    }

    /// Records that the payload of a write is in the log, starting at address `at`.
    pub(crate) fn land(&mut self, order: u64, (offset, bytes): (u64, u32), at: u64) {
        for (block, place) in touched(offset, bytes).zip(0_u64..) {
            for layer in self.blocks.get_mut(&block).into_iter().flatten() {
                if layer.order == order {
                    layer.source = Source::Flash { at: at + 4096 * place };
                }
            }
        }
    }

    /// Removes a failed write, so that reads no longer see it.
    pub(crate) fn fail(&mut self, order: u64, (offset, bytes): (u64, u32)) {
        touched(offset, bytes)
            .for_each(|block| self.drop_layers(block, |layer| layer.order == order));
    }

    /// Removes the layers of a block up to this write, because the backing store has them.
    pub(crate) fn retire(&mut self, block: u64, order: u64) {
        self.drop_layers(block, |layer| layer.order <= order);
    }

    fn drop_layers(&mut self, block: u64, is_gone: impl Fn(&Layer) -> bool) {
        if let Some(layers) = self.blocks.get_mut(&block) {
            layers.retain(|layer| !is_gone(layer));
            if layers.is_empty() {
                self.blocks.remove(&block);
            }
        }
    }
}

/// Iterates over the blocks that a write touches, with its layer in each. `source` is the location
/// of the first block; `sums` has one checksum for each block.
pub(crate) fn layers(
    order: u64,
    (offset, bytes): (u64, u32),
    source: Source,
    sums: &[u32],
) -> impl Iterator<Item = (u64, Layer)> {
    blocks_of(offset, bytes).zip(0_u32..).map(move |((block, from, to), place)| {
        let source = match source {
            Source::Ram { buf, at } if place > 0 => {
                let before = u32::try_from(block * 4096 - offset).unwrap_or(u32::MAX);
                Source::Ram { buf, at: at + before }
            }
            Source::Flash { at } => Source::Flash { at: at + 4096 * u64::from(place) },
            first => first,
        };
        (
            block,
            Layer { order, from, to, source, sum: sums.get(place as usize).copied().unwrap_or(0) },
        )
    })
}

/// Iterates over the blocks that a range touches: block, first sector, sector behind the last.
pub(crate) fn blocks_of(offset: u64, bytes: u32) -> impl Iterator<Item = (u64, u8, u8)> {
    let (first, end) = (offset / 512, (offset + u64::from(bytes)) / 512);
    let per = u64::from(SECTORS);
    (first / per..end.div_ceil(per)).map(move |block| {
        let sector = |at: u64| u8::try_from(at - block * per).unwrap_or(SECTORS);
        (block, sector(first.max(block * per)), sector(end.min((block + 1) * per)))
    })
}

/// Returns the blocks that a range touches.
pub(crate) fn touched(offset: u64, bytes: u32) -> std::ops::Range<u64> {
    offset / 4096..(offset + u64::from(bytes)).div_ceil(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(order: u64, from: u8, to: u8) -> Layer {
        Layer { order, from, to, source: Source::Zero { unmap: false }, sum: 0 }
    }

    #[test]
    fn each_sector_belongs_to_the_newest_write_that_touched_it() {
        let mut layers = vec![];
        for (order, from, to) in [(1, 0, 8), (2, 2, 6), (3, 3, 4), (4, 5, 8)] {
            cover(&mut layers, layer(order, from, to));
        }
        let spans: Vec<_> =
            spans(&layers, 1, 8).into_iter().map(|(a, b, l)| (a, b, l.map(|l| l.order))).collect();
        let expected = [(1, 2, 1), (2, 3, 2), (3, 4, 3), (4, 5, 2), (5, 8, 4)];
        assert_eq!(spans, expected.map(|(a, b, order)| (a, b, Some(order))));
        cover(&mut layers, layer(5, 0, 8));
        assert_eq!(layers.len(), 1);
    }

    fn orders(overlay: &Overlay, block: u64) -> Vec<Option<u64>> {
        let found = spans(overlay.get(block), 0, SECTORS);
        found.into_iter().map(|(.., layer)| layer.map(|layer| layer.order)).collect()
    }

    #[test]
    fn newest_accepted_write_is_seen_wherever_older_ones_are() {
        let mut overlay = Overlay::default();
        let buf = Buf(3);
        let ram = |order, range| layers(order, range, Source::Ram { buf, at: 0 }, &[7, 8]);
        overlay.write(ram(1, (2048, 6144)));
        overlay.write(ram(2, (4096, 4096)));
        assert_eq!(overlay.get(0)[0].source, Source::Ram { buf, at: 0 });
        // The older write lands last, and takes nothing back from the newer one.
        overlay.land(2, (4096, 4096), 40_960);
        overlay.land(1, (2048, 6144), 8192);
        let [newest] = overlay.get(1) else { panic!("a whole block hides what it covers") };
        assert_eq!((newest.order, newest.source), (2, Source::Flash { at: 40_960 }));
        assert_eq!(overlay.get(0)[0].source, Source::Flash { at: 8192 });
        overlay.retire(1, 1);
        assert_eq!(orders(&overlay, 1), [Some(2)], "a newer write waits still");
        overlay.retire(0, 1);
        assert_eq!((overlay.get(0).len(), overlay.bytes()), (0, 4096));
    }

    #[test]
    fn failed_write_uncovers_what_was_before() {
        let mut overlay = Overlay::default();
        let zeros = Source::Zero { unmap: false };
        overlay.write(layers(1, (0, 1024), zeros, &[]));
        overlay.write(layers(2, (512, 1024), zeros, &[]));
        overlay.fail(2, (512, 1024));
        assert_eq!(orders(&overlay, 0), [Some(1), None]);
        overlay.fail(1, (0, 1024));
        assert!(overlay.is_empty());
    }

    #[test]
    fn layer_of_each_block_says_where_its_own_bytes_are() {
        let buf = Buf(3);
        let found: Vec<_> = layers(1, (3584, 5120), Source::Ram { buf, at: 0 }, &[5, 6, 7])
            .map(|(block, layer)| (block, layer.source, layer.sum))
            .collect();
        let ram = |at| Source::Ram { buf, at };
        assert_eq!(found, [(0, ram(0), 5), (1, ram(512), 6), (2, ram(4608), 7)]);
    }

    #[test]
    fn a_range_touches_blocks_by_their_sectors() {
        let touched: Vec<_> = blocks_of(3584, 5120).collect();
        assert_eq!(touched, [(0, 7, 8), (1, 0, 8), (2, 0, 1)]);
        assert_eq!(blocks_of(4096, 4096).collect::<Vec<_>>(), [(1, 0, 8)]);
    }
}
