//! Text formats, which are read line by line.

use std::fmt;

use memchr::memchr;

use super::importer::Decode;
use super::input::Input;
use super::sink::{Bad, Sink};
use crate::TraceError;

/// Byte order mark of UTF-8, which some editors put before the first line.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parser of one format's lines.
pub(super) trait Line: Default + Send {
    /// Sets everything that is known before the first line is parsed; the trace begins with `head`.
    fn begin(&mut self, head: &[u8], sink: &mut Sink);

    /// Converts a line to a record or a skipped row. The line has no line end and is not blank.
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad>;

    /// Hands out records that were held back.
    fn end(&mut self, _sink: &mut Sink) {}

    /// Returns true if a text that begins with this line certainly has this format.
    fn is_header(_first: &[u8]) -> bool {
        false
    }

    /// Returns true if the understood lines are plausible. `lines` are the first lines of the text;
    /// the first of them may be incomplete. Formats whose lines are mostly numbers need rules here,
    /// because any table of numbers could be mistaken for them.
    fn is_plausible(_lines: &[&[u8]]) -> bool {
        true
    }
}

/// Position of a line, for messages.
struct LinePosition {
    line: u64,
    byte: u64,
}

impl fmt::Display for LinePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} (byte {})", self.line, self.byte)
    }
}

/// Decoder that applies a [`Line`] parser to an input.
pub(super) struct Lines<L> {
    input: Input,
    format: L,
    /// Number of lines so far.
    count: u64,
}

impl<L: Line> Lines<L> {
    pub(super) fn new(input: Input, sink: &mut Sink) -> Self {
        let mut format = L::default();
        format.begin(input.bytes(), sink);
        Self { input, format, count: 0 }
    }

    /// Parses all complete lines of the buffer.
    fn whole_lines(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        let bytes = self.input.bytes();
        let mut start = 0;
        while let Some(length) = memchr(b'\n', &bytes[start..]) {
            let line = &bytes[start..start + length];
            self.count += 1;
            if let Err(bad) = one(&mut self.format, line, sink) {
                let byte = self.input.offset() + start as u64;
                sink.bad(LinePosition { line: self.count, byte }, bad, line)?;
            }
            start += length + 1;
        }
        self.input.consume(start);
        Ok(())
    }

    /// Parses the last line, which has no line end.
    fn rest(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        let line = self.input.bytes();
        if line.is_empty() {
            return Ok(());
        }
        self.count += 1;
        let place = LinePosition { line: self.count, byte: self.input.offset() };
        if one(&mut self.format, line, sink).is_err() {
            sink.bad(place, Bad::new("last line", "is cut short"), line)?;
        }
        self.input.consume(line.len());
        Ok(())
    }

    /// Skips a line longer than the buffer, and counts it as one bad line.
    fn long_line(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        self.count += 1;
        let place = LinePosition { line: self.count, byte: self.input.offset() };
        sink.bad(place, Bad::new("line", "is longer than 256 KiB"), self.input.bytes())?;
        loop {
            match memchr(b'\n', self.input.bytes()) {
                Some(length) => {
                    self.input.consume(length + 1);
                    return Ok(());
                }
                None => self.input.consume(self.input.bytes().len()),
            }
            if !self.input.fill()? {
                return Ok(());
            }
        }
    }
}

/// Parses a line; carriage returns and blank lines are handled here for all formats.
#[inline]
fn one<L: Line>(format: &mut L, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        sink.skip();
        return Ok(());
    }
    format.line(line, sink)
}

impl<L: Line> Decode for Lines<L> {
    fn step(&mut self, sink: &mut Sink) -> Result<bool, TraceError> {
        // After this, the buffer is full, or the trace has ended.
        self.input.fill()?;
        if self.count == 0 && self.input.bytes().starts_with(BYTE_ORDER_MARK) {
            self.input.consume(BYTE_ORDER_MARK.len());
        }
        if memchr(b'\n', self.input.bytes()).is_some() {
            self.whole_lines(sink)?;
            return Ok(true);
        }
        if self.input.is_full() {
            self.long_line(sink)?;
            return Ok(true);
        }
        self.rest(sink)?;
        self.format.end(sink);
        if self.input.is_cut() {
            let place = format!("byte {}", self.input.offset());
            sink.bad(place, Bad::new("compressed trace", "is cut short here"), &[])?;
        }
        Ok(false)
    }
}
