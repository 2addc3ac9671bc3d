use super::agreed::Agreed;
use super::error::Unfit;
use super::failure::Failure;
use super::parts::Parts;
use super::slots::{Pending, Slots};
use crate::bytes::{Reader, Write, string};
use crate::limits::ERROR_CHUNK_MAX;
use crate::wire::{self, chunk, command};
use crate::{Abilities, Code, Operation, Progress, Violation};

/// Item parsed at the front of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// The item is incomplete. The unconsumed rest is smaller than [`crate::limits::REPLY_BUFFER`].
    More,
    /// The following bytes are data of this read. The driver must consume them before the next
    /// call.
    Data {
        /// Cookie of the read.
        cookie: u64,
        /// Offset from the read's first byte.
        at: u32,
        /// Number of bytes; at least one.
        length: u32,
    },
    /// A part of a read is zeroes, which are not sent.
    Zeroes {
        /// Cookie of the read.
        cookie: u64,
        /// Offset from the read's first byte.
        at: u32,
        /// Number of bytes; at least one.
        length: u32,
    },
    /// A request is complete. If a read failed, its data are not valid.
    Done {
        /// Cookie of the request.
        cookie: u64,
        /// Result of the request.
        result: Result<(), Failure>,
    },
}

/// Requests of a client to an export, with the parser for their replies.
#[derive(Debug)]
pub struct Requests {
    agreed: Agreed,
    pending: Slots,
    /// Read whose last data the driver is consuming.
    ending: Option<u64>,
}

struct Chunk {
    is_last: bool,
    kind: u16,
    cookie: u64,
    length: u32,
}

impl Requests {
    pub(super) fn new(agreed: Agreed) -> Self {
        Self { agreed, pending: Slots::default(), ending: None }
    }

    /// Returns the result of the negotiation.
    #[must_use]
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Returns the number of requests without a complete answer.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.pending.len()
    }

    /// Writes a request, and returns its cookie, which is valid until the request is complete. The
    /// caller appends the data of a write.
    ///
    /// # Errors
    /// If the request is not valid for the export. Nothing is written then.
    pub fn submit(
        &mut self,
        operation: Operation,
        offset: u64,
        length: u32,
        out: &mut Vec<u8>,
    ) -> Result<u64, Unfit> {
        let (number, flags, needs, words) = operation.describe();
        let is_refused = operation.changes() && self.agreed.abilities.has(Abilities::READ_ONLY);
        if !self.agreed.abilities.has(needs) || is_refused {
            return Err(Unfit::Ability { export: self.agreed.export.clone(), operation: words });
        }
        self.check_range(operation, offset, length)?;
        let pending = Pending { operation, offset, length, parts: Parts::default(), failure: None };
        let cookie = self.pending.add(pending);
        header(flags, number, cookie, offset, length, out);
        Ok(cookie)
    }

    /// Writes a disconnect request. Nothing may be written after it; replies still arrive.
    pub fn disconnect(&self, out: &mut Vec<u8>) {
        header(0, command::DISCONNECT, 0, 0, 0, out);
    }

    fn check_range(&self, operation: Operation, offset: u64, length: u32) -> Result<(), Unfit> {
        let Agreed { size, blocks, .. } = self.agreed;
        let is_fit = if operation == Operation::Flush {
            offset == 0 && length == 0
        } else {
            length > 0
                && length <= blocks.maximum()
                && blocks.fit(offset, length)
                && offset.checked_add(length.into()).is_some_and(|end| end <= size)
        };
        if is_fit {
            return Ok(());
        }
        let export = self.agreed.export.clone();
        let (minimum, maximum) = (blocks.minimum(), blocks.maximum());
        Err(Unfit::Range { export, offset, length, size, minimum, maximum })
    }

    /// Parses the item at the front of the input.
    ///
    /// # Errors
    /// If the server violated the protocol. Outstanding requests may or may not have been executed.
    pub fn receive(&mut self, input: &[u8]) -> Result<Progress<Received>, Violation> {
        if let Some(cookie) = self.ending.take() {
            return Ok(Progress { consumed: 0, next: self.finish(cookie)? });
        }
        let mut consumed = 0;
        loop {
            match self.step(&input[consumed..])? {
                Some((more, Some(next))) => {
                    return Ok(Progress { consumed: consumed + more, next });
                }
                Some((more, None)) => consumed += more,
                None => return Ok(Progress { consumed, next: Received::More }),
            }
        }
    }

    fn step(&mut self, input: &[u8]) -> Result<Option<(usize, Option<Received>)>, Violation> {
        let Some(magic) = Reader(input).u32() else { return Ok(None) };
        match magic {
            wire::SIMPLE_REPLY => self.simple(input),
            wire::CHUNK if self.agreed.is_structured => self.chunk(input),
            _ => {
                let wanted =
                    if self.agreed.is_structured { wire::CHUNK } else { wire::SIMPLE_REPLY };
                Err(Violation::Magic { what: "a reply", seen: magic.into(), wanted: wanted.into() })
            }
        }
    }

    fn simple(&mut self, input: &[u8]) -> Result<Option<(usize, Option<Received>)>, Violation> {
        let mut reader = Reader(input);
        let (_, error, cookie) = (reader.u32(), reader.u32(), reader.u64());
        let (Some(error), Some(cookie)) = (error, cookie) else { return Ok(None) };
        let is_structured = self.agreed.is_structured;
        let pending = self.pending(cookie)?;
        let is_read = pending.operation == Operation::Read;
        if is_read && is_structured {
            return Err(Violation::reply("a reply to a read", "a simple one", "one in chunks"));
        }
        if error != 0 {
            pending.fail(error, String::new());
        } else if is_read {
            let length = pending.length;
            pending.parts.add(0, length)?;
            self.ending = Some(cookie);
            let data = Received::Data { cookie, at: 0, length };
            return Ok(Some((wire::SIMPLE_REPLY_BYTES, Some(data))));
        }
        Ok(Some((wire::SIMPLE_REPLY_BYTES, Some(self.finish(cookie)?))))
    }

    fn chunk(&mut self, input: &[u8]) -> Result<Option<(usize, Option<Received>)>, Violation> {
        let mut reader = Reader(input);
        let parts = (reader.u32(), reader.u16(), reader.u16(), reader.u64(), reader.u32());
        let (_, Some(flags), Some(kind), Some(cookie), Some(length)) = parts else {
            return Ok(None);
        };
        let is_last = flags & wire::CHUNK_DONE != 0;
        self.pending(cookie)?;
        let chunk = Chunk { is_last, kind, cookie, length };
        match kind {
            chunk::DATA => self.data(&chunk, reader),
            _ => self.small(&chunk, reader),
        }
    }

    fn data(
        &mut self,
        chunk: &Chunk,
        mut reader: Reader<'_>,
    ) -> Result<Option<(usize, Option<Received>)>, Violation> {
        let Some(length) = chunk.length.checked_sub(8).filter(|length| *length > 0) else {
            return Err(Violation::reply("bytes of a chunk of data", chunk.length, "at least 9"));
        };
        let Some(offset) = reader.u64() else { return Ok(None) };
        let cookie = chunk.cookie;
        let at = self.pending(cookie)?.part(offset, length)?;
        self.ending = chunk.is_last.then_some(cookie);
        let data = Received::Data { cookie, at, length };
        Ok(Some((wire::CHUNK_HEADER + 8, Some(data))))
    }

    /// Parses a chunk with a small payload, which is consumed here.
    fn small(
        &mut self,
        chunk: &Chunk,
        mut reader: Reader<'_>,
    ) -> Result<Option<(usize, Option<Received>)>, Violation> {
        if chunk.length as usize > ERROR_CHUNK_MAX {
            let wanted = format!("at most {ERROR_CHUNK_MAX}");
            return Err(Violation::reply("bytes of a chunk", chunk.length, wanted));
        }
        let Some(payload) = reader.take(chunk.length as usize) else { return Ok(None) };
        let consumed = wire::CHUNK_HEADER + payload.len();
        let Chunk { cookie, is_last, .. } = *chunk;
        let received = match chunk.kind {
            chunk::NONE if payload.is_empty() && is_last => None,
            chunk::HOLE => {
                let (at, length) = hole(self.pending(cookie)?, payload)?;
                Some(Received::Zeroes { cookie, at, length })
            }
            kind if kind & chunk::ERROR_BIT != 0 => {
                let (error, message) = failure(payload)?;
                self.pending(cookie)?.fail(error, message);
                None
            }
            kind => {
                let wanted = "one that fits its request, flags and length";
                return Err(Violation::reply("a kind of chunk", kind, wanted));
            }
        };
        match (received, is_last) {
            (Some(zeroes), true) => {
                self.ending = Some(cookie);
                Ok(Some((consumed, Some(zeroes))))
            }
            (None, true) => Ok(Some((consumed, Some(self.finish(cookie)?)))),
            (received, false) => Ok(Some((consumed, received))),
        }
    }

    fn pending(&mut self, cookie: u64) -> Result<&mut Pending, Violation> {
        self.pending.get(cookie).ok_or_else(|| {
            Violation::reply("the cookie of a reply", cookie, "one of an outstanding request")
        })
    }

    fn finish(&mut self, cookie: u64) -> Result<Received, Violation> {
        let pending = self.pending.remove(cookie).expect("the request was just found");
        let is_read = pending.operation == Operation::Read;
        if is_read && pending.failure.is_none() && !pending.parts.are_all_of(pending.length) {
            let wanted = format!("all {}", pending.length);
            return Err(Violation::reply("bytes of a read", "a part of them", wanted));
        }
        Ok(Received::Done { cookie, result: pending.failure.map_or(Ok(()), Err) })
    }
}

impl Pending {
    /// Records an error. Only the first one is kept.
    fn fail(&mut self, error: u32, message: String) {
        self.failure.get_or_insert(Failure { code: Code::from_wire(error), message });
    }

    /// Returns the offset of a part within its read, and records the part as received.
    fn part(&mut self, offset: u64, length: u32) -> Result<u32, Violation> {
        let at = offset.checked_sub(self.offset).and_then(|at| u32::try_from(at).ok());
        let place = at.and_then(|at| Some((at, at.checked_add(length)?)));
        let place = place.filter(|(_, end)| *end <= self.length);
        let Some((at, end)) = place.filter(|_| self.operation == Operation::Read) else {
            let seen = format!("{length} B from {offset} on");
            let wanted = format!("some of a read's {} B from {} on", self.length, self.offset);
            return Err(Violation::reply("a part of a read", seen, wanted));
        };
        self.parts.add(at, end)?;
        Ok(at)
    }
}

fn hole(pending: &mut Pending, payload: &[u8]) -> Result<(u32, u32), Violation> {
    let mut reader = Reader(payload);
    let (Some(offset), Some(length @ 1..), []) = (reader.u64(), reader.u32(), reader.0) else {
        return Err(Violation::reply("bytes of a hole", payload.len(), "12, and some zeroes"));
    };
    Ok((pending.part(offset, length)?, length))
}

/// Parses the number and the message of an error chunk; other content is ignored.
fn failure(payload: &[u8]) -> Result<(u32, String), Violation> {
    let mut reader = Reader(payload);
    let (error, length) = (reader.u32(), reader.u16());
    let message = length.and_then(|length| reader.take(length.into()));
    let (Some(error @ 1..), Some(message)) = (error, message) else {
        let wanted = "an error and as long a message as is said";
        return Err(Violation::reply("an error chunk", format!("{} B", payload.len()), wanted));
    };
    let message = string(message).filter(|text| !text.is_empty());
    Ok((error, message.map(|text| format!(": {}", text.escape_debug())).unwrap_or_default()))
}

fn header(flags: u16, kind: u16, cookie: u64, offset: u64, length: u32, out: &mut Vec<u8>) {
    out.u32(wire::REQUEST);
    out.u16(flags);
    out.u16(kind);
    out.u64(cookie);
    out.u64(offset);
    out.u32(length);
}
