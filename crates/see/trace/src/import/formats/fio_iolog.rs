//! fio's logs of I/O (`write_iolog`), versions 2 and 3.

use super::super::fields::{Words, io, moment, number};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use crate::{IoRecord, Operation};
use units::Nanos;

pub(super) static FORMAT: Kind = Kind::text::<FioIolog>(
    "fio-iolog",
    &["fio", "iolog"],
    "fio's write_iolog, version 2 (order, or times by waits) or 3 (us)",
);

const HEADER: &[u8] = b"fio version ";

/// After `fio version 2 iolog`: lines `file action [offset length]` in bytes, and `file wait us`,
/// counted from the previous wait. After `fio version 3 iolog`: the same lines, each after a time
/// in microseconds.
///
/// Version 2 without waits has no times: its records are only ordered references.
#[derive(Default)]
struct FioIolog {
    has_times: bool,
    is_version_3: bool,
    /// Sum of all waits so far, in microseconds.
    clock: u64,
}

impl FioIolog {
    fn push(&self, words: &[&[u8]], record: IoRecord, sink: &mut Sink) -> Result<(), Bad> {
        if !self.has_times {
            sink.push_next(record);
            return Ok(());
        }
        let us = if self.is_version_3 { number(words[0], "time")? } else { self.clock };
        sink.push(moment(us, 1_000, "time")?, record);
        Ok(())
    }

    /// Adds a wait. In a log that has no waits at its beginning, later waits are ignored.
    fn wait(&mut self, us: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let us = number(us, "wait")?;
        let sum = self.clock.checked_add(us).ok_or(Bad::new("wait", "is too large"))?;
        moment(sum, 1_000, "wait")?;
        self.clock = sum;
        sink.skip();
        Ok(())
    }
}

impl Line for FioIolog {
    /// Determines the version from the beginning, and for version 2 whether there are waits.
    fn begin(&mut self, head: &[u8], sink: &mut Sink) {
        self.is_version_3 = version(head) == Some(3);
        self.has_times = self.is_version_3 || memchr::memmem::find(head, b"wait ").is_some();
        if self.has_times {
            sink.real_times(1_000);
        }
        sink.nobody();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if line.starts_with(HEADER) {
            return match version(line) {
                Some(2 | 3) => {
                    sink.skip();
                    Ok(())
                }
                _ => Err(Bad::new("fio version", "is neither 2 nor 3")),
            };
        }
        let words = Words::of(line);
        let words = words.all();
        if let [.., b"wait", us] | [.., b"wait", us, _] = words
            && !self.is_version_3
        {
            return self.wait(us, sink);
        }
        let first = usize::from(self.is_version_3);
        if let [file @ .., b"add" | b"open" | b"close"] = words
            && file.len() > first
        {
            sink.skip();
            return Ok(());
        }
        let (file, operation, range) = action(words)?;
        let Some(name) = file.get(first..).filter(|name| !name.is_empty()) else {
            return Err(Bad::new("file", "is missing"));
        };
        let mut record = match range {
            Some((offset, bytes)) if operation != Operation::Flush => io(operation, offset, bytes)?,
            _ => IoRecord::new(Nanos::ZERO, operation, 0, 0),
        };
        record.device = sink.device(&name.join(&b' '));
        self.push(words, record, sink)
    }
}

type Action<'w, 'a> = (&'w [&'a [u8]], Operation, Option<(u64, u64)>);

/// Parses the words before the action, the operation, and its offset and length.
fn action<'w, 'a>(words: &'w [&'a [u8]]) -> Result<Action<'w, 'a>, Bad> {
    if let [before @ .., b"sync" | b"datasync"] = words {
        return Ok((before, Operation::Flush, None));
    }
    let [before @ .., action, offset, length] = words else {
        return Err(Bad::new("action", "is missing"));
    };
    let operation = match *action {
        b"read" => Operation::Read,
        b"write" => Operation::Write,
        b"trim" => Operation::Discard,
        b"sync" | b"datasync" => Operation::Flush,
        _ => return Err(Bad::new("action", "is not known")),
    };
    Ok((before, operation, Some((number(offset, "offset")?, number(length, "length")?))))
}

/// Parses the version of a log from its first line.
pub(in super::super) fn version(head: &[u8]) -> Option<u8> {
    let rest = head.strip_prefix(HEADER)?;
    match rest {
        [digit @ b'0'..=b'9', b' ', b'i', b'o', b'l', b'o', b'g', ..] => Some(digit - b'0'),
        _ => None,
    }
}
