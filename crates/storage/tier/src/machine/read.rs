use super::io::{Holder, Io, PartSource, ReadPiece};
use super::memory::Opened;
use super::overlay::{Layer, Source, blocks_of, spans, touched};
use super::pages::CachedBlock;
use super::{Fx, Tier};
use state_machine::RequestId;

use crate::event::{Buf, Check, Effect, IoError, IoTarget, MemoryCells, ReadIo, Request};

/// Read request until it is answered and its buffer is no longer used.
#[derive(Debug, Clone)]
pub(super) struct ReadRequest {
    /// Identifier of the request; `None` once it is answered.
    id: Option<RequestId>,
    pub(super) disk: u16,
    pub(super) offset: u64,
    pub(super) buf: Buf,
    /// Number of parts that are not read yet.
    parts: u32,
    /// Number of I/Os that write from the request's buffer into pages.
    pub(super) holds: u16,
    /// Slots of the pages that this request fills.
    fills: Vec<u32>,
    /// Places in the memory tier that were opened for blocks of this request.
    pub(super) opened: Vec<Opened>,
    error: Option<IoError>,
}

/// Source of adjoining sectors, before adjoining sources are merged.
#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    Backing,
    Memory(MemoryCells),
    /// Slot: its number, the block's address and checksum.
    Slot(u32, u64, u32),
    /// Log: the block's address, and the layer.
    Log(u64, Layer),
}

/// Read from one source.
#[derive(Debug, Clone)]
struct Piecewise {
    part: ReadPiece,
    at: u64,
    bytes: u32,
    skip: u32,
    checks: Vec<Check>,
    /// True if the next block may follow in the same read.
    is_open: bool,
}

impl Piecewise {
    fn is_missing(&self) -> bool {
        self.part.source == PartSource::Backing
    }

    /// Returns the part if it is read from below the overlay.
    fn of_base(&self) -> Option<&ReadPiece> {
        (!matches!(self.part.source, PartSource::Log { .. })).then_some(&self.part)
    }
}

impl Tier {
    pub(super) fn read(&mut self, request: Request, fx: &mut Fx) {
        let buf = request.buf.expect("a read has a buffer");
        let Request { id, disk, offset, .. } = request;
        // First, because it may evict a page that would be read.
        self.touch_read(&request);
        let (pieces, recalled) = self.pieces(&request, buf, fx);
        self.count_read(&request, &pieces, recalled);
        if pieces.is_empty() {
            fx.push(Effect::Reply(id, Ok(())));
            fx.push(Effect::Release(buf));
            return;
        }
        let opened = self.open_memory(disk, pieces.iter().filter_map(Piecewise::of_base), fx);
        let missing = pieces.iter().filter(|p| p.is_missing()).flat_map(|p| whole_blocks(&p.part));
        let fills = self.open_fills(disk, missing);
        let parts = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
        let read = self.reads.insert(ReadRequest {
            id: Some(id),
            disk,
            offset,
            buf,
            parts,
            holds: 0,
            fills,
            opened,
            error: None,
        });
        for piece in pieces {
            self.read_piece(read, piece, fx);
        }
    }

    /// Counts a read by the sources that it needs. `recalled` bytes came from the memory tier.
    fn count_read(&mut self, request: &Request, pieces: &[Piecewise], recalled: u32) {
        let missing: u32 = pieces.iter().filter(|p| p.is_missing()).map(|p| p.part.bytes).sum();
        let counters = self.count(request.disk);
        match missing {
            0 => counters.hits += 1,
            _ if missing == request.bytes => counters.misses += 1,
            _ => counters.partial += 1,
        }
        counters.read_bytes += u64::from(request.bytes);
        counters.hit_bytes += u64::from(request.bytes - missing);
        counters.memory_hits += u64::from(recalled > 0 && pieces.is_empty());
        counters.memory_hit_bytes += u64::from(recalled);
    }

    /// Returns the reads that a request needs, and the number of bytes that came from the memory
    /// tier. Bytes in memory are copied at once.
    fn pieces(&mut self, request: &Request, buf: Buf, fx: &mut Fx) -> (Vec<Piecewise>, u32) {
        let (mut pieces, mut recalled) = (Vec::new(), 0);
        for (block, from, to) in blocks_of(request.offset, request.bytes) {
            let base = self.base(request.disk, block);
            let layers = self.disk(request.disk).overlay.get(block);
            let (bare, over) = ([(from, to, None)], spans(layers, from, to));
            let found = if layers.is_empty() { &bare[..] } else { &over[..] };
            for (from, to, layer) in found.iter().copied() {
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
                if let From::Memory(kept) = whence {
                    let skip = u32::from(from) * 512;
                    fx.push(Effect::Recall { kept, skip, buf, to, bytes });
                    recalled += bytes;
                    continue;
                }
                self.join(&mut pieces, whence, offset, bytes);
            }
        }
        (pieces, recalled)
    }

    /// Returns where to read a block that is not in the overlay: memory, a slot of the cache, or
    /// the backing store.
    fn base(&mut self, disk: u16, block: u64) -> From {
        if let Some(kept) = self.memory.find(disk, block) {
            return From::Memory(kept);
        }
        if self.is_failed && self.is_uncached(disk) {
            return From::Backing;
        }
        let Some(found) = self.pages.served(disk, block) else { return From::Backing };
        let CachedBlock { slot, bit, sum } = found;
        From::Slot(slot, self.geometry.slot_at(slot) + u64::from(bit) * 4096, sum)
    }

    /// Adds sectors to the last read if they adjoin there, otherwise to a new read. Whole blocks
    /// are read, because checksums cover blocks.
    fn join(&self, pieces: &mut Vec<Piecewise>, whence: From, offset: u64, bytes: u32) {
        let within = u32::try_from(offset % 4096).unwrap_or(0);
        let (source, at, check, is_whole) = match whence {
            From::Backing => (PartSource::Backing, offset, None, true),
            From::Memory(_) => unreachable!("data in memory need no read"),
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
            part: ReadPiece { offset, bytes, source },
            at,
            bytes: length,
            skip: if check.is_some() { within } else { 0 },
            checks: check.into_iter().collect(),
            is_open,
        });
    }

    /// Counts a read as a use of its pages and of its units in the memory tier. A page whose
    /// requested blocks are all in memory is not admitted.
    fn touch_read(&mut self, request: &Request) {
        let (disk, is_open) = (request.disk, self.disk(request.disk).populate);
        let blocks = touched(request.offset, request.bytes);
        self.memory.touch(disk, blocks.clone());
        let mut blocks = blocks.peekable();
        while let Some(block) = blocks.next() {
            let (key, _) = self.pages.page_of(disk, block);
            let mut is_in_memory = self.memory.find(disk, block).is_some();
            while let Some(next) = blocks.next_if(|next| self.pages.page_of(disk, *next).0 == key) {
                is_in_memory = is_in_memory && self.memory.find(disk, next).is_some();
            }
            let (_, lost) = self.pages.reference(key, is_open && !is_in_memory);
            self.queue_unmap(lost);
        }
    }

    fn read_piece(&mut self, read: u32, piece: Piecewise, fx: &mut Fx) {
        let Piecewise { part, at, bytes, skip, checks, .. } = piece;
        let found = &mut self.reads[read];
        let (buf, index) = (found.buf, found.disk);
        let to = u32::try_from(part.offset - found.offset).unwrap_or(u32::MAX);
        let place = match part.source {
            PartSource::Backing => IoTarget::Backing(index),
            PartSource::Slot { slot } => {
                self.pages.pin(slot);
                IoTarget::Cache
            }
            PartSource::Log { chunk } => {
                self.chunks.pin(chunk);
                IoTarget::Cache
            }
        };
        let io = self.start_io(Io::ReadPart { read, part });
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
        part: ReadPiece,
        result: Result<Vec<u32>, IoError>,
        fx: &mut Fx,
    ) {
        match (part.source, result) {
            (PartSource::Backing, Ok(sums)) => {
                self.backing_read(read, part, &sums, fx);
                self.keep(read, part, fx);
            }
            (PartSource::Backing, Err(error)) => self.reads[read].error = Some(error),
            (PartSource::Slot { slot }, Ok(_)) => {
                self.pages.unpin(slot);
                self.keep(read, part, fx);
            }
            (PartSource::Slot { slot }, Err(error)) => {
                return self.slot_is_wrong(read, part, slot, error, fx);
            }
            (PartSource::Log { chunk }, result) => {
                self.chunks.unpin(chunk);
                if let Err(error) = result {
                    self.reads[read].error = Some(error);
                }
            }
        }
        self.reads[read].parts -= 1;
        self.finish_read(read, fx);
    }

    /// Stops serving the blocks of a page that cannot be read or have a wrong checksum, and reads
    /// these blocks from the backing store.
    fn slot_is_wrong(
        &mut self,
        read: u32,
        part: ReadPiece,
        slot: u32,
        error: IoError,
        fx: &mut Fx,
    ) {
        let index = self.reads[read].disk;
        let mut is_wrong = false;
        for block in touched(part.offset, part.bytes) {
            is_wrong |= self.pages.distrust(slot, index, block);
        }
        if is_wrong {
            self.count(index).checksum_errors += u64::from(error == IoError::Checksum);
            self.queue_map(slot);
        }
        self.pages.unpin(slot);
        let part = ReadPiece { source: PartSource::Backing, ..part };
        let (at, bytes) = (part.offset, part.bytes);
        self.read_piece(
            read,
            Piecewise { part, at, bytes, skip: 0, checks: Vec::new(), is_open: false },
            fx,
        );
    }

    /// Answers a read when all parts have arrived, and removes it when no I/O uses its buffer.
    pub(super) fn finish_read(&mut self, read: u32, fx: &mut Fx) {
        let found = &mut self.reads[read];
        if found.parts > 0 {
            return;
        }
        if let Some(id) = found.id.take() {
            fx.push(Effect::Reply(id, found.error.map_or(Ok(()), Err)));
        }
        if found.holds == 0 {
            let found = self.reads.remove(read);
            fx.push(Effect::Release(found.buf));
            self.pages.close_fills(&found.fills);
        }
    }

    /// Fills opened pages with blocks from the backing store.
    fn backing_read(&mut self, read: u32, part: ReadPiece, sums: &[u32], fx: &mut Fx) {
        let found = &mut self.reads[read];
        let (disk, buf, offset, open) =
            (found.disk, found.buf, found.offset, std::mem::take(&mut found.fills));
        let blocks: Vec<(u64, u32, u32)> = whole_blocks(&part)
            .zip(sums)
            .map(|(block, sum)| {
                (block, u32::try_from(block * 4096 - offset).unwrap_or(u32::MAX), *sum)
            })
            .collect();
        let holds = self.fill(disk, &blocks, &open, buf, Holder::Read(read), fx);
        let found = &mut self.reads[read];
        (found.holds, found.fills) = (found.holds + holds, open);
    }
}

/// Iterates over the blocks that the part covers completely.
pub(super) fn whole_blocks(part: &ReadPiece) -> impl Iterator<Item = u64> + use<> {
    blocks_of(part.offset, part.bytes)
        .filter(|(_, from, to)| (*from, *to) == (0, 8))
        .map(|(block, ..)| block)
}
