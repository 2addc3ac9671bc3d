use super::{Fx, Mode, Tier};
use crate::format::SidecarState;

/// How a disk goes on when its cache device has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Uncached {
    /// The device works.
    #[default]
    No,
    /// Its pages may come back with the device: the sidecar is to say that they are not true.
    Marking,
    /// It does; the disk goes on without cache.
    Yes,
}

impl Tier {
    /// The cache device failed. Disks in mode through go on without it once their sidecar has a new
    /// generation, by which every page on the device is an old one; those in mode back have their
    /// newest writes on it and cannot.
    pub(super) fn go_on_uncached(&mut self) {
        for disk in self.disks.iter_mut().flatten() {
            if disk.mode == Mode::Through && disk.uncached == Uncached::No {
                // One that was about to be answered by the log is not.
                disk.change = None;
                disk.uncached = Uncached::Marking;
                disk.sidecar.raise_generation();
            }
        }
    }

    /// Whether the disk goes on, or is about to, without the device.
    pub(super) fn is_uncached(&mut self, index: u16) -> bool {
        self.disk(index).uncached != Uncached::No
    }

    pub(super) fn pump_uncached(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        if disk.uncached == Uncached::Marking
            && !disk.sidecar.is_writing()
            && disk.retry_at.is_none()
        {
            self.write_sidecar(index, SidecarState::Clean, fx);
        }
    }

    /// The sidecar says so: whatever waited goes on.
    pub(super) fn uncached_marked(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        // One that was on its way when the device failed has the old generation still.
        if disk.uncached != Uncached::Marking || !disk.sidecar.is_confirmed() {
            return;
        }
        disk.uncached = Uncached::Yes;
        for write in std::mem::take(&mut disk.stalled) {
            self.through_allowed(write, fx);
        }
        for request in std::mem::take(&mut self.disk(index).held) {
            self.accept(request, fx);
        }
    }
}
