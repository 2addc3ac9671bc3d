//! Reads the bytes of a stream through one buffer of fixed size.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::TraceError;

/// Buffered bytes of a trace for a decoder.
pub(super) struct Input {
    reader: Box<dyn Read + Send>,
    path: PathBuf,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Number of bytes consumed before `start`.
    offset: u64,
    is_done: bool,
    is_cut: bool,
}

impl Input {
    /// Default size of the buffer, in bytes, which is also the maximum length of a line.
    pub(super) const BUFFER: usize = 256 << 10;

    /// Makes an input of `reader`; errors contain the name `path`.
    pub(super) fn new(reader: Box<dyn Read + Send>, path: &Path, buffer: usize) -> Self {
        Self {
            reader,
            path: path.to_owned(),
            buffer: vec![0; buffer].into_boxed_slice(),
            start: 0,
            end: 0,
            offset: 0,
            is_done: false,
            is_cut: false,
        }
    }

    /// Returns the bytes that were read but not consumed.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Returns the offset of [`Self::bytes`] in the unpacked trace.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the name for errors.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the compressed file is truncated, so that the trace ended early.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns true if the buffer is full, so that bytes must be consumed before the next read.
    pub(super) fn is_full(&self) -> bool {
        self.end - self.start == self.buffer.len()
    }

    /// Consumes `count` bytes.
    pub(super) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start, "more consumed than there is");
        self.start += count;
        self.offset += count as u64;
    }

    /// Reads until the buffer is full or the trace ends; returns true if there are more bytes than
    /// before.
    pub(super) fn fill(&mut self) -> Result<bool, TraceError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let before = self.end;
        while !self.is_done && self.end < self.buffer.len() {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_done = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.is_done = true;
                    self.is_cut = true;
                }
                Err(source) => return Err(self.failed(source)),
            }
        }
        Ok(self.end > before)
    }

    fn failed(&self, source: io::Error) -> TraceError {
        TraceError::Io { path: self.path.clone(), source }
    }
}

/// Makes the error for a trace that does not have its format.
pub(super) fn wrong(path: &Path, reason: &str) -> TraceError {
    TraceError::Format { path: path.to_owned(), reason: reason.to_owned() }
}
