//! Set of disks that a turn must visit. A turn and its timer skip all other disks.
//!
//! Invariant: a disk is visited in every turn in which any of its work could continue. So every
//! cause marks the disk: an event of a disk marks this disk, and any other event marks all disks.
//! Other changes (the number of free chunks, the time) are compared with the values at the disk's
//! last visit.

use units::Nanos;

use crate::format::DISKS;

// A bit for each disk.
const _: () = assert!(DISKS <= 64);

/// Values at a turn's last visit of a disk.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Number of free chunks.
    free: usize,
    /// Time at which work of the disk is due.
    due: Option<Nanos>,
}

/// Result of a turn's visit of a disk.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DiskTurn {
    /// True if another visit may find more work.
    pub(super) goes_on: bool,
    /// True if the disk is being attached or detached.
    pub(super) is_moving: bool,
    /// True if the disk's log has groups that are accepted but not flushed.
    pub(super) has_new: bool,
    /// True if a request waits until these groups are flushed.
    pub(super) is_waited_for: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Stirred {
    /// Disks that the next turn visits, one bit each.
    marked: u64,
    /// Disks whose due time may have changed, one bit each.
    due_marked: u64,
    /// Disks that were being attached or detached at their last visit, one bit each.
    moving: u64,
    has_new: u64,
    waited_for: u64,
    looks: Vec<Look>,
}

impl Default for Stirred {
    fn default() -> Self {
        let looks = vec![Look { free: 0, due: None }; DISKS];
        let (marked, due_marked) = (u64::MAX, u64::MAX);
        Self { marked, due_marked, moving: 0, has_new: 0, waited_for: 0, looks }
    }
}

impl Stirred {
    /// Marks a disk that an event has affected.
    pub(super) fn mark(&mut self, disk: u16) {
        self.marked |= 1 << disk;
        self.due_marked |= 1 << disk;
    }

    /// Marks all disks, because an event may have affected any of them.
    pub(super) fn mark_all(&mut self) {
        (self.marked, self.due_marked) = (u64::MAX, u64::MAX);
    }

    /// Returns true if a turn must visit a disk. `free` is the number of free chunks.
    pub(super) fn has(&self, disk: usize, free: usize, now: Nanos) -> bool {
        let Look { free: before, due } = self.looks[disk];
        self.marked & (1 << disk) != 0 || before != free || due.is_some_and(|due| due <= now)
    }

    /// Stores the result of a turn's visit of a disk. `free` is the number of free chunks after it.
    pub(super) fn looked_at(&mut self, disk: usize, free: usize, found: DiskTurn) {
        let set = |bits: &mut u64, is_set| *bits = *bits & !(1 << disk) | u64::from(is_set) << disk;
        set(&mut self.marked, found.goes_on);
        set(&mut self.moving, found.is_moving);
        set(&mut self.has_new, found.has_new);
        set(&mut self.waited_for, found.is_waited_for);
        self.due_marked |= 1 << disk;
        self.looks[disk].free = free;
    }

    /// Returns true if any disk is being attached or detached.
    pub(super) fn is_any_moving(&self) -> bool {
        self.moving != 0
    }

    /// Returns true if any log has groups that are accepted but not flushed.
    pub(super) fn has_new(&self) -> bool {
        self.has_new != 0
    }

    /// Returns true if a request waits until groups of a disk are flushed.
    pub(super) fn is_waited_for(&self) -> bool {
        self.waited_for != 0
    }

    /// Returns the earliest time at which work of these disks is due. `due_of` is called for marked
    /// disks.
    pub(super) fn due(
        &mut self,
        disks: usize,
        due_of: impl Fn(usize) -> Option<Nanos>,
    ) -> Option<Nanos> {
        let marked = std::mem::take(&mut self.due_marked);
        for (disk, look) in self.looks[..disks].iter_mut().enumerate() {
            if marked & (1 << disk) != 0 {
                look.due = due_of(disk);
            }
        }
        self.looks[..disks].iter().filter_map(|look| look.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Nanos = Nanos(10);

    #[test]
    fn turn_looks_at_disks_that_something_happened_to() {
        let mut stirred = Stirred::default();
        assert!(stirred.has(0, 5, NOW) && stirred.has(DISKS - 1, 5, NOW), "all at first");
        for disk in 0..DISKS {
            stirred.looked_at(disk, 5, DiskTurn::default());
        }
        assert!(!stirred.has(0, 5, NOW));
        assert!(stirred.has(0, 4, NOW), "another disk took a chunk");
        stirred.mark(3);
        assert!(stirred.has(3, 5, NOW) && !stirred.has(2, 5, NOW));
        stirred.looked_at(3, 5, DiskTurn { goes_on: true, is_moving: true, ..DiskTurn::default() });
        assert!(stirred.has(3, 5, NOW) && stirred.is_any_moving());
        stirred.looked_at(3, 5, DiskTurn::default());
        assert!(!stirred.has(3, 5, NOW) && !stirred.is_any_moving());
    }

    #[test]
    fn time_is_asked_again_of_disks_that_something_happened_to() {
        let mut stirred = Stirred::default();
        assert_eq!(stirred.due(2, |disk| Some(Nanos(20 + disk as u64))), Some(Nanos(20)));
        stirred.looked_at(0, 5, DiskTurn::default());
        stirred.looked_at(1, 5, DiskTurn::default());
        assert_eq!(stirred.due(2, |_| None), None);
        stirred.mark(1);
        let asked =
            |disk| if disk == 1 { Some(Nanos(9)) } else { panic!("nothing happened to it") };
        assert_eq!(stirred.due(2, asked), Some(Nanos(9)));
        stirred.looked_at(1, 5, DiskTurn::default());
        assert!(stirred.has(1, 5, NOW), "something of it is due");
    }
}
