use std::ops::{Deref, DerefMut};

use crate::mapping::Mapping;

/// Alignment that is enough for direct I/O on every device, in bytes.
const ALIGNMENT: usize = 4096;
/// Maximum memory of free buffers in a pool, in bytes.
const KEPT_MAX: usize = 4 << 20;
const CLASSES: usize = 32;

/// Minimum size of a buffer that gets its own mapping, in bytes. When the pool has no room for such
/// a buffer, its memory returns to the kernel. An allocator would keep as much memory as was ever
/// in use at once. Our choice: a page of a tier. Mapping and clearing 64 KiB takes some
/// microseconds, once for each buffer that the pool does not have.
const MAPPED_MIN: usize = 64 << 10;

#[derive(Debug)]
enum Bytes {
    Allocated(Vec<u8>),
    Mapped(Mapping),
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }

    fn all_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

/// Bytes of a request. They begin on a 4 KiB boundary, so that they can go to a device directly.
#[derive(Debug)]
pub struct Buffer {
    bytes: Bytes,
    start: usize,
    length: usize,
}

impl Buffer {
    /// Creates an empty buffer, which takes no memory.
    #[must_use]
    pub const fn none() -> Self {
        Self { bytes: Bytes::Allocated(Vec::new()), start: 0, length: 0 }
    }

    /// Creates a buffer of `length` zeroes.
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        if length >= MAPPED_MIN {
            return Self { bytes: Bytes::Mapped(Mapping::zeroed(length)), start: 0, length };
        }
        let bytes = vec![0; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        assert!(start < ALIGNMENT, "bytes can be aligned to {ALIGNMENT}");
        Self { bytes: Bytes::Allocated(bytes), start, length }
    }

    /// Returns the maximum length of the buffer, in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match &self.bytes {
            Bytes::Allocated(bytes) => bytes.len().saturating_sub(ALIGNMENT),
            Bytes::Mapped(bytes) => bytes.len(),
        }
    }

    /// Sets the length, up to the capacity. Bytes within the old length keep their values.
    ///
    /// # Panics
    /// If the length exceeds the capacity.
    pub fn set_len(&mut self, length: usize) {
        assert!(length <= self.capacity(), "{length} B do not fit into {} B", self.capacity());
        self.length = length;
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes.all()[self.start..self.start + self.length]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes.all_mut()[self.start..self.start + self.length]
    }
}

/// Free buffers, grouped by the power of two of their size. A buffer still holds its former bytes,
/// so the next user must overwrite all of them before showing any.
///
/// The pool keeps up to 4 MiB. Short buffers displace long ones, because making a long buffer costs
/// less per byte.
#[derive(Debug)]
pub struct Pool {
    free: [Vec<Buffer>; CLASSES],
    kept: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self::new()
    }
}

impl Pool {
    /// Creates an empty pool.
    #[must_use]
    pub fn new() -> Self {
        Self { free: std::array::from_fn(|_| Vec::new()), kept: 0 }
    }

    /// Returns a free buffer of this length, or creates one.
    #[must_use]
    pub fn take(&mut self, length: usize) -> Buffer {
        if length == 0 {
            return Buffer::none();
        }
        let capacity = length.next_power_of_two().max(ALIGNMENT);
        match self.free[class(capacity)].pop() {
            Some(mut buffer) => {
                self.kept -= capacity;
                buffer.length = length;
                buffer
            }
            None => {
                let mut buffer = Buffer::zeroed(capacity);
                buffer.length = length;
                buffer
            }
        }
    }

    /// Returns a buffer to the pool.
    pub fn give(&mut self, buffer: Buffer) {
        let capacity = buffer.capacity();
        // Buffers that a disk made itself may have any size.
        if capacity.is_power_of_two()
            && capacity >= ALIGNMENT
            && class(capacity) < CLASSES
            && self.make_room(capacity)
        {
            self.kept += capacity;
            self.free[class(capacity)].push(buffer);
        }
    }

    /// Drops buffers that are longer than `capacity`, the longest first, until `capacity` fits.
    /// Returns false if it cannot fit.
    fn make_room(&mut self, capacity: usize) -> bool {
        while self.kept + capacity > KEPT_MAX {
            let longer = self.free[class(capacity) + 1..].iter_mut();
            let Some(longest) = longer.rev().find_map(Vec::pop) else { return false };
            self.kept -= longest.capacity();
        }
        true
    }
}

fn class(capacity: usize) -> usize {
    capacity.trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_as_long_as_asked_and_used_again() {
        let mut pool = Pool::new();
        for length in [1, 512, 4096, 4097, MAPPED_MIN, 1 << 20] {
            let mut buffer = pool.take(length);
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % ALIGNMENT), (length, 0));
            buffer.fill(7);
            let place = buffer.as_ptr();
            pool.give(buffer);
            assert_eq!(pool.take(length).as_ptr(), place);
        }
    }

    #[test]
    fn a_pool_keeps_no_more_than_its_share() {
        let mut pool = Pool::new();
        for _ in 0..10 {
            pool.give(Buffer::zeroed(1 << 20));
        }
        pool.give(Buffer::zeroed(5000));
        pool.give(Buffer::none());
        assert_eq!(pool.kept, KEPT_MAX);
        pool.give(Buffer::zeroed(4096));
        assert_eq!(pool.kept, KEPT_MAX - (1 << 20) + 4096, "a short one took a long one's place");
    }

    /// Checks that memory returns to the kernel even if other allocations lie between the buffers.
    /// With an allocator, as much memory stayed as was ever in use at once.
    #[test]
    fn what_a_pool_has_no_room_for_goes_back_to_the_kernel() {
        let mut pool = Pool::new();
        let (buffers, between): (Vec<Buffer>, Vec<Vec<u8>>) =
            (0..1024).map(|_| (pool.take(MAPPED_MIN), vec![1; 100])).unzip();
        let places: Vec<usize> = buffers.iter().map(|buffer| buffer.as_ptr().addr()).collect();
        let mapped = || {
            let maps = std::fs::read_to_string("/proc/self/maps").expect("it is there");
            let ranges: Vec<(usize, usize)> = maps.lines().filter_map(range).collect();
            let is_in = |place: &&usize| ranges.iter().any(|(a, b)| (*a..*b).contains(*place));
            places.iter().filter(is_in).count()
        };
        assert_eq!(mapped(), 1024);
        buffers.into_iter().for_each(|buffer| pool.give(buffer));
        // Other tests of this process may have got some of the room meanwhile.
        assert!(mapped() < 512, "{} of 1024 stay", mapped());
        assert_eq!(between.len(), 1024);
    }

    /// Returns the start and end address of a line of `/proc/self/maps`.
    fn range(line: &str) -> Option<(usize, usize)> {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        let hex = |text| usize::from_str_radix(text, 16).ok();
        Some((hex(from)?, hex(to)?))
    }
}
