//! Reservation of a backing device that several hosts see.
//!
//! The key of a host is derived from its machine ID. So a take-over, the server that follows it,
//! and a server after a kill all use the same key. The key is stored in the sidecar. A take-over
//! preempts *that* key and becomes the holder in one step. The device then refuses late writes of
//! the old owner.
//!
//! A server must be the *holder*, not only registered: a preempted host can register again, but
//! cannot become the holder. A server that fails to become the holder unregisters, and has written
//! nothing.
//!
//! A sidecar may be on other storage, where no device refuses late writes. So a change of the
//! sidecar counts only if the reservation is found held *after* the change was durable. A take-over
//! preempts first, then reads the sidecar, and continues with a new file of that name, which no
//! other process has open.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block_server::{ByKernel, ReservationError, Reservations};
use tier::format::{SIDECAR_BYTES, Sidecar, SidecarState, Uuid, payload_sum};
use tier::{IoError, ownership};

use crate::{SetError, identity};

/// Settings for reserving a backing device.
#[derive(Debug, Clone)]
pub struct Reserve {
    /// Implementation of reservations.
    pub by: Arc<dyn Reservations>,
    /// Key of this host, never 0.
    pub key: u64,
}

impl Reserve {
    /// Returns settings for the kernel's reservations with the key of this host.
    ///
    /// # Errors
    /// If the host has no machine ID.
    pub fn of_this_host() -> Result<Self, SetError> {
        let host = identity::host();
        if host == Uuid::default() {
            return Err(SetError::NoHost);
        }
        Ok(Self { by: Arc::new(ByKernel), key: payload_sum(&host).max(1) })
    }
}

/// Device that this host has reserved.
#[derive(Debug)]
pub(crate) struct Reserved {
    device: Arc<OwnedFd>,
    reserve: Reserve,
    /// True if this process registered the host; then dropping this object unregisters the host.
    is_trial: AtomicBool,
}

impl Reserved {
    /// Registers this host and reserves the device.
    ///
    /// # Errors
    /// If another host holds the reservation, or the device refuses. Then this host is not
    /// registered.
    pub(crate) fn take(
        reserve: &Reserve,
        device: &Arc<OwnedFd>,
        path: &Path,
    ) -> Result<Self, SetError> {
        let reserved = Self::register(reserve, device, path)?;
        match reserved.reserve.by.reserve(device.as_fd(), reserve.key) {
            Ok(()) => Ok(reserved),
            Err(ReservationError::Conflict) => {
                reserved.is_trial.store(true, Ordering::Relaxed);
                Err(SetError::ReservedElsewhere { path: path.to_owned() })
            }
            Err(source) => Err(SetError::Reserve { path: path.to_owned(), source }),
        }
    }

    /// Preempts the host with the key `theirs`, which may still run but cannot write any more. If
    /// that host has released the device itself, it has no I/O in flight.
    ///
    /// # Errors
    /// If a third host holds the reservation, or the device refuses. Then this host is not
    /// registered.
    pub(crate) fn take_over(
        reserve: &Reserve,
        device: &Arc<OwnedFd>,
        path: &Path,
        theirs: u64,
    ) -> Result<Self, SetError> {
        let reserved = Self::register(reserve, device, path)?;
        let failed = |source| SetError::Reserve { path: path.to_owned(), source };
        // Twice, because the old owner may release the device, and start again, between the two
        // steps.
        for _ in 0..2 {
            if theirs != reserve.key {
                match reserve.by.preempt(device.as_fd(), reserve.key, theirs) {
                    Ok(()) | Err(ReservationError::Conflict) => {}
                    Err(source) => return Err(failed(source)),
                }
            }
            match reserve.by.reserve(device.as_fd(), reserve.key) {
                Ok(()) => return Ok(reserved),
                Err(ReservationError::Conflict) => {}
                Err(source) => return Err(failed(source)),
            }
        }
        reserved.is_trial.store(true, Ordering::Relaxed);
        Err(SetError::ReservedByOther { path: path.to_owned() })
    }

    fn register(reserve: &Reserve, device: &Arc<OwnedFd>, path: &Path) -> Result<Self, SetError> {
        let register = |old| reserve.by.register(device.as_fd(), old, reserve.key);
        let is_trial = match register(reserve.key) {
            Ok(()) => false,
            Err(ReservationError::Conflict) => match register(0) {
                Ok(()) => true,
                Err(ReservationError::Conflict) => {
                    return Err(SetError::OtherKey { path: path.to_owned() });
                }
                Err(source) => return Err(SetError::Reserve { path: path.to_owned(), source }),
            },
            Err(source) => return Err(SetError::Reserve { path: path.to_owned(), source }),
        };
        let (device, reserve) = (Arc::clone(device), reserve.clone());
        Ok(Self { device, reserve, is_trial: AtomicBool::new(is_trial) })
    }

    /// Keeps the reservation after this process ends.
    pub(crate) fn keep(&self) {
        self.is_trial.store(false, Ordering::Relaxed);
    }

    /// Checks with the device that this host still holds the reservation.
    pub(crate) fn check(&self) -> Result<(), IoError> {
        match self.reserve.by.reserve(self.device.as_fd(), self.reserve.key) {
            Ok(()) => Ok(()),
            Err(ReservationError::Conflict) => Err(IoError::Fenced),
            Err(_) => Err(IoError::Io),
        }
    }

    /// Releases the device after its disk was detached. It stays reserved if the backing store
    /// lacks writes of the disk, or if an earlier owner is fenced only by this reservation.
    pub(crate) fn end(&self, sidecar: &OwnedFd) {
        let mut bytes = vec![0; SIDECAR_BYTES];
        let read = rustix::io::pread(sidecar, &mut bytes, 0);
        let said = read.ok().and_then(|_| Sidecar::newest(&bytes));
        let is_over = |said: &Sidecar| {
            said.state == SidecarState::Clean
                && ownership::is_free(said)
                && said.key == self.reserve.key
                && !said.stays
        };
        let Some(said) = said.filter(is_over) else { return };
        if self.unregister().is_ok() {
            let next = Sidecar { seq: said.seq + 1, key: 0, ..said };
            // If this write fails, the next server must reserve again, or refuses the disk.
            let _ = rustix::io::pwrite(sidecar, &next.encode()[..], next.place());
            let _ = rustix::fs::fdatasync(sidecar);
        }
    }

    fn unregister(&self) -> Result<(), ReservationError> {
        self.reserve.by.register(self.device.as_fd(), self.reserve.key, 0)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if *self.is_trial.get_mut() {
            // A host that stays registered holds nothing, and uses the same key again.
            let _ = self.unregister();
        }
    }
}
