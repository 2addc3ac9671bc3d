//! A disk of a running virtual machine that moves to another place, under its load.
//!
//! What it does: stands between a machine and its driver ([`Carried`]). While no move is under way it
//! passes everything on. When it is asked ([`MoveOrder`]) it copies the disk block by block with
//! several large I/Os at once; what its machine writes meanwhile to a block that is at the new
//! place already goes to both places, and a block that is written before or while it is copied is
//! copied again. When everything is there, the virtual machine stands still: new requests are
//! held, with the times at which they were meant; what is under way ends; what that changed is
//! copied; the new place is flushed; and the requests go on there.
//!
//! A move is checked: places that nobody has written since the switch-over are read from both and
//! must be alike; a difference fails it, though the machine stays at the new place. A disk's
//! snapshot is made in the same way, with the machine standing still (`snapshot`).
//!
//! What it refuses: files, devices, clocks, as any machine; to leave the old place before the
//! new one is whole. A move that fails leaves the machine where it was.
//!
//! Invariants: at the switch-over every block of the new place was written after the last write
//! to it at the old place had been answered, or together with it; no request of the machine is
//! lost, doubled or answered before it was done; the machine itself notices nothing but time.
//!
//! Whoever asks and whoever moves may be driven by different threads. They share the order, which
//! both look at every 10 ms: a move begins and is noticed that much late at most, and its times
//! are those at which things happened, not those at which somebody looked.

mod blocks;
mod carried;
mod checking;
mod order;
mod snapshot;
#[cfg(test)]
mod tests;

pub(crate) use carried::Place;
pub use carried::{Carried, Carry, KINDS};
pub(crate) use order::POLL;
pub use order::{MoveOrder, Moved, Task};
