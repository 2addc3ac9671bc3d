//! Front end that gives disks to this host as block devices, `/dev/ublkbN`, by the kernel's driver
//! `ublk_drv`.
//!
//! Function: creates one device with one queue for each disk that `--ublk` names. Requests arrive
//! as completions of the server's own ring and go to the same [`crate::Disk`] as NBD requests. Data
//! are copied by `pread` and `pwrite` on `/dev/ublkcN`, so the only memory shared with the kernel
//! is the read-only table of request descriptors. Control commands run on a thread of their own,
//! because the kernel may wait for answers of the ring before it completes them. The kernel keeps a
//! mark of owner and disk with each device. When a server was killed, its device waits with all
//! unanswered requests. The next server with the same mark takes the device over and gets these
//! requests again.
//!
//! Refused: a kernel older than 6.9 or without `ublk_drv`; a number whose device has another mark;
//! a left device whose size or features differ from the disk; requests outside the disk, not
//! aligned to its blocks, or of a kind that was not offered.
//!
//! Invariants: each request is answered once. A read that succeeds has filled all of its pages. A
//! device is removed only while it is neither open nor mounted, because the kernel would lose
//! writes that it still holds. When the server stops, a device in use is left to the next server.
//! At a detach, the server waits for the device's users.

mod abi;
#[expect(unsafe_code, reason = "commands of the kernel that have no safe wrapper")]
mod control;
mod device;
mod front;
mod queue;
#[expect(unsafe_code, reason = "the kernel's table is mapped")]
mod table;

pub(crate) use device::Device;
pub(crate) use front::Hosts;
