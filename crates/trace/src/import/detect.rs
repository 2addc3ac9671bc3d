//! Which format a trace has, from its first bytes.

use std::path::Path;

use super::Format;
use super::formats::vscsi;
use super::lines::BYTE_ORDER_MARK;
use super::sink::Sink;
use super::text::{TEXT, parser};

/// Lines that a format must understand to be taken.
const LINES: usize = 32;

/// The format whose traces begin like `head`; `is_whole` when that is the whole trace.
pub(super) fn detect(head: &[u8], is_whole: bool) -> Option<Format> {
    if is_text(head) {
        return text(head, is_whole);
    }
    vscsi::version(head).map(|_| Format::Vscsi)
}

/// Whether there is nothing that text does not have.
fn is_text(head: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    !head.iter().take(4096).any(is_odd)
}

/// The first text format that finds an I/O and nothing bad in the first lines.
fn text(head: &[u8], is_whole: bool) -> Option<Format> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    // A line that goes on after the head must not be judged.
    let end = memchr::memrchr(b'\n', head).map(|at| at + 1);
    let head = if is_whole { head } else { &head[..end.unwrap_or(head.len())] };
    let is_line = |line: &&[u8]| !line.iter().all(u8::is_ascii_whitespace);
    let lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').filter(is_line).take(LINES).collect();
    TEXT.into_iter().find(|format| understands(*format, &lines))
}

fn understands(format: Format, lines: &[&[u8]]) -> bool {
    let Some(mut parser) = parser(format) else { return false };
    let mut sink = Sink::new(format.name(), Path::new(""), u64::MAX);
    parser.begin(&mut sink);
    let is_good = |line: &&[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        parser.line(line, &mut sink).is_ok()
    };
    lines.iter().all(is_good) && {
        parser.end(&mut sink);
        !sink.records.is_empty()
    }
}
