//! Names of devices and senders, numbered in the order they appear.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Longest name that is kept, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// What all names after the first 65,535 are called.
const OTHERS: &str = "(others)";

/// Numbers of names: at most 65,536, the last of which is for all that came too late.
#[derive(Default)]
pub(super) struct Names {
    numbers: HashMap<Box<[u8]>, u16, BuildHasherDefault<Quick>>,
    last: Option<(Box<[u8]>, u16)>,
}

impl Names {
    /// The number of `key`, and whether it is new and so wants a name.
    pub(super) fn number(&mut self, key: &[u8]) -> (u16, bool) {
        let key = &key[..key.len().min(NAME_BYTES_MAX)];
        if let Some((last, number)) = &self.last
            && **last == *key
        {
            return (*number, false);
        }
        let (number, is_new) = match self.numbers.get(key) {
            Some(number) => (*number, false),
            None => match u16::try_from(self.numbers.len()) {
                Ok(number) => {
                    self.numbers.insert(key.into(), number);
                    (number, true)
                }
                Err(_) => return (u16::MAX, false),
            },
        };
        self.last = Some((key.into(), number));
        (number, is_new)
    }

    /// How the name with `number` is shown.
    pub(super) fn shown(name: &[u8], number: u16) -> String {
        if number == u16::MAX {
            return OTHERS.to_owned();
        }
        let name = &name[..name.len().min(NAME_BYTES_MAX)];
        let text = String::from_utf8_lossy(name);
        text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
    }
}

/// A hash of a few instructions per eight bytes; the map it serves is bounded.
#[derive(Default)]
pub(super) struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
