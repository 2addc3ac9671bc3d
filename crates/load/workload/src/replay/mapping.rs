use state_machine::Operation;
use units::Bytes;

use super::schedule::{Schedule, Step};

/// Maximum length of a request, in bytes. Longer I/Os of a trace are cut. It is the capacity of the
/// engine's buffers, 4 MiB, and more than Linux puts into one request (`max_sectors_kb`).
pub const LENGTH_MAX: u32 = 4 << 20;

/// Maps I/Os of a trace onto disks of other sizes.
///
/// An offset is taken modulo the disk's size. The size is a whole number of MiB, so the position
/// within a 4 KiB page is kept, and hot places stay hot. An I/O that would then exceed the end of
/// the disk is moved back to end there. Start and end are rounded outwards to the storage's
/// alignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Sizes in bytes, indexed by disk.
    sizes: Box<[u64]>,
    unit: u64,
}

/// Number of a schedule's I/Os that a mapping changed, by kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Folded {
    /// Number of I/Os whose start or end was rounded.
    pub rounded: u64,
    /// Number of I/Os that were beyond the end of their disk.
    pub moved: u64,
    /// Number of I/Os that were longer than the maximum request or their disk.
    pub cut: u64,
}

impl Mapping {
    /// Creates a mapping onto disks of these sizes, each a whole number of `unit`s. The unit is a
    /// power of two, at least 512 B.
    pub fn new(sizes: impl IntoIterator<Item = Bytes>, unit: Bytes) -> Self {
        assert!(unit.get().is_power_of_two(), "requests are taken in units of a power of two");
        Self { sizes: sizes.into_iter().map(Bytes::get).collect(), unit: unit.get() }
    }

    /// Creates a mapping onto disks of these sizes, with a unit of 512 B, as in recorded loads.
    pub fn of_blocks(sizes: impl IntoIterator<Item = Bytes>) -> Self {
        Self::new(sizes, Bytes::new(512))
    }

    /// Returns a mapping onto the same disks with another unit.
    #[must_use]
    pub fn in_units_of(&self, unit: Bytes) -> Self {
        Self::new(self.sizes.iter().copied().map(Bytes::new), unit)
    }

    /// Returns the offset and length of a read or write on its disk.
    #[inline]
    pub(crate) fn place(&self, step: &Step) -> (u64, u32) {
        let (offset, length, _) = self.fold(step);
        (offset, length)
    }

    /// Counts the I/Os of a schedule that are not replayed as recorded.
    pub fn folded(&self, schedule: &Schedule) -> Folded {
        let mut all = Folded::default();
        for step in schedule.steps.iter().filter(|step| step.operation != Operation::Flush) {
            let (.., how) = self.fold(step);
            all.rounded += how.rounded;
            all.moved += how.moved;
            all.cut += how.cut;
        }
        all
    }

    #[inline]
    fn fold(&self, step: &Step) -> (u64, u32, Folded) {
        let size = self.sizes[usize::from(step.disk)];
        let down = |value: u64| value & !(self.unit - 1);
        let asked_end = step.offset.saturating_add(u64::from(step.length));
        let offset = if asked_end > size { step.offset % size } else { step.offset };
        let mut begin = down(offset);
        let end = offset.saturating_add(u64::from(step.length)).saturating_add(self.unit - 1);
        let wanted = down(end) - begin;
        let length = wanted.min(u64::from(LENGTH_MAX)).min(size);
        if begin + length > size {
            begin = size - length;
        }
        let is_rounded = !(step.offset | u64::from(step.length)).is_multiple_of(self.unit);
        let how = Folded {
            rounded: u64::from(is_rounded),
            moved: u64::from(asked_end > size),
            cut: u64::from(length < wanted),
        };
        #[expect(clippy::cast_possible_truncation, reason = "at most 4 MiB")]
        let length = length as u32;
        (begin, length, how)
    }
}
