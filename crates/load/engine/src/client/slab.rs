//! Map with keys that are never reused, so that a stale key finds nothing.

/// Position of a value, with the serial number of its insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) const fn of(number: u64) -> Self {
        Self(number)
    }

    pub(crate) const fn number(self) -> u64 {
        self.0
    }

    const fn place(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }
}

// Not `state_machine::Slab`, which gives numbers out again.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<(Key, T)>>,
    free: Vec<usize>,
    serial: u64,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), serial: 0 }
    }
}

impl<T> Slab<T> {
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Inserts a value. At most 2^32 values are stored at a time, and a key recurs after 2^32
    /// insertions.
    pub(crate) fn insert(&mut self, thing: T) -> Key {
        let place = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        self.serial += 1;
        let key = Key(self.serial << 32 | place as u64);
        self.entries[place] = Some((key, thing));
        key
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (own, thing) = self.entries.get_mut(key.place())?.as_mut()?;
        (*own == key).then_some(thing)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let entry = self.entries.get_mut(key.place())?;
        let (_, thing) = entry.take_if(|(own, _)| *own == key)?;
        self.free.push(key.place());
        Some(thing)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.entries.iter().flatten().map(|(key, thing)| (*key, thing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_outlived_its_thing_finds_nothing() {
        let mut slab = Slab::default();
        let (first, second) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(first), Some('a'));
        let third = slab.insert('c');
        assert_eq!((slab.remove(first), slab.get_mut(first)), (None, None));
        assert_eq!(slab.get_mut(third), Some(&mut 'c'));
        assert_eq!(slab.len(), 2);
        let left: Vec<_> = slab.iter().collect();
        assert_eq!(left, [(third, &'c'), (second, &'b')]);
    }
}
