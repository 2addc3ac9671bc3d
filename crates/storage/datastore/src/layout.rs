//! How a file or device is divided between virtual disks.

use units::Bytes;

/// Disks begin at multiples of this: the alignment partitioning tools use, and a multiple of
/// every sector, page and most flash and stripe units.
pub(crate) const UNIT: Bytes = Bytes::MIB;

/// Ranges given out one after the other, never taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carver {
    next: u64,
    end: u64,
}

impl Carver {
    /// Gives out bytes from `start` to `end`, both rounded inwards to [`UNIT`].
    pub fn new(start: u64, end: u64) -> Self {
        let next = Bytes::new(start).round_up(UNIT).get();
        Self { next, end: Bytes::new(end).round_down(UNIT).get().max(next) }
    }

    /// Bytes not yet given out.
    pub fn available(&self) -> Bytes {
        Bytes::new(self.end - self.next)
    }

    /// The byte behind everything given out.
    pub fn given(&self) -> u64 {
        self.next
    }

    /// The start of a range of `size`, which is rounded up to [`UNIT`]; `None` when it does
    /// not fit.
    pub fn carve(&mut self, size: Bytes) -> Option<u64> {
        if size > self.available() {
            return None;
        }
        let start = self.next;
        self.next += size.round_up(UNIT).get();
        Some(start)
    }
}

/// Bytes that a disk of this size takes up, alignment included.
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
