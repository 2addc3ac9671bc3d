//! Blocks in memory, compressed with LZ4 if compression saves at least one cell.
//!
//! Memory is divided into cells. A block takes as many cells as it needs, anywhere in memory, so no
//! room is lost to fragmentation. A block that compression shortens by less than an eighth is
//! stored uncompressed.
//!
//! The state machine decides which blocks are stored, and ensures that there is room for them.
//! Stored bytes have no checksum: memory is trusted, as by a page cache. If a compressed block does
//! not decompress to a whole block, the program panics.

use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size,
};
use tier::{BLOCK_CELLS, CELL_BYTES, IoId, MemoryCells};

const BLOCK: usize = 4096;
const CELL: usize = CELL_BYTES as usize;
/// Size of the header of a compressed block: the number of bytes that follow, little-endian.
const LENGTH: usize = 2;
/// Marks the end of a list of cells.
const NONE: u32 = u32::MAX;

/// Memory of a memory tier. The kernel allocates it when it is first used.
pub(crate) struct Arena {
    cells: Vec<u8>,
    /// Links between cells, by cell: the next cell of the same block, or the next free cell.
    next: Vec<u32>,
    /// Head of the free list: the cell that was freed last.
    free: u32,
    /// First cell that was never used.
    fresh: u32,
    table: CompressTable,
    packed: Vec<u8>,
    /// Blocks stored since the last call of [`Arena::told`], with their cells.
    told: Vec<(IoId, MemoryCells)>,
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena").field("cells", &self.next.len()).finish_non_exhaustive()
    }
}

impl Arena {
    pub(crate) fn new(bytes: u64) -> Self {
        let cells = usize::try_from(bytes / u64::from(CELL_BYTES)).expect("addresses have 64 bits");
        Self {
            cells: vec![0; cells * CELL],
            next: vec![0; cells],
            free: NONE,
            fresh: 0,
            table: CompressTable::small(),
            packed: vec![0; LENGTH + get_maximum_output_size(BLOCK)],
            told: Vec::new(),
        }
    }

    /// Returns the size of the links in bytes, for the largest number of cells in use at the same
    /// time so far.
    pub(crate) fn links_bytes(&self) -> u64 {
        u64::from(self.fresh) * size_of::<u32>() as u64
    }

    /// Stores a block, and records its cells for [`Arena::told`].
    pub(crate) fn keep(&mut self, io: IoId, block: &[u8]) {
        assert!(block.len() == BLOCK, "a block has {BLOCK} bytes");
        let packed = compress_into_with_table(block, &mut self.packed[LENGTH..], &mut self.table);
        let length = LENGTH + packed.expect("there is room for a block that does not compress");
        let is_shorter = length <= BLOCK - CELL;
        let length = if is_shorter { length } else { BLOCK };
        let kept = MemoryCells { first: self.take(), cells: cells_of(length) };
        if is_shorter {
            let bytes = u16::try_from(length - LENGTH).expect("shorter than a block");
            self.packed[..LENGTH].copy_from_slice(&bytes.to_le_bytes());
        }
        let mut cell = kept.first;
        for at in 0..usize::from(kept.cells) {
            if at > 0 {
                let next = self.take();
                self.next[cell as usize] = next;
                cell = next;
            }
            let source = if is_shorter { &self.packed[..] } else { block };
            // The bytes after a compressed block are left over from another block; nothing reads
            // them.
            let source = &source[at * CELL..(at + 1) * CELL];
            self.cells[cell as usize * CELL..][..CELL].copy_from_slice(source);
        }
        self.told.push((io, kept));
    }

    /// Returns and clears the list of blocks stored since the last call, with the cells of each.
    pub(crate) fn told(&mut self) -> Vec<(IoId, MemoryCells)> {
        std::mem::take(&mut self.told)
    }

    /// Reads bytes of a stored block, starting at offset `skip`.
    pub(crate) fn recall(&mut self, kept: MemoryCells, skip: usize, into: &mut [u8]) {
        if kept.cells == BLOCK_CELLS {
            return self.copy(kept, skip, into);
        }
        let length = usize::from(kept.cells) * CELL;
        let mut packed = std::mem::take(&mut self.packed);
        self.copy(kept, 0, &mut packed[..length]);
        let bytes = usize::from(u16::from_le_bytes([packed[0], packed[1]]));
        let source = packed.get(LENGTH..LENGTH + bytes).expect("the stored block is intact");
        if into.len() == BLOCK {
            unpack(source, into);
        } else {
            let mut block = [0; BLOCK];
            unpack(source, &mut block);
            into.copy_from_slice(&block[skip..skip + into.len()]);
        }
        self.packed = packed;
    }

    /// Copies stored bytes without decompressing them.
    fn copy(&self, kept: MemoryCells, skip: usize, into: &mut [u8]) {
        let (mut cell, mut at, mut done) = (kept.first, 0, 0);
        while done < into.len() {
            let bytes = &self.cells[cell as usize * CELL..][..CELL];
            let from = skip.saturating_sub(at).min(CELL);
            let count = (CELL - from).min(into.len() - done);
            into[done..done + count].copy_from_slice(&bytes[from..from + count]);
            (at, done) = (at + CELL, done + count);
            cell = self.next[cell as usize];
        }
    }

    /// Frees the cells of a block.
    pub(crate) fn forget(&mut self, kept: MemoryCells) {
        let mut last = kept.first;
        for _ in 1..kept.cells {
            last = self.next[last as usize];
        }
        self.next[last as usize] = self.free;
        self.free = kept.first;
    }

    fn take(&mut self) -> u32 {
        if self.free == NONE {
            assert!(
                (self.fresh as usize) < self.next.len(),
                "the state machine uses no more cells than exist"
            );
            self.fresh += 1;
            return self.fresh - 1;
        }
        let taken = self.free;
        self.free = self.next[taken as usize];
        taken
    }
}

fn unpack(packed: &[u8], into: &mut [u8]) {
    let bytes = decompress_into(packed, into);
    assert!(bytes.is_ok_and(|bytes| bytes == BLOCK), "the stored block is intact");
}

fn cells_of(length: usize) -> u8 {
    u8::try_from(length.div_ceil(CELL)).expect("a block has at most eight cells")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a block with `random` pseudo-random bytes from `seed`; the rest is constant.
    fn block(seed: u64, random: usize) -> Vec<u8> {
        let mut state = seed | 1;
        let mut byte = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        (0..BLOCK).map(|at| if at < random { byte() } else { 7 }).collect()
    }

    fn keep(arena: &mut Arena, block: &[u8]) -> MemoryCells {
        arena.keep(IoId(1), block);
        let told = arena.told();
        assert_eq!((told.len(), told[0].0), (1, IoId(1)));
        told[0].1
    }

    #[test]
    fn blocks_come_back_whatever_they_compress_to_and_in_any_part() {
        let mut arena = Arena::new(1 << 20);
        let mut kept = Vec::new();
        for (seed, random) in (1..).zip([0, 1, 500, 507, 508, 2000, 3500, 3560, 3600, 4096]) {
            let block = block(seed, random);
            kept.push((keep(&mut arena, &block), block));
        }
        let cells: Vec<u8> = kept.iter().map(|(kept, _)| kept.cells).collect();
        assert!(cells.is_sorted() && cells[0] == 1 && cells[9] == 8, "{cells:?}");
        for (kept, block) in &kept {
            for (skip, bytes) in [(0, 4096), (0, 512), (512, 512), (3584, 512), (1024, 2560)] {
                let mut found = vec![0xaa; bytes];
                arena.recall(*kept, skip, &mut found);
                assert!(found == block[skip..skip + bytes], "{kept:?} from {skip}, {bytes} B");
            }
        }
    }

    #[test]
    fn what_saves_less_than_an_eighth_is_kept_as_it_is() {
        let mut arena = Arena::new(1 << 20);
        let as_it_is = keep(&mut arena, &block(3, 3590));
        assert_eq!(as_it_is.cells, BLOCK_CELLS, "it would take 3,584 bytes and some");
        assert_eq!(keep(&mut arena, &block(3, 3500)).cells, BLOCK_CELLS - 1);
    }

    #[test]
    fn cells_that_were_given_back_are_used_again_to_the_last() {
        let mut arena = Arena::new(64 << 10);
        let mut blocks = Vec::new();
        for round in 0..50 {
            while blocks
                .iter()
                .map(|(kept, _): &(MemoryCells, Vec<u8>)| usize::from(kept.cells))
                .sum::<usize>()
                <= 128 - 8
            {
                let seed = round * 1000 + blocks.len() as u64;
                let block = block(seed, usize::try_from(seed * 977 % 4097).expect("few"));
                blocks.push((keep(&mut arena, &block), block));
            }
            for (kept, block) in &blocks {
                let mut found = vec![0; BLOCK];
                arena.recall(*kept, 0, &mut found);
                assert!(found == *block, "round {round}");
            }
            for at in (0..blocks.len()).rev().step_by(2) {
                arena.forget(blocks.swap_remove(at).0);
            }
        }
    }
}
