use super::{Fx, Mode, Tier};
use crate::format::SidecarState;

/// State of a disk with regard to a failure of the cache device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Uncached {
    /// The device works.
    #[default]
    No,
    /// The device failed, and old pages may return with the device. The sidecar is being written to
    /// make them invalid.
    Marking,
    /// The sidecar has made the pages invalid. The disk is served without a cache.
    Yes,
}

impl Tier {
    /// Handles the failure of the cache device. Disks in mode through continue without the device
    /// once their sidecar has a new generation, which makes every page on the device outdated.
    /// Disks in mode back have their newest writes on the device and cannot continue.
    pub(super) fn go_on_uncached(&mut self) {
        for disk in self.disks.iter_mut().flatten() {
            if disk.mode == Mode::Through && disk.uncached == Uncached::No {
                // The change to mode back is off, because the log cannot answer any more.
                disk.change = None;
                disk.uncached = Uncached::Marking;
                disk.sidecar.raise_generation();
            }
        }
    }

    /// Returns true if the disk continues, or is about to continue, without the device.
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

    /// Continues the requests that waited for the sidecar.
    pub(super) fn uncached_marked(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        // A copy that was under way when the device failed still has the old generation.
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
