//! Chunks of the cache device that logs use.
//!
//! Invariant: groups of another log are written to a chunk only when no read of the chunk is in
//! progress, and when it is durable that the former log begins behind the chunk
//! ([`Chunks::release`]).

use std::collections::VecDeque;

/// Number of free chunks reserved for the pool's log. Without them no chunk could be freed.
const POOL_CHUNKS: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct Chunks {
    free: VecDeque<u32>,
    /// Number of I/Os that read each chunk.
    pins: Vec<u32>,
    /// Chunks that become free once no read of them is in progress.
    leaving: Vec<u32>,
}

impl Chunks {
    /// Creates the state of `all` chunks, of which these are free.
    pub(super) fn new(all: u32, free: VecDeque<u32>) -> Self {
        Self { free, pins: vec![0; all as usize], leaving: Vec::new() }
    }

    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Takes a free chunk for the pool's log.
    pub(super) fn take(&mut self) -> Option<u32> {
        self.free.pop_front()
    }

    /// Takes a free chunk for a disk's log, but none that is reserved for the pool.
    pub(super) fn take_for_disk(&mut self) -> Option<u32> {
        if self.free.len() > POOL_CHUNKS { self.take() } else { None }
    }

    /// Records that an I/O reads the chunk.
    pub(super) fn pin(&mut self, chunk: u32) {
        self.pins[chunk as usize] += 1;
    }

    /// Records the completion of an I/O that read the chunk.
    pub(super) fn unpin(&mut self, chunk: u32) {
        self.pins[chunk as usize] -= 1;
        if self.pins[chunk as usize] == 0
            && let Some(at) = self.leaving.iter().position(|leaving| *leaving == chunk)
        {
            self.leaving.swap_remove(at);
            self.free.push_back(chunk);
        }
    }

    /// Frees a chunk that is durably free, once no read of it is in progress.
    pub(super) fn release(&mut self, chunk: u32) {
        match self.pins[chunk as usize] {
            0 => self.free.push_back(chunk),
            _ => self.leaving.push(chunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_is_used_again_when_nobody_reads_it() {
        let mut chunks = Chunks::new(4, VecDeque::new());
        chunks.pin(3);
        chunks.pin(3);
        chunks.release(3);
        chunks.unpin(3);
        assert_eq!(chunks.take(), None, "one reads it still");
        chunks.unpin(3);
        assert_eq!(chunks.take(), Some(3));
        chunks.pin(3);
        chunks.unpin(3);
        assert_eq!(chunks.take(), None, "its log has it");
    }

    #[test]
    fn pool_gets_chunks_that_disks_may_not_take() {
        let mut chunks = Chunks::new(4, VecDeque::from([1, 2, 3]));
        assert_eq!((chunks.take_for_disk(), chunks.take_for_disk()), (Some(1), None));
        assert_eq!((chunks.take(), chunks.take(), chunks.free()), (Some(2), Some(3), 0));
    }
}
