//! Front end that gives disks to VMs over vhost-user: virtio-blk, with queues in memory that is
//! shared with the VM.
//!
//! Function: a front end (QEMU) connects to the socket of one disk and sends the location of the
//! VM's memory and queues. Each connection has a thread that speaks this protocol through the crate
//! `vhost`, because that crate blocks on messages. The server's one thread and ring do everything
//! else: they poll the kicks and hand requests to the same [`crate::Disk`] as NBD does. Bytes of a
//! write are copied out of the VM's memory before they are used, and bytes of a read are copied in
//! at the end. So a guest that changes them during the request has no effect on the server, and
//! checksums cover the bytes that are written.
//!
//! Refused: memory that its owner could shrink, because touching missing memory would kill the
//! server and with it all other disks; kicks and calls that are not eventfds; requests outside the
//! disk, not aligned to its blocks, or over 32 MiB. An invalid request is answered with an error. A
//! queue with invalid indexes is ignored from then on, and other queues continue.
//!
//! Invariants: each chain is used once. A chain that was not used is marked *in flight* in memory
//! which the front end keeps. A restarted server therefore finds all of these chains after a kill
//! and submits them again in their order. Nothing is written into a VM's memory after its front end
//! has gone. A queue stops when its requests are answered.

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
