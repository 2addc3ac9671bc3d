use std::collections::BTreeMap;

use super::{BLOCK, Write};

/// Sectors of a block.
const SECTORS: u8 = 8;

/// Some sectors of a block that a write in the log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tier) struct Layer {
    /// Counts writes.
    pub(in crate::tier) order: u64,
    /// First sector and the one after the last.
    pub(in crate::tier) from: u8,
    pub(in crate::tier) to: u8,
    /// Where the block lies in the log.
    pub(in crate::tier) at: u64,
}

impl Layer {
    pub(in crate::tier) const fn is_whole(&self) -> bool {
        self.from == 0 && self.to == SECTORS
    }
}

/// What the log has, by block; of each block oldest first, and nothing below what is covered.
#[derive(Debug, Clone, Default)]
pub(in crate::tier) struct Overlay(pub(in crate::tier) BTreeMap<u64, Vec<Layer>>);

impl Overlay {
    pub(in crate::tier) fn blocks(&self) -> usize {
        self.0.len()
    }

    /// Lays a write over what is there.
    pub(super) fn lay(&mut self, write: Write) {
        for (place, (block, from, to)) in (0..).zip(blocks_of(write.offset, write.length)) {
            let layer = Layer { order: write.order, from, to, at: write.at + place * BLOCK };
            let layers = self.0.entry(block).or_default();
            layers.retain(|older| older.from < from || older.to > to);
            layers.push(layer);
        }
    }

    /// Runs of sectors of a block, each with the newest layer that has it.
    pub(in crate::tier) fn runs(
        &self,
        block: u64,
        from: u8,
        to: u8,
    ) -> Vec<(u8, u8, Option<Layer>)> {
        let Some(layers) = self.0.get(&block) else { return vec![(from, to, None)] };
        let owner = |sector: u8| {
            layers.iter().rev().find(|own| (own.from..own.to).contains(&sector)).copied()
        };
        let mut runs: Vec<(u8, u8, Option<Layer>)> = Vec::new();
        for sector in from..to {
            let layer = owner(sector);
            match runs.last_mut() {
                Some((_, end, last)) if *last == layer => *end = sector + 1,
                _ => runs.push((sector, sector + 1, layer)),
            }
        }
        runs
    }

    /// Writes up to this one are on the backing store.
    pub(in crate::tier) fn retire(&mut self, block: u64, order: u64) {
        if let Some(layers) = self.0.get_mut(&block) {
            layers.retain(|layer| layer.order > order);
            if layers.is_empty() {
                self.0.remove(&block);
            }
        }
    }
}

/// The blocks that a range touches: number, first sector, the one after the last. A sector that it
/// touches in part counts.
pub(in crate::tier) fn blocks_of(offset: u64, length: u32) -> impl Iterator<Item = (u64, u8, u8)> {
    let (first, end) = (offset / 512, (offset + u64::from(length)).div_ceil(512));
    let per = u64::from(SECTORS);
    (first / per..end.div_ceil(per)).map(move |block| {
        let sector = |at: u64| u8::try_from(at - block * per).unwrap_or(SECTORS);
        (block, sector(first.max(block * per)), sector(end.min((block + 1) * per)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sector_belongs_to_the_newest_write_until_that_is_on_the_backing_store() {
        let mut overlay = Overlay::default();
        overlay.lay(Write { offset: 3584, length: 5120, at: 4096, order: 1 });
        overlay.lay(Write { offset: 4096, length: 1024, at: 20_480, order: 2 });
        let runs = |overlay: &Overlay, block| -> Vec<_> {
            let runs = overlay.runs(block, 0, 8).into_iter();
            runs.map(|(from, to, layer)| (from, to, layer.map(|l| (l.order, l.at)))).collect()
        };
        assert_eq!(runs(&overlay, 0), [(0, 7, None), (7, 8, Some((1, 4096)))]);
        assert_eq!(runs(&overlay, 1), [(0, 2, Some((2, 20_480))), (2, 8, Some((1, 8192)))]);
        overlay.retire(1, 1);
        assert_eq!(runs(&overlay, 1), [(0, 2, Some((2, 20_480))), (2, 8, None)]);
        overlay.lay(Write { offset: 4096, length: 4096, at: 0, order: 3 });
        assert_eq!(overlay.0[&1].len(), 1, "what is covered is gone");
        [0, 1, 2].into_iter().for_each(|block| overlay.retire(block, 3));
        assert_eq!(overlay.blocks(), 0);
    }
}
