//! A backing device that several hosts see, reserved for one of them.
//!
//! The key of a host is made of its name, so that it is the same for a take-over and for the server that follows, and
//! after a kill. It is in the sidecar: whoever takes the disk over takes *that* key away, in the step that makes him the
//! holder, and the device refuses what the old owner still sends.
//!
//! Whoever serves has to be the *holder*, not only registered: one who was preempted may register again, and so does,
//! but cannot hold. Whoever does not become the holder is registered no more when that is known, and has not written.
//!
//! A sidecar is on storage of its own, where no device refuses a late write. So what it says counts only when the
//! reservation is found held *after* it was durable: whoever takes over preempts before he reads it, and goes on with a
//! new file of that name, which nobody else has open.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block_server::{ByKernel, ReservationError, Reservations};
use tier::format::{SIDECAR_BYTES, Sidecar, SidecarState, Uuid, payload_sum};
use tier::{IoError, ownership};

use crate::{SetError, identity};

/// How a backing device is to be reserved.
#[derive(Debug, Clone)]
pub struct Reserve {
    /// By whom it is asked for.
    pub by: Arc<dyn Reservations>,
    /// The key of this host, not 0.
    pub key: u64,
}

impl Reserve {
    /// By the kernel, with the key that is made of this machine's name.
    ///
    /// # Errors
    /// It has none.
    pub fn of_this_host() -> Result<Self, SetError> {
        let host = identity::host();
        if host == Uuid::default() {
            return Err(SetError::NoHost);
        }
        Ok(Self { by: Arc::new(ByKernel), key: payload_sum(&host).max(1) })
    }
}

/// A device that this host holds.
#[derive(Debug)]
pub(crate) struct Reserved {
    device: Arc<OwnedFd>,
    reserve: Reserve,
    /// It was registered just now, and is not when this is dropped.
    is_trial: AtomicBool,
}

impl Reserved {
    /// Registers this host and holds the device.
    ///
    /// # Errors
    /// Another host holds it, or it cannot be done; then this host is not registered.
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

    /// Takes it from whoever is registered by this key, who may live on and writes no more. One who has let go of it
    /// by himself has nothing under way.
    ///
    /// # Errors
    /// Somebody else holds it, or it cannot be done; then this host is not registered.
    pub(crate) fn take_over(
        reserve: &Reserve,
        device: &Arc<OwnedFd>,
        path: &Path,
        theirs: u64,
    ) -> Result<Self, SetError> {
        let reserved = Self::register(reserve, device, path)?;
        let failed = |source| SetError::Reserve { path: path.to_owned(), source };
        // He may have let go, and started again, in between.
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

    /// It is held from now on, whatever becomes of this process.
    pub(crate) fn keep(&self) {
        self.is_trial.store(false, Ordering::Relaxed);
    }

    /// Whether this host holds it still; an answer of the device, not of memory.
    pub(crate) fn check(&self) -> Result<(), IoError> {
        match self.reserve.by.reserve(self.device.as_fd(), self.reserve.key) {
            Ok(()) => Ok(()),
            Err(ReservationError::Conflict) => Err(IoError::Fenced),
            Err(_) => Err(IoError::Io),
        }
    }

    /// Nobody serves it here any more. It is let go where the backing store is all there is of the disk, and no owner
    /// of before is kept from writing by this alone.
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
            // Without it the disk is served with a reservation again, or not at all.
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
            // A host that stays registered, and holds nothing, is registered by the same key when it comes again.
            let _ = self.unregister();
        }
    }
}
