//! Disks given to a machine over vhost-user: virtio-blk, whose queues lie in memory that is shared with it.
//!
//! What it does: a front end (QEMU) connects to the socket of one disk and says where the machine's memory and
//! queues are. A thread for each connection speaks that protocol, by the crate `vhost`, for its messages are
//! read with waiting; everything else is done by the server's one thread and ring, which is told of kicks
//! there and hands requests to the same [`crate::Disk`] as NBD does. Bytes are copied out of the machine's memory
//! before anybody looks at them and into it after, so that a guest which changes them meanwhile deceives
//! nobody, and sums are of what is written.
//!
//! What it refuses: memory that its owner could shrink, for touching what is gone would end the server, and with
//! it the disks of others; descriptors that are no eventfds for kicks and calls; requests beyond the disk,
//! off its blocks, or over 32 MiB. A request that makes no sense is answered with an error; a queue that makes none
//! is not looked at any more, and nobody else notices.
//!
//! Invariants: each chain is used once, and one that was not used is marked *in flight* in memory which the front
//! end keeps, so that a server which was killed finds all of them when it comes back, and asks them again in their
//! order; nothing is written into a machine's memory after its front end has gone; a queue stops when
//! what it asked is answered.

mod blk;
mod chain;
mod front;
mod inflight;
mod memory;
mod protocol;
mod queue;
mod session;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;

use blk::Terms;
pub(crate) use front::Guests;
