//! Superblock: the disks of a set, and the copies that are being written.
//!
//! Invariant: a disk is part of the set from the time when both copies list it durably, until
//! neither lists it. No decision relies on a superblock before both copies are durable
//! ([`Roster::written`]).

use crate::event::Piece;
use crate::format::{DiskEntry, SUPERBLOCK_AT, SetState, Superblock};

/// Disks of a set, as its superblock lists them.
#[derive(Debug, Clone)]
pub(crate) struct Roster {
    /// Newest superblock, durable or not, with the changes for the next one.
    superblock: Superblock,
    /// Index of the place with the newest copy.
    copy: usize,
    /// True if the second copy is being written.
    is_twin: bool,
    /// Number of the newest superblock that is durable in both places.
    durable: u64,
}

impl Roster {
    pub(crate) fn new(superblock: Superblock, copy: usize) -> Self {
        Self { durable: superblock.seq, superblock, copy, is_twin: false }
    }

    pub(super) fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    /// Returns the number of the next superblock.
    pub(super) fn next_number(&self) -> u64 {
        self.superblock.seq + 1
    }

    /// Sets the table of the next superblock, and the chunk and the group at which the pool's log
    /// continues after the table.
    pub(super) fn set_table(&mut self, at: u64, number: u64, (chunk, seq): (u32, u64)) {
        let next = &mut self.superblock;
        (next.table_at, next.table_seq) = (at, number);
        (next.pool_chunk, next.pool_seq) = (chunk, seq);
    }

    /// Begins a new superblock.
    pub(super) fn begin(&mut self, pool_durable: u64, state: SetState) {
        let next = &mut self.superblock;
        next.seq += 1;
        (next.pool_durable, next.state) = (pool_durable, state);
        self.is_twin = false;
    }

    /// Lists a disk in the superblock that was begun last.
    pub(super) fn list(&mut self, index: u16, entry: DiskEntry) {
        let superblock = self.superblock.seq;
        self.superblock.disks[usize::from(index)] = Some(DiskEntry { superblock, ..entry });
    }

    /// Removes the disk of this index from the next superblock.
    pub(super) fn strike(&mut self, index: u16) {
        self.superblock.disks[usize::from(index)] = None;
    }

    /// Returns the address and the bytes of the next copy, which never overwrites the newest copy.
    pub(super) fn put(&mut self) -> (u64, Piece) {
        self.copy = 1 - self.copy;
        (SUPERBLOCK_AT[self.copy], Piece::Bytes(self.superblock.encode().into()))
    }

    /// Records that a copy is durable. Returns true if both copies are.
    pub(super) fn written(&mut self) -> bool {
        let is_both = std::mem::replace(&mut self.is_twin, true);
        if is_both {
            self.durable = self.superblock.seq;
        }
        is_both
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Geometry, Plan};

    fn roster() -> Roster {
        let plan = Plan {
            device_bytes: 6 << 20,
            page_bytes: 16 << 10,
            chunk_bytes: 64 << 10,
            log_percent: 30,
        };
        let geometry = Geometry::new(plan).expect("it fits");
        Roster::new(geometry.first_superblock(6 << 20, [1; 16], [2; 16]), 0)
    }

    #[test]
    fn superblock_counts_when_both_copies_are_durable() {
        let mut roster = roster();
        let number = roster.next_number();
        roster.begin(7, SetState::Open);
        roster.list(3, DiskEntry { disk: [9; 16], ..DiskEntry::default() });
        let [(first, _), (second, _)] = [roster.put(), {
            assert!(!roster.written() && roster.durable() < number, "the other says less");
            roster.put()
        }];
        assert_eq!([first, second], [SUPERBLOCK_AT[1], SUPERBLOCK_AT[0]]);
        assert!(roster.written() && roster.durable() == number);
        let entry = roster.superblock().disks[3].as_ref();
        assert_eq!(entry.map(|entry| entry.superblock), Some(number));
        roster.begin(8, SetState::Open);
        assert!(!roster.written(), "each superblock has two copies");
    }
}
