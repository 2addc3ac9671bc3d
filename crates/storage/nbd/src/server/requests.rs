use super::session::Session;
use crate::bytes::Reader;
use crate::limits::PAYLOAD_SKIP_MAX;
use crate::wire::{self, command, command_flag};
use crate::{Abilities, Code, Operation, Violation};

/// Length of a request's header in bytes; the data of a write follow it.
pub const REQUEST_BYTES: usize = 28;

/// Valid request: its range lies within the export, and the export supports its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Cookie of the client, to be sent in the reply.
    pub cookie: u64,
    /// Operation to execute.
    pub operation: Operation,
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes: 0 for a flush, above 0 otherwise.
    pub length: u32,
}

/// Decoded header of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming {
    /// A request for the driver.
    Request(Request),
    /// The request must be answered with an error.
    Refused(Refusal),
    /// The client sends no more requests, and disconnects when all are answered.
    Disconnect,
}

/// Request that cannot be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Cookie of the client, to be sent in the reply.
    pub cookie: u64,
    /// Error for the reply.
    pub code: Code,
    /// Number of payload bytes that the driver must read and discard.
    pub skip: u32,
}

struct Header {
    flags: u16,
    kind: u16,
    cookie: u64,
    offset: u64,
    length: u32,
}

fn header(bytes: &[u8; REQUEST_BYTES]) -> Result<Header, Violation> {
    const WHY: &str = "a header is as long as its fields";
    let mut reader = Reader(bytes);
    let magic = reader.u32().expect(WHY);
    Violation::check("a request", u64::from(magic), u64::from(wire::REQUEST))?;
    let (flags, kind) = (reader.u16().expect(WHY), reader.u16().expect(WHY));
    let (cookie, offset) = (reader.u64().expect(WHY), reader.u64().expect(WHY));
    Ok(Header { flags, kind, cookie, offset, length: reader.u32().expect(WHY) })
}

impl Session {
    /// Decodes and checks a request's header.
    ///
    /// # Errors
    /// If the magic number is wrong, so that the next header cannot be found, or if the payload of
    /// a refused write is too long to be discarded.
    pub fn incoming(&self, bytes: &[u8; REQUEST_BYTES]) -> Result<Incoming, Violation> {
        let header = header(bytes)?;
        if header.kind == command::DISCONNECT {
            return Ok(Incoming::Disconnect);
        }
        let Header { cookie, offset, length, .. } = header;
        match self.operation(&header) {
            Ok(operation) => Ok(Incoming::Request(Request { cookie, operation, offset, length })),
            Err(code) => {
                let skip = if header.kind == command::WRITE { length } else { 0 };
                if skip > PAYLOAD_SKIP_MAX {
                    return Err(Violation::Payload { length, max: PAYLOAD_SKIP_MAX });
                }
                Ok(Incoming::Refused(Refusal { cookie, code, skip }))
            }
        }
    }

    fn operation(&self, header: &Header) -> Result<Operation, Code> {
        let operation = self.offered(header)?;
        self.check_flags(header)?;
        if operation.changes() && self.can(Abilities::READ_ONLY) {
            return Err(Code::NotPermitted);
        }
        if operation == Operation::Flush {
            return if header.offset == 0 && header.length == 0 {
                Ok(operation)
            } else {
                Err(Code::Invalid)
            };
        }
        self.check_range(operation, header)?;
        Ok(operation)
    }

    fn offered(&self, header: &Header) -> Result<Operation, Code> {
        let fua = header.flags & command_flag::FUA != 0;
        let (operation, needs) = match header.kind {
            command::READ => (Operation::Read, Abilities::NONE),
            command::WRITE => (Operation::Write { fua }, Abilities::NONE),
            command::FLUSH => (Operation::Flush, Abilities::FLUSH),
            command::TRIM => (Operation::Trim { fua }, Abilities::TRIM),
            command::CACHE => (Operation::Cache, Abilities::CACHE),
            command::WRITE_ZEROES => {
                let no_hole = header.flags & command_flag::NO_HOLE != 0;
                let fast = header.flags & command_flag::FAST_ZERO != 0;
                (Operation::WriteZeroes { fua, no_hole, fast }, Abilities::WRITE_ZEROES)
            }
            _ => return Err(Code::Invalid),
        };
        if self.can(needs) { Ok(operation) } else { Err(Code::Invalid) }
    }

    /// Checks the flags. FUA is valid with every command if the export supports FUA; each other
    /// flag is valid only with its own command.
    fn check_flags(&self, header: &Header) -> Result<(), Code> {
        let mut allowed = if self.can(Abilities::FUA) { command_flag::FUA } else { 0 };
        match header.kind {
            command::READ if self.is_structured => allowed |= command_flag::NO_FRAGMENT,
            command::WRITE_ZEROES => {
                let is_fast = self.can(Abilities::FAST_ZERO);
                allowed |= command_flag::NO_HOLE;
                allowed |= if is_fast { command_flag::FAST_ZERO } else { 0 };
            }
            _ => {}
        }
        if header.flags & !allowed == 0 { Ok(()) } else { Err(Code::Invalid) }
    }

    /// Checks the range. The specification does not define a length of 0. Here it is an error,
    /// because no client sends it on purpose. The maximum applies only to requests with a payload.
    fn check_range(&self, operation: Operation, header: &Header) -> Result<(), Code> {
        let Header { offset, length, .. } = *header;
        let travels = matches!(operation, Operation::Read | Operation::Write { .. });
        if length == 0 || !self.blocks().fit(offset, length) || (travels && length > self.longest())
        {
            return Err(Code::Invalid);
        }
        let is_within =
            offset.checked_add(length.into()).is_some_and(|end| end <= self.export.size());
        match operation {
            _ if is_within => Ok(()),
            Operation::Write { .. } | Operation::WriteZeroes { .. } => Err(Code::NoSpace),
            _ => Err(Code::Invalid),
        }
    }
}
