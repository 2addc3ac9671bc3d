//! Replies of an SMTP service: lines `250-text`, then a last line `250 text`.

use state_machine::CallError;

/// Maximum length of a line, in bytes. RFC 5321 (section 4.5.3.1.5) has 512; twice that is our
/// choice.
pub(in crate::client) const LINE_MAX: usize = 1024;
/// Maximum number of lines of a reply. Our choice: several times the extensions that servers list.
pub(in crate::client) const LINES_MAX: usize = 100;

/// Complete reply.
#[derive(Debug, Clone, Copy)]
pub(in crate::client) struct Reply {
    pub(in crate::client) code: u16,
    /// True if a line after the first is the word PIPELINING, as in a reply to EHLO.
    pub(in crate::client) offers_pipelining: bool,
    /// Total size of all lines, in bytes.
    pub(in crate::client) bytes: u64,
}

/// Reader of replies, which buffers one incomplete line.
#[derive(Debug, Default)]
pub(in crate::client) struct Replies {
    held: Vec<u8>,
    lines: usize,
    /// Incomplete reply, with its lines so far.
    reply: Option<Reply>,
}

impl Replies {
    /// Consumes bytes up to the end of a line. Returns the remaining bytes, and the reply if the
    /// line was its last one. A reply of more than `most` bytes is an error.
    pub(in crate::client) fn take<'a>(
        &mut self,
        bytes: &'a [u8],
        most: u64,
    ) -> Result<(&'a [u8], Option<Reply>), CallError> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let here = end.map_or(bytes.len(), |end| end + 1);
        if self.held.len() + here > LINE_MAX {
            return Err(CallError::Protocol);
        }
        self.held.extend_from_slice(&bytes[..here]);
        let so_far = self.reply.map_or(0, |reply| reply.bytes) + self.held.len() as u64;
        if so_far > most {
            return Err(CallError::Protocol);
        }
        let reply = if end.is_some() { self.end_line()? } else { None };
        Ok((&bytes[here..], reply))
    }

    fn end_line(&mut self) -> Result<Option<Reply>, CallError> {
        let line = Line::parse(&self.held).ok_or(CallError::Protocol)?;
        let is_other = |reply: &Reply| reply.code != line.code;
        self.lines += 1;
        if self.lines > LINES_MAX || self.reply.as_ref().is_some_and(is_other) {
            return Err(CallError::Protocol);
        }
        let before = self.reply.take();
        let offers = before.is_some() && line.text.eq_ignore_ascii_case(b"PIPELINING");
        let reply = Reply {
            code: line.code,
            offers_pipelining: offers || before.is_some_and(|own| own.offers_pipelining),
            bytes: before.map_or(0, |own| own.bytes) + self.held.len() as u64,
        };
        let is_last = line.is_last;
        self.held.clear();
        if is_last {
            self.lines = 0;
            return Ok(Some(reply));
        }
        self.reply = Some(reply);
        Ok(None)
    }
}

struct Line<'a> {
    code: u16,
    is_last: bool,
    text: &'a [u8],
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (code, rest) = line.split_at_checked(3)?;
        let code: u16 = std::str::from_utf8(code).ok()?.parse().ok()?;
        // The first digit is 2 to 5 (RFC 5321, section 4.2.1).
        if !(200..600).contains(&code) {
            return None;
        }
        let (is_last, text) = match rest.split_first() {
            None => (true, rest),
            Some((b' ', text)) => (true, text),
            Some((b'-', text)) => (false, text),
            Some(_) => return None,
        };
        Some(Self { code, is_last, text: text.trim_ascii() })
    }
}
