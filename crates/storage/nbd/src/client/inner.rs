//! Content of a server's replies to options.

use crate::bytes::Reader;
use crate::wire::{self, reply};
use crate::{BlockSizes, Violation};

/// Reply of the server to an option.
pub(super) struct Reply<'a> {
    pub kind: u32,
    pub data: &'a [u8],
}

impl<'a> Reply<'a> {
    /// Parses a reply. Returns `None` while the reply is incomplete.
    pub fn read(input: &'a [u8], option: u32, max: usize) -> Result<Option<Self>, Violation> {
        let mut reader = Reader(input);
        let parts = (reader.u64(), reader.u32(), reader.u32(), reader.u32());
        if let Some(magic) = parts.0 {
            Violation::check("a reply to an option", magic, wire::OPTION_REPLY)?;
        }
        let (_, Some(seen), Some(kind), Some(length)) = parts else { return Ok(None) };
        if seen != option {
            return Err(Violation::reply("the option that is replied to", seen, option));
        }
        if length as usize > max {
            let wanted = format!("at most {max}");
            return Err(Violation::reply("bytes of a reply to an option", length, wanted));
        }
        Ok(reader.take(length as usize).map(|data| Self { kind, data }))
    }
}

/// Parses the size and the flags of an export.
pub(super) fn read_export(data: &[u8]) -> Result<(u64, u16), Violation> {
    let mut reader = Reader(data);
    match (reader.u64(), reader.u16(), reader.0) {
        (Some(size), Some(flags), []) => Ok((size, flags)),
        _ => Err(Violation::reply("bytes about an export", data.len(), 10)),
    }
}

pub(super) fn read_block_sizes(data: &[u8]) -> Result<BlockSizes, Violation> {
    let mut reader = Reader(data);
    match (reader.u32(), reader.u32(), reader.u32(), reader.0) {
        (Some(minimum), Some(preferred), Some(maximum), []) => {
            BlockSizes::new(minimum, preferred, maximum).map_err(|error| {
                Violation::reply("block sizes", error, "sizes that the specification allows")
            })
        }
        _ => Err(Violation::reply("bytes about block sizes", data.len(), 12)),
    }
}

/// Returns the meaning of an error reply, in words; `None` for an unknown one.
pub(super) fn reason(kind: u32) -> Option<&'static str> {
    Some(match kind {
        reply::UNSUPPORTED => "it does not support that",
        reply::POLICY => "it may not",
        reply::INVALID => "it reports an invalid request",
        reply::PLATFORM => "its platform does not support that",
        reply::TLS_REQUIRED => "it requires TLS first",
        reply::UNKNOWN => "it has no export of that name",
        reply::SHUTDOWN => "it is shutting down",
        reply::BLOCK_SIZE_REQUIRED => "it requires a request for block sizes",
        reply::TOO_BIG => "the request is too long",
        _ if kind & reply::ERROR != 0 => "for a reason that is not in the specification",
        _ => return None,
    })
}
