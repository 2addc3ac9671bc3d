//! Disks given to this host itself, as `/dev/ublkbN`: the kernel's driver `ublk_drv` asks, and the server answers.
//!
//! What it does: one device for each disk that is to have one, with one queue, whose requests come as completions of the server's
//! own ring and go to the same [`crate::Disk`] as those of NBD. Bytes are copied by `pread` and `pwrite` on `/dev/ublkcN`, so that no
//! memory is shared with the kernel but the table in which it says what it wants. Commands for a device itself wait in the kernel
//! until the ring has answered, so a thread of their own gives them. A device is marked as that of a server and a disk, by a number
//! that the kernel keeps for us. What a server leaves that was killed waits, with all that it was asked; the next one
//! of the same mark takes it over and is asked again.
//!
//! What it refuses: a kernel without what is needed (Linux 6.9 with `ublk_drv`), a number that somebody else has, a device
//! that was left for a disk of another size or kind, and requests beyond the disk, off its blocks, or of a kind that was not offered.
//!
//! Invariants: each request is answered once, and a read that ended well has filled all of its pages; a device is removed only
//! when nobody has it open or mounted, for the kernel would lose what is not written yet: at the server's end it is left to the next one
//! else, and at a disk's withdrawal it is waited for.

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
