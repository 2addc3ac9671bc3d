use units::Nanos;

use super::batch::{Batch, Phase, Run, Span};
use super::disk::Stage;
use super::io::{Holder, Io};
use super::log::{Log, LogChunk};
use super::overlay::Source;
use super::pool::Item;
use super::{Fx, Mode, Tier};
use crate::event::{Buf, Check, Effect, IoError, Note, Piece, Place, ReadIo};
use crate::format::SidecarState;
use crate::ownership::{self, with_holders};

/// Runs of a batch that are under way at once.
const RUNS: usize = 8;
/// Epochs are gathered into a batch up to so many bytes of writes; one epoch may be larger.
const BATCH_BYTES: u64 = 32 << 20;
/// How long to wait before a backing store that refused is tried again.
pub(super) const RETRY: Nanos = Nanos(1_000_000_000);
/// Between the end of a batch and the next. Our choice: a guest that flushes thousands of times a second would else
/// have its backing store flush as often, on disks that do so a hundred times; gathered, those epochs are
/// one batch, and blocks that were written again are written once.
pub(super) const REST: Nanos = Nanos(100_000_000);
/// Nothing rests when less than this share of the logs' chunks is free.
const FREE_SHARE: usize = 4;

impl Tier {
    /// Puts what is durable in the log into the backing store.
    pub(super) fn pump_destage(&mut self, index: u16, fx: &mut Fx) {
        if self.disk(index).batch.is_none() {
            self.tell_retired_by_sidecar(index, fx);
            self.begin_batch(index, fx);
        }
        let Some(batch) = self.disk(index).batch.as_ref() else { return };
        let phase = batch.phase;
        match phase {
            Phase::Sidecar | Phase::Flushing => {}
            Phase::Writing => self.pump_runs(index, fx),
            Phase::Retiring(at) if at <= self.now => self.retire_some(index, fx),
            Phase::Mapping(at) if at <= self.now => self.map_some(index, fx),
            Phase::Retiring(_) | Phase::Mapping(_) => {}
        }
    }

    fn begin_batch(&mut self, index: u16, fx: &mut Fx) {
        let is_closing = self.is_closing;
        let rests = self.rests(index);
        let disk = self.disk(index);
        let Some(log) = disk.log.as_ref() else { return };
        let is_still = is_closing || disk.is_damaged || disk.is_fenced || rests;
        if is_still || disk.retry_at.is_some() || disk.sidecar_next.is_some() {
            return;
        }
        let durable = log.ends().durable;
        // What a crash may have left half applied goes in as one, before anything else does.
        let least = match disk.sidecar.state {
            SidecarState::Applying { to, .. } => to,
            _ => 0,
        };
        let (mut count, mut bytes) = (0_usize, 0);
        for epoch in disk.epochs.iter().take_while(|e| e.is_closed && e.last_seq <= durable) {
            let more: u64 = epoch.writes.iter().map(|w| u64::from(w.bytes)).sum();
            if count > 0 && bytes + more > BATCH_BYTES && epoch.number > least {
                break;
            }
            bytes += more;
            count += 1;
        }
        let Some(last) = count.checked_sub(1).map(|last| &disk.epochs[last]) else { return };
        if last.number < least {
            return;
        }
        let batch = Batch::new(disk.epochs.iter().take(count));
        let (from, to) = (batch.first, batch.last);
        let is_torn_meanwhile =
            from < to && !matches!(disk.sidecar.state, SidecarState::Applying { .. });
        disk.batch = Some(batch);
        if is_torn_meanwhile {
            self.write_sidecar(index, SidecarState::Applying { from, to }, fx);
        } else {
            self.batch_may_write(index);
        }
    }

    /// Whether the next batch is left to gather: nobody waits for it, and there is room.
    fn rests(&mut self, index: u16) -> bool {
        let logs = self.geometry.chunks - self.geometry.page_chunks;
        let has_room = self.free_chunks.len() * FREE_SHARE >= logs as usize;
        let now = self.now;
        let disk = self.disk(index);
        let is_asked = disk.is_draining || disk.change.is_some();
        let is_torn = matches!(disk.sidecar.state, SidecarState::Applying { .. });
        has_room && !is_asked && !is_torn && disk.rests_until.is_some_and(|until| now < until)
    }

    /// The sidecar says what it has to.
    pub(super) fn batch_may_write(&mut self, index: u16) {
        if let Some(batch) = self.disk(index).batch.as_mut().filter(|b| b.phase == Phase::Sidecar) {
            batch.phase = Phase::Writing;
        }
    }

    fn pump_runs(&mut self, index: u16, fx: &mut Fx) {
        loop {
            let Some(batch) = self.disk(index).batch.as_mut() else { return };
            if batch.runs.len() >= RUNS || batch.is_failed {
                break;
            }
            let Some(span) = batch.todo.pop_front() else { break };
            self.begin_run(index, span, fx);
        }
        let Some(batch) = self.disk(index).batch.as_mut() else { return };
        if !batch.runs.is_empty() {
            return;
        }
        if batch.is_failed {
            return self.batch_failed(index, fx);
        }
        batch.phase = Phase::Flushing;
        let io = self.ios.start(Io::BatchFlush { disk: index });
        fx.push(Effect::Flush { io, place: Place::Backing(index) });
    }

    fn begin_run(&mut self, index: u16, span: Span, fx: &mut Fx) {
        let (offset, bytes) = (span.offset, span.bytes);
        let batch = self.disk(index).batch.as_mut().expect("a run belongs to a batch");
        let run = batch.next_run;
        batch.next_run += 1;
        let new = Run {
            span: span.clone(),
            buf: None,
            reads: 0,
            writes: 1,
            is_failed: false,
            fills: Vec::new(),
        };
        if let Some(unmap) = span.zero {
            batch.runs.insert(run, new);
            let io = self.ios.start(Io::RunWrite { disk: index, run });
            fx.push(Effect::Zero { io, place: Place::Backing(index), at: offset, bytes, unmap });
            return;
        }
        let pieces = batch.pieces(&span);
        let buf = self.take(bytes, fx);
        let mut reads = 0;
        for (layer, offset, bytes, skip) in pieces {
            let to = u32::try_from(offset - span.offset).unwrap_or(u32::MAX);
            match layer.source {
                Source::Zero { .. } => fx.push(Effect::Clear { buf, to, bytes }),
                // It has landed, or it would not be durable.
                Source::Ram { .. } => panic!("what is destaged is in the log"),
                Source::Flash { at } => {
                    reads += 1;
                    let chunk = self.pin_chunk(at);
                    let io = self.ios.start(Io::RunRead { disk: index, run, chunk });
                    let check = Check {
                        at: u32::from(layer.from) * 512,
                        bytes: u32::from(layer.to - layer.from) * 512,
                        sum: layer.sum,
                    };
                    fx.push(Effect::Read(ReadIo {
                        io,
                        place: Place::Cache,
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
        let batch = self.disk(index).batch.as_mut().expect("it was there");
        batch.runs.insert(run, Run { buf: Some(buf), reads, ..new });
        if reads == 0 {
            self.write_run(index, run, fx);
        }
    }

    fn run(&mut self, index: u16, run: u32) -> &mut Run {
        let batch = self.disk(index).batch.as_mut().expect("a run belongs to a batch");
        batch.runs.get_mut(&run).expect("a run that is under way is known")
    }

    pub(super) fn run_read(&mut self, index: u16, run: u32, chunk: u32, is_ok: bool, fx: &mut Fx) {
        self.unpin_chunk(chunk);
        let found = self.run(index, run);
        found.reads -= 1;
        found.is_failed |= !is_ok;
        if found.reads > 0 {
            return;
        }
        if found.is_failed {
            // The only copy of an acknowledged write cannot be read. Nothing behind it may go
            // to the backing store either.
            let disk = self.disk(index);
            if !std::mem::replace(&mut disk.is_damaged, true) {
                fx.push(Effect::Note(Note::LogDamaged(index)));
            }
            let buf = self.end_run(index, run);
            fx.extend(buf.map(Effect::Release));
            let batch = self.disk(index).batch.as_mut().expect("it was there");
            batch.is_failed = true;
            return;
        }
        self.write_run(index, run, fx);
    }

    /// The run's bytes are in memory: they go to the backing store, and whole blocks into their pages.
    fn write_run(&mut self, index: u16, run: u32, fx: &mut Fx) {
        let found = self.run(index, run);
        let (span, buf) = (found.span.clone(), found.buf.expect("a run of bytes has memory"));
        let io = self.ios.start(Io::RunWrite { disk: index, run });
        let from = vec![Piece::Buf { buf, at: 0, bytes: span.bytes }];
        fx.push(Effect::write(io, Place::Backing(index), span.offset, from));
        let batch = self.disk(index).batch.as_ref().expect("it was there");
        let whole = batch.whole_blocks(&span);
        let fills = self.open_fills(index, whole.iter().map(|(block, ..)| *block));
        // What lies below the write is old from now on, and covered by it until it is retired.
        for (block, ..) in &whole {
            self.pages.hide(index, *block, &fills);
        }
        let writes = self.fill(index, &whole, &fills, buf, Holder::Run { disk: index, run }, fx);
        let found = self.run(index, run);
        found.writes += u32::from(writes);
        found.fills = fills;
    }

    pub(super) fn run_written(&mut self, index: u16, run: u32, is_ok: bool, fx: &mut Fx) {
        self.run(index, run).is_failed |= !is_ok;
        if is_ok {
            let bytes = u64::from(self.run(index, run).span.bytes);
            self.count(index).destaged_bytes += bytes;
        }
        self.run_part_done(index, run, fx);
    }

    pub(super) fn run_filled(&mut self, index: u16, run: u32, slot: u32, good: u16, fx: &mut Fx) {
        let batch = self.disk(index).batch.as_mut().expect("a run belongs to a batch");
        *batch.filled.entry(slot).or_default() |= good;
        self.run_part_done(index, run, fx);
        self.stir();
    }

    fn run_part_done(&mut self, index: u16, run: u32, fx: &mut Fx) {
        let found = self.run(index, run);
        found.writes -= 1;
        if found.writes > 0 {
            return;
        }
        let is_failed = found.is_failed;
        let buf = self.end_run(index, run);
        fx.extend(buf.map(Effect::Release));
        let batch = self.disk(index).batch.as_mut().expect("it was there");
        batch.is_failed |= is_failed;
    }

    /// A run is over. The slots it filled stay closed to others until the batch is retired.
    fn end_run(&mut self, index: u16, run: u32) -> Option<Buf> {
        let batch = self.disk(index).batch.as_mut().expect("a run belongs to a batch");
        let run = batch.runs.remove(&run).expect("it was there");
        batch.open.extend(run.fills);
        run.buf
    }

    /// Nothing of the batch counts: it is tried again from the start.
    fn batch_failed(&mut self, index: u16, fx: &mut Fx) {
        let now = self.now;
        let disk = self.disk(index);
        let batch = disk.batch.take().expect("it was there");
        if !disk.is_damaged && !disk.is_fenced {
            disk.retry_at = Some(now + RETRY);
            fx.push(Effect::Note(Note::BackingFailed(index)));
        }
        self.pages.close_fills(&batch.open);
        self.time_changed();
    }

    pub(super) fn batch_flushed(&mut self, index: u16, is_ok: bool, fx: &mut Fx) {
        if is_ok { self.retire_some(index, fx) } else { self.batch_failed(index, fx) }
    }

    /// Chunks whose groups are all retired are free once that, and what their pages are now, is durable.
    pub(super) fn start_log_later(&mut self, index: u16) {
        let Some(start) = self.next_log_start(index) else { return };
        self.queue(start);
        if self.free_chunks.len() <= 4 {
            self.pool.is_due = true;
        }
    }

    /// A later start of the disk's log, if there is one that was not queued yet.
    pub(crate) fn next_log_start(&mut self, index: u16) -> Option<Item> {
        let disk = self.disk(index);
        let log = disk.log.as_ref()?;
        // Not before the sidecar says so: an older backing store with its sidecar would lack what the log had.
        let retired = log.ends().retired.min(disk.sidecar_retired);
        let start = log.chunks().iter().rev().find(|chunk| chunk.first <= retired + 1)?;
        let LogChunk { chunk, first: seq, .. } = *start;
        if seq <= disk.start_queued || seq == log.first_chunk().first {
            return None;
        }
        disk.start_queued = seq;
        Some(Item::LogStart { disk: index, chunk, seq })
    }

    /// Has the sidecar say what is on the backing store, if a chunk of the log is free then.
    fn tell_retired_by_sidecar(&mut self, index: u16, fx: &mut Fx) {
        let is_closing = self.is_closing;
        let disk = self.disk(index);
        let told = disk.sidecar_retired;
        let is_free = |log: &Log| {
            let behind = told + 2..=log.ends().retired + 1;
            log.chunks().iter().skip(1).any(|chunk| behind.contains(&chunk.first))
        };
        let is_still = is_closing || disk.is_fenced || !disk.stage.is_working();
        if is_still || disk.sidecar_next.is_some() || disk.retry_at.is_some() {
            return;
        }
        if disk.log.as_ref().is_some_and(is_free) {
            let state = disk.sidecar.state;
            self.write_sidecar(index, state, fx);
        }
    }

    /// It is durable where the log begins.
    pub(super) fn log_started(&mut self, index: u16, seq: u64) {
        let Some(disk) = self.disks[usize::from(index)].as_mut() else { return };
        let Some(log) = disk.log.as_mut() else { return };
        let free = log.drop_before(seq);
        let first = log.first_chunk();
        (disk.entry.log_chunk, disk.entry.log_seq) = (first.chunk, first.first);
        for chunk in free {
            self.free_chunk(chunk);
        }
    }

    /// Writes a sidecar's next copy, if nobody else owns the disk by now; [`Tier::sidecar_flushed`] when it is
    /// durable.
    pub(super) fn write_sidecar(&mut self, index: u16, state: SidecarState, fx: &mut Fx) {
        let disk = self.disk(index);
        if disk.is_fenced {
            return;
        }
        let mut next = with_holders(&disk.sidecar, disk.holders());
        next.state = state;
        next.mode = match disk.change.unwrap_or(disk.mode) {
            Mode::Through => crate::format::mode::THROUGH,
            Mode::Back => crate::format::mode::BACK,
        };
        (disk.sidecar_next, disk.is_sidecar_twin) = (Some(next), false);
        let generation = disk.confirmed;
        let io = self.ios.start(Io::SidecarConfirm { disk: index });
        fx.push(Effect::Confirm { io, disk: index, generation });
    }

    pub(super) fn sidecar_confirmed(
        &mut self,
        index: u16,
        result: Result<(), IoError>,
        fx: &mut Fx,
    ) {
        match result {
            Err(IoError::Fenced) => self.fence(index, fx),
            Ok(()) => self.put_sidecar(index, fx),
            Err(_) => self.sidecar_failed(index, fx),
        }
    }

    /// Writes the next copy, which is known to be ours to write.
    pub(super) fn put_sidecar(&mut self, index: u16, fx: &mut Fx) {
        let superblock = self.superblock_durable;
        let disk = self.disk(index);
        let (log_durable, log_retired) =
            disk.log.as_ref().map_or((0, 0), |log| (log.ends().durable, log.ends().retired));
        let is_twin = disk.is_sidecar_twin;
        let Some(next) = disk.sidecar_next.as_mut() else {
            return self.sidecar_failed(index, fx);
        };
        // What is durable by now: an older copy of the cache is told by it. Both copies say the same.
        if !is_twin {
            (next.superblock, next.log_durable) = (superblock, log_durable);
            next.log_retired = log_retired;
        }
        let (at, from) = (next.place(), vec![Piece::Bytes(next.encode())]);
        let io = self.ios.start(Io::SidecarWrite { disk: index });
        fx.push(Effect::write(io, Place::Sidecar(index), at, from));
    }

    /// Somebody else owns the disk: nothing of it is answered or written any more.
    pub(super) fn fence(&mut self, index: u16, fx: &mut Fx) {
        let disk = self.disk(index);
        if std::mem::replace(&mut disk.is_fenced, true) {
            return;
        }
        disk.sidecar_next = None;
        if let Some(batch) = disk.batch.as_mut() {
            batch.is_failed = true;
        }
        if let Some(batch) = disk.batch.take_if(|batch| batch.phase == Phase::Sidecar) {
            self.pages.close_fills(&batch.open);
        }
        fx.push(Effect::Note(Note::Fenced(index)));
        self.fail_disk(index, fx);
        for write in std::mem::take(&mut self.disk(index).waiting) {
            self.answer(write, Err(IoError::Io), fx);
            self.let_go(write, fx);
        }
    }

    pub(super) fn sidecar_written(&mut self, index: u16, is_ok: bool, fx: &mut Fx) {
        if !is_ok {
            return self.sidecar_failed(index, fx);
        }
        let io = self.ios.start(Io::SidecarFlush { disk: index });
        fx.push(Effect::Flush { io, place: Place::Sidecar(index) });
    }

    pub(super) fn sidecar_flushed(&mut self, index: u16, result: Result<(), IoError>, fx: &mut Fx) {
        let is_marking = self.disk(index).stage == Stage::Marking;
        match result {
            // The reservation was lost before what the sidecar says was durable: it counts for nobody.
            Err(IoError::Fenced) if !is_marking => return self.fence(index, fx),
            Err(_) => return self.sidecar_failed(index, fx),
            Ok(()) => {}
        }
        let disk = self.disk(index);
        let Some(mut next) = disk.sidecar_next.take() else { return };
        // Both copies say so before anything is done by it (`open::copies`). The older of two that differ in what went
        // to the backing store names the same owner, log and copies, and more of the log to be put there again: then
        // one is enough, and the backing store flushes half as often.
        let before = &disk.sidecar;
        let is_new_word = is_marking
            || next.generation != disk.confirmed
            || next.holders != before.holders
            || ownership::has_log(&next) != ownership::has_log(before);
        if is_new_word && !std::mem::replace(&mut disk.is_sidecar_twin, true) {
            next.seq += 1;
            disk.sidecar_next = Some(next);
            return self.put_sidecar(index, fx);
        }
        let state = next.state;
        (disk.sidecar.state, disk.sidecar.holders) = (state, next.holders);
        disk.sidecar.seq = next.seq;
        disk.sidecar_is_durable();
        disk.confirmed = next.generation;
        // What both copies say: one of them may be damaged later, and the log must not begin behind the other.
        let before = std::mem::replace(&mut disk.sidecar.log_retired, next.log_retired);
        disk.sidecar_retired = if is_new_word { next.log_retired } else { before };
        if matches!(state, SidecarState::Applying { .. }) {
            self.batch_may_write(index);
        }
        self.start_log_later(index);
        self.marked(index, fx);
        self.uncached_marked(index, fx);
    }

    /// What depends on it is tried again later. The copy that was being written counts as used.
    fn sidecar_failed(&mut self, index: u16, fx: &mut Fx) {
        if self.disk(index).stage == Stage::Marking {
            return self.let_go_of(index, fx);
        }
        let now = self.now;
        let disk = self.disk(index);
        let used = disk.sidecar_next.take().map_or(disk.sidecar.seq + 1, |next| next.seq);
        disk.sidecar.seq = used + 1;
        disk.retry_at = Some(now + RETRY);
        fx.push(Effect::Note(Note::BackingFailed(index)));
        if let Some(batch) = disk.batch.take_if(|batch| batch.phase == Phase::Sidecar) {
            self.pages.close_fills(&batch.open);
        }
        self.time_changed();
    }

    /// Everything written so far is to go to the backing store soon.
    pub(super) fn end_epoch_now(&mut self, index: u16) {
        let disk = self.disk(index);
        let is_open = disk.epochs.back().is_some_and(|epoch| !epoch.is_closed);
        disk.queue.end_epoch(is_open);
    }
}
