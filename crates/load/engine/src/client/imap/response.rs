//! Parser for the responses of an IMAP service. Responses consist of lines and of literals, whose
//! bytes are counted and dropped.

use state_machine::CallError;

/// Maximum length of a line without its literals, in bytes. Our choice: several times the
/// capabilities or flags that servers list.
pub(in crate::client) const LINE_MAX: usize = 8 << 10;
/// Maximum total length of all lines of a session, in bytes. Our choice: 64 bytes for each of the
/// up to 16,000 messages of a session.
pub(in crate::client) const TEXT_MAX: usize = 1 << 20;

/// Complete response, reduced to the facts that a session needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::client) enum Response {
    /// Final status of a command.
    Tagged {
        tag: u32,
        status: Status,
        code: Code,
        offers_move: bool,
    },
    /// Status without a command's tag, or the greeting.
    Untagged {
        status: Status,
        offers_move: bool,
    },
    /// Number of messages in the mailbox.
    Exists(u32),
    /// A message was removed, and the sequence numbers of all later messages decrease by one.
    Expunged,
    Fetched {
        has_literal: bool,
    },
    /// Capabilities of the service, solicited or not.
    Capability {
        offers_move: bool,
    },
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::client) enum Status {
    Ok,
    No,
    Bad,
    Bye,
    /// Greeting of a service that needs no login.
    Preauth,
}

/// Response code in brackets after a status, reduced to the codes that a session acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::client) enum Code {
    TryCreate,
    AlreadyExists,
    ExpungeIssued,
    Other,
}

/// Reader of responses, which buffers one incomplete line.
#[derive(Debug)]
pub(in crate::client) struct Responses {
    pub(in crate::client) held: Vec<u8>,
    /// Total length of all lines so far, in bytes.
    text: usize,
    /// Maximum total size of all literals, in bytes.
    literals_max: u64,
    /// Total size of all announced literals so far, in bytes.
    literals: u64,
    /// Bytes of the current literal that are still to come.
    pub(in crate::client) left: u64,
    /// Response that continues after its literal.
    begun: Option<Response>,
}

impl Responses {
    /// Creates a reader that refuses more than `literals_max` bytes of literals in total.
    pub(in crate::client) const fn new(literals_max: u64) -> Self {
        Self { held: Vec::new(), text: 0, literals_max, literals: 0, left: 0, begun: None }
    }

    pub(in crate::client) const fn literal_bytes(&self) -> u64 {
        self.literals
    }

    /// Consumes bytes up to the end of a line or of a literal. Returns the remaining bytes, and the
    /// response if it is complete.
    pub(in crate::client) fn take<'a>(
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
    /// Parses the first line of a response; `None` if the line is not a valid response.
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

/// Splits a line at the first space.
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

/// Returns the code in brackets at the beginning of a status's text, and true if the code lists
/// MOVE.
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

/// Returns the length of the literal that a line announces at its end, as `{3900}` (RFC 3501,
/// section 4.3) or `~{3900}` (RFC 3516).
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
