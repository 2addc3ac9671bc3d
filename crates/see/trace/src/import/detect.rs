//! Which format a trace has, from its first bytes.

use std::path::Path;

use super::Format;
use super::foreign::{self, Foreign};
use super::formats::{blktrace, iotrace, oracle, vscsi};
use super::lines::BYTE_ORDER_MARK;
use super::plausible::is_plausible;
use super::sink::Sink;
use super::text::{TEXT, parser};

/// Lines that a format must understand to be taken.
const LINES: usize = 32;

/// What the first bytes of a file tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// One format fits.
    One(Format),
    /// Several fit equally well.
    Several(Vec<Format>),
    /// No trace, but a file that is known.
    Foreign(Foreign),
    /// Nothing fits.
    Nothing,
}

/// The format whose traces begin like `head`; `is_whole` when that is the whole trace. Messages
/// call the file `name`, which tells logs of fio apart.
pub(super) fn detect(head: &[u8], is_whole: bool, name: &Path) -> Found {
    if is_text(head) {
        return text(head, is_whole, name);
    }
    if blktrace::is_likely(head) {
        Found::One(Format::Blktrace)
    } else if vscsi::is_likely(head) {
        Found::One(Format::Vscsi)
    } else if oracle::is_likely(head) {
        Found::One(Format::OracleGeneral)
    } else {
        foreign::binary(head).map_or(Found::Nothing, Found::Foreign)
    }
}

/// Whether there is nothing that text does not have.
fn is_text(head: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let is_utf_16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    !is_utf_16 && !head.iter().take(4096).any(is_odd)
}

/// The text format that finds I/O and nothing bad in the first lines, or else next to nothing bad.
fn text(head: &[u8], is_whole: bool, name: &Path) -> Found {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    // A line that goes on after the head must not be judged.
    let end = memchr::memrchr(b'\n', head).map(|at| at + 1);
    let head = if is_whole { head } else { &head[..end.unwrap_or(head.len())] };
    let lines: Vec<&[u8]> = head
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
        .take(LINES)
        .collect();
    if head.starts_with(b"BeginHeader") {
        return Found::One(Format::Etw);
    }
    if lines.first().is_some_and(|line| iotrace::is_header(line)) {
        return Found::One(Format::Iotrace);
    }
    if let Some(foreign) = foreign::text(&lines, name) {
        return Found::Foreign(foreign);
    }
    let found = |format: &Format| Some((*format, understood(*format, head, &lines)?));
    let mut all: Vec<(Format, Understood)> = TEXT.iter().filter_map(found).collect();
    // A trace may begin with a torn line.
    all.retain(|(_, understood)| understood.bad * 4 <= understood.good);
    let Some(least) = all.iter().map(|(_, understood)| understood.bad).min() else {
        return Found::Nothing;
    };
    all.retain(|(_, understood)| understood.bad == least);
    match &all[..] {
        [(format, _)] => Found::One(*format),
        several => Found::Several(several.iter().map(|(format, _)| *format).collect()),
    }
}

/// Lines that a format makes I/O of, and lines it cannot use.
struct Understood {
    good: usize,
    bad: usize,
}

/// What `format` understands of the first lines; none if that is nothing, or not to be believed.
fn understood(format: Format, head: &[u8], lines: &[&[u8]]) -> Option<Understood> {
    let mut parser = parser(format, head)?;
    let mut sink = Sink::new(format.name(), Path::new(""), u64::MAX);
    parser.begin(&mut sink);
    let mut bad = 0;
    for line in lines {
        bad += usize::from(parser.line(line, &mut sink).is_err());
    }
    parser.end(&mut sink);
    let good = sink.records.len();
    (good > 0 && is_plausible(format, lines)).then_some(Understood { good, bad })
}
