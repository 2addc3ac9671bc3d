//! Pending objects, indexed by small numbers.

use std::ops::{Index, IndexMut};

/// Map from 32-bit numbers, such as ids of requests, to values. The number that became free last is
/// used first, so that a run in virtual time is reproducible bit for bit.
#[derive(Debug, Clone)]
pub struct Slab<T>(slab::Slab<T>);

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slab<T> {
    /// Creates an empty slab.
    pub const fn new() -> Self {
        Self(slab::Slab::new())
    }

    /// Stores a value and returns its number.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        number(self.0.insert(value))
    }

    /// Returns the value with this number; `None` if the number is not in use.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.0.get(number as usize)
    }

    /// Removes and returns the value with this number. The number may then be used again.
    ///
    /// # Panics
    /// If the number is not in use.
    #[inline]
    pub fn remove(&mut self, number: u32) -> T {
        self.0.remove(number as usize)
    }

    /// Iterates over the values, sorted by number.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Returns the number of values.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks that")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the numbers in use, in ascending order. They are a separate list, so that values may
    /// be changed and removed during iteration.
    pub fn numbers(&self) -> Vec<u32> {
        self.0.iter().map(|(at, _)| number(at)).collect()
    }
}

#[inline]
fn number(at: usize) -> u32 {
    u32::try_from(at).expect("fewer than 2^32 slots are in use")
}

/// # Panics
/// If the number is not in use.
impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.0[number as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.0[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_that_became_free_last_is_used_first() {
        let mut slab = Slab::new();
        assert_eq!(['a', 'b', 'c'].map(|value| slab.insert(value)), [0, 1, 2]);
        assert_eq!((slab.remove(0), slab.remove(2)), ('a', 'c'));
        assert_eq!((slab.len(), slab.get(0)), (1, None));
        assert_eq!(['d', 'e', 'f'].map(|value| slab.insert(value)), [2, 0, 3]);
        slab[1] = 'x';
        let values: String = slab.numbers().into_iter().map(|number| slab[number]).collect();
        assert_eq!((slab.numbers(), values.as_str()), (vec![0, 1, 2, 3], "exdf"));
    }
}
