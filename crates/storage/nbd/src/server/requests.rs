use super::session::Session;
use crate::bytes::Reader;
use crate::limits::PAYLOAD_SKIP_MAX;
use crate::wire::{self, command, command_flag};
use crate::{Abilities, Code, Violation};

/// Length of a request's header in bytes; the data of a write come after it.
pub const REQUEST_BYTES: usize = 28;

/// What a client wants done, within the export and as it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The client's name for it.
    pub cookie: u64,
    /// What to do.
    pub command: Command,
    /// First byte.
    pub offset: u64,
    /// Bytes; none for a flush, and never none otherwise.
    pub length: u32,
}

/// What to do with a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Send it. (One asked for in one piece is sent so here anyway.)
    Read,
    /// Replace it by the bytes that follow the header, as many as the range has.
    Write {
        /// Durable before it is answered.
        fua: bool,
    },
    /// Make durable what was answered.
    Flush,
    /// Give it up; what it reads afterwards is open.
    Trim {
        /// Durable before it is answered.
        fua: bool,
    },
    /// Make it read as zeroes.
    WriteZeroes {
        /// Durable before it is answered.
        fua: bool,
        /// It must stay allocated.
        no_hole: bool,
        /// Only if that is faster than writing; else the answer is [`Code::NotSupported`].
        fast: bool,
    },
    /// It will be wanted soon.
    Cache,
}

impl Command {
    /// Whether bytes may be other ones afterwards.
    #[must_use]
    pub fn changes(self) -> bool {
        matches!(self, Self::Write { .. } | Self::Trim { .. } | Self::WriteZeroes { .. })
    }
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incoming {
    /// A request for the driver.
    Request(Request),
    /// One that is answered with an error.
    Refused(Refusal),
    /// The client goes when its requests are answered. It sends nothing more.
    Disconnect,
}

/// A request that cannot be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The client's name for it.
    pub cookie: u64,
    /// What is wrong.
    pub code: Code,
    /// Bytes behind the header that the driver throws away.
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
    /// What a request's header says.
    ///
    /// # Errors
    /// When what follows could not be told apart from it, or is too long to be thrown away.
    pub fn incoming(&self, bytes: &[u8; REQUEST_BYTES]) -> Result<Incoming, Violation> {
        let header = header(bytes)?;
        if header.kind == command::DISCONNECT {
            return Ok(Incoming::Disconnect);
        }
        let Header { cookie, offset, length, .. } = header;
        match self.command(&header) {
            Ok(command) => Ok(Incoming::Request(Request { cookie, command, offset, length })),
            Err(code) => {
                let skip = if header.kind == command::WRITE { length } else { 0 };
                if skip > PAYLOAD_SKIP_MAX {
                    return Err(Violation::Payload { length, max: PAYLOAD_SKIP_MAX });
                }
                Ok(Incoming::Refused(Refusal { cookie, code, skip }))
            }
        }
    }

    fn command(&self, header: &Header) -> Result<Command, Code> {
        let command = self.offered(header)?;
        self.check_flags(header)?;
        if command.changes() && self.can(Abilities::READ_ONLY) {
            return Err(Code::NotPermitted);
        }
        if command == Command::Flush {
            return if header.offset == 0 && header.length == 0 {
                Ok(command)
            } else {
                Err(Code::Invalid)
            };
        }
        self.check_range(command, header)?;
        Ok(command)
    }

    fn offered(&self, header: &Header) -> Result<Command, Code> {
        let fua = header.flags & command_flag::FUA != 0;
        let (command, needs) = match header.kind {
            command::READ => (Command::Read, Abilities::NONE),
            command::WRITE => (Command::Write { fua }, Abilities::NONE),
            command::FLUSH => (Command::Flush, Abilities::FLUSH),
            command::TRIM => (Command::Trim { fua }, Abilities::TRIM),
            command::CACHE => (Command::Cache, Abilities::CACHE),
            command::WRITE_ZEROES => {
                let no_hole = header.flags & command_flag::NO_HOLE != 0;
                let fast = header.flags & command_flag::FAST_ZERO != 0;
                (Command::WriteZeroes { fua, no_hole, fast }, Abilities::WRITE_ZEROES)
            }
            _ => return Err(Code::Invalid),
        };
        if self.can(needs) { Ok(command) } else { Err(Code::Invalid) }
    }

    /// FUA is allowed everywhere where it is offered; the others with their own command alone.
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

    /// A length of 0 is left open by the specification; an error is what it is here, for no client
    /// means it. The maximum binds what travels.
    fn check_range(&self, command: Command, header: &Header) -> Result<(), Code> {
        let Header { offset, length, .. } = *header;
        let travels = matches!(command, Command::Read | Command::Write { .. });
        if length == 0 || !self.blocks().fit(offset, length) || (travels && length > self.longest())
        {
            return Err(Code::Invalid);
        }
        let is_within =
            offset.checked_add(length.into()).is_some_and(|end| end <= self.export.size());
        match command {
            _ if is_within => Ok(()),
            Command::Write { .. } | Command::WriteZeroes { .. } => Err(Code::NoSpace),
            _ => Err(Code::Invalid),
        }
    }
}
