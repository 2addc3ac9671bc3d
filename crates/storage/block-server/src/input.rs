use crate::Buffer;
use crate::buffer::Pool;

/// Received bytes that are not decoded yet. The memory is lent to the ring for each receive.
#[derive(Debug)]
pub(crate) struct Input {
    buffer: Buffer,
    start: usize,
    end: usize,
}

/// Capacity in bytes: the longest option, and some thirty small writes.
const CAPACITY: usize = 128 << 10;

impl Input {
    pub fn new(pool: &mut Pool) -> Self {
        Self { buffer: pool.take(CAPACITY), start: 0, end: 0 }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        assert!(self.start <= self.end, "consumed bytes were received");
    }

    /// Returns the number of bytes that still fit.
    pub fn room(&self) -> usize {
        CAPACITY - (self.end - self.start)
    }

    /// Lends the memory for a receive. The second value is the number of bytes at its front that
    /// are in use.
    pub fn lend(&mut self) -> (Buffer, usize) {
        self.compact();
        (std::mem::replace(&mut self.buffer, Buffer::none()), self.end)
    }

    /// Takes the memory back, with `received` more bytes in it.
    pub fn take_back(&mut self, buffer: Buffer, received: usize) {
        self.buffer = buffer;
        self.end += received;
    }

    /// Appends the bytes that `write` produces.
    pub fn fill<T, E>(
        &mut self,
        write: impl FnOnce(&mut [u8]) -> Result<(usize, T), E>,
    ) -> Result<T, E> {
        self.compact();
        let (written, result) = write(&mut self.buffer[self.end..])?;
        self.end += written;
        Ok(result)
    }

    pub fn end(self, pool: &mut Pool) {
        pool.give(self.buffer);
    }

    fn compact(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
    }
}
