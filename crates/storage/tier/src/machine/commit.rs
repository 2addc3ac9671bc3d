use std::collections::VecDeque;

use super::flusher::Flushed;
use super::group::{Group, payload_blocks};
use super::io::Io;
use super::log::{GroupFacts, Log, LogEnds, LogId};
use super::log_queue::{Durable, Failed, Pending, Placed};
use super::pool::After;
use super::uncached::Uncached;
use super::write::WriteRequest;
use super::{Fx, Tier};
use state_machine::IoId;

use crate::event::{Effect, IoError, IoTarget, Op};
use crate::format::Flags;

/// Maximum number of a log's groups in flight. With two, one gathers requests while the other is
/// written.
const GROUPS_IN_FLIGHT: usize = 2;

impl Tier {
    /// Begins groups of a disk's log while fewer than [`GROUPS_IN_FLIGHT`] are in flight.
    pub(super) fn pump_log(&mut self, index: u16, fx: &mut Fx) {
        while !self.is_failed {
            let disk = self.disk(index);
            let is_still = disk.copies.is_settling() || disk.is_fenced;
            if is_still || !disk.queue.has_pending() || disk.log.in_flight() >= GROUPS_IN_FLIGHT {
                return;
            }
            if !self.begin_group(index, fx) {
                return;
            }
        }
    }

    /// Begins one group, or answers requests that need none. Returns false if there is no room.
    fn begin_group(&mut self, index: u16, fx: &mut Fx) -> bool {
        let (geometry, now) = (self.geometry, self.now);
        let Some(room) = self.log_room(index, fx) else {
            let disk = self.disk(index);
            if disk.queue.first() != Some(Pending::EpochEnd) {
                disk.full_since.get_or_insert(now);
            }
            return false;
        };
        if let Some(since) = self.disk(index).full_since.take() {
            self.count(index).throttled_ns += now.saturating_sub(since).0;
        }
        let group = self.gather(index, room, fx);
        if group.records.is_empty() {
            if group.ends_epoch {
                self.disk(index).destager.close();
            }
            return group.ends_epoch;
        }
        let Group { seq, records, payload, writes, logged, ends_epoch, is_awaited, .. } = group;
        self.count(index).groups += 1;
        let disk = self.disk(index);
        let epoch = disk.destager.add(seq, logged, disk.sidecar.word().applied, now);
        let flags = if ends_epoch { Flags::EPOCH_END } else { Flags::default() };
        let is_durable = is_awaited && disk.log.is_durable_so_far();
        let facts = GroupFacts { flags, epoch, is_durable, ..GroupFacts::default() };
        if ends_epoch {
            disk.destager.close();
        }
        self.put_group(index, facts, writes, fx, |log, facts, io| {
            log.write(&geometry, facts, records, payload, io)
        });
        self.time_changed();
        true
    }

    /// Collects requests for a group with this much room, in blocks of payload. Flushes of groups
    /// that are already durable are answered.
    fn gather(&mut self, index: u16, room: u64, fx: &mut Fx) -> Group {
        let geometry = self.geometry;
        let log = &self.disk(index).log;
        let (seq, payload_at, durable) =
            (log.ends().seq, log.payload_at(&geometry), log.ends().durable);
        let mut group = Group { seq, ..Group::default() };
        while let Some(next) = self.disk(index).queue.first() {
            let queue = &mut self.disk(index).queue;
            match next {
                Pending::EpochEnd => {
                    queue.pop();
                    group.ends_epoch = true;
                    break;
                }
                Pending::Flush(id) => {
                    let last = if group.records.is_empty() { seq - 1 } else { seq };
                    if last <= durable {
                        queue.pop();
                        fx.push(Effect::Reply(id, Ok(())));
                    } else {
                        queue.pop_flush(last, id);
                        group.is_awaited |= last == seq;
                    }
                    group.ends_epoch = true;
                }
                Pending::Write(write) => {
                    let found = &mut self.writes[write];
                    if !group.has_room(found, room) {
                        break;
                    }
                    group.add(write, found, payload_at);
                    let is_durable = found.request.fua;
                    self.disk(index).queue.pop_write(seq, write, is_durable);
                    group.ends_epoch |= is_durable;
                    group.is_awaited |= is_durable;
                }
            }
        }
        group
    }

    /// Returns the number of payload blocks that the next group may have, in the present chunk or
    /// in a new one.
    pub(super) fn log_room(&mut self, index: u16, fx: &mut Fx) -> Option<u64> {
        let (needed, is_awaited) = self.first_needs(index);
        let geometry = self.geometry;
        let log = &self.disk(index).log;
        if let Some(room) = log.room(&geometry).filter(|room| *room >= needed) {
            return Some(room);
        }
        let chunk = self.take_chunk(index)?;
        let disk = self.disk(index);
        // A link before a durable group is durable, too. Otherwise both would need a flush.
        let is_durable = is_awaited && disk.log.is_durable_so_far();
        let facts = GroupFacts { epoch: disk.open_number(), is_durable, ..GroupFacts::default() };
        self.put_group(index, facts, Vec::new(), fx, |log, facts, io| {
            log.link(&geometry, facts, chunk, io)
        });
        self.disk(index).log.room(&geometry)
    }

    /// Writes a group with these writes to a disk's log and its copies.
    fn put_group(
        &mut self,
        index: u16,
        facts: GroupFacts,
        writes: Vec<Placed>,
        fx: &mut Fx,
        write: impl FnOnce(&mut Log, GroupFacts, IoId) -> Effect,
    ) {
        let unix_ns = self.now.0;
        let LogEnds { seq, position, .. } = self.disk(index).log.ends();
        let io = self.start_io(Io::Group { log: LogId::Disk(index), seq });
        let sent: Vec<u32> = writes.iter().map(|placed| placed.write).collect();
        let disk = self.disk(index);
        disk.queue.begin_group(seq, writes);
        let effect = write(&mut disk.log, GroupFacts { unix_ns, ..facts }, io);
        self.push_group(index, (seq, position), effect, &sent, fx);
    }

    /// Returns the number of payload blocks that the first waiting request needs, and true if it is
    /// a durable write.
    fn first_needs(&mut self, index: u16) -> (u64, bool) {
        match self.disk(index).queue.first() {
            Some(Pending::Write(write)) => {
                let found = &mut self.writes[write];
                (payload_blocks(found), found.request.fua)
            }
            _ => (0, false),
        }
    }

    /// Takes a chunk for a disk's log, if the log may have one more. If not, closes the epoch so
    /// that the log is destaged.
    fn take_chunk(&mut self, index: u16) -> Option<u32> {
        let logs = (self.geometry.chunks - self.geometry.page_chunks).saturating_sub(3) as usize;
        let sharing = self.disks.iter().flatten().count().max(1);
        let most = (logs / sharing).max(2);
        let has = self.disk(index).log.chunks().len();
        let chunk = if has < most { self.chunks.take_for_disk() } else { None };
        if chunk.is_none() {
            self.disk(index).destager.close();
        }
        chunk
    }

    pub(super) fn group_done(&mut self, log: LogId, seq: u64, is_ok: bool, fx: &mut Fx) {
        if !is_ok {
            return self.fail(fx);
        }
        match log {
            LogId::Pool => {
                self.pool.log.written(seq);
            }
            LogId::Disk(index) => {
                if self.disk(index).log.written(seq) {
                    self.groups_accepted(index, fx);
                    self.disk_durable(index, fx);
                }
            }
        }
    }

    /// Handles accepted groups. Their writes are from now on read from the cache device, and their
    /// buffers are released. Writes are answered, in order, once all copies have accepted them,
    /// too.
    pub(super) fn groups_accepted(&mut self, index: u16, fx: &mut Fx) {
        let accepted = self.disk(index).log.ends().accepted;
        while let Some(landed) = self.disk(index).queue.take_landed(accepted) {
            for placed in landed {
                self.landed(index, placed, fx);
            }
        }
        let accepted = self.disk(index).accepted_everywhere();
        while let Some(write) = self.disk(index).queue.take_accepted(accepted) {
            self.answer(write, Ok(()), fx);
        }
    }

    fn landed(&mut self, index: u16, Placed { write, at }: Placed, fx: &mut Fx) {
        let WriteRequest { request, order, .. } = &self.writes[write];
        let (offset, bytes, order, is_write) =
            (request.offset, request.bytes, *order, request.op == Op::Write);
        if is_write {
            self.disk(index).overlay.land(order, (offset, bytes), at);
        }
        self.let_go(write, fx);
    }

    /// Begins a flush of the cache device, if a request or a page waits for one and there is
    /// something new to flush.
    pub(super) fn pump_flush(&mut self, fx: &mut Fx) {
        if self.flusher.is_busy() || self.is_failed {
            return;
        }
        let pool = self.pool.log.ends();
        let is_urgent = self.pool.urgent_to > pool.durable && pool.accepted > pool.durable;
        let has_new = pool.accepted > pool.durable || self.stirred.has_new();
        if !self.flusher.is_due(is_urgent || self.stirred.is_waited_for(), has_new) {
            return;
        }
        let mut covers = vec![(LogId::Pool, pool.accepted)];
        for (index, disk) in (0..).zip(&self.disks) {
            let accepted = disk.as_ref().map(|disk| disk.log.ends().accepted);
            covers.extend(accepted.map(|accepted| (LogId::Disk(index), accepted)));
        }
        self.flusher.begin(covers);
        let io = self.start_io(Io::CacheFlush);
        fx.push(Effect::Flush { io, place: IoTarget::Cache });
    }

    pub(super) fn flush_done(&mut self, is_ok: bool, fx: &mut Fx) {
        let Flushed { covers, is_checkpoint } = self.flusher.end();
        if !is_ok {
            return self.fail(fx);
        }
        for (log, to) in covers {
            match log {
                LogId::Pool => {
                    self.pool.log.flushed_to(to);
                    self.pool.log.durable_to(to);
                    self.pool_durable(fx);
                }
                LogId::Disk(index) => {
                    if let Some(disk) = &mut self.disks[usize::from(index)] {
                        disk.log.flushed_to(to);
                    }
                    self.disk_durable(index, fx);
                }
            }
        }
        if is_checkpoint {
            self.checkpoint_flushed(fx);
        }
    }

    /// Answers requests that wait for groups to be durable in the log and in all copies.
    pub(super) fn disk_durable(&mut self, index: u16, fx: &mut Fx) {
        let now = self.now;
        let Some(disk) = self.disks[usize::from(index)].as_mut() else { return };
        let to = disk.durable_everywhere();
        if disk.log.durable_to(to) {
            disk.seal_since.get_or_insert(now);
        }
        while let Some(waiter) = self.disk(index).queue.take_durable(to) {
            match waiter {
                Durable::Flush(id) => fx.push(Effect::Reply(id, Ok(()))),
                Durable::Write(write) => self.answer(write, Ok(()), fx),
            }
        }
        self.time_changed();
    }

    /// Handles the time for a disk: ends an old epoch, and writes a seal for groups that became
    /// durable.
    pub(super) fn tick_disk(&mut self, index: u16, fx: &mut Fx) {
        let now = self.now;
        let is_due =
            |since: Option<units::Nanos>| since.is_some_and(|since| now >= since + super::PAUSE);
        let disk = self.disks.get_mut(usize::from(index)).and_then(Option::as_mut);
        let Some(disk) = disk.filter(|disk| disk.stage.is_working()) else { return };
        if disk.destager.tick(now) {
            disk.queue.push(Pending::EpochEnd);
        }
        if disk.retry_at.is_some_and(|at| now >= at) {
            disk.retry_at = None;
        }
        self.tick_copies(index, fx);
        let disk = self.disk(index);
        let (wants_seal, wants_flush) = (is_due(disk.seal_since), is_due(disk.unbacked_since));
        if wants_seal {
            disk.seal_since = None;
            self.seal(index, fx);
        }
        if wants_flush {
            self.flush_for_pages(index, fx);
        }
    }

    /// Writes a seal with the durable position, if no head has recorded this position yet.
    pub(super) fn seal(&mut self, index: u16, fx: &mut Fx) {
        let ends = self.disk(index).log.ends();
        if ends.told < ends.durable {
            self.put_seal(index, fx);
        }
    }

    /// Writes a seal with the retired position, for readers that have only the log. Returns true if
    /// a group was begun.
    pub(super) fn tell_retired(&mut self, index: u16, fx: &mut Fx) -> bool {
        let ends = self.disk(index).log.ends();
        ends.told_retired < ends.retired && self.put_seal(index, fx)
    }

    /// Begins a group without records, if there is room. Returns true if a group was begun.
    fn put_seal(&mut self, index: u16, fx: &mut Fx) -> bool {
        let (geometry, is_failed) = (self.geometry, self.is_failed);
        let disk = self.disk(index);
        let epoch = disk.open_number();
        let is_still = is_failed || disk.copies.is_settling() || disk.is_fenced;
        if is_still || disk.log.room(&geometry).is_none() {
            return false;
        }
        let facts = GroupFacts { flags: Flags::SEAL, epoch, ..GroupFacts::default() };
        self.put_group(index, facts, Vec::new(), fx, |log, facts, io| {
            log.write(&geometry, facts, Vec::new(), Vec::new(), io)
        });
        true
    }

    /// Fails all waiting requests, because the cache device accepts no writes any more.
    pub(super) fn fail_waiters(&mut self, fx: &mut Fx) {
        for index in 0..self.disks.len() {
            self.fail_disk(u16::try_from(index).unwrap_or(u16::MAX), fx);
        }
        // Writes of mode through that waited for a map go on when their sidecar says that no map
        // counts.
        let mut stalled = std::mem::take(&mut self.pool.waiting);
        stalled.extend(std::mem::take(&mut self.pool.after).into_iter().filter_map(
            |(_, after)| match after {
                After::Write(write) => Some(write),
                _ => None,
            },
        ));
        for write in stalled {
            let (index, ..) = self.range(write);
            self.disk(index).stalled.push(write);
        }
    }

    /// Fails all waiting requests of this disk.
    pub(super) fn fail_disk(&mut self, index: u16, fx: &mut Fx) {
        let Some(disk) = self.disks[usize::from(index)].as_mut() else { return };
        let Failed { flushes, landed, unlanded } = disk.queue.fail();
        let held = if disk.uncached == Uncached::No || disk.is_fenced {
            std::mem::take(&mut disk.held)
        } else {
            VecDeque::new()
        };
        fx.extend(flushes.into_iter().map(|id| Effect::Reply(id, Err(IoError::Io))));
        for request in held {
            self.refuse(&request, fx);
        }
        for write in landed {
            self.answer(write, Err(IoError::Io), fx);
        }
        for write in unlanded {
            self.fail_write(index, write, fx);
        }
    }

    /// Fails a write that is not in the log, and removes it from the overlay.
    fn fail_write(&mut self, index: u16, write: u32, fx: &mut Fx) {
        let WriteRequest { request, order, .. } = &self.writes[write];
        let (range, order) = ((request.offset, request.bytes), *order);
        self.disk(index).overlay.fail(order, range);
        self.answer(write, Err(IoError::Io), fx);
        self.let_go(write, fx);
    }
}
