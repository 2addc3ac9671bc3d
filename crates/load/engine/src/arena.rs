use std::ptr::NonNull;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::payload::Resident;

/// Maximum length of a request, and size of a chunk of buffer memory, in bytes.
pub const LENGTH_MAX: u32 = 4 << 20;
const CHUNK: usize = LENGTH_MAX as usize;
/// Binary logarithm of the smallest buffer: 4 KiB, the largest alignment that `O_DIRECT` needs.
const UNIT_BITS: u32 = 12;
/// Number of buffer sizes: 4 KiB to 4 MiB in powers of two.
const ORDERS: usize = 11;
const UNITS: usize = CHUNK >> UNIT_BITS;

/// Address of a buffer, for the kernel. Safe code cannot access bytes through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// First byte, aligned to 4096.
    pub(crate) start: NonNull<u8>,
    /// Index of the registered chunk that holds the buffer.
    pub(crate) chunk: u16,
}

// SAFETY: a plain address; code that reads or writes there must prove its own access.
unsafe impl Send for Address {}

/// Buffer on loan from the worker's arena. It is not `Copy`, so its bytes have a single owner, who
/// returns the buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    address: Address,
    /// Position of the first byte in the arena, in units of 4 KiB.
    unit: u32,
    order: u8,
    /// Record of the content that a write left in the buffer.
    resident: Resident,
}

impl Buffer {
    /// Returns the address for the kernel.
    pub(crate) fn address(&self) -> Address {
        self.address
    }

    /// Returns the first `length` bytes of the buffer.
    pub(crate) fn bytes_mut(&mut self, length: u32) -> &mut [u8] {
        self.content_mut(length).0
    }

    /// Returns the first `length` bytes of the buffer, and the record of their content.
    pub(crate) fn content_mut(&mut self, length: u32) -> (&mut [u8], &mut Resident) {
        assert!(length as usize <= 1 << (UNIT_BITS + u32::from(self.order)), "within the loan");
        // SAFETY: the arena lends each range once and a loan cannot be copied, it is at least
        // `length` long as just checked, and the kernel does not use it before submission or
        // after completion.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(self.address.start.as_ptr(), length as usize) };
        (bytes, &mut self.resident)
    }
}

/// Use of a buffer. Reads and writes have separate chunks, so the content of a write is still
/// present when the next write uses the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Reads,
    Writes,
}

/// Memory for I/O: chunks of 4 MiB, aligned for huge pages, lent in powers of two from 4 KiB up.
/// Lending and returning are O(1). Free neighbours are only joined when a size has run out, or when
/// half of the memory is free and a new chunk would be needed. Chunks are allocated on demand up to
/// a limit and kept for the run.
#[derive(Debug)]
pub(crate) struct Arena {
    chunks: Vec<(NonNull<u8>, Side)>,
    chunks_max: usize,
    /// Free buffers by side and order.
    free: [[Vec<Free>; ORDERS]; 2],
    seed: u64,
}

/// Free buffer: its position in units of 4 KiB over all chunks, and the record of its content.
/// After a split or join, only the content of the first part is known.
type Free = (u32, Resident);

/// Result of a request for a loan.
pub(crate) enum Loan {
    /// Buffer in an existing chunk.
    Ready(Buffer),
    /// Buffer in a new chunk, which the backend may have to register first.
    NewChunk(Buffer),
    /// Nothing is free, and the limit is reached.
    Exhausted,
}

impl Arena {
    /// Creates an arena that grows up to `bytes_max`, but has at least one chunk for each side.
    pub(crate) fn new(bytes_max: u64, seed: u64) -> Self {
        let chunks_max = usize::try_from(bytes_max).unwrap_or(usize::MAX) / CHUNK;
        Self {
            chunks: Vec::new(),
            chunks_max: chunks_max.clamp(2, usize::from(u16::MAX)),
            free: std::array::from_fn(|_| std::array::from_fn(|_| Vec::new())),
            seed,
        }
    }

    /// Returns the maximum number of chunks.
    pub(crate) fn chunks_max(&self) -> usize {
        self.chunks_max
    }

    /// Returns the address and length of a chunk, in bytes.
    pub(crate) fn chunk(&self, index: u16) -> (NonNull<u8>, usize) {
        (self.chunks[usize::from(index)].0, CHUNK)
    }

    /// Lends a buffer of at least `length` bytes. `length` is at most [`LENGTH_MAX`].
    #[inline]
    pub(crate) fn lend(&mut self, side: Side, length: u32) -> Loan {
        let order = order_of(length);
        if let Some(free) = self.free[side as usize][order].pop() {
            return Loan::Ready(self.buffer(free, order));
        }
        self.lend_slow(side, order)
    }

    fn lend_slow(&mut self, side: Side, order: usize) -> Loan {
        if let Some(buffer) = self.split(side, order) {
            return Loan::Ready(buffer);
        }
        if self.is_half_free(side) {
            self.join(side);
            if let Some(buffer) = self.split(side, order) {
                return Loan::Ready(buffer);
            }
        }
        if self.may_grow(side) && self.grow(side) {
            return self.split(side, order).map_or(Loan::Exhausted, Loan::NewChunk);
        }
        self.join(side);
        self.split(side, order).map_or(Loan::Exhausted, Loan::Ready)
    }

    /// Returns true if free buffers of other sizes make up at least half of the memory. With less
    /// free memory, the join, which visits all free buffers, would soon be needed again.
    fn is_half_free(&self, side: Side) -> bool {
        let free = self.free[side as usize].iter().enumerate();
        let free: usize = free.map(|(order, buffers)| buffers.len() << order).sum();
        let chunks = self.chunks.iter().filter(|(_, owner)| *owner == side).count();
        chunks > 0 && 2 * free >= chunks * UNITS
    }

    /// Returns true if one more chunk may be allocated. The last chunk is reserved for a side that
    /// has none yet.
    fn may_grow(&self, side: Side) -> bool {
        let other_has = self.chunks.iter().any(|(_, owner)| *owner != side);
        self.chunks.len() + usize::from(!other_has) < self.chunks_max
    }

    /// Takes a buffer back.
    #[inline]
    pub(crate) fn give_back(&mut self, buffer: Buffer) {
        let (_, side) = self.chunks[usize::from(buffer.address.chunk)];
        self.free[side as usize][usize::from(buffer.order)].push((buffer.unit, buffer.resident));
    }

    fn buffer(&self, (unit, resident): Free, order: usize) -> Buffer {
        let (chunk, within) = (unit as usize / UNITS, unit as usize % UNITS);
        // SAFETY: `within` is below UNITS, so the address stays inside the chunk.
        let start = unsafe { self.chunks[chunk].0.add(within << UNIT_BITS) };
        let chunk = u16::try_from(chunk).expect("the number of chunks is bounded by u16");
        Buffer {
            address: Address { start, chunk },
            unit,
            order: u8::try_from(order).expect("eleven orders"),
            resident,
        }
    }

    /// Takes the smallest free buffer that is large enough and halves it down to this order.
    fn split(&mut self, side: Side, order: usize) -> Option<Buffer> {
        let free = &mut self.free[side as usize];
        let from = (order..ORDERS).find(|larger| !free[*larger].is_empty())?;
        let (unit, resident) = free[from].pop()?;
        for half in (order..from).rev() {
            free[half].push((unit + (1 << half), Resident::EMPTY));
        }
        Some(self.buffer((unit, resident), order))
    }

    /// Joins free neighbours, starting with the smallest size.
    fn join(&mut self, side: Side) {
        let free = &mut self.free[side as usize];
        for order in 0..ORDERS - 1 {
            let mut units = std::mem::take(&mut free[order]);
            units.sort_unstable_by_key(|(unit, _)| *unit);
            let mut units = units.into_iter().peekable();
            while let Some((unit, resident)) = units.next() {
                let buddy = unit ^ (1 << order);
                if unit < buddy && units.next_if(|(next, _)| *next == buddy).is_some() {
                    free[order + 1]
                        .push((unit, resident.within(1 << (UNIT_BITS as usize + order))));
                } else {
                    free[order].push((unit, resident));
                }
            }
        }
    }

    /// Maps one more chunk and fills it with random bytes, so that writes of unused content cannot
    /// be compressed. Returns false at the limit.
    fn grow(&mut self, side: Side) -> bool {
        let Some(start) = map_aligned() else { return false };
        // SAFETY: the mapping is CHUNK bytes long, writable and not shared yet.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), CHUNK) };
        let number = u64::try_from(self.chunks.len()).expect("a small count");
        Xoshiro256PlusPlus::seed_from_u64(self.seed ^ number).fill_bytes(bytes);
        let unit = u32::try_from(self.chunks.len() * UNITS).expect("chunks are bounded by u16");
        self.chunks.push((start, side));
        self.free[side as usize][ORDERS - 1].push((unit, Resident::EMPTY));
        true
    }

    /// Leaks the memory: it stays mapped until the process ends, because the kernel may still use
    /// it.
    pub(crate) fn leak(&mut self) {
        self.chunks.clear();
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return; // Requests may still be in flight; the process is about to end.
        }
        for (chunk, _) in &self.chunks {
            // SAFETY: mapped by `map_aligned` with this length. No loan is outstanding, because the
            // worker drained or leaked before it dropped the arena.
            unsafe { libc::munmap(chunk.as_ptr().cast(), CHUNK) };
        }
    }
}

fn order_of(length: u32) -> usize {
    assert!(length <= LENGTH_MAX, "the caller refuses requests over {LENGTH_MAX} bytes");
    (length.max(1).next_power_of_two().trailing_zeros().saturating_sub(UNIT_BITS)) as usize
}

/// Maps a chunk aligned to its own size, so that huge pages can back it.
fn map_aligned() -> Option<NonNull<u8>> {
    // SAFETY: a fresh anonymous mapping twice the size; the ends around the aligned middle
    // are unmapped again and nothing else refers to them.
    unsafe {
        let wide = libc::mmap(
            std::ptr::null_mut(),
            2 * CHUNK,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if wide == libc::MAP_FAILED {
            return None;
        }
        let before = wide.addr().next_multiple_of(CHUNK) - wide.addr();
        let start = wide.byte_add(before);
        if before > 0 {
            libc::munmap(wide, before);
        }
        libc::munmap(start.byte_add(CHUNK), CHUNK - before);
        // Advice only: without huge pages all works, with more entries in the TLB.
        libc::madvise(start, CHUNK, libc::MADV_HUGEPAGE);
        libc::madvise(start, CHUNK, libc::MADV_DONTFORK);
        NonNull::new(start.cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{self, Freshness};
    use proptest::prelude::*;
    use state_machine::Pattern;

    fn take(arena: &mut Arena, length: u32) -> Option<Buffer> {
        match arena.lend(Side::Writes, length) {
            Loan::Ready(buffer) | Loan::NewChunk(buffer) => Some(buffer),
            Loan::Exhausted => None,
        }
    }

    #[test]
    fn small_loans_do_not_keep_a_large_one_out_for_ever() {
        let mut arena = Arena::new(CHUNK as u64, 1);
        let small: Vec<Buffer> =
            (0..UNITS).map(|_| take(&mut arena, 4096).expect("one chunk of 4 KiB")).collect();
        assert_eq!(take(&mut arena, 4096), None, "the other side keeps its chunk");
        assert!(matches!(arena.lend(Side::Reads, LENGTH_MAX), Loan::NewChunk(_)));
        for buffer in small {
            arena.give_back(buffer);
        }
        assert!(take(&mut arena, LENGTH_MAX).is_some(), "free neighbours are joined again");
    }

    #[test]
    fn returned_small_loans_serve_a_large_one_before_growth() {
        let mut arena = Arena::new(64 * CHUNK as u64, 1);
        let small: Vec<Buffer> =
            (0..UNITS / 4).map(|_| take(&mut arena, 4096).expect("a quarter of a chunk")).collect();
        let more: Vec<Buffer> =
            (0..3).map(|_| take(&mut arena, 1 << 20).expect("the rest of it")).collect();
        small.into_iter().chain(more).for_each(|buffer| arena.give_back(buffer));
        assert!(take(&mut arena, LENGTH_MAX).is_some());
        assert_eq!(arena.chunks.len(), 1, "all of the first chunk was free");
    }

    /// Checks that a loan is not `Copy`. For a `Copy` type both impls would apply, and the call
    /// below would not compile. Two copies of a loan could change the same bytes.
    trait Single<Why> {
        fn is_single() {}
    }
    impl<T> Single<()> for T {}
    impl<T: Copy> Single<u8> for T {}

    #[test]
    fn a_loan_cannot_be_copied() {
        <Buffer as Single<_>>::is_single();
    }

    proptest! {
        #[test]
        fn payload_is_right_however_its_buffer_was_cut_and_joined(
            writes in proptest::collection::vec((1_u32..=600, any::<bool>()), 1..300)
        ) {
            let mut arena = Arena::new(CHUNK as u64, 1);
            let mut held = Vec::new();
            for (seed, (sectors, give)) in (0..).zip(writes) {
                let length = sectors * 512;
                let pattern = Pattern { seed, ..Pattern::default() };
                if let Some(mut buffer) = take(&mut arena, length) {
                    let (bytes, resident) = buffer.content_mut(length);
                    payload::make(bytes, resident, pattern, Freshness::Stamped);
                    let mut fresh = vec![0; length as usize];
                    payload::make(&mut fresh, &mut Resident::default(), pattern, Freshness::Stamped);
                    prop_assert!(bytes == &fresh[..]);
                    held.push(buffer);
                }
                if give || held.len() > 20 {
                    held.drain(..held.len() / 2).for_each(|buffer| arena.give_back(buffer));
                    arena.join(Side::Writes);
                }
            }
        }

        #[test]
        fn loans_never_overlap(lengths in proptest::collection::vec((1_u32..=300_000, any::<bool>()), 1..200)) {
            let mut arena = Arena::new(2 * CHUNK as u64, 1);
            let mut held: Vec<(Buffer, u32)> = Vec::new();
            for (length, give) in lengths {
                if let Some(buffer) = take(&mut arena, length) {
                    let start = buffer.address.start.addr().get();
                    prop_assert_eq!(start % 4096, 0);
                    for (other, other_length) in &held {
                        let other = other.address.start.addr().get();
                        prop_assert!(start >= other + *other_length as usize || other >= start + length as usize);
                    }
                    held.push((buffer, length));
                }
                if give && !held.is_empty() {
                    let (buffer, _) = held.swap_remove(held.len() / 2);
                    arena.give_back(buffer);
                }
            }
        }
    }
}
