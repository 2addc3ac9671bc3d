//! Moves of a running virtual machine's disk to another place, under its load.
//!
//! What it does: [`Carried`] stands between an inner state machine and its driver. While no move is
//! in progress, it passes everything on. On an order ([`MoveOrder`]) it copies the disk block by
//! block, with several large I/Os at once. A write to a block that is already at the new place goes
//! to both places. A block that is written before or during its copy is copied again. When all
//! blocks are copied, the virtual machine is paused: new requests are held, with their intended
//! times; outstanding requests complete; the blocks that they changed are copied; the new place is
//! flushed; and the requests continue there.
//!
//! A move is checked: places that were not written since the switch-over are read at both places
//! and must be equal. A difference fails the move, although the disk stays at the new place. A
//! snapshot of a disk is made in the same way, with requests held (`snapshot`).
//!
//! What it refuses: files, devices, clocks, like every state machine; leaving the old place before
//! the new one is complete. After a failed move the disk is at the old place.
//!
//! Invariants: at the switch-over, every block of the new place was written after the last write to
//! it at the old place had completed, or together with that write. No request of the instance is
//! lost, duplicated or completed too early. The instance itself only observes delays.
//!
//! The side that gives orders and the side that moves may be driven by different threads. They
//! share the order, which both check every 10 ms. So the start and the end of a move are noticed up
//! to that much late. The recorded times are the times of the events, not of the checks.

mod blocks;
mod carried;
mod checking;
mod order;
mod snapshot;
#[cfg(test)]
mod tests;

pub(crate) use carried::MoveDisks;
pub use carried::{Carried, Carry, KINDS};
pub(crate) use order::POLL;
pub use order::{MoveOrder, Moved, Task};
