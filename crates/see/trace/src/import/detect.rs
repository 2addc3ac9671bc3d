//! Detects the format of a trace by its first bytes.

use std::path::Path;

use super::Format;
use super::foreign::{self, Foreign};
use super::kind::{Detect, Understood};
use super::lines::BYTE_ORDER_MARK;

/// Number of lines that are examined.
const LINES: usize = 32;

/// Result of a detection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Detection {
    /// A single format matches.
    One(Format),
    /// Several formats match equally well.
    Several(Vec<Format>),
    /// A file of a known kind that is not a trace.
    Foreign(Foreign),
    /// No format matches.
    Nothing,
}

/// Detects the format of a trace that begins with `head`; `is_whole` is true if `head` is the whole
/// trace. `name` is the file's name in messages, and also identifies logs of fio.
pub(super) fn detect(head: &[u8], is_whole: bool, name: &Path) -> Detection {
    if is_text(head) {
        return text(head, is_whole, name);
    }
    let is_likely = |format: &Format| matches!(format.0.detect, Detect::Binary(is) if is(head));
    match Format::all().find(is_likely) {
        Some(format) => Detection::One(format),
        None => foreign::binary(head).map_or(Detection::Nothing, Detection::Foreign),
    }
}

/// Returns true if the bytes are plausible text.
fn is_text(head: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let is_utf_16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    !is_utf_16 && !head.iter().take(4096).any(is_odd)
}

/// Finds the text format that recognises I/O in the first lines without any bad line, or otherwise
/// with the fewest bad lines.
fn text(head: &[u8], is_whole: bool, name: &Path) -> Detection {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    // A line that continues after the head must not be judged.
    let end = memchr::memrchr(b'\n', head).map(|at| at + 1);
    let head = if is_whole { head } else { &head[..end.unwrap_or(head.len())] };
    let lines: Vec<&[u8]> = head
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
        .take(LINES)
        .collect();
    let begins = |format: &Format| match format.0.detect {
        Detect::Text { is_header, .. } => lines.first().is_some_and(|line| is_header(line)),
        Detect::Binary(_) => false,
    };
    if let Some(format) = Format::all().find(begins) {
        return Detection::One(format);
    }
    if let Some(foreign) = foreign::text(&lines, name) {
        return Detection::Foreign(foreign);
    }
    let found = |format: Format| match format.0.detect {
        Detect::Text { understood, .. } => Some((format, understood(head, &lines)?)),
        Detect::Binary(_) => None,
    };
    let mut all: Vec<(Format, Understood)> = Format::all().filter_map(found).collect();
    // A trace may begin with a torn line.
    all.retain(|(_, understood)| understood.bad * 4 <= understood.good);
    let Some(least) = all.iter().map(|(_, understood)| understood.bad).min() else {
        return Detection::Nothing;
    };
    all.retain(|(_, understood)| understood.bad == least);
    match &all[..] {
        [(format, _)] => Detection::One(*format),
        several => Detection::Several(several.iter().map(|(format, _)| *format).collect()),
    }
}
