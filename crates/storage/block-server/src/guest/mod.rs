//! Front end that gives disks to VMs over vhost-user: virtio-blk, with queues in memory that is
//! shared with the VM.
//!
//! What it does: a front end (QEMU) connects to the socket of one disk and says where the VM's
//! memory and queues are. Each connection has a thread that speaks this protocol through the crate
//! `vhost`, because that crate blocks on messages. The server's one thread and ring do everything
//! else: they poll the kicks and hand requests to the same [`crate::Disk`] as NBD does. Bytes of a
//! write are copied out of the VM's memory before anything reads them, and bytes of a read are
//! copied in afterwards. A guest that changes them meanwhile therefore deceives nobody, and
//! checksums cover what is written.
//!
//! What it refuses: memory that its owner could shrink, because touching missing memory would kill
//! the server and with it the disks of others; kicks and calls that are not eventfds; requests
//! beyond the disk, off its blocks, or over 32 MiB. An invalid request is answered with an error. A
//! queue with invalid indexes is ignored from then on, and other queues go on.
//!
//! Invariants: each chain is used once. A chain that was not used is marked *in flight* in memory
//! which the front end keeps, so that a restarted server finds all of them after a kill and submits
//! them again in their order. Nothing is written into a VM's memory after its front end has gone. A
//! queue stops when its requests are answered.

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
