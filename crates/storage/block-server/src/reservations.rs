//! Persistent reservations of a block device that several hosts share (SCSI-3, NVMe), by Linux's
//! ioctls (include/uapi/linux/pr.h). The type is always *write exclusive, registrants only*: while
//! the reservation is held, hosts that have not registered a key cannot write. The registration
//! belongs to the kernel's path to the device, not to the process or the open file.
//!
//! If a host has several paths to the device, below a device-mapper device, all of them are
//! registered. A type for the holder alone would refuse I/O on every path except the path that
//! reserved.

use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

/// Reservation type `PR_WRITE_EXCLUSIVE_REG_ONLY`.
const REGISTRANTS_WRITE: u32 = 3;
/// SCSI status of a reservation conflict; also `PR_STS_RESERVATION_CONFLICT`.
const SCSI_CONFLICT: i32 = 0x18;
/// Bits of a result that hold the SCSI status of the device. Kernels before 6.4 also pass their own
/// codes in the bits above.
const SCSI_STATUS: i32 = 0xff;
/// SCSI status *check condition*: the device first reports an event, for example a power cycle, or
/// a preemption of this host.
const SCSI_ATTENTION: i32 = 0x02;
/// Number of such reports in a row that are accepted; the next one is an error.
const ATTENTIONS: usize = 3;
/// NVMe status of a reservation conflict (Base Specification, generic status 83h). Kernels before
/// 6.4 pass it on unchanged.
const NVME_CONFLICT: i32 = 0x83;
/// Bits of an NVMe status that hold its code and its type, without the bit *do not retry*.
const NVME_STATUS: i32 = 0x7ff;

/// Reservation commands for a device. A key is never 0.
pub trait Reservations: Debug + Send + Sync {
    /// Registers the key `new` for this host. `old` is the key that is registered now, or 0. A
    /// `new` of 0 removes the registration, and with it a reservation that this host holds.
    ///
    /// # Errors
    /// A conflict if `old` is not the registered key.
    fn register(&self, device: BorrowedFd<'_>, old: u64, new: u64) -> Result<(), ReservationError>;

    /// Takes the reservation, or keeps it if this host holds it.
    ///
    /// # Errors
    /// A conflict if the key is not registered, or if another host holds the reservation.
    fn reserve(&self, device: BorrowedFd<'_>, key: u64) -> Result<(), ReservationError>;

    /// Removes every registration of the key `theirs`, and aborts the I/O in flight of the hosts
    /// that registered it. Takes the reservation if one of these hosts held it.
    ///
    /// # Errors
    /// A conflict if `own` is not registered for this host, or if no host has registered `theirs`.
    fn preempt(
        &self,
        device: BorrowedFd<'_>,
        own: u64,
        theirs: u64,
    ) -> Result<(), ReservationError>;
}

/// Reason why a device did not carry out a command.
#[derive(Debug, thiserror::Error)]
pub enum ReservationError {
    /// Another key is registered, or another host holds the reservation.
    #[error("reservation conflict")]
    Conflict,
    /// The device does not support reservations.
    #[error("the device does not support reservations")]
    Unknown,
    /// The kernel refused the command.
    #[error(transparent)]
    Kernel(#[from] io::Error),
    /// The device answered with a status that is neither success nor a conflict.
    #[error("the device answers with status {0:#x}")]
    Status(i32),
}

/// Reservations by the kernel's ioctls.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByKernel;

/// Argument of `PR_REGISTER`, `struct pr_registration`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Registration {
    old: u64,
    new: u64,
    flags: u32,
    zero: u32,
}

/// Argument of `PR_RESERVE`, `struct pr_reservation`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Reservation {
    key: u64,
    kind: u32,
    flags: u32,
}

/// Argument of `PR_PREEMPT_ABORT`, `struct pr_preempt`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Preemption {
    old: u64,
    new: u64,
    kind: u32,
    flags: u32,
}

const REGISTER: Opcode = opcode::write::<Registration>(b'p', 200);
const RESERVE: Opcode = opcode::write::<Reservation>(b'p', 201);
const PREEMPT_ABORT: Opcode = opcode::write::<Preemption>(b'p', 204);

impl Reservations for ByKernel {
    fn register(&self, device: BorrowedFd<'_>, old: u64, new: u64) -> Result<(), ReservationError> {
        let argument = Registration { old, new, flags: 0, zero: 0 };
        // SAFETY: the command reads one `struct pr_registration`, which `Registration` is.
        unsafe { ask(device, Ask { opcode: REGISTER, argument }) }
    }

    fn reserve(&self, device: BorrowedFd<'_>, key: u64) -> Result<(), ReservationError> {
        let argument = Reservation { key, kind: REGISTRANTS_WRITE, flags: 0 };
        // SAFETY: the command reads one `struct pr_reservation`, which `Reservation` is.
        unsafe { ask(device, Ask { opcode: RESERVE, argument }) }
    }

    fn preempt(
        &self,
        device: BorrowedFd<'_>,
        own: u64,
        theirs: u64,
    ) -> Result<(), ReservationError> {
        // The kernel's `old` is the key registered for this host, whatever its documentation
        // says: its SCSI and NVMe drivers pass it on so, and its own NFS server calls it so.
        let argument = Preemption { old: own, new: theirs, kind: REGISTRANTS_WRITE, flags: 0 };
        // SAFETY: the command reads one `struct pr_preempt`, which `Preemption` is.
        unsafe { ask(device, Ask { opcode: PREEMPT_ABORT, argument }) }
    }
}

/// Parameters of an ioctl: its number and its argument.
#[derive(Clone, Copy)]
struct Ask<T> {
    opcode: Opcode,
    argument: T,
}

// SAFETY: the pointer is to the argument, which lives as long as the command. The call returns a
// number and no pointer.
unsafe impl<T> Ioctl for Ask<T> {
    type Output = IoctlOutput;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        self.opcode
    }

    fn as_ptr(&mut self) -> *mut libc::c_void {
        (&raw mut self.argument).cast()
    }

    unsafe fn output_from_ptr(
        out: IoctlOutput,
        _argument: *mut libc::c_void,
    ) -> rustix::io::Result<IoctlOutput> {
        Ok(out)
    }
}

/// Calls an ioctl on the device.
///
/// # Safety
/// The command must access no memory but its argument.
unsafe fn ask<T: Copy>(device: BorrowedFd<'_>, ask: Ask<T>) -> Result<(), ReservationError> {
    // SAFETY: by the caller's word the command touches no other memory.
    heard(|| unsafe { ioctl(device.as_fd(), ask) })
}

/// Repeats a command while the device reports other events first.
fn heard(ask: impl Fn() -> Result<i32, Errno>) -> Result<(), ReservationError> {
    let is_attention = |result: &Result<i32, Errno>| matches!(result, Ok(status) if status & SCSI_STATUS == SCSI_ATTENTION);
    for _ in 0..ATTENTIONS {
        let result = ask();
        if !is_attention(&result) {
            return meaning(result);
        }
    }
    meaning(ask())
}

/// Interprets the result of a call: 0, an error of the kernel, or a status of the device.
fn meaning(result: Result<i32, Errno>) -> Result<(), ReservationError> {
    match result {
        Ok(0) => Ok(()),
        Err(Errno::BADE) => Err(ReservationError::Conflict),
        Ok(status) if status & SCSI_STATUS == SCSI_CONFLICT => Err(ReservationError::Conflict),
        Ok(status) if status & NVME_STATUS == NVME_CONFLICT => Err(ReservationError::Conflict),
        Ok(status) => Err(ReservationError::Status(status)),
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL) => Err(ReservationError::Unknown),
        Err(errno) => Err(ReservationError::Kernel(errno.into())),
    }
}

const _: () = assert!(size_of::<Registration>() == 24 && size_of::<Preemption>() == 24);
const _: () = assert!(size_of::<Reservation>() == 16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_have_the_numbers_of_the_kernels_header() {
        // As a C compiler makes them of include/uapi/linux/pr.h.
        assert_eq!((REGISTER, RESERVE, PREEMPT_ABORT), (0x4018_70c8, 0x4010_70c9, 0x4018_70cc));
    }

    #[test]
    fn a_conflict_is_known_by_what_scsi_nvme_and_the_kernel_call_it() {
        // The second is what Linux 6.1 says of a LUN.
        let results = [Ok(0x18), Ok(0x118), Ok(0x11_0018), Ok(0x83), Ok(0x4083), Err(Errno::BADE)];
        for result in results {
            assert!(matches!(meaning(result), Err(ReservationError::Conflict)), "{result:?}");
        }
        assert!(meaning(Ok(0)).is_ok());
        assert!(matches!(meaning(Ok(2)), Err(ReservationError::Status(2))));
        assert!(matches!(meaning(Err(Errno::PERM)), Err(ReservationError::Kernel(_))));
    }

    #[test]
    fn what_a_device_has_to_tell_first_is_no_answer() {
        let asked = std::cell::Cell::new(0);
        let answer = |at: i32| {
            asked.set(asked.get() + 1);
            Ok(if asked.get() < at { 2 } else { 0x18 })
        };
        assert!(matches!(heard(|| answer(3)), Err(ReservationError::Conflict)));
        asked.set(0);
        assert!(matches!(heard(|| answer(9)), Err(ReservationError::Status(2))));
    }

    #[test]
    fn a_file_knows_no_reservations() {
        let file = tempfile::tempfile().expect("room");
        let refused = ByKernel.register(file.as_fd(), 0, 1);
        assert!(matches!(refused, Err(ReservationError::Unknown)), "{refused:?}");
    }
}
