use std::sync::Arc;

/// Size of a sector in bytes. A sector is never torn.
pub const SECTOR: usize = 512;
/// Size of a memory page in bytes. Besides the sector, it is the other unit in which writes are
/// torn.
pub const BLOCK: usize = 4096;

/// Bytes of a disk, in shared blocks. Bytes that were never written are zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image(Vec<Arc<[u8; BLOCK]>>);

impl Image {
    /// Creates an image of this many zero bytes, rounded up to whole blocks.
    pub fn new(bytes: usize) -> Self {
        // One block for all: it is shared until it is written.
        let zeros = Arc::new([0; BLOCK]);
        Self((0..bytes.div_ceil(BLOCK)).map(|_| Arc::clone(&zeros)).collect())
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.0.len() * BLOCK
    }

    /// Returns true for an image without bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fills `into` with the bytes from `at` on. Panics beyond the end.
    pub fn read(&self, at: usize, into: &mut [u8]) {
        pieces(at, into.len(), |block, from, range| {
            let length = range.len();
            into[range].copy_from_slice(&self.0[block][from..from + length]);
        });
    }

    /// Writes `data` at `at`. Panics beyond the end.
    pub fn write(&mut self, at: usize, data: &[u8]) {
        pieces(at, data.len(), |block, from, range| {
            let length = range.len();
            Arc::make_mut(&mut self.0[block])[from..from + length].copy_from_slice(&data[range]);
        });
    }
}

/// Splits a range into blocks. Calls `each` with the number of a block, the offset in that block,
/// and the part of the range's bytes that is in it.
fn pieces(at: usize, bytes: usize, mut each: impl FnMut(usize, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < bytes {
        let from = (at + done) % BLOCK;
        let length = (BLOCK - from).min(bytes - done);
        each((at + done) / BLOCK, from, done..done + length);
        done += length;
    }
}
