//! Disks that come into the set and leave it while it is served.
//!
//! One that comes was prepared elsewhere ([`Prepared`]). The superblock names it, durably, before its sidecar tells of a
//! log here; both do before anything is asked of it. Its attachment has the number of that superblock: nothing that
//! is said of an earlier one, or of another disk that had the index, is taken for its own.
//!
//! One that leaves puts all that its log has into its backing store, has its sidecar say *clean*, and forgets its pages, a
//! few at a time. When nothing that is under way concerns it the superblock names it no more, and its index and chunks are
//! free when that is durable. Stopped anywhere it is a disk of the set still, or none.

use units::Nanos;

use super::disk::Stage;
use super::pool::{After, Item};
use super::{Disk, Fx, Mode, Tier};
use crate::event::{Effect, Note};
use crate::format::SidecarState;

/// Pages of a disk that leave at once, and how long the others wait: nobody is to notice it.
pub(super) const STEP_PAGES: usize = 256;
pub(super) const STEP: Nanos = Nanos(1_000_000);
/// No more leave while so many are still to be written down.
pub(super) const QUEUE_MAX: usize = 4096;

/// A disk that was opened for a set which is served already: everything that has to be read for it was.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub(crate) index: u16,
    pub(crate) disk: Disk,
    /// Writes that it has already.
    order: u64,
}

impl Prepared {
    /// What waits in the disk's log is laid over it, and on its way, before the machine has it: that may take long.
    pub(crate) fn new(index: u16, mut disk: Disk) -> Self {
        let order = disk.lay_recovered();
        disk.destager.begin_all();
        Self { index, disk, order }
    }

    /// Its index in the set.
    pub fn index(&self) -> u16 {
        self.index
    }

    /// Counts its owners, with this one.
    pub fn generation(&self) -> u64 {
        self.disk.entry.generation
    }
}

impl Disk {
    /// Whether a superblock is to name it.
    pub(super) fn is_listed(&self) -> bool {
        !matches!(self.stage, Stage::Coming | Stage::Striking(_))
    }
}

impl Tier {
    /// A disk comes: [`Note::Attached`] when it may be served, or [`Note::NotAttached`].
    ///
    /// # Panics
    /// If the set serves one of that index.
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
        assert!(disk.stage == Stage::Ready, "what is served was attached");
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

    /// What a disk that comes or leaves waits for may be there.
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

    /// The log has a place, and the next superblock names the disk.
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

    /// Whether a superblock has something new to say of which disks there are.
    pub(super) fn is_roster_new(&self) -> bool {
        let is_new = |disk: &Disk| matches!(disk.stage, Stage::Listing(_) | Stage::Striking(_));
        self.stirred.is_any_moving() && self.disks.iter().flatten().any(is_new)
    }

    /// A superblock is durable.
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

    /// The sidecar says whose the disk is now: who had it was looked at when it was prepared.
    fn mark(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        disk.stage = Stage::Marking;
        disk.sidecar.begin_first();
        let spare = std::mem::take(&mut disk.spare);
        spare.into_iter().for_each(|chunk| self.chunks.release(chunk));
        self.put_sidecar(index, fx);
    }

    /// It does.
    pub(super) fn marked(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        if disk.stage == Stage::Marking {
            disk.stage = Stage::Ready;
            fx.push(Effect::Note(Note::Attached(index)));
        }
    }

    /// All that the disk has goes out. One that somebody else owns is left as it is.
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

    /// Some of its pages leave, and of what memory has of it.
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

    /// Whether nothing that is under way concerns the disk, or what has its index next.
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

    /// The next superblock names it no more. What only its log has, for another owner went on without it, stays there.
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

    /// Nothing is known of the disk any more.
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
