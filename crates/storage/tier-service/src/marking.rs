//! Storing of the marks of backing stores while a set is served.

use std::sync::Arc;
use std::time::{Duration, Instant};

use block_server::{Action, Effects, Io, IoId};
use datastore::change_mark;

use crate::core::Core;
use crate::marks::{FIRST_IO, Marks};

/// Time between a change and the storing of marks. Our choice. Pages of a disk that had no change
/// for longer survive a kill. An older copy of the cache is recognised if it lacks more than the
/// last second.
const EVERY: Duration = Duration::from_secs(1);
/// Service's number for the timer of this module.
const ALARM: u64 = 2;
impl Core {
    /// Schedules the storing of marks after a change.
    pub(crate) fn mark_soon(&mut self, fx: &mut Effects) {
        if self.marking.due.is_none() {
            self.marking.due = Some(Instant::now() + EVERY);
            fx.wake(EVERY, ALARM);
        }
    }

    /// Stores the marks of all changed disks, if the time has come.
    pub(crate) fn mark_if_due(&mut self, fx: &mut Effects) {
        if self.marking.due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        self.marking.due = None;
        let served = self.files.disks.len();
        self.marking.disks.resize_with(served, || None);
        for index in 0..served {
            if self.mark(index, fx) {
                self.mark_soon(fx);
            }
        }
    }

    /// Stores the marks of a disk. Returns true if this must be repeated: the last change is
    /// younger than a tick of the clock, or an earlier write of marks is still in progress.
    fn mark(&mut self, index: usize, fx: &mut Effects) -> bool {
        let number = u16::try_from(index).unwrap_or(u16::MAX);
        let Some((backing, sidecar)) = self.files.disks[index].clone() else { return false };
        let Some(moment) = self.tier.moment(number) else { return false };
        let known = match self.marking.disks[index].take() {
            Some((marks, true)) => {
                self.marking.disks[index] = Some((marks, true));
                return true;
            }
            Some((marks, false)) => Some(marks),
            None => Marks::read(&sidecar).ok().flatten(),
        };
        let is_reserved = self.reserved.contains_key(&number);
        // A mark that cannot be read proves nothing, so none is stored. The device is not flushed:
        // a write that it counts later only makes pages cold.
        let mark = change_mark(&backing, is_reserved).unwrap_or(None);
        let is_young = mark.is_none() && known.as_ref().is_some_and(|known| known.mark.is_some());
        let is_new =
            known.as_ref().is_none_or(|known| (known.moment, &known.mark) != (moment, &mark));
        if !is_new {
            self.marking.disks[index] = known.map(|known| (known, false));
            return false;
        }
        let marks = Marks::new(known.as_ref(), moment, mark);
        let bytes = marks.encode();
        let mut data = self.memory.take(bytes.len());
        data.copy_from_slice(&bytes);
        let action = Action::Write { offset: marks.place(), skip: 0, durable: true };
        let file = Arc::clone(&sidecar);
        fx.io(Io { id: IoId(FIRST_IO + u32::from(number)), file, action, data });
        let has_none = marks.mark.is_none();
        self.marking.disks[index] = Some((marks, true));
        is_young || has_none
    }

    /// Handles the completion of a write of marks. If it failed, the marks are read from the
    /// sidecar again before the next write.
    pub(crate) fn marked(&mut self, index: usize, is_ok: bool) {
        let Some(disk) = self.marking.disks.get_mut(index) else { return };
        *disk = disk.take().filter(|_| is_ok).map(|(marks, _)| (marks, false));
    }

    /// Drops the marks of a detached disk, because another disk may get its index.
    pub(crate) fn forget_marks(&mut self, index: u16) {
        if let Some(disk) = self.marking.disks.get_mut(usize::from(index)) {
            *disk = None;
        }
    }

    /// Returns the marks of a disk that were stored last.
    pub(crate) fn last_marks(&self, index: u16) -> Option<&Marks> {
        self.marking.disks.get(usize::from(index))?.as_ref().map(|(marks, _)| marks)
    }
}
