use super::io::{Holder, Io, Part, PartSource};
use super::overlay::{Layer, Source, blocks_of, spans};
use super::{Fx, Tier};
use crate::event::{Buf, Check, Effect, IoError, Place, ReadIo, ReqId, Request};

/// A read, until it is answered and its memory is free.
#[derive(Debug, Clone)]
pub(super) struct ReadRequest {
    /// `None` when it is answered.
    id: Option<ReqId>,
    pub(super) disk: u16,
    offset: u64,
    buf: Buf,
    /// Parts that are still read.
    parts: u32,
    /// I/Os that still fill pages out of its memory.
    pub(super) holds: u16,
    /// The slots of those pages.
    fills: Vec<u32>,
    error: Option<IoError>,
}

/// Where some adjoining sectors are, before they are joined with others.
#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    Backing,
    /// In a slot: the block's address.
    Slot(u32, u64, u32),
    /// In the log: the block's address, and what is there.
    Log(u64, Layer),
}

/// A read of one place.
#[derive(Debug, Clone)]
struct Piecewise {
    part: Part,
    at: u64,
    bytes: u32,
    skip: u32,
    checks: Vec<Check>,
    /// Whether the next block may follow in the same read.
    is_open: bool,
}

impl Tier {
    pub(super) fn read(&mut self, request: Request, fx: &mut Fx) {
        let buf = request.buf.expect("a read has memory");
        let Request { id, disk, offset, bytes, .. } = request;
        let read = ReadRequest {
            id: Some(id),
            disk,
            offset,
            buf,
            parts: 0,
            holds: 0,
            fills: Vec::new(),
            error: None,
        };
        let read = self.reads.insert(read);
        // First, because it may make a page leave that would be read.
        self.touch_read(&request, fx);
        let pieces = self.pieces(&request, buf, fx);
        let is_backing = |p: &Piecewise| p.part.source == PartSource::Backing;
        let missing: u32 = pieces.iter().filter(|p| is_backing(p)).map(|p| p.part.bytes).sum();
        let counters = self.count(disk);
        match missing {
            0 => counters.hits += 1,
            _ if missing == bytes => counters.misses += 1,
            _ => counters.partial += 1,
        }
        counters.read_bytes += u64::from(bytes);
        counters.hit_bytes += u64::from(bytes - missing);
        let missing = pieces.iter().filter(|p| is_backing(p)).flat_map(|p| whole_blocks(&p.part));
        let fills = self.open_fills(disk, missing.collect::<Vec<_>>().into_iter());
        self.reads.get(read).fills = fills;
        self.reads.get(read).parts = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
        for piece in pieces {
            self.read_piece(read, piece, fx);
        }
        self.finish_read(read, fx);
    }

    /// The reads that a request needs; what is in memory is copied at once.
    fn pieces(&mut self, request: &Request, buf: Buf, fx: &mut Fx) -> Vec<Piecewise> {
        let mut pieces: Vec<Piecewise> = Vec::new();
        for (block, from, to) in blocks_of(request.offset, request.bytes) {
            let base = self.base(request.disk, block);
            let layers = self.disk(request.disk).overlay.get(block);
            let found =
                if layers.is_empty() { vec![(from, to, None)] } else { spans(layers, from, to) };
            for (from, to, layer) in found {
                let offset = block * 4096 + u64::from(from) * 512;
                let bytes = u32::from(to - from) * 512;
                let to = u32::try_from(offset - request.offset).unwrap_or(u32::MAX);
                let whence = match layer.map(|layer| (layer, layer.source)) {
                    None => base,
                    Some((layer, Source::Flash { at })) => From::Log(at, layer),
                    Some((layer, Source::Ram { buf: other, at })) => {
                        let at = at + u32::from(from - layer.from) * 512;
                        fx.push(Effect::Copy { from: other, at, buf, to, bytes });
                        continue;
                    }
                    Some((_, Source::Zero { .. })) => {
                        fx.push(Effect::Clear { buf, to, bytes });
                        continue;
                    }
                };
                self.join(&mut pieces, whence, offset, bytes);
            }
        }
        pieces
    }

    /// Where a block is when nothing lies over it.
    fn base(&mut self, disk: u16, block: u64) -> From {
        let (key, bit) = self.pages.page_of(disk, block);
        let is_cached = !self.is_failed || !self.is_uncached(disk);
        let Some(slot) = self.pages.find(key).filter(|_| is_cached) else { return From::Backing };
        let state = self.pages.slot(slot);
        if state.valid & (1 << bit) == 0 {
            return From::Backing;
        }
        let sum = state.sums[usize::from(bit)];
        From::Slot(slot, self.geometry.slot_at(slot) + u64::from(bit) * 4096, sum)
    }

    /// Adds sectors to the read before them, if they adjoin there, or to one of their own. Whole
    /// blocks are read, because sums are of blocks.
    fn join(&self, pieces: &mut Vec<Piecewise>, whence: From, offset: u64, bytes: u32) {
        let within = u32::try_from(offset % 4096).unwrap_or(0);
        let (source, at, check, is_whole) = match whence {
            From::Backing => (PartSource::Backing, offset, None, true),
            From::Slot(slot, at, sum) => {
                (PartSource::Slot { slot }, at, Some(Check { at: 0, bytes: 4096, sum }), true)
            }
            From::Log(at, layer) => {
                let check = Check {
                    at: u32::from(layer.from) * 512,
                    bytes: u32::from(layer.to - layer.from) * 512,
                    sum: layer.sum,
                };
                let chunk = self.geometry.chunk_of(at);
                (PartSource::Log { chunk }, at, Some(check), layer.is_whole())
            }
        };
        let length = if check.is_some() { 4096 } else { bytes };
        let last = pieces.last_mut().filter(|last| {
            last.is_open
                && is_whole
                && last.part.source == source
                && last.part.offset + u64::from(last.part.bytes) == offset
                && last.at + u64::from(last.bytes) == at
        });
        let is_open = is_whole && (check.is_none() || within + bytes == 4096);
        if let Some(last) = last {
            last.checks.extend(check.map(|check| Check { at: last.bytes, ..check }));
            last.part.bytes += bytes;
            last.bytes += length;
            last.is_open = is_open;
            return;
        }
        pieces.push(Piecewise {
            part: Part { offset, bytes, source },
            at,
            bytes: length,
            skip: if check.is_some() { within } else { 0 },
            checks: check.into_iter().collect(),
            is_open,
        });
    }

    /// A read counts as a use of its pages.
    fn touch_read(&mut self, request: &Request, fx: &mut Fx) {
        let is_open = self.disk(request.disk).populate;
        let mut last = None;
        for (block, ..) in blocks_of(request.offset, request.bytes) {
            let (key, _) = self.pages.page_of(request.disk, block);
            if last.replace(key) != Some(key) {
                let (_, lost) = self.pages.reference(key, is_open);
                self.queue_unmap(lost, fx);
            }
        }
    }

    fn read_piece(&mut self, read: u32, piece: Piecewise, fx: &mut Fx) {
        let Piecewise { part, at, bytes, skip, checks, .. } = piece;
        let found = self.reads.get(read);
        let (buf, index) = (found.buf, found.disk);
        let to = u32::try_from(part.offset - found.offset).unwrap_or(u32::MAX);
        let place = match part.source {
            PartSource::Backing => Place::Backing(index),
            PartSource::Slot { slot } => {
                self.pages.pin(slot);
                Place::Cache
            }
            PartSource::Log { .. } => {
                self.pin_chunk(at);
                Place::Cache
            }
        };
        let io = self.ios.start(Io::ReadPart { read, part });
        let wants_sums = part.source == PartSource::Backing;
        fx.push(Effect::Read(ReadIo {
            io,
            place,
            at,
            bytes,
            skip,
            take: part.bytes,
            buf,
            to,
            checks,
            wants_sums,
        }));
    }

    pub(super) fn read_done(
        &mut self,
        read: u32,
        part: Part,
        result: Result<Vec<u32>, IoError>,
        fx: &mut Fx,
    ) {
        match (part.source, result) {
            (PartSource::Backing, Ok(sums)) => self.backing_read(read, part, &sums, fx),
            (PartSource::Backing, Err(error)) => self.reads.get(read).error = Some(error),
            (PartSource::Slot { slot }, Ok(_)) => self.pages.unpin(slot),
            (PartSource::Slot { slot }, Err(error)) => {
                return self.slot_is_wrong(read, part, slot, error, fx);
            }
            (PartSource::Log { chunk }, result) => {
                self.unpin_chunk(chunk);
                if let Err(error) = result {
                    self.reads.get(read).error = Some(error);
                }
            }
        }
        self.reads.get(read).parts -= 1;
        self.finish_read(read, fx);
    }

    /// A page is not what it should be: it is forgotten, and the backing store is asked.
    fn slot_is_wrong(&mut self, read: u32, part: Part, slot: u32, error: IoError, fx: &mut Fx) {
        let index = self.reads.get(read).disk;
        let mut is_wrong = false;
        for (block, ..) in blocks_of(part.offset, part.bytes) {
            let (key, bit) = self.pages.page_of(index, block);
            let state = self.pages.slot(slot);
            // A block that was written while it was read is no error.
            if state.key() == Some(key) && state.valid & (1 << bit) != 0 {
                is_wrong = true;
                state.valid &= !(1 << bit);
            }
        }
        if is_wrong {
            self.count(index).checksum_errors += u64::from(error == IoError::Checksum);
            self.queue_map(slot, fx);
        }
        self.pages.unpin(slot);
        let part = Part { source: PartSource::Backing, ..part };
        let (at, bytes) = (part.offset, part.bytes);
        self.read_piece(
            read,
            Piecewise { part, at, bytes, skip: 0, checks: Vec::new(), is_open: false },
            fx,
        );
    }

    /// Answers the read when all of it is there, and forgets it when nothing uses its memory.
    pub(super) fn finish_read(&mut self, read: u32, fx: &mut Fx) {
        let found = self.reads.get(read);
        if found.parts > 0 {
            return;
        }
        if let Some(id) = found.id.take() {
            fx.push(Effect::Reply(id, found.error.map_or(Ok(()), Err)));
        }
        if found.holds == 0 {
            let found = self.reads.remove(read);
            fx.push(Effect::Release(found.buf));
            self.end_fills(&found.fills);
        }
    }

    /// What came from the backing store goes into the pages that are open for it.
    fn backing_read(&mut self, read: u32, part: Part, sums: &[u32], fx: &mut Fx) {
        let found = self.reads.get(read);
        let (disk, buf, offset, open) = (found.disk, found.buf, found.offset, found.fills.clone());
        let blocks: Vec<(u64, u32, u32)> = whole_blocks(&part)
            .zip(sums)
            .map(|(block, sum)| {
                (block, u32::try_from(block * 4096 - offset).unwrap_or(u32::MAX), *sum)
            })
            .collect();
        let holds = self.fill(disk, &blocks, &open, buf, Holder::Read(read), fx);
        self.reads.get(read).holds += holds;
    }
}

/// Blocks that are read whole.
fn whole_blocks(part: &Part) -> impl Iterator<Item = u64> + use<> {
    blocks_of(part.offset, part.bytes)
        .filter(|(_, from, to)| (*from, *to) == (0, 8))
        .map(|(block, ..)| block)
}
