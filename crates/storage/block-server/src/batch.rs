use std::ops::Range;

use crate::Buffer;
use crate::buffer::Pool;

/// Batch of bytes for one send: headers, which are copied into the batch, and data buffers between
/// them, which are not.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    heads: Vec<u8>,
    pieces: Vec<Piece>,
    length: usize,
    sent: usize,
}

#[derive(Debug)]
enum Piece {
    Head(Range<usize>),
    Data(Buffer),
}

impl Batch {
    /// Appends a header. `write` writes the header's bytes.
    pub fn write<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let start = self.heads.len();
        let result = write(&mut self.heads);
        let end = self.heads.len();
        self.length += end - start;
        match self.pieces.last_mut() {
            Some(Piece::Head(last)) => last.end = end,
            _ if end > start => self.pieces.push(Piece::Head(start..end)),
            _ => {}
        }
        result
    }

    pub fn data(&mut self, data: Buffer) {
        self.length += data.len();
        self.pieces.push(Piece::Data(data));
    }

    /// Returns the number of bytes that are not sent yet.
    pub fn left(&self) -> usize {
        self.length - self.sent
    }

    /// Records that `bytes` more bytes were sent.
    pub fn advance(&mut self, bytes: usize) {
        self.sent += bytes;
        assert!(self.sent <= self.length, "at most the queued bytes are sent");
    }

    /// Iterates over the slices of bytes that are not sent yet.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let mut skip = self.sent;
        self.pieces.iter().filter_map(move |piece| {
            let bytes = match piece {
                Piece::Head(range) => &self.heads[range.clone()],
                Piece::Data(buffer) => &buffer[..],
            };
            let skipped = skip.min(bytes.len());
            skip -= skipped;
            (skipped < bytes.len()).then(|| &bytes[skipped..])
        })
    }

    /// Empties the batch for its next use, and returns its buffers to the pool.
    pub fn clear(&mut self, pool: &mut Pool) {
        for piece in self.pieces.drain(..) {
            if let Piece::Data(buffer) = piece {
                pool.give(buffer);
            }
        }
        self.heads.clear();
        (self.length, self.sent) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(batch: &Batch) -> Vec<u8> {
        batch.slices().flatten().copied().collect()
    }

    #[test]
    fn headers_and_data_keep_their_order_over_partial_sends() {
        let mut batch = Batch::default();
        batch.write(|out| out.extend(b"ab"));
        batch.write(|out| out.extend(b"c"));
        let mut data = Buffer::zeroed(4);
        data.copy_from_slice(b"DATA");
        batch.data(data);
        batch.write(|_| {});
        batch.write(|out| out.extend(b"d"));
        let whole = b"abcDATAd";
        assert_eq!(batch.slices().count(), 3, "heads in a row are one piece");
        for sent in 0..whole.len() {
            assert_eq!((bytes(&batch), batch.left()), (whole[sent..].to_vec(), whole.len() - sent));
            batch.advance(1);
        }
        assert_eq!(bytes(&batch), b"");
        batch.clear(&mut Pool::new());
        batch.write(|out| out.extend(b"x"));
        assert_eq!(bytes(&batch), b"x");
    }
}
