use crate::index::hash;

const ROWS: usize = 4;
/// Value at which counters saturate (4 bits).
const COUNT_MAX: u64 = 15;

/// Recent reference counts of pages: a count-min sketch of 4-bit counters that halves itself after
/// a sample of references (Einziger, Friedman and Manes, TinyLFU, ACM Transactions on Storage
/// 13(4), 2017, sections 3.2 and 3.3).
#[derive(Debug, Clone)]
pub(super) struct Sketch {
    /// Counters, 16 in a word.
    words: Vec<u64>,
    mask: u64,
    seen: usize,
    sample: usize,
}

impl Sketch {
    /// Creates a sketch for a cache of `pages`: at least a word per page, and a sample of ten
    /// references per page.
    pub(super) fn new(pages: usize) -> Self {
        let words = pages.next_power_of_two().max(8);
        Self { words: vec![0; words], mask: words as u64 - 1, seen: 0, sample: 10 * pages.max(1) }
    }

    #[inline]
    pub(super) fn count(&mut self, page: u64) {
        let hash = hash(page);
        let least = self.estimate_of(hash);
        if least < COUNT_MAX {
            // Conservative update: only the counters that hold the minimum rise.
            for row in 0..ROWS {
                let (word, shift) = self.place(hash, row);
                if (self.words[word] >> shift) & COUNT_MAX == least {
                    self.words[word] += 1 << shift;
                }
            }
        }
        self.seen += 1;
        if self.seen >= self.sample {
            self.halve();
        }
    }

    /// Estimates the recent count of the page: never below the true count, and at most 15.
    #[inline]
    pub(super) fn estimate(&self, page: u64) -> u64 {
        self.estimate_of(hash(page))
    }

    #[inline]
    fn estimate_of(&self, hash: u64) -> u64 {
        let counter = |row| {
            let (word, shift) = self.place(hash, row);
            (self.words[word] >> shift) & COUNT_MAX
        };
        (0..ROWS).map(counter).min().unwrap_or(0)
    }

    /// Returns the word and the shift of a page's counter. Each row has a quarter of every word, so
    /// rows never share a counter.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "masked by the number of words")]
    fn place(&self, hash: u64, row: usize) -> (usize, u32) {
        const ODD: [u64; ROWS] = [
            0x97d3_5f1b_2c64_8a4d,
            0xd6e8_feb8_6659_fd93,
            0xa076_1d64_78bd_642f,
            0xe703_7ed1_a0b4_28db,
        ];
        let mixed = hash.wrapping_mul(ODD[row]);
        let counter = (mixed >> 62) as u32 + 4 * row as u32;
        (((mixed >> 24) & self.mask) as usize, counter * 4)
    }

    fn halve(&mut self) {
        for word in &mut self.words {
            *word = (*word >> 1) & 0x7777_7777_7777_7777;
        }
        self.seen /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_never_below_the_count_and_halves_with_age() {
        let mut sketch = Sketch::new(1000);
        for page in 0..500_u64 {
            for _ in 0..page % 7 {
                sketch.count(page);
            }
        }
        assert!((0..500).all(|page| sketch.estimate(page) >= page % 7));
        let exact = (0..500_u64).filter(|page| sketch.estimate(*page) == page % 7).count();
        assert!(exact > 490, "{exact} of 500 exact");
        sketch.halve();
        assert!((0..500).all(|page| sketch.estimate(page) <= 7));
    }
}
