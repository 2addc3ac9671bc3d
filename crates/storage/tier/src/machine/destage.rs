use units::Nanos;

use super::batch::{Batch, Phase, Runs, Span};
use super::io::{Holder, Io};
use super::log::LogChunk;
use super::overlay::Source;
use super::pool::Item;
use super::{Fx, Tier};
use crate::event::{Check, Effect, IoError, IoTarget, Note, Piece, ReadIo};

/// Pause before I/O that a backing store refused is retried.
pub(super) const RETRY: Nanos = Nanos(1_000_000_000);
/// Divisor of the number of log chunks: if fewer than a fourth of them are free, batches no longer
/// wait for more epochs.
const FREE_SHARE: usize = 4;

impl Tier {
    /// Destages writes that are durable in the log.
    pub(super) fn pump_destage(&mut self, index: u16, fx: &mut Fx) {
        if !self.disk(index).destager.has_batch() {
            self.tell_retired_by_sidecar(index, fx);
            self.begin_batch(index, fx);
        }
        let now = self.now;
        match self.disk(index).destager.batch().map(|batch| batch.phase()) {
            Some(Phase::Writing) => self.pump_runs(index, fx),
            Some(Phase::Retiring(at)) if at <= now => self.retire_some(index, fx),
            Some(Phase::Mapping(at)) if at <= now => self.map_some(index, fx),
            _ => {}
        }
    }

    fn begin_batch(&mut self, index: u16, fx: &mut Fx) {
        let is_still = self.is_closing || self.rests(index);
        let disk = self.disk(index);
        let is_refused = disk.retry_at.is_some() || disk.sidecar.is_writing();
        if is_still || disk.is_fenced || is_refused {
            return;
        }
        let word = disk.destager.begin(disk.log.ends().durable, disk.sidecar.word().state);
        if let Some(state) = word {
            self.write_sidecar(index, state, fx);
        }
    }

    /// Returns true if the next batch waits for more epochs, because no request waits for the batch
    /// and there is room in the logs.
    fn rests(&mut self, index: u16) -> bool {
        let logs = self.geometry.chunks - self.geometry.page_chunks;
        let has_room = self.chunks.free() * FREE_SHARE >= logs as usize;
        let now = self.now;
        let disk = self.disk(index);
        let is_asked = disk.is_draining || disk.change.is_some();
        has_room && !is_asked && !disk.sidecar.is_applying() && disk.destager.rests(now)
    }

    /// Drops a batch that waits for the sidecar, because the sidecar cannot be written. The batch
    /// begins again later.
    pub(super) fn batch_may_not_write(&mut self, index: u16) {
        let batch = self.disk(index).destager.give_up_waiting();
        self.pages.close_fills(&batch.map(Batch::into_open).unwrap_or_default());
    }

    /// Schedules a retry after the backing store or its sidecar refused I/O.
    pub(super) fn backing_failed(&mut self, index: u16, fx: &mut Fx) {
        self.disk(index).retry_at = Some(self.now + RETRY);
        fx.push(Effect::Note(Note::BackingFailed(index)));
        self.time_changed();
    }

    fn pump_runs(&mut self, index: u16, fx: &mut Fx) {
        while let Some((run, span)) = self.batch(index).begin_run() {
            self.begin_run(index, run, &span, fx);
        }
        match self.batch(index).end_runs() {
            Runs::UnderWay => {}
            Runs::Failed => self.batch_failed(index, fx),
            Runs::Written => {
                let io = self.start_io(Io::BatchFlush { disk: index });
                fx.push(Effect::Flush { io, place: IoTarget::Backing(index) });
            }
        }
    }

    pub(super) fn batch(&mut self, index: u16) -> &mut Batch {
        self.disk(index).destager.batch().expect("the disk has a batch in flight")
    }

    fn begin_run(&mut self, index: u16, run: u32, span: &Span, fx: &mut Fx) {
        let (offset, bytes) = (span.offset, span.bytes);
        if let Some(unmap) = span.zero {
            let io = self.start_io(Io::RunWrite { disk: index, run });
            fx.push(Effect::Zero { io, place: IoTarget::Backing(index), at: offset, bytes, unmap });
            return;
        }
        let pieces = self.batch(index).pieces(span);
        let buf = self.take(bytes, fx);
        let mut reads = 0;
        for (layer, offset, bytes, skip) in pieces {
            let to = u32::try_from(offset - span.offset).unwrap_or(u32::MAX);
            match layer.source {
                Source::Zero { .. } => fx.push(Effect::Clear { buf, to, bytes }),
                // The write has landed: otherwise its epoch would not be durable.
                Source::Ram { .. } => panic!("destaged data are in the log"),
                Source::Flash { at } => {
                    reads += 1;
                    let chunk = self.geometry.chunk_of(at);
                    self.chunks.pin(chunk);
                    let io = self.start_io(Io::RunRead { disk: index, run, chunk });
                    let check = Check {
                        at: u32::from(layer.from) * 512,
                        bytes: u32::from(layer.to - layer.from) * 512,
                        sum: layer.sum,
                    };
                    fx.push(Effect::Read(ReadIo {
                        io,
                        place: IoTarget::Cache,
                        at,
                        bytes: 4096,
                        skip,
                        take: bytes,
                        buf,
                        to,
                        checks: vec![check],
                        wants_sums: false,
                    }));
                }
            }
        }
        self.batch(index).run_reads(run, buf, reads);
        if reads == 0 {
            self.write_run(index, run, fx);
        }
    }

    pub(super) fn run_read(&mut self, index: u16, run: u32, chunk: u32, is_ok: bool, fx: &mut Fx) {
        self.chunks.unpin(chunk);
        match self.batch(index).read_done(run, is_ok) {
            None => {}
            Some(true) => self.write_run(index, run, fx),
            Some(false) => {
                if self.disk(index).destager.damage() {
                    fx.push(Effect::Note(Note::LogDamaged(index)));
                }
                let ended = self.batch(index).end_run(run);
                fx.extend(ended.map(Effect::Release));
            }
        }
    }

    /// Writes a run from its buffer to the backing store, and its whole blocks into their pages.
    fn write_run(&mut self, index: u16, run: u32, fx: &mut Fx) {
        let (span, buf) = self.batch(index).run_bytes(run);
        let io = self.start_io(Io::RunWrite { disk: index, run });
        let from = vec![Piece::Buf { buf, at: 0, bytes: span.bytes }];
        fx.push(Effect::write(io, IoTarget::Backing(index), span.offset, from));
        let whole = self.batch(index).whole_blocks(&span);
        let fills = self.open_fills(index, whole.iter().map(|(block, ..)| *block));
        // The old blocks are stale from now on. The log's layers cover them until the batch is
        // retired.
        for (block, ..) in &whole {
            self.pages.hide(index, *block, &fills);
        }
        let writes = self.fill(index, &whole, &fills, buf, Holder::Run { disk: index, run }, fx);
        self.batch(index).run_fills(run, fills, writes);
    }

    pub(super) fn run_written(&mut self, index: u16, run: u32, is_ok: bool, fx: &mut Fx) {
        if is_ok {
            let bytes = self.batch(index).run_length(run);
            self.count(index).destaged_bytes += u64::from(bytes);
        }
        let ended = self.batch(index).write_done(run, is_ok);
        fx.extend(ended.map(Effect::Release));
    }

    pub(super) fn run_filled(&mut self, index: u16, run: u32, slot: u32, good: u16, fx: &mut Fx) {
        let batch = self.batch(index);
        batch.filled(slot, good);
        let ended = batch.write_done(run, true);
        fx.extend(ended.map(Effect::Release));
        self.stir();
    }

    /// Fails a whole batch. It is retried from the start.
    fn batch_failed(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        let batch = disk.destager.fail_batch();
        let is_refused = !disk.destager.is_damaged() && !disk.is_fenced;
        self.pages.close_fills(&batch.map(Batch::into_open).unwrap_or_default());
        if is_refused {
            self.backing_failed(index, fx);
        }
    }

    pub(super) fn batch_flushed(&mut self, index: u16, is_ok: bool, fx: &mut Fx) {
        if is_ok { self.retire_some(index, fx) } else { self.batch_failed(index, fx) }
    }

    /// Queues a record with a later start of a disk's log, if all groups of its first chunks are
    /// retired. These chunks are free once the record, and the maps before it, are durable.
    pub(super) fn start_log_later(&mut self, index: u16) {
        let Some(start) = self.next_log_start(index) else { return };
        self.queue(start);
        if self.chunks.free() <= 4 {
            self.pool.is_due = true;
        }
    }

    /// Returns a later start of the disk's log, if there is one that was not queued yet.
    pub(crate) fn next_log_start(&mut self, index: u16) -> Option<Item> {
        let disk = self.disk(index);
        let log = &disk.log;
        // The start does not move beyond the retirement that the sidecar records. Otherwise an
        // older backing store that is restored with its sidecar would lack writes of the log.
        let retired = log.ends().retired.min(disk.sidecar.retired());
        let start = log.chunks().iter().rev().find(|chunk| chunk.first <= retired + 1)?;
        let LogChunk { chunk, first: seq, .. } = *start;
        if seq <= disk.start_queued || seq == log.first_chunk().first {
            return None;
        }
        disk.start_queued = seq;
        Some(Item::LogStart { disk: index, chunk, seq })
    }

    /// Writes the retired position to the sidecar, if that frees a chunk of the log.
    fn tell_retired_by_sidecar(&mut self, index: u16, fx: &mut Fx) {
        let is_closing = self.is_closing;
        let disk = self.disk(index);
        let told = disk.sidecar.retired();
        let behind = told + 2..=disk.log.ends().retired + 1;
        let mut later = disk.log.chunks().iter().skip(1);
        let is_still = is_closing || disk.is_fenced || !disk.stage.is_working();
        if is_still || disk.sidecar.is_writing() || disk.retry_at.is_some() {
            return;
        }
        if later.any(|chunk| behind.contains(&chunk.first)) {
            let state = disk.sidecar.word().state;
            self.write_sidecar(index, state, fx);
        }
    }

    /// Frees the chunks before a start of the log that has become durable.
    pub(super) fn log_started(&mut self, index: u16, seq: u64) {
        let Some(disk) = self.disks[usize::from(index)].as_mut() else { return };
        let free = disk.log.drop_before(seq);
        let first = disk.log.first_chunk();
        (disk.entry.log_chunk, disk.entry.log_seq) = (first.chunk, first.first);
        for chunk in free {
            self.chunks.release(chunk);
        }
    }

    /// Fences a disk that another host owns: nothing more is answered or written for it.
    pub(super) fn fence(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        if std::mem::replace(&mut disk.is_fenced, true) {
            return;
        }
        disk.sidecar.cancel();
        if let Some(batch) = disk.destager.batch() {
            batch.fail();
        }
        self.batch_may_not_write(index);
        fx.push(Effect::Note(Note::Fenced(index)));
        self.fail_disk(index, fx);
        for write in std::mem::take(&mut self.disk(index).waiting) {
            self.answer(write, Err(IoError::Io), fx);
            self.let_go(write, fx);
        }
    }

    /// Ends the open epoch, so that all writes so far are destaged soon.
    pub(super) fn end_epoch_now(&mut self, index: u16) {
        let disk = self.disk(index);
        disk.queue.end_epoch(disk.destager.has_open());
    }
}
