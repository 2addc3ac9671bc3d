//! Disks that something happened to. A turn and its timer look at no others.
//!
//! Invariant: a disk is looked at in every turn in which anything of it could go on. So whatever that depends on marks the
//! disk: an event of a disk marks that disk, and any other event all of them; what may change beside that (the free
//! chunks, the time) is compared with what it was when the disk was looked at.

use units::Nanos;

use crate::format::DISKS;

// A bit for each disk.
const _: () = assert!(DISKS <= 64);

/// Facts about a disk when a turn looked at it last.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Number of free chunks.
    free: usize,
    /// Time at which something of the disk is due.
    due: Option<Nanos>,
}

/// Result of looking at a disk in a turn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DiskTurn {
    /// True if another look may find more to do.
    pub(super) goes_on: bool,
    /// True if the disk comes into the set or leaves it.
    pub(super) is_moving: bool,
    /// True if its log has groups that were accepted and not flushed.
    pub(super) has_new: bool,
    /// True if a request waits for those to be flushed.
    pub(super) is_waited_for: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Stirred {
    /// Disks that the next turn looks at, a bit each.
    marked: u64,
    /// Disks of which something else may be due by now.
    due_marked: u64,
    /// Disks by what their last turn found.
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
    /// Marks a disk that something happened to.
    pub(super) fn mark(&mut self, disk: u16) {
        self.marked |= 1 << disk;
        self.due_marked |= 1 << disk;
    }

    /// Marks all disks: something happened that may concern any of them.
    pub(super) fn mark_all(&mut self) {
        (self.marked, self.due_marked) = (u64::MAX, u64::MAX);
    }

    /// Returns true if a turn has to look at a disk, with so many chunks free.
    pub(super) fn has(&self, disk: usize, free: usize, now: Nanos) -> bool {
        let Look { free: before, due } = self.looks[disk];
        self.marked & (1 << disk) != 0 || before != free || due.is_some_and(|due| due <= now)
    }

    /// Stores the result of a turn's look at a disk, with so many chunks free after it.
    pub(super) fn looked_at(&mut self, disk: usize, free: usize, found: DiskTurn) {
        let set = |bits: &mut u64, is_set| *bits = *bits & !(1 << disk) | u64::from(is_set) << disk;
        set(&mut self.marked, found.goes_on);
        set(&mut self.moving, found.is_moving);
        set(&mut self.has_new, found.has_new);
        set(&mut self.waited_for, found.is_waited_for);
        self.due_marked |= 1 << disk;
        self.looks[disk].free = free;
    }

    /// Returns true if any disk comes into the set or leaves it.
    pub(super) fn is_any_moving(&self) -> bool {
        self.moving != 0
    }

    /// Returns true if any log has groups that were accepted and not flushed.
    pub(super) fn has_new(&self) -> bool {
        self.has_new != 0
    }

    /// Returns true if a request waits for groups of a disk to be flushed.
    pub(super) fn is_waited_for(&self) -> bool {
        self.waited_for != 0
    }

    /// Earliest time at which something of these disks is due. `due_of` is called for disks that
    /// something happened to.
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
