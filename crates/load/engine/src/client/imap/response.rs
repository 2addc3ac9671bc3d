//! Responses of an IMAP service: lines, and literals, whose bytes are counted and dropped.

use state_machine::CallError;

/// Most bytes of a line, without its literals. Our choice: several times what servers list as
/// capabilities or flags.
pub(super) const LINE_MAX: usize = 8 << 10;
/// Most bytes of all lines of a session. Our choice: 64 bytes for each of the 16,000 messages that
/// a session can be about.
pub(super) const TEXT_MAX: usize = 1 << 20;

/// Whole response, reduced to the facts that a session needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Response {
    /// End of a command.
    Tagged {
        tag: u32,
        status: Status,
        code: Code,
        offers_move: bool,
    },
    /// Status that belongs to no command, or the greeting.
    Untagged {
        status: Status,
        offers_move: bool,
    },
    /// Number of messages in the mailbox.
    Exists(u32),
    /// A message is gone, and the numbers of those behind are one lower.
    Expunged,
    Fetched {
        has_literal: bool,
    },
    /// Capabilities, asked for or not.
    Capability {
        offers_move: bool,
    },
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    No,
    Bad,
    Bye,
    /// Greeting of a service that asks for no login.
    Preauth,
}

/// Code in brackets behind a status, if a session acts on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    TryCreate,
    AlreadyExists,
    ExpungeIssued,
    Other,
}

/// Reader of responses, which holds one incomplete line.
#[derive(Debug)]
pub(super) struct Responses {
    pub(super) held: Vec<u8>,
    /// Bytes of all lines so far.
    text: usize,
    /// Most bytes of all literals.
    literals_max: u64,
    /// Bytes of all announced literals so far.
    literals: u64,
    /// Bytes of a literal that are still to come.
    pub(super) left: u64,
    /// Response that goes on behind its literal.
    begun: Option<Response>,
}

impl Responses {
    /// Creates a reader that refuses literals of more than so many bytes together.
    pub(super) const fn new(literals_max: u64) -> Self {
        Self { held: Vec::new(), text: 0, literals_max, literals: 0, left: 0, begun: None }
    }

    pub(super) const fn literal_bytes(&self) -> u64 {
        self.literals
    }

    /// Takes bytes up to the end of a line or of a literal. Returns the bytes that are left, and the
    /// response if it is whole.
    pub(super) fn take<'a>(
        &mut self,
        bytes: &'a [u8],
    ) -> Result<(&'a [u8], Option<Response>), CallError> {
        if self.left > 0 {
            let here = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
            self.left -= here as u64;
            return Ok((&bytes[here..], None));
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let here = end.map_or(bytes.len(), |end| end + 1);
        self.text += here;
        if self.held.len() + here > LINE_MAX || self.text > TEXT_MAX {
            return Err(CallError::Protocol);
        }
        self.held.extend_from_slice(&bytes[..here]);
        let response = if end.is_some() { self.end_line()? } else { None };
        Ok((&bytes[here..], response))
    }

    fn end_line(&mut self) -> Result<Option<Response>, CallError> {
        let line = self.held.strip_suffix(b"\n").unwrap_or(&self.held);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let response = match self.begun.take() {
            Some(begun) => begun,
            None => Response::parse(line).ok_or(CallError::Protocol)?,
        };
        // The text of a status has no literals, whatever it looks like.
        let may_go_on = !matches!(response, Response::Tagged { .. } | Response::Untagged { .. });
        let literal = if may_go_on { literal_of(line)? } else { None };
        self.held.clear();
        let Some(bytes) = literal else { return Ok(Some(response)) };
        self.literals = self.literals.saturating_add(bytes);
        if self.literals > self.literals_max {
            return Err(CallError::Protocol);
        }
        self.left = bytes;
        self.begun = Some(match response {
            Response::Fetched { .. } => Response::Fetched { has_literal: true },
            other => other,
        });
        Ok(None)
    }
}

impl Response {
    /// Reads the first line of a response; `None` if it is none that a client may get.
    fn parse(line: &[u8]) -> Option<Self> {
        let (first, rest) = word(line);
        let (second, behind) = word(rest);
        let status = Status::parse(second);
        if first != b"*" {
            let tag = std::str::from_utf8(first).ok()?.parse().ok()?;
            let (code, offers_move) = code_of(behind);
            return Some(Self::Tagged { tag, status: status?, code, offers_move });
        }
        if let Some(status) = status {
            return Some(Self::Untagged { status, offers_move: code_of(behind).1 });
        }
        if second.eq_ignore_ascii_case(b"CAPABILITY") {
            return Some(Self::Capability { offers_move: has_move(behind) });
        }
        if !second.first()?.is_ascii_digit() {
            return Some(Self::Other);
        }
        let number = std::str::from_utf8(second).ok()?.parse().ok()?;
        let (third, _) = word(behind);
        Some(match third.to_ascii_uppercase().as_slice() {
            b"EXISTS" => Self::Exists(number),
            b"EXPUNGE" => Self::Expunged,
            b"FETCH" => Self::Fetched { has_literal: false },
            _ => Self::Other,
        })
    }
}

impl Status {
    fn parse(word: &[u8]) -> Option<Self> {
        Some(match word.to_ascii_uppercase().as_slice() {
            b"OK" => Self::Ok,
            b"NO" => Self::No,
            b"BAD" => Self::Bad,
            b"BYE" => Self::Bye,
            b"PREAUTH" => Self::Preauth,
            _ => return None,
        })
    }
}

/// Splits at the first space.
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

/// Code in brackets at the beginning of a status's text, and whether the code lists MOVE.
fn code_of(text: &[u8]) -> (Code, bool) {
    let inside = text.strip_prefix(b"[").and_then(|rest| rest.split(|byte| *byte == b']').next());
    let (name, words) = word(inside.unwrap_or_default());
    match name.to_ascii_uppercase().as_slice() {
        b"TRYCREATE" => (Code::TryCreate, false),
        b"ALREADYEXISTS" => (Code::AlreadyExists, false),
        b"EXPUNGEISSUED" => (Code::ExpungeIssued, false),
        b"CAPABILITY" => (Code::Other, has_move(words)),
        _ => (Code::Other, false),
    }
}

fn has_move(capabilities: &[u8]) -> bool {
    capabilities.split(|byte| *byte == b' ').any(|own| own.eq_ignore_ascii_case(b"MOVE"))
}

/// Length of the literal that a line announces at its end, as `{3900}` (RFC 3501, section 4.3) or
/// `~{3900}` (RFC 3516).
fn literal_of(line: &[u8]) -> Result<Option<u64>, CallError> {
    let inside = line.strip_suffix(b"}").and_then(|rest| rest.rsplit(|byte| *byte == b'{').next());
    match inside {
        Some(digits) if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            number.map(Some).ok_or(CallError::Protocol)
        }
        _ => Ok(None),
    }
}
