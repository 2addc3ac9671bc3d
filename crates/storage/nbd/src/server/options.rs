//! Parsing of options, and their answers.

use crate::Export;
use crate::bytes::{Reader, Write, short, string};
use crate::wire::{OPTION_REPLY, info, option, reply};

/// Option that this server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    ExportName,
    Abort,
    List,
    StartTls,
    Info,
    Go,
    StructuredReply,
    ListContexts,
    SetContexts,
}

const KNOWN: [(u32, Known); 9] = [
    (option::EXPORT_NAME, Known::ExportName),
    (option::ABORT, Known::Abort),
    (option::LIST, Known::List),
    (option::STARTTLS, Known::StartTls),
    (option::INFO, Known::Info),
    (option::GO, Known::Go),
    (option::STRUCTURED_REPLY, Known::StructuredReply),
    (option::LIST_META_CONTEXT, Known::ListContexts),
    (option::SET_META_CONTEXT, Known::SetContexts),
];

impl Known {
    pub(super) fn of(number: u32) -> Option<Self> {
        KNOWN.iter().find(|(known, _)| *known == number).map(|(_, known)| *known)
    }

    pub(super) fn number(self) -> u32 {
        let found = KNOWN.iter().find(|(_, known)| *known == self);
        found.map(|(number, _)| *number).expect("every option is in the table")
    }
}

/// Type of the last reply to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer(u32);

impl Answer {
    pub(super) const fn of(kind: u32) -> Self {
        Self(kind)
    }

    pub(super) fn write(self, option: u32, out: &mut Vec<u8>) {
        write_reply(option, self.0, self.words().as_bytes(), out);
    }

    /// Returns the text of an error reply.
    fn words(self) -> &'static str {
        match self.0 {
            reply::UNSUPPORTED => "this server does not support the option",
            reply::POLICY => "this server has no TLS",
            reply::INVALID => "the option's data are invalid, or it comes at the wrong time",
            reply::TLS_REQUIRED => "this server requires TLS first",
            reply::UNKNOWN => "there is no such export",
            reply::TOO_BIG => "the option's data are too long",
            _ => "",
        }
    }
}

/// Parsed data of `INFO` or `GO`.
pub(super) struct Asked<'a> {
    pub export: &'a Export,
    pub wants_blocks: bool,
    wants_name: bool,
    wants_description: bool,
}

/// Finds the export of this name. If there is only one export, the empty name selects it.
pub(super) fn check_name<'a>(exports: &'a [Export], name: &[u8]) -> Result<&'a Export, Answer> {
    let name = string(name).ok_or(Answer::of(reply::INVALID))?;
    let found = exports.iter().find(|export| export.name() == name);
    let only = if name.is_empty() && exports.len() == 1 { exports.first() } else { None };
    found.or(only).ok_or(Answer::of(reply::UNKNOWN))
}

/// Parses the data of `INFO` and `GO`.
pub(super) fn query<'a>(exports: &'a [Export], data: &[u8]) -> Result<Asked<'a>, Answer> {
    let mut reader = Reader(data);
    let parts = (reader.counted(), reader.u16());
    let (Some(name), Some(count)) = parts else { return Err(Answer::of(reply::INVALID)) };
    if reader.0.len() != usize::from(count) * 2 {
        return Err(Answer::of(reply::INVALID));
    }
    let wanted = |kind| reader.0.chunks_exact(2).any(|bytes| bytes == u16::to_be_bytes(kind));
    let (wants_name, wants_description) = (wanted(info::NAME), wanted(info::DESCRIPTION));
    let wants_blocks = wanted(info::BLOCK_SIZE);
    Ok(Asked { export: check_name(exports, name)?, wants_blocks, wants_name, wants_description })
}

/// Writes the information replies for an export. Block sizes are sent to every client. A client
/// that did not request them is also served ([`Session::longest`]), but gets an error for a range
/// that is not a multiple of the minimum block size.
///
/// [`Session::longest`]: super::Session::longest
pub(super) fn info(option: u32, asked: &Asked<'_>, is_structured: bool, out: &mut Vec<u8>) {
    let export = asked.export;
    let mut tell = |kind: u16, write: &dyn Fn(&mut Vec<u8>)| {
        let mut data = Vec::new();
        data.u16(kind);
        write(&mut data);
        write_reply(option, reply::INFO, &data, out);
    };
    tell(info::EXPORT, &|data| {
        data.u64(export.size());
        data.u16(export.abilities().to_wire(is_structured));
    });
    if asked.wants_name {
        tell(info::NAME, &|data| data.bytes(export.name().as_bytes()));
    }
    if asked.wants_description {
        tell(info::DESCRIPTION, &|data| data.bytes(export.description().as_bytes()));
    }
    tell(info::BLOCK_SIZE, &|data| {
        data.u32(export.blocks().minimum());
        data.u32(export.blocks().preferred());
        data.u32(export.blocks().maximum());
    });
}

pub(super) fn list(exports: &[Export], data: &[u8], out: &mut Vec<u8>) -> Answer {
    if !data.is_empty() {
        return Answer::of(reply::INVALID);
    }
    for export in exports {
        let mut data = Vec::new();
        data.u32(short(export.name().len()));
        data.bytes(export.name().as_bytes());
        data.bytes(export.description().as_bytes());
        write_reply(option::LIST, reply::SERVER, &data, out);
    }
    Answer::of(reply::ACK)
}

/// Answers a query for metadata contexts: the list is empty, which is not an error.
pub(super) fn list_contexts(exports: &[Export], data: &[u8], is_structured: bool) -> Answer {
    let mut reader = Reader(data);
    let (name, count) = (reader.counted(), reader.u32());
    let (Some(name), Some(count), true) = (name, count, is_structured) else {
        return Answer::of(reply::INVALID);
    };
    // Each query has its own length, so a wrong count ends with the data.
    let are_all_there = (0..count).all(|_| reader.counted().and_then(string).is_some());
    if !are_all_there || !reader.0.is_empty() {
        return Answer::of(reply::INVALID);
    }
    check_name(exports, name).map_or_else(|answer| answer, |_| Answer::of(reply::ACK))
}

/// Writes a reply to an option.
fn write_reply(option: u32, kind: u32, data: &[u8], out: &mut Vec<u8>) {
    out.u64(OPTION_REPLY);
    out.u32(option);
    out.u32(kind);
    out.u32(short(data.len()));
    out.bytes(data);
}
