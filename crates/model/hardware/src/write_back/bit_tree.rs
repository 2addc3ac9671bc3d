/// A set of numbers that finds the next member from any number in a few steps. It has a bit for
/// each number, a bit for each word of these bits, and so on.
#[derive(Debug, Clone, Default)]
pub struct BitTree {
    levels: [Vec<u64>; LEVELS],
}

/// Number of levels, enough for numbers below 2^36.
const LEVELS: usize = 6;
const WORD: usize = 64;

impl BitTree {
    /// Adds a number, below 2^36.
    #[inline]
    pub fn insert(&mut self, number: usize) {
        let mut at = number;
        for words in &mut self.levels {
            let (word, bit) = (at / WORD, at % WORD);
            if word >= words.len() {
                words.resize(word + 1, 0);
            }
            let was = words[word];
            words[word] = was | 1 << bit;
            if was != 0 {
                return;
            }
            at = word;
        }
    }

    /// Removes a number, if it is a member.
    pub fn remove(&mut self, number: usize) {
        let mut at = number;
        for words in &mut self.levels {
            let (word, bit) = (at / WORD, at % WORD);
            let Some(word_bits) = words.get_mut(word) else { return };
            *word_bits &= !(1 << bit);
            if *word_bits != 0 {
                return;
            }
            at = word;
        }
    }

    /// Returns the smallest member that is at least `from`.
    pub fn next(&self, from: usize) -> Option<usize> {
        let mut at = from;
        for (level, words) in self.levels.iter().enumerate() {
            let (word, bit) = (at / WORD, at % WORD);
            let rest = words.get(word)? & (u64::MAX << bit);
            if rest != 0 {
                let mut found = word * WORD + rest.trailing_zeros() as usize;
                for words in self.levels[..level].iter().rev() {
                    found = found * WORD + words[found].trailing_zeros() as usize;
                }
                return Some(found);
            }
            at = word + 1;
        }
        None
    }

    /// Returns true if no member lies in the same word of 64 numbers.
    pub fn is_word_empty(&self, number: usize) -> bool {
        self.levels[0].get(number / WORD).is_none_or(|word| *word == 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use state_machine::{Purpose, Stream};

    use super::*;

    /// Compares the tree with a plain set, with numbers far apart and close together.
    #[test]
    fn the_next_member_is_that_of_an_ordered_set() {
        let mut stream = Stream::derive(1, &[], Purpose::Device);
        let (mut tree, mut model) = (BitTree::default(), BTreeSet::new());
        for _ in 0..20_000 {
            let number =
                usize::try_from(stream.below(300) << (8 * stream.below(3))).expect("small");
            if stream.chance(0.5) {
                tree.insert(number);
                model.insert(number);
            } else {
                tree.remove(number);
                model.remove(&number);
            }
            for from in [0, number, number + 1, 1 << 23] {
                assert_eq!(tree.next(from), model.range(from..).next().copied());
            }
            let word = number / WORD * WORD;
            let is_empty = model.range(word..word + WORD).next().is_none();
            assert_eq!(tree.is_word_empty(number), is_empty);
        }
    }
}
