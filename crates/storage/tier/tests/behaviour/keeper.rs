//! The driver's memory for blocks. The compressed size of a block is random here.

use std::collections::BTreeMap;

use state_machine::{Purpose, Stream};
use tilemark_tier::{BLOCK_CELLS, IoId, MemoryCells};

pub struct Keeper {
    chance: Stream,
    next: u32,
    blocks: BTreeMap<u32, (MemoryCells, Vec<u8>)>,
    /// Answers that the state machine has not been told yet.
    pub told: Vec<(IoId, MemoryCells)>,
}

impl Keeper {
    pub fn new(seed: u64) -> Self {
        let chance = Stream::derive(seed, &[22], Purpose::Device);
        Self { chance, next: 0, blocks: BTreeMap::new(), told: Vec::new() }
    }

    pub fn keep(&mut self, io: IoId, block: &[u8]) {
        self.next += 1;
        let cells = u8::try_from(1 + self.chance.below(u64::from(BLOCK_CELLS))).expect("eight");
        let kept = MemoryCells { first: self.next, cells };
        self.blocks.insert(kept.first, (kept, block.to_vec()));
        self.told.push((io, kept));
    }

    pub fn block(&self, kept: MemoryCells) -> &[u8] {
        let (known, block) = &self.blocks[&kept.first];
        assert_eq!(*known, kept);
        block
    }

    pub fn forget(&mut self, kept: MemoryCells) {
        let (known, _) = self.blocks.remove(&kept.first).expect("what is forgotten was kept");
        assert_eq!(known, kept);
    }

    /// Cells that blocks take.
    pub fn taken(&self) -> u64 {
        self.blocks.values().map(|(kept, _)| u64::from(kept.cells)).sum()
    }
}
