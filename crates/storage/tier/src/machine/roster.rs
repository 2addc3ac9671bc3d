//! Attaching and detaching of disks while the set is served.
//!
//! A disk to attach was prepared elsewhere ([`Prepared`]). First a durable superblock lists the
//! disk. Then its sidecar names this set as owner of its log. Both happen before its requests are
//! served. The attachment has the number of that superblock. So a record of an earlier attachment,
//! or of another disk with the same index, is not taken for one of this disk.
//!
//! To detach a disk, its log is destaged, its sidecar becomes *clean*, and its pages are evicted, a
//! few at a time. When nothing in progress concerns the disk, the next superblock no longer lists
//! it. Once that superblock is durable, the disk's index and chunks are free. If the program stops
//! at any point, the disk is either still part of the set or completely removed.

use units::Nanos;

use super::disk::Stage;
use super::pool::{After, Item};
use super::{Disk, Fx, Mode, Tier};
use crate::event::{Effect, Note};
use crate::format::SidecarState;

/// Number of a disk's pages that are evicted in one step, so small that requests are not delayed.
pub(super) const STEP_PAGES: usize = 256;
/// Pause between two steps.
pub(super) const STEP: Nanos = Nanos(1_000_000);
/// Length of the pool's queue at which no more pages are evicted.
pub(super) const QUEUE_MAX: usize = 4096;

/// Disk that was opened for a running set. All data needed for it has been read.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub(crate) index: u16,
    pub(crate) disk: Disk,
    /// Number of writes that the disk has already.
    order: u64,
}

impl Prepared {
    /// Adds the recovered writes to the overlay and begins to destage them. This may take long, so
    /// it is done before the state machine gets the disk.
    pub(crate) fn new(index: u16, mut disk: Disk) -> Self {
        let order = disk.lay_recovered();
        disk.destager.begin_all();
        Self { index, disk, order }
    }

    /// Returns the index of the disk in the set.
    pub fn index(&self) -> u16 {
        self.index
    }

    /// Returns the generation of the disk: the number of owners so far, with this one.
    pub fn generation(&self) -> u64 {
        self.disk.entry.generation
    }
}

impl Disk {
    /// Returns true if a superblock must list the disk.
    pub(super) fn is_listed(&self) -> bool {
        !matches!(self.stage, Stage::Coming | Stage::Striking(_))
    }
}

impl Tier {
    /// Attaches a disk. [`Note::Attached`] reports when the disk may be served, or
    /// [`Note::NotAttached`] reports a failure.
    ///
    /// # Panics
    /// If the set already serves a disk with that index.
    pub fn attach(&mut self, now: Nanos, prepared: Prepared, fx: &mut Vec<Effect>) {
        self.now = now;
        let Prepared { index, mut disk, order } = prepared;
        assert!(self.disks[usize::from(index)].is_none(), "disk {index} is served");
        disk.stage = Stage::Coming;
        self.order = self.order.max(order);
        self.disks[usize::from(index)] = Some(disk);
        self.stirred.mark_all();
        self.stir();
        self.turn(fx);
        self.set_timer(fx);
    }

    pub(super) fn serve(&mut self, index: u16) {
        let disk = self.disk(index);
        assert!(disk.stage == Stage::Ready, "a served disk is attached");
        disk.stage = Stage::Serving;
    }

    pub(super) fn detach(&mut self, index: u16) {
        let disk = self.disk(index);
        if disk.stage == Stage::Ready {
            disk.stage = Stage::Serving;
        }
        if disk.stage == Stage::Serving {
            disk.stage = Stage::Leaving;
            disk.wish = Mode::Through;
            disk.change = (disk.mode == Mode::Back).then_some(Mode::Through);
        }
    }

    /// Advances the stage of a disk that is being attached or detached.
    pub(super) fn pump_stage(&mut self, index: u16, fx: &mut Fx) {
        let stage = self.disk(index).stage;
        match stage {
            Stage::Coming | Stage::Listing(_) | Stage::Striking(_) if self.is_failed => {
                self.let_go_of(index, fx);
            }
            Stage::Coming if self.is_closing => self.let_go_of(index, fx),
            Stage::Coming => self.list(index),
            Stage::Leaving if !self.is_closing => self.leave(index, fx),
            Stage::Emptying(at) if at <= self.now && !self.is_closing => self.empty(index, fx),
            Stage::Settling if self.is_unused(index) => self.strike(index, fx),
            _ => {}
        }
    }

    /// Takes a chunk for the log, so that the next superblock lists the disk.
    fn list(&mut self, index: u16) {
        let number = self.roster.next_number();
        if self.disk(index).wants_chunk() {
            let Some(chunk) = self.chunks.take_for_disk() else { return };
            self.disk(index).take_chunk(chunk);
        }
        let disk = self.disk(index);
        disk.entry.attach = number;
        disk.stage = Stage::Listing(number);
        disk.log.set_attach(number);
    }

    /// Returns true if the list of disks must change in the next superblock.
    pub(super) fn is_roster_new(&self) -> bool {
        let is_new = |disk: &Disk| matches!(disk.stage, Stage::Listing(_) | Stage::Striking(_));
        self.stirred.is_any_moving() && self.disks.iter().flatten().any(is_new)
    }

    /// Advances the stages of disks after a superblock has become durable.
    pub(super) fn roster_written(&mut self, fx: &mut Fx) {
        let number = self.roster.superblock().seq;
        for index in 0..self.disks.len() {
            let stage = self.disks[index].as_ref().map(|disk| disk.stage);
            let index = u16::try_from(index).unwrap_or(u16::MAX);
            match stage {
                Some(Stage::Listing(at)) if at <= number => self.mark(index, fx),
                Some(Stage::Striking(at)) if at <= number => self.let_go_of(index, fx),
                _ => {}
            }
        }
    }

    /// Writes a sidecar that names this set as owner. The former owner was checked when the disk
    /// was prepared.
    fn mark(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        disk.stage = Stage::Marking;
        disk.sidecar.begin_first();
        let spare = std::mem::take(&mut disk.spare);
        spare.into_iter().for_each(|chunk| self.chunks.release(chunk));
        self.put_sidecar(index, fx);
    }

    /// Records that the sidecar names this set as owner.
    pub(super) fn marked(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        if disk.stage == Stage::Marking {
            disk.stage = Stage::Ready;
            fx.push(Effect::Note(Note::Attached(index)));
        }
    }

    /// Continues the detach of a disk once its log is destaged. A fenced disk is left as it is.
    fn leave(&mut self, index: u16, fx: &mut Fx) {
        if !self.is_disk_quiet(index, fx) {
            return;
        }
        let is_drained = self.is_drained(index);
        let disk = self.disk(index);
        let is_through = disk.mode == Mode::Through && disk.change.is_none();
        let is_clean = is_drained && disk.sidecar.word().state == SidecarState::Clean;
        if !disk.is_fenced && (!is_through || !is_clean || !disk.held.is_empty()) {
            return;
        }
        self.disk(index).stage = Stage::Emptying(self.now);
        self.cut_off(index, fx);
        self.time_changed();
    }

    /// Evicts up to [`STEP_PAGES`] pages of the disk, and as many of its units in the memory tier.
    fn empty(&mut self, index: u16, fx: &mut Fx) {
        let next = self.now + STEP;
        let lost = match self.pool.queue.len() < QUEUE_MAX || self.is_failed {
            true => self.pages.give_up(index, STEP_PAGES),
            false => Some(Vec::new()),
        };
        let is_kept = self.memory.give_up(index, STEP_PAGES, fx);
        let is_left = is_kept || lost.is_some();
        self.disk(index).stage = if is_left { Stage::Emptying(next) } else { Stage::Settling };
        for page in lost.into_iter().flatten() {
            self.queue_unmap(Some(page));
        }
        self.pool.is_due = true;
        self.time_changed();
        self.stir();
    }

    /// Returns true if nothing in progress concerns the disk. Otherwise it would affect the next
    /// disk with the same index.
    fn is_unused(&self, index: u16) -> bool {
        let is_start = |item: &Item| matches!(item, Item::LogStart { disk, .. } if *disk == index);
        let starts = |after: &After| matches!(after, After::Started { disk, .. } if *disk == index);
        let pool = &self.pool;
        self.reads.iter().all(|read| read.disk != index)
            && self.writes.iter().all(|write| write.request.disk != index)
            && self.ios.iter().all(|io| io.disk() != Some(index))
            && !self.flusher.is_of(index)
            && (self.is_failed || !pool.queue.iter().any(is_start))
            && (self.is_failed || !pool.after.iter().any(|(_, after)| starts(after)))
    }

    /// Removes the disk from the next superblock. If another owner continued without this log's
    /// writes, the disk stays listed, so that these writes can be exported.
    fn strike(&mut self, index: u16, fx: &mut Fx) {
        let is_failed = self.is_failed;
        let disk = self.disk(index);
        if !disk.destager.has_epochs() && !is_failed {
            let number = self.roster.next_number();
            self.roster.strike(index);
            self.disk(index).stage = Stage::Striking(number);
            return;
        }
        let entry = disk.entry.clone();
        self.roster.list(index, entry);
        self.let_go_of(index, fx);
    }

    /// Removes all state of the disk.
    pub(super) fn let_go_of(&mut self, index: u16, fx: &mut Fx) {
        let Some(disk) = self.disks[usize::from(index)].take() else { return };
        let note = match disk.stage {
            Stage::Settling | Stage::Striking(_) => Note::Detached(index),
            _ => Note::NotAttached(index),
        };
        if matches!(disk.stage, Stage::Striking(_)) {
            for own in disk.log.chunks() {
                self.chunks.release(own.chunk);
            }
        }
        self.flusher.forget(index);
        self.counters = self.counters.and(disk.counters);
        self.pages.disown(index);
        self.parts_changed();
        self.memory.set_share(index, 100);
        fx.push(Effect::Note(note));
        self.stir();
    }
}
