use state_machine::Stream;

/// Permutes ranks in a fixed random order over a range, so that popular blocks are not neighbours.
///
/// The permutation is a bijection on the next power of two (odd multiplications and xorshifts are
/// both invertible), repeated while the result is out of range: cycle walking (Black and Rogaway
/// 2002, "Ciphers with arbitrary finite domains", section 3). This takes fewer than two rounds on
/// average.
#[derive(Debug, Clone, Copy)]
pub struct Scatter {
    range: u64,
    mask: u64,
    shift: u32,
    factors: [u64; 2],
    offset: u64,
}

impl Scatter {
    /// Creates a random order of 0 to `range - 1`; `range` is at least 1.
    pub fn new(range: u64, stream: &mut Stream) -> Self {
        let bits = 64 - (range - 1).max(1).leading_zeros();
        Self {
            range,
            mask: u64::MAX >> (64 - bits),
            shift: bits.div_ceil(2),
            factors: [stream.bits() | 1, stream.bits() | 1],
            offset: stream.bits(),
        }
    }

    /// Returns the place of a rank.
    #[inline]
    pub fn place(&self, rank: u64) -> u64 {
        let mut place = rank;
        loop {
            place = place.wrapping_add(self.offset) & self.mask;
            for factor in self.factors {
                place = place.wrapping_mul(factor) & self.mask;
                place ^= place >> self.shift;
            }
            if place < self.range {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use state_machine::Purpose;

    proptest! {
        #[test]
        fn every_place_is_taken_exactly_once(range in 1_u64..3000, seed: u64) {
            let scatter =
                Scatter::new(range, &mut Stream::derive(seed, &[], Purpose::Addresses));
            let mut places: Vec<u64> = (0..range).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..range).collect::<Vec<_>>());
        }
    }
}
