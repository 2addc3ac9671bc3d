use super::io::{Holder, Io, Waiter};
use super::overlay::{blocks_of, touched};
use super::write::WriteRequest;
use super::{Fx, Tier};
use crate::event::{Effect, IoError, IoTarget, Op, Piece, Request};

impl Tier {
    pub(super) fn flush_through(&mut self, request: &Request, fx: &mut Fx) {
        self.flush_backing(request.disk, Waiter::Flush(request.id), fx);
    }

    fn flush_backing(&mut self, index: u16, waiter: Waiter, fx: &mut Fx) {
        let written = self.disk(index).written;
        let io = self.start_io(Io::ThroughFlush { disk: index, written, waiter });
        fx.push(Effect::Flush { io, place: IoTarget::Backing(index) });
    }

    pub(super) fn accept_through(&mut self, request: Request, fx: &mut Fx) {
        let index = request.disk;
        let write = self.new_write(request);
        if self.has_to_wait(write) {
            self.disk(index).waiting.push_back(write);
        } else {
            self.begin_through(write, fx);
        }
    }

    /// Returns true if an earlier write of the same bytes is not complete.
    fn has_to_wait(&mut self, write: u32) -> bool {
        let (index, offset, bytes) = self.range(write);
        let disk = self.disk(index);
        let before: Vec<u32> = disk.through.iter().chain(&disk.waiting).copied().collect();
        before.into_iter().take_while(|other| *other != write).any(|other| {
            let (_, theirs, length) = self.range(other);
            theirs < offset + u64::from(bytes) && offset < theirs + u64::from(length)
        })
    }

    /// Returns true if a write of mode through, waiting or in progress, touches the block.
    pub(super) fn is_written_through(&mut self, index: u16, block: u64) -> bool {
        let disk = self.disk(index);
        if disk.through.is_empty() && disk.waiting.is_empty() {
            return false;
        }
        let writes: Vec<u32> = disk.through.iter().chain(&disk.waiting).copied().collect();
        writes.into_iter().any(|write| {
            let (_, offset, bytes) = self.range(write);
            offset < (block + 1) * 4096 && block * 4096 < offset + u64::from(bytes)
        })
    }

    /// Begins a write: its blocks in pages become invalid. The write continues when no durable map
    /// marks them as valid.
    fn begin_through(&mut self, write: u32, fx: &mut Fx) {
        let (index, offset, bytes) = self.range(write);
        self.disk(index).through.push(write);
        self.memory.written(index, touched(offset, bytes), fx);
        if self.is_failed {
            return self.through_allowed(write, fx);
        }
        self.touch_pages(write);
        let mut has_to_wait = false;
        for block in touched(offset, bytes) {
            has_to_wait |= self.pages.is_leaving(self.pages.page_of(index, block).0);
            if let Some(slot) = self.pages.invalidate(index, block) {
                has_to_wait = true;
                self.queue_map(slot);
            }
        }
        if has_to_wait {
            self.pool_wait(write, fx);
            self.stir();
        } else {
            self.through_allowed(write, fx);
        }
    }

    pub(super) fn through_allowed(&mut self, write: u32, fx: &mut Fx) {
        let (index, ..) = self.range(write);
        if self.disk(index).is_fenced {
            return self.through_done(write, false, fx);
        }
        let WriteRequest { request, .. } = &self.writes[write];
        let (at, bytes, place) = (request.offset, request.bytes, IoTarget::Backing(request.disk));
        let (op, buf) = (request.op, request.buf);
        let io = self.start_io(Io::Through { write });
        fx.push(match (op, buf) {
            (Op::Zero { unmap }, _) => Effect::Zero { io, place, at, bytes, unmap },
            (_, Some(buf)) => Effect::write(io, place, at, vec![Piece::Buf { buf, at: 0, bytes }]),
            (_, None) => panic!("a write has a buffer"),
        });
    }

    pub(super) fn through_done(&mut self, write: u32, is_ok: bool, fx: &mut Fx) {
        let (index, ..) = self.range(write);
        let disk = self.disk(index);
        disk.through.retain(|other| *other != write);
        disk.written += 1;
        if !is_ok {
            self.answer(write, Err(IoError::Io), fx);
        } else {
            self.fill_from_write(write, fx);
            if self.writes[write].request.fua {
                self.flush_backing(index, Waiter::Write(write), fx);
            } else {
                self.answer(write, Ok(()), fx);
            }
        }
        self.let_go(write, fx);
        self.begin_waiting(index, fx);
    }

    /// Begins the writes that waited for a write that is now complete.
    fn begin_waiting(&mut self, index: u16, fx: &mut Fx) {
        let waiting: Vec<u32> = self.disk(index).waiting.iter().copied().collect();
        for write in waiting {
            if !self.has_to_wait(write) {
                self.disk(index).waiting.retain(|other| *other != write);
                self.begin_through(write, fx);
            }
        }
    }

    /// Fills resident pages with the whole blocks of a write.
    fn fill_from_write(&mut self, write: u32, fx: &mut Fx) {
        let WriteRequest { request, .. } = &self.writes[write];
        let disk = request.disk;
        let Some(buf) = request.buf.filter(|_| request.op == Op::Write) else { return };
        let whole = blocks_of(request.offset, request.bytes)
            .zip(&request.sums.blocks)
            .filter(|((_, from, to), _)| (*from, *to) == (0, 8))
            .map(|((block, ..), sum)| {
                (block, u32::try_from(block * 4096 - request.offset).unwrap_or(u32::MAX), *sum)
            })
            .collect::<Vec<_>>();
        let fills = self.open_fills(disk, whole.iter().map(|(block, ..)| *block));
        let holds = self.fill(disk, &whole, &fills, buf, Holder::Write(write), fx);
        let found = &mut self.writes[write];
        found.holds += holds;
        found.fills = fills;
    }

    pub(super) fn through_flushed(
        &mut self,
        index: u16,
        written: u64,
        waiter: Waiter,
        is_ok: bool,
        fx: &mut Fx,
    ) {
        let result = if is_ok { Ok(()) } else { Err(IoError::Io) };
        if is_ok {
            let disk = self.disk(index);
            disk.flushed = disk.flushed.max(written);
            self.map_backed(index);
        }
        match waiter {
            Waiter::Flush(id) => fx.push(Effect::Reply(id, result)),
            Waiter::Write(write) => self.answer(write, result, fx),
            Waiter::Pages => {
                let retry_at = self.now + super::destage::RETRY;
                let disk = self.disk(index);
                disk.own_flushes -= 1;
                if !is_ok {
                    disk.retry_at = Some(retry_at);
                    self.time_changed();
                }
            }
        }
    }

    /// Queues maps for pages whose blocks became durable on the backing store.
    fn map_backed(&mut self, index: u16) {
        let disk = self.disk(index);
        let (flushed, unbacked) = (disk.flushed, std::mem::take(&mut disk.unbacked));
        for slot in unbacked {
            if self.pages.key(slot).is_none_or(|key| key.disk != index) {
                continue;
            }
            if self.pages.becomes_backed(slot, flushed) {
                self.queue_map(slot);
            } else {
                self.disk(index).unbacked.push(slot);
            }
        }
        if self.disk(index).unbacked.is_empty() {
            self.disk(index).unbacked_since = None;
        }
    }

    /// Queues a map for a slot with new blocks, at once or when the blocks are durable on the
    /// backing store.
    pub(super) fn tell(&mut self, slot: u32, index: u16) {
        let (flushed, now) = (self.disk(index).flushed, self.now);
        if self.pages.is_backed(slot, flushed) {
            return self.queue_map(slot);
        }
        let disk = self.disk(index);
        disk.unbacked.push(slot);
        disk.unbacked_since.get_or_insert(now);
        self.time_changed();
    }

    /// Issues a backing flush so that waiting pages can be mapped.
    pub(super) fn flush_for_pages(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        disk.unbacked_since = None;
        disk.own_flushes += 1;
        self.flush_backing(index, Waiter::Pages, fx);
    }
}
