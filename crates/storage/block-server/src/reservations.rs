//! Persistent reservations of a block device that several hosts see (SCSI-3, NVMe), by the calls of Linux
//! (include/uapi/linux/pr.h). The type is always *write exclusive, registrants only*: while it is held, hosts that have
//! not registered a key cannot write. Only the kernel's way to the device counts, not the process or the open file.
//!
//! Where a host has several ways to the device, below one of device-mapper, all of them are registered; a type for the
//! holder alone would refuse what comes by another way than the one that reserved.

use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

/// `PR_WRITE_EXCLUSIVE_REG_ONLY`.
const REGISTRANTS_WRITE: u32 = 3;
/// What SCSI calls a conflict, and `PR_STS_RESERVATION_CONFLICT`.
const SCSI_CONFLICT: i32 = 0x18;
/// Of a status of SCSI: what the device said. Kernels before 6.4 hand on what they made of it, too, in the bits above.
const SCSI_STATUS: i32 = 0xff;
/// Of SCSI: something else is to be told first, as that the power was cut, or that this host was preempted.
const SCSI_ATTENTION: i32 = 0x02;
/// How many such things are heard before that is an error.
const ATTENTIONS: usize = 3;
/// What NVMe calls it (Base Specification, generic status 83h), which kernels before 6.4 hand on as it is.
const NVME_CONFLICT: i32 = 0x83;
/// Of an NVMe status: its code and its type, without what says whether to try again.
const NVME_STATUS: i32 = 0x7ff;

/// How reservations of a device are asked for. A key is never 0.
pub trait Reservations: Debug + Send + Sync {
    /// Registers `new` for this host in the place of `old`, which is 0 where none is registered; 0 as `new` takes it
    /// away, and with it a reservation that this host holds.
    ///
    /// # Errors
    /// A conflict where `old` is not what is registered.
    fn register(&self, device: BorrowedFd<'_>, old: u64, new: u64) -> Result<(), ReservationError>;

    /// Holds the reservation from now on, or still.
    ///
    /// # Errors
    /// A conflict where the key is not registered, or another host holds it.
    fn reserve(&self, device: BorrowedFd<'_>, key: u64) -> Result<(), ReservationError>;

    /// Takes away every registration of a key, has what these hosts have in flight aborted, and holds the reservation
    /// if one of them held it.
    ///
    /// # Errors
    /// A conflict where `own` is not registered for this host, or `theirs` for nobody.
    fn preempt(
        &self,
        device: BorrowedFd<'_>,
        own: u64,
        theirs: u64,
    ) -> Result<(), ReservationError>;
}

/// Why a device did not do it.
#[derive(Debug, thiserror::Error)]
pub enum ReservationError {
    /// It is registered, or reserved, otherwise.
    #[error("reservation conflict")]
    Conflict,
    /// No such thing can be asked of it.
    #[error("it knows no reservations")]
    Unknown,
    /// The kernel says no.
    #[error(transparent)]
    Kernel(#[from] io::Error),
    /// The device says something else.
    #[error("the device answers with status {0:#x}")]
    Status(i32),
}

/// As the kernel does it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByKernel;

/// `struct pr_registration`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Registration {
    old: u64,
    new: u64,
    flags: u32,
    zero: u32,
}

/// `struct pr_reservation`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Reservation {
    key: u64,
    kind: u32,
    flags: u32,
}

/// `struct pr_preempt`.
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
        // What the kernel calls old is the key that is registered for this host, whatever its documentation says: so do
        // its drivers for SCSI and NVMe hand it on, and so asks its own NFS server.
        let argument = Preemption { old: own, new: theirs, kind: REGISTRANTS_WRITE, flags: 0 };
        // SAFETY: the command reads one `struct pr_preempt`, which `Preemption` is.
        unsafe { ask(device, Ask { opcode: PREEMPT_ABORT, argument }) }
    }
}

/// A command with its argument.
#[derive(Clone, Copy)]
struct Ask<T> {
    opcode: Opcode,
    argument: T,
}

// SAFETY: the pointer is to the argument, which is there for as long as the command; what the call returns is a
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

/// # Safety
/// The command has to read its argument alone.
unsafe fn ask<T: Copy>(device: BorrowedFd<'_>, ask: Ask<T>) -> Result<(), ReservationError> {
    // SAFETY: by the caller's word the command touches no other memory.
    heard(|| unsafe { ioctl(device.as_fd(), ask) })
}

/// Asks again where the device had something else to tell.
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

/// What a call's result means: 0, an error of the kernel, or a status of the device.
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
