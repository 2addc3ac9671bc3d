use std::ops::Range;

use block_server::{Buffer, Effects};
use tier::format::SIDECAR_BYTES;
use tier::{Buf, Effect, IoTarget, MemoryCells, Piece, ReadIo};

use crate::core::{Core, Under};
use crate::peers::What;

impl Core {
    pub(crate) fn carry_out(&mut self, effect: Effect, fx: &mut Effects) {
        match effect {
            Effect::Read(io) => self.read(io, fx),
            Effect::Write { io, place, at, from, durable } => {
                let data = self.gather(&from);
                if let IoTarget::Copy(disk, peer) = place {
                    return self.peers.ask(disk, peer, io, What::Write { at, data });
                }
                self.start(io, Under::Write { place, at, done: 0, durable }, data, fx);
            }
            Effect::Zero { io, place: IoTarget::Copy(disk, peer), at, bytes, .. } => {
                self.peers.ask(disk, peer, io, What::Trim { at, bytes });
            }
            Effect::Flush { io, place: IoTarget::Copy(disk, peer) } => {
                self.peers.ask(disk, peer, io, What::Flush);
            }
            Effect::Confirm { io, disk, generation } => {
                let data = self.memory.take(SIDECAR_BYTES);
                let place = IoTarget::Sidecar(disk);
                self.start(io, Under::Confirm { place, generation, done: 0 }, data, fx);
            }
            Effect::Cut { disk, peer } => self.peers.cut(disk, peer),
            Effect::Zero { io, place, at, bytes, unmap } => {
                self.start(io, Under::Allocate { place, at, bytes, unmap }, Buffer::none(), fx);
            }
            Effect::Flush { io, place } => {
                self.start(io, Under::Flush { place }, Buffer::none(), fx)
            }
            Effect::Copy { from, at, buf, to, bytes } => {
                self.copy((from, at as usize), buf, to as usize..(to + bytes) as usize);
            }
            Effect::Clear { buf, to, bytes } => {
                self.memory_of(buf)[to as usize..(to + bytes) as usize].fill(0);
            }
            Effect::Keep { io, from, at } => {
                let memory = &self.requests.bufs[&from.0];
                self.arena.keep(io, &memory[at as usize..at as usize + 4096]);
            }
            Effect::Recall { kept, skip, buf, to, bytes } => {
                self.recall(kept, skip as usize, buf, to as usize..(to + bytes) as usize);
            }
            Effect::Forget(kept) => self.arena.forget(kept),
            Effect::Take(buf, bytes) => {
                let memory = self.memory.take(bytes as usize);
                self.requests.bufs.insert(buf.0, memory);
            }
            Effect::Release(buf) => {
                // A buffer that is not found belonged to a request, and went back with the answer
                // of the request.
                if let Some(memory) = self.requests.bufs.remove(&buf.0) {
                    self.memory.give(memory);
                }
            }
            Effect::Reply(id, result) => self.reply(id, result, fx),
            Effect::Wake(at) => self.wake_at(at, fx),
            Effect::Note(note) => self.noted(note),
        }
    }

    /// Copies bytes from one buffer to another.
    fn copy(&mut self, (from, at): (Buf, usize), buf: Buf, to: Range<usize>) {
        let found = self.requests.bufs.remove(&from.0);
        let taken = found.expect("the source buffer is set");
        let bytes = to.len();
        self.memory_of(buf)[to].copy_from_slice(&taken[at..at + bytes]);
        self.requests.bufs.insert(from.0, taken);
    }

    /// Copies bytes of a block in the memory tier into a buffer.
    fn recall(&mut self, kept: MemoryCells, skip: usize, buf: Buf, to: Range<usize>) {
        let into = self.requests.bufs.get_mut(&buf.0).expect("the named buffer is set");
        self.arena.recall(kept, skip, &mut into[to]);
    }

    fn memory_of(&mut self, buf: Buf) -> &mut Buffer {
        self.requests.bufs.get_mut(&buf.0).expect("the named buffer is set")
    }

    /// Starts a read. A read that fills a request's whole buffer goes there directly. Any other
    /// read gets a separate buffer, because checksums cover whole blocks.
    fn read(&mut self, io: ReadIo, fx: &mut Effects) {
        let is_whole = (io.skip, io.to) == (0, 0) && io.take == io.bytes;
        if is_whole && self.memory_of(io.buf).len() == io.take as usize {
            let data = self.requests.bufs.remove(&io.buf.0).expect("the buffer was just found");
            return self.start(io.io, Under::Whole { io, done: 0 }, data, fx);
        }
        let data = self.memory.take(io.bytes as usize);
        self.start(io.io, Under::Part { io, done: 0 }, data, fx);
    }

    /// Collects the bytes of a write in one buffer.
    fn gather(&mut self, from: &[Piece]) -> Buffer {
        let length: u64 = from.iter().map(Piece::bytes).sum();
        let mut data = self.memory.take(usize::try_from(length).expect("a write has a few MiB"));
        let mut at = 0;
        for piece in from {
            let end =
                at + usize::try_from(piece.bytes()).expect("a piece is shorter than the whole");
            match piece {
                Piece::Bytes(bytes) => data[at..end].copy_from_slice(bytes),
                Piece::Zero(_) => data[at..end].fill(0),
                Piece::Buf { buf, at: start, .. } => {
                    let source = &self.requests.bufs[&buf.0];
                    data[at..end]
                        .copy_from_slice(&source[*start as usize..*start as usize + (end - at)]);
                }
            }
            at = end;
        }
        data
    }
}
