//! Which format a trace has, from its first bytes.

use std::path::Path;

use super::Format;
use super::formats::{blktrace, iotrace, oracle, vscsi};
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
    if blktrace::is_likely(head) {
        Some(Format::Blktrace)
    } else if vscsi::version(head).is_some() {
        Some(Format::Vscsi)
    } else if oracle::is_likely(head) {
        Some(Format::OracleGeneral)
    } else {
        None
    }
}

/// Whether there is nothing that text does not have.
fn is_text(head: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    !head.iter().take(4096).any(is_odd)
}

/// The first text format that finds I/O and nothing bad in the first lines, or else next to
/// nothing bad.
fn text(head: &[u8], is_whole: bool) -> Option<Format> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    // A line that goes on after the head must not be judged.
    let end = memchr::memrchr(b'\n', head).map(|at| at + 1);
    let head = if is_whole { head } else { &head[..end.unwrap_or(head.len())] };
    let is_line = |line: &&[u8]| !line.iter().all(u8::is_ascii_whitespace);
    let lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').filter(is_line).take(LINES).collect();
    if head.starts_with(b"BeginHeader") {
        return Some(Format::Etw);
    }
    if lines.first().is_some_and(|line| iotrace::is_header(line)) {
        return Some(Format::Iotrace);
    }
    let found = |format: &Format| Some((*format, understood(*format, head, &lines)?));
    let all: Vec<(Format, Understood)> = TEXT.iter().filter_map(found).collect();
    let best = all.iter().find(|(_, understood)| understood.bad == 0);
    // A trace may begin with a torn line.
    best.or_else(|| all.iter().find(|(_, understood)| understood.bad * 4 <= understood.good))
        .map(|(format, _)| *format)
}

/// Lines that a format makes I/O of, and lines it cannot use.
struct Understood {
    good: usize,
    bad: usize,
}

/// What `format` understands of the first lines; none if that is nothing.
fn understood(format: Format, head: &[u8], lines: &[&[u8]]) -> Option<Understood> {
    let mut parser = parser(format, head)?;
    let mut sink = Sink::new(format.name(), Path::new(""), u64::MAX);
    parser.begin(&mut sink);
    let mut bad = 0;
    for line in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        bad += usize::from(parser.line(line, &mut sink).is_err());
    }
    parser.end(&mut sink);
    let good = sink.records.len();
    (good > 0).then_some(Understood { good, bad })
}
