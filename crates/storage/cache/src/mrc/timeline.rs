/// Number of bits in a block: eight words, one cache line.
const BLOCK_BITS: usize = 512;
/// Number of blocks in a group, whose counts are summed one by one.
const GROUP_BLOCKS: usize = 64;
const GROUP_BITS: usize = BLOCK_BITS * GROUP_BLOCKS;

/// Row of bits that finds quickly the number of set bits before a position. It is a Fenwick tree
/// (Software: Practice and Experience 24(3), 1994) over groups, with plain counts below it and
/// words at the bottom. Most of it stays in the first cache levels, unlike a tree over single
/// positions.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    words: Vec<u64>,
    blocks: Vec<u16>,
    /// Fenwick tree over groups. Indexes begin at 1.
    groups: Vec<u32>,
}

impl Timeline {
    /// Creates a row of at least `positions` bits, all clear.
    pub(super) fn new(positions: usize) -> Self {
        let groups = positions.div_ceil(GROUP_BITS).max(1);
        Self {
            words: vec![0; groups * GROUP_BITS / 64],
            blocks: vec![0; groups * GROUP_BLOCKS],
            groups: vec![0; groups + 1],
        }
    }

    pub(super) fn positions(&self) -> usize {
        self.words.len() * 64
    }

    /// Sets a bit that is clear.
    #[inline]
    pub(super) fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
        self.blocks[at / BLOCK_BITS] += 1;
        let mut group = at / GROUP_BITS + 1;
        while group < self.groups.len() {
            self.groups[group] += 1;
            group += group & group.wrapping_neg();
        }
    }

    /// Clears a bit that is set.
    #[inline]
    pub(super) fn clear(&mut self, at: usize) {
        self.words[at / 64] &= !(1 << (at % 64));
        self.blocks[at / BLOCK_BITS] -= 1;
        let mut group = at / GROUP_BITS + 1;
        while group < self.groups.len() {
            self.groups[group] -= 1;
            group += group & group.wrapping_neg();
        }
    }

    /// Returns the number of set bits before a position.
    #[inline]
    pub(super) fn rank(&self, at: usize) -> usize {
        let mut sum = 0_u32;
        let mut group = at / GROUP_BITS;
        let first_block = group * GROUP_BLOCKS;
        while group > 0 {
            sum += self.groups[group];
            group &= group - 1;
        }
        let block = at / BLOCK_BITS;
        sum += self.blocks[first_block..block].iter().map(|count| u32::from(*count)).sum::<u32>();
        let word = at / 64;
        let words = &self.words[block * (BLOCK_BITS / 64)..word];
        sum += words.iter().map(|word| word.count_ones()).sum::<u32>();
        let below = self.words[word] & ((1 << (at % 64)) - 1);
        (sum + below.count_ones()) as usize
    }

    /// Returns the position of the set bit before which `rank` bits are set. This bit must exist.
    pub(super) fn select(&self, rank: usize) -> usize {
        let mut left = rank;
        let mut group = 0;
        let mut step = self.groups.len().next_power_of_two();
        while step > 0 {
            let next = group + step;
            if next < self.groups.len() && self.groups[next] as usize <= left {
                group = next;
                left -= self.groups[next] as usize;
            }
            step /= 2;
        }
        let mut block = group * GROUP_BLOCKS;
        while usize::from(self.blocks[block]) <= left {
            left -= usize::from(self.blocks[block]);
            block += 1;
        }
        let mut word = block * (BLOCK_BITS / 64);
        while self.words[word].count_ones() as usize <= left {
            left -= self.words[word].count_ones() as usize;
            word += 1;
        }
        let rest = (0..left).fold(self.words[word], |rest, _| rest & rest.wrapping_sub(1));
        word * 64 + rest.trailing_zeros() as usize
    }

    /// Iterates over the positions of the set bits, ascending.
    pub(super) fn ones(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit as usize)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_rank_counts_the_bits_before(
            bits in prop::collection::btree_set(0_usize..100_000, 0..300),
            cleared in prop::collection::vec(any::<prop::sample::Index>(), 0..50),
            at in 0_usize..100_000,
        ) {
            let mut bits = bits;
            let mut timeline = Timeline::new(100_000);
            bits.iter().for_each(|bit| timeline.set(*bit));
            for index in cleared {
                let Some(bit) = bits.iter().nth(index.index(bits.len().max(1))).copied() else { break };
                timeline.clear(bit);
                bits.remove(&bit);
            }
            prop_assert_eq!(timeline.rank(at), bits.range(..at).count());
            prop_assert!(timeline.ones().eq(bits.iter().copied()));
            for (rank, bit) in bits.iter().enumerate() {
                prop_assert_eq!(timeline.select(rank), *bit);
            }
        }
    }
}
