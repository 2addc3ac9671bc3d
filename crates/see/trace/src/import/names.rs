//! Names of devices and initiators, numbered in order of appearance.

/// Maximum length of a stored name, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Common name of all names after the first 65,535.
const OTHERS: &str = "(others)";
/// Initial number of slots of the table of names: a power of two.
const SLOTS: usize = 64;

/// Numbers for names, at most 65,536; all later names share the last. It is a hash table of our own
/// because every line of a trace looks up names: it needs no allocation and no keyed hash.
pub(super) struct Names {
    keys: Vec<Box<[u8]>>,
    /// Position of the key in each slot, plus one; 0 means free. At most half of the slots are
    /// used.
    slots: Vec<u32>,
    last: u16,
}

impl Default for Names {
    fn default() -> Self {
        Self { keys: Vec::new(), slots: vec![0; SLOTS], last: 0 }
    }
}

impl Names {
    /// Returns the number of `key`, and true if the key is new and needs a name.
    #[inline]
    pub(super) fn number(&mut self, key: &[u8]) -> (u16, bool) {
        let key = &key[..key.len().min(NAME_BYTES_MAX)];
        if self.keys.get(usize::from(self.last)).is_some_and(|last| **last == *key) {
            return (self.last, false);
        }
        let (number, is_new) = self.find(key);
        self.last = number;
        (number, is_new)
    }

    fn find(&mut self, key: &[u8]) -> (u16, bool) {
        let mut slot = self.first_slot(key);
        while let Some(index) = self.slots[slot].checked_sub(1) {
            let number = u16::try_from(index).unwrap_or(u16::MAX);
            if *self.keys[usize::from(number)] == *key {
                return (number, false);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        match u16::try_from(self.keys.len()) {
            Ok(number) => {
                // The last number belongs to all names from the 65,536th on.
                self.keys.push(key.into());
                self.slots[slot] = u32::from(number) + 1;
                self.grow();
                (number, true)
            }
            Err(_) => (u16::MAX, false),
        }
    }

    fn grow(&mut self) {
        if self.keys.len() * 2 <= self.slots.len() {
            return;
        }
        self.slots = vec![0; self.slots.len() * 2];
        for (key, index) in self.keys.iter().zip(1..) {
            let mut slot = self.first_slot(key);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (self.slots.len() - 1);
            }
            self.slots[slot] = index;
        }
    }

    /// Returns the first slot to search for a key.
    fn first_slot(&self, key: &[u8]) -> usize {
        let (words, rest) = key.as_chunks::<8>();
        let mix =
            |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = words.iter().fold(0, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        let rest = rest.iter().fold(1, |word, byte| word << 8 | u64::from(*byte));
        let hash = mix(hash, rest) >> 32;
        usize::try_from(hash).unwrap_or(0) & (self.slots.len() - 1)
    }

    /// Returns the name of `number` for people.
    pub(super) fn shown(name: &[u8], number: u16) -> String {
        if number == u16::MAX {
            return OTHERS.to_owned();
        }
        let name = &name[..name.len().min(NAME_BYTES_MAX)];
        let text = String::from_utf8_lossy(name);
        text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
    }
}
