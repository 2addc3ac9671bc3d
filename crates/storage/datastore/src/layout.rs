//! Division of a file or device between virtual disks.

use units::Bytes;

/// Alignment of the start of a disk. Partitioning tools use the same alignment, and it is a
/// multiple of every sector, page and most flash and stripe units.
pub(crate) const UNIT: Bytes = Bytes::MIB;

/// Allocator of consecutive ranges, which are never returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carver {
    next: u64,
    end: u64,
}

impl Carver {
    /// Creates an allocator for the bytes from `start` to `end`, both rounded inwards to [`UNIT`].
    pub fn new(start: u64, end: u64) -> Self {
        let next = Bytes::new(start).round_up(UNIT).get();
        Self { next, end: Bytes::new(end).round_down(UNIT).get().max(next) }
    }

    /// Returns the number of bytes that are not assigned yet.
    pub fn available(&self) -> Bytes {
        Bytes::new(self.end - self.next)
    }

    /// Returns the offset after the last assigned byte.
    pub fn given(&self) -> u64 {
        self.next
    }

    /// Assigns a range of `size`, which is rounded up to [`UNIT`], and returns its start. `None` if
    /// it does not fit.
    pub fn carve(&mut self, size: Bytes) -> Option<u64> {
        if size > self.available() {
            return None;
        }
        let start = self.next;
        self.next += size.round_up(UNIT).get();
        Some(start)
    }
}

/// Returns the bytes that a disk of this size takes, alignment included.
pub(crate) fn taken(size: Bytes) -> Bytes {
    size.round_up(UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn disks_never_overlap_and_stay_inside(
            start in 0_u64..1 << 30,
            length in 0_u64..1 << 40,
            sizes in prop::collection::vec(1_u64..1 << 34, 0..40),
        ) {
            let mut carver = Carver::new(start, start + length);
            let mut end = start;
            for size in sizes {
                let before = carver.available();
                match carver.carve(Bytes::new(size)) {
                    Some(at) => {
                        prop_assert!(at >= end && at % UNIT.get() == 0);
                        end = at + size;
                        prop_assert!(end <= start + length);
                    }
                    None => prop_assert!(Bytes::new(size) > before),
                }
            }
        }
    }
}
