use super::log_queue::Pending;
use super::overlay::{Source, blocks_of, layers, touched};
use super::uncached::Uncached;
use super::{Fx, Mode, Tier};
use crate::event::{Effect, IoError, Op, Request};

/// Maximum number of bytes waiting in the log at which new writes are held while the mode changes
/// to through.
const HOLD_BYTES: u64 = 1 << 20;

/// Write or zeroing request until it is answered and its buffer is no longer used.
#[derive(Debug, Clone)]
pub(super) struct WriteRequest {
    pub(super) request: Request,
    /// Position in the order of acceptance.
    pub(super) order: u64,
    pub(super) is_answered: bool,
    /// Number of I/Os that still read the request's buffer.
    pub(super) holds: u16,
    /// Slots that are filled from the request's buffer.
    pub(super) fills: Vec<u32>,
}

impl Tier {
    pub(super) fn write(&mut self, request: Request, fx: &mut Fx) {
        let is_durable = request.op == Op::Flush || request.fua;
        let counters = self.count(request.disk);
        counters.flushes += u64::from(is_durable);
        counters.writes += u64::from(request.op != Op::Flush);
        counters.written_bytes += u64::from(request.bytes);
        let disk = self.disk(request.disk);
        let is_held = match disk.change {
            None => disk.uncached == Uncached::Marking,
            Some(Mode::Back) => true,
            Some(Mode::Through) => disk.overlay.bytes() <= HOLD_BYTES,
        };
        if is_held || !disk.held.is_empty() {
            disk.held.push_back(request);
            return self.stir();
        }
        self.accept(request, fx);
    }

    pub(super) fn accept(&mut self, request: Request, fx: &mut Fx) {
        let index = request.disk;
        let mode = self.disk(index).mode;
        match (mode, request.op) {
            (Mode::Through, Op::Flush) => self.flush_through(&request, fx),
            (Mode::Through, _) => self.accept_through(request, fx),
            (Mode::Back, Op::Flush) => {
                self.disk(index).queue.push(Pending::Flush(request.id));
                self.stir();
            }
            (Mode::Back, _) => self.accept_back(request, fx),
        }
    }

    fn accept_back(&mut self, request: Request, fx: &mut Fx) {
        let index = request.disk;
        self.count(index).absorbed += 1;
        let blocks = touched(request.offset, request.bytes);
        let write = self.new_write(request);
        self.lay_over(write);
        self.memory.written(index, blocks, fx);
        self.touch_pages(write);
        self.disk(index).queue.push(Pending::Write(write));
        self.stir();
    }

    pub(super) fn new_write(&mut self, request: Request) -> u32 {
        self.order += 1;
        let order = self.order;
        self.writes.insert(WriteRequest {
            request,
            order,
            is_answered: false,
            holds: 1,
            fills: Vec::new(),
        })
    }

    /// Adds the write to the overlay, so that later reads see it.
    fn lay_over(&mut self, write: u32) {
        let WriteRequest { request, order, .. } = &self.writes[write];
        let disk = self.disks[usize::from(request.disk)].as_mut().expect("the disk is attached");
        let source = match (request.op, request.buf) {
            (Op::Zero { unmap }, _) => Source::Zero { unmap },
            (_, Some(buf)) => Source::Ram { buf, at: 0 },
            (_, None) => panic!("a write has a buffer"),
        };
        let range = (request.offset, request.bytes);
        disk.overlay.write(layers(*order, range, source, &request.sums.blocks));
    }

    /// Counts a write as a use of its pages, and cancels fills of the same blocks with older bytes.
    pub(super) fn touch_pages(&mut self, write: u32) {
        let (index, offset, bytes) = self.range(write);
        let is_open = self.disk(index).populate;
        let (mut last, mut is_hit, mut hit_bytes) = (None, false, 0);
        for (block, from, to) in blocks_of(offset, bytes) {
            let (key, _) = self.pages.page_of(index, block);
            if last != Some(key) {
                last = Some(key);
                is_hit = self.pages.find(key).is_some();
                let (_, lost) = self.pages.reference(key, is_open);
                self.queue_unmap(lost);
            }
            hit_bytes += if is_hit { u32::from(to - from) * 512 } else { 0 };
            self.pages.overtake_fill(index, block);
        }
        let counters = self.count(index);
        counters.write_hits += u64::from(hit_bytes == bytes);
        counters.write_hit_bytes += u64::from(hit_bytes);
    }

    pub(super) fn range(&mut self, write: u32) -> (u16, u64, u32) {
        let request = &self.writes[write].request;
        (request.disk, request.offset, request.bytes)
    }

    /// Answers a write, unless it is answered already.
    pub(super) fn answer(&mut self, write: u32, result: Result<(), IoError>, fx: &mut Fx) {
        let found = &mut self.writes[write];
        if !std::mem::replace(&mut found.is_answered, true) {
            fx.push(Effect::Reply(found.request.id, result));
        }
        self.forget_write(write, fx);
    }

    /// Records that an I/O no longer needs the write's buffer.
    pub(super) fn let_go(&mut self, write: u32, fx: &mut Fx) {
        self.writes[write].holds -= 1;
        self.forget_write(write, fx);
    }

    fn forget_write(&mut self, write: u32, fx: &mut Fx) {
        let found = &mut self.writes[write];
        if found.is_answered && found.holds == 0 {
            let found = self.writes.remove(write);
            fx.extend(found.request.buf.map(Effect::Release));
            self.pages.close_fills(&found.fills);
        }
    }
}
