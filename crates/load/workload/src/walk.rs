use state_machine::Stream;

/// Number of blocks per leaf.
const LEAF: u64 = 8;
/// Lowest level of a climb. Every step may reach all of the 2^6 leaves around.
const LEVEL_MIN: u32 = 6;
/// Probability to climb one more level before descending.
const CLIMB: f64 = 0.44;
/// Divisor of leaf numbers: writes go to leaves whose number is a multiple of it.
const WRITE_LEAVES: u64 = 8;
/// Share of writes that repeat the block read last.
const UPDATE: f64 = 0.5;
/// Share of writes that are followed by a second write of the same block.
const REWRITE: f64 = 0.15;

/// State of a hierarchical-reuse random walk.
///
/// The model is McNutt's (2000, "The Fractal Structure of Data Reference", chapter 2). The leaves
/// of a binary tree are visited by climbing a random number of levels from the current leaf and
/// descending to a random leaf below, so that reuse is similar on every time scale. The parameters
/// are published with an open implementation of an SPC-1-like load (lpabon/spc1, `spc1.c`, as
/// described; none of its code is used). Leaves have 8 blocks. The climb begins at level 6 and
/// continues with probability 0.44 per level. A write goes to a leaf rounded down to a multiple of
/// 8. Half of the writes repeat the block read last, and 15 % of the writes are followed by a
/// second write of the same block.
///
/// We differ in two ways. The second write replaces the block of the next write and is not an
/// additional request, so that rates and shares are as in the workload. And the rounding of a
/// write's leaf does not move the walk itself.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    leaves: u64,
    leaf_blocks: u64,
    levels: u32,
    leaf: u64,
    last_read: u64,
    /// Block that the next write repeats.
    rewrite: Option<u64>,
}

impl Walk {
    /// Creates a walk over this many blocks, at least 1, from a random leaf.
    pub fn new(blocks: u64, stream: &mut Stream) -> Self {
        let leaf_blocks = LEAF.min(blocks);
        let leaves = blocks / leaf_blocks;
        let levels = 64 - (leaves - 1).leading_zeros();
        let leaf = stream.below(leaves);
        let last_read = leaf * leaf_blocks + stream.below(leaf_blocks);
        Self { leaves, leaf_blocks, levels, leaf, last_read, rewrite: None }
    }

    /// Returns the block of the next read.
    #[inline]
    pub fn read(&mut self, stream: &mut Stream) -> u64 {
        self.step(stream);
        self.last_read = self.block_of(self.leaf, stream);
        self.last_read
    }

    /// Returns the block of the next write.
    #[inline]
    pub fn write(&mut self, stream: &mut Stream) -> u64 {
        if let Some(block) = self.rewrite.take() {
            return block;
        }
        self.step(stream);
        let block = if stream.chance(UPDATE) {
            self.last_read
        } else {
            self.block_of(self.leaf - self.leaf % WRITE_LEAVES, stream)
        };
        self.rewrite = stream.chance(REWRITE).then_some(block);
        block
    }

    /// Returns the state: leaf, block read last, and block that the next write repeats.
    pub const fn saved(&self) -> (u64, u64, Option<u64>) {
        (self.leaf, self.last_read, self.rewrite)
    }

    /// Restores a saved state.
    pub const fn go_on_from(&mut self, (leaf, last_read, rewrite): (u64, u64, Option<u64>)) {
        (self.leaf, self.last_read, self.rewrite) = (leaf, last_read, rewrite);
    }

    fn block_of(&self, leaf: u64, stream: &mut Stream) -> u64 {
        leaf * self.leaf_blocks + stream.below(self.leaf_blocks)
    }

    fn step(&mut self, stream: &mut Stream) {
        let mut level = LEVEL_MIN.min(self.levels);
        while level < self.levels && stream.chance(CLIMB) {
            level += 1;
        }
        let below = self.leaf >> level << level;
        // The region's end cuts the tree's last branches.
        let leaves = (1 << level).min(self.leaves - below);
        self.leaf = below + stream.below(leaves);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_machine::Purpose;

    fn walk(blocks: u64) -> (Walk, Stream) {
        let mut stream = Stream::derive(9, &[], Purpose::User);
        (Walk::new(blocks, &mut stream), stream)
    }

    #[test]
    fn writes_repeat_themselves_and_the_last_read_as_published() {
        let (mut walk, mut stream) = walk(1 << 20);
        let (mut twice, mut repeats, mut fresh) = (0.0, 0.0, 0.0);
        let mut last_write = None;
        for _ in 0..100_000 {
            let read = walk.read(&mut stream);
            let was_rewrite = walk.rewrite.is_some();
            let block = walk.write(&mut stream);
            if was_rewrite {
                assert_eq!(Some(block), last_write, "the second write has the same block");
                twice += 1.0;
            } else {
                fresh += 1.0;
                repeats += if block == read { 1.0 } else { 0.0 };
            }
            last_write = Some(block);
        }
        // Five standard errors of a share over some 87,000 writes.
        assert!((twice / fresh - 0.15_f64).abs() < 0.006, "{}", twice / fresh);
        assert!((repeats / fresh - 0.5_f64).abs() < 0.009, "{}", repeats / fresh);
    }

    #[test]
    fn the_walk_stays_near_and_sometimes_goes_far() {
        let (mut walk, mut stream) = walk(1 << 24);
        let mut last = walk.read(&mut stream);
        let (mut near, mut far) = (0, 0);
        for _ in 0..100_000 {
            let block = walk.read(&mut stream);
            near += i32::from(block.abs_diff(last) < LEAF << LEVEL_MIN);
            far += i32::from(block.abs_diff(last) > 1 << 16);
            last = block;
        }
        assert!(near > 50_000, "56 % of steps stay below level 7, saw {near}");
        assert!(far > 30, "some steps climb eight levels and more, saw {far}");
    }

    #[test]
    fn every_block_is_inside_however_small_the_region() {
        for blocks in [1, 2, 7, 8, 9, 63, 64, 65, 1000, 4097] {
            let (mut walk, mut stream) = walk(blocks);
            for _ in 0..2000 {
                assert!(walk.read(&mut stream) < blocks);
                assert!(walk.write(&mut stream) < blocks);
            }
        }
    }
}
