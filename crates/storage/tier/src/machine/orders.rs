use super::disk::Stage;
use super::uncached::Uncached;
use super::{Fx, Mode, Tier};
use crate::event::{Effect, Note, Order};
use crate::format::{SetState, SidecarState};

impl Tier {
    pub(super) fn order(&mut self, order: Order, fx: &mut Fx) {
        match order {
            Order::Drain { disk } => self.disk(disk).is_draining = true,
            Order::Populate { disk, is_on } => self.disk(disk).populate = is_on,
            Order::Share { disk, percent } => {
                self.pages.set_share(disk, percent);
                self.memory.set_share(disk, percent);
                self.parts_changed();
            }
            Order::Admission { disk, admission } => self.pages.set_admission(disk, admission),
            Order::Policy(policy) => {
                self.pages.set_policy(policy);
                self.memory.set_policy(policy);
                self.parts_changed();
            }
            Order::OwnPolicy { disk, policy } => {
                self.pages.set_own_policy(disk, policy);
                self.parts_changed();
            }
            Order::Close => self.is_closing = true,
            Order::Serve { disk } => self.serve(disk),
            Order::Detach { disk } => self.detach(disk),
            Order::Mode { disk, mode } => {
                let found = self.disk(disk);
                found.wish = mode;
                let waits = mode == Mode::Back && !found.copies.is_enough();
                found.change = (found.mode != mode && !waits).then_some(mode);
                if found.mode == mode {
                    fx.push(Effect::Note(Note::Mode(disk, mode)));
                    self.release_held(disk, fx);
                }
            }
        }
        self.stir();
    }

    /// Returns true if all writes of the disk are on the backing store.
    pub(super) fn is_drained(&mut self, index: u16) -> bool {
        let disk = self.disk(index);
        disk.queue.is_idle() && disk.destager.is_idle() && disk.overlay.is_empty()
    }

    /// Continues the operator's orders for a disk.
    pub(super) fn pump_orders(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        let change = disk.change;
        if disk.is_draining || change == Some(Mode::Through) {
            self.end_epoch_now(index);
        }
        let is_drained = self.is_drained(index);
        let is_answered = self.disk(index).is_draining && is_drained;
        if is_answered && !self.tell_retired(index, fx) {
            self.disk(index).is_draining = false;
            fx.push(Effect::Note(Note::Drained(index)));
        }
        match change {
            Some(Mode::Through) if is_drained => {
                self.change_mode(index, Mode::Through, SidecarState::Clean, fx)
            }
            Some(Mode::Back) => self.change_to_back(index, fx),
            _ => {}
        }
    }

    /// Changes to mode back. A flush in mode back makes only the log durable, so all writes of mode
    /// through must be durable before the change.
    fn change_to_back(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        if !disk.through.is_empty() || !disk.waiting.is_empty() {
            return;
        }
        if disk.written > disk.flushed {
            return self.flush_if_needed(index, fx);
        }
        self.change_mode(index, Mode::Back, SidecarState::Dirty, fx);
    }

    fn flush_if_needed(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        if disk.own_flushes == 0 && disk.retry_at.is_none() {
            self.flush_for_pages(index, fx);
        }
    }

    /// Changes the mode: first writes the sidecar, then accepts the requests that waited.
    fn change_mode(&mut self, index: u16, mode: Mode, state: SidecarState, fx: &mut Fx) {
        let disk = self.disk(index);
        if disk.sidecar.is_writing() || disk.retry_at.is_some() {
            return;
        }
        if disk.sidecar.word().state != state {
            return self.write_sidecar(index, state, fx);
        }
        disk.change = None;
        disk.mode = mode;
        disk.entry.mode = mode.number();
        fx.push(Effect::Note(Note::Mode(index, mode)));
        self.release_held(index, fx);
    }

    /// Accepts the requests that waited for a change of mode.
    pub(super) fn release_held(&mut self, index: u16, fx: &mut Fx) {
        if self.disk(index).uncached == Uncached::Marking {
            return;
        }
        for request in std::mem::take(&mut self.disk(index).held) {
            self.accept(request, fx);
        }
    }

    /// Closes the set in order: waits until all work in progress is complete, then writes a
    /// complete table.
    pub(super) fn pump_close(&mut self, fx: &mut Fx) {
        if !self.is_closing || self.is_closed || self.is_failed || !self.is_checkpoint_idle() {
            return;
        }
        for index in 0..self.disks.len() {
            let index = u16::try_from(index).unwrap_or(u16::MAX);
            if self.disks[usize::from(index)].is_some() && !self.is_disk_quiet(index, fx) {
                return;
            }
        }
        let pool = &mut self.pool;
        if !pool.queue.is_empty() {
            pool.is_due = true;
            return self.pump_pool(fx);
        }
        let is_durable = |log: &super::log::Log| log.ends().durable == log.last();
        // A fenced disk belongs to another owner and is left as it is.
        let disks = self.disks.iter().flatten().filter(|disk| !disk.is_fenced);
        let logs = disks.map(|disk| &disk.log);
        if !is_durable(&self.pool.log) || !logs.into_iter().all(is_durable) || self.reads.len() > 0
        {
            self.flusher.want();
            return;
        }
        if self.seal_waiting(fx) {
            return;
        }
        self.begin_checkpoint(SetState::Clean, fx);
    }

    /// Writes a seal to each log with writes that are not destaged. Without a seal, a damaged end
    /// of the log would look like a torn write. Returns true if a group was begun.
    fn seal_waiting(&mut self, fx: &mut Fx) -> bool {
        let mut is_sealed = false;
        for index in 0..self.disks.len() {
            let Some(disk) = self.disks[index].as_ref() else { continue };
            if disk.is_fenced || disk.copies.is_settling() {
                continue;
            }
            let last = disk.destager.last_seq();
            if disk.log.ends().told >= last {
                continue;
            }
            let index = u16::try_from(index).unwrap_or(u16::MAX);
            let before = self.disk(index).log.last();
            // A log without room goes without a seal: then no head behind its end calls it durable.
            if self.log_room(index, fx).is_some() {
                self.seal(index, fx);
            }
            is_sealed |= self.disk(index).log.last() > before;
        }
        is_sealed
    }

    /// Returns true if no work of a disk is in progress. If the log is destaged, makes the sidecar
    /// clean first.
    pub(super) fn is_disk_quiet(&mut self, index: u16, fx: &mut Fx) -> bool {
        let is_drained = self.is_drained(index);
        let disk = self.disk(index);
        if !matches!(
            disk.stage,
            Stage::Ready | Stage::Serving | Stage::Leaving | Stage::Emptying(_)
        ) {
            return false;
        }
        if disk.is_fenced {
            return !disk.destager.has_batch() && disk.through.is_empty();
        }
        let is_busy = disk.queue.is_busy()
            || !disk.through.is_empty()
            || !disk.waiting.is_empty()
            || disk.destager.has_batch()
            || disk.sidecar.is_writing();
        if is_busy {
            return false;
        }
        if disk.written > disk.flushed {
            self.flush_if_needed(index, fx);
            return false;
        }
        let is_dirty = disk.sidecar.word().state == SidecarState::Dirty && disk.retry_at.is_none();
        if is_drained && self.tell_retired(index, fx) {
            return false;
        }
        if is_drained && is_dirty {
            self.write_sidecar(index, SidecarState::Clean, fx);
            return false;
        }
        true
    }
}
