//! Moves of a running virtual machine's disk to another place, under its load.
//!
//! What it does: [`Carried`] stands between an inner state machine and its driver. While no move is
//! under way it passes everything on. On an order ([`MoveOrder`]) it copies the disk block by block
//! with several large I/Os at once. A write to a block that is already at the new place goes to
//! both places. A block that is written before or while it is copied is copied again. When all
//! blocks are there, the virtual machine is paused: new requests are held, with the times at which
//! they were intended; requests under way end; the blocks that they changed are copied; the new
//! place is flushed; and the requests continue there.
//!
//! A move is checked: places that were not written since the switch-over are read at both places
//! and must be equal. A difference fails the move, though the disk stays at the new place. A
//! snapshot of a disk is made in the same way, with requests held (`snapshot`).
//!
//! What it refuses: files, devices, clocks, as any state machine does; leaving the old place before
//! the new one is complete. After a failed move the disk is at the old place.
//!
//! Invariants: at the switch-over every block of the new place was written after the last write to
//! it at the old place had been answered, or together with that write. No request of the instance
//! is lost, doubled or answered before it was done. The instance itself notices nothing but time.
//!
//! Different threads may drive the one who orders and the one who moves. They share the order,
//! which both check every 10 ms. So a move begins, and is noticed, up to that much late; its
//! recorded times are those of the events, not those of the checks.

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
