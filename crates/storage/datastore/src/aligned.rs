use std::ops::{Deref, DerefMut};

/// Alignment that is enough for direct I/O on every device, in bytes.
const ALIGNMENT: usize = 4096;

/// Zeroed bytes that start on a 4 KiB boundary, for direct I/O by plain system calls.
#[derive(Debug)]
pub struct AlignedBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// Creates a buffer of `length` zeroes.
    pub fn new(length: usize) -> Self {
        let bytes = vec![0; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        assert!(start < ALIGNMENT, "bytes can be aligned to {ALIGNMENT}");
        Self { bytes, start, length }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}
