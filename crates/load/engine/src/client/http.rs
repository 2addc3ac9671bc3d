//! HTTP/1.1 (RFC 9112), plain or over TLS. A call is a GET, or a POST with a generated body. An answer
//! succeeds with a status of 200 to 299. Redirects are not followed and count as failures.
//!
//! The text of a call is `PATH`, or `POST PATH BYTES`, such as `POST items 65536`. The bytes of a
//! body are random numbers, so bodies are neither equal nor compressible.

use httparse::{EMPTY_HEADER, Header, Response, Status};
use state_machine::{CallError, SplitMix, mix};

use super::{Address, Answer, Ask, Client, Encryption, Logins, Protocol};

pub(super) static HTTP: Protocol = Protocol {
    name: "http",
    word: "http",
    port: 80,
    has_path: true,
    query: None,
    logins: Logins::None,
    encryption: Encryption::None,
    client: |address, _| Box::new(Http::new(address)),
};

pub(super) static HTTPS: Protocol =
    Protocol { name: "https", port: 443, encryption: Encryption::AtOnce, ..HTTP };

/// Maximum size of a response's head, and of the trailers of a chunked body, in bytes. Our choice:
/// twice the maximum of common servers.
const HEAD_MAX: usize = 16 << 10;
/// Maximum number of fields in a head, as in hyper.
const FIELDS_MAX: usize = 100;
/// Maximum length of a chunk's size line with its extensions, or of one trailer, in bytes. Our
/// choice.
const LINE_MAX: usize = 4096;

/// Maximum size of a request's body, in bytes. Our choice: a body is generated in memory on the
/// worker's own thread, at some GB/s.
const BODY_MAX: usize = 1 << 20;

/// Client side of one connection.
#[derive(Debug)]
struct Http {
    path: String,
    /// Part of the request's head after the path, without the empty line.
    rest: String,
    /// True if the call is a GET.
    is_get: bool,
    /// Maximum size of the answer's body, in bytes.
    size: u64,
    /// Received bytes of an incomplete head, or of an incomplete line of a chunked body.
    held: Vec<u8>,
    expects: Expects,
    /// Status of the answer; 0 until it arrives.
    code: u16,
    is_good: bool,
    can_go_on: bool,
    /// Bytes of the body received so far.
    bytes: u64,
    /// Bytes of trailers received so far.
    trailers: usize,
}

/// Expected next part of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Head,
    /// This many bytes until the end of the answer.
    Rest(u64),
    /// All bytes until the connection is closed.
    End,
    ChunkSize,
    /// This many bytes of a chunk, followed by an end of line.
    Chunk(u64),
    ChunkEnd,
    Trailer,
    /// Nothing: the answer is complete.
    Nothing,
}

impl Http {
    fn new(address: &Address) -> Self {
        let rest = format!(
            " HTTP/1.1\r\nHost: {}\r\nUser-Agent: tilemark/{}\r\nAccept: */*\r\n",
            address.authority(),
            env!("CARGO_PKG_VERSION")
        );
        Self {
            path: address.path().to_owned(),
            rest,
            is_get: true,
            size: 0,
            held: Vec::new(),
            expects: Expects::Nothing,
            code: 0,
            is_good: false,
            can_go_on: false,
            bytes: 0,
            trailers: 0,
        }
    }

    /// Consumes the bytes of the next part. Returns the remaining bytes.
    fn part<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], CallError> {
        match self.expects {
            Expects::Nothing => Ok(bytes),
            Expects::Head => self.head(bytes),
            Expects::Rest(left) => {
                let (taken, rest) = self.body(left, bytes)?;
                self.expects = rest_of(left - taken);
                Ok(rest)
            }
            Expects::End => Ok(self.body(u64::MAX, bytes)?.1),
            Expects::Chunk(left) => {
                let (taken, rest) = self.body(left, bytes)?;
                let left = left - taken;
                self.expects = if left > 0 { Expects::Chunk(left) } else { Expects::ChunkEnd };
                Ok(rest)
            }
            Expects::ChunkSize | Expects::ChunkEnd | Expects::Trailer => self.line(bytes),
        }
    }

    /// Counts at most `left` bytes of the body. Returns their number, and the remaining bytes.
    fn body<'a>(&mut self, left: u64, bytes: &'a [u8]) -> Result<(u64, &'a [u8]), CallError> {
        let here = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        self.grow(here as u64)?;
        Ok((here as u64, &bytes[here..]))
    }

    fn grow(&mut self, more: u64) -> Result<(), CallError> {
        self.bytes = self.bytes.saturating_add(more);
        self.fits(0)
    }

    /// Checks that `more` bytes stay within the size limit of the answer.
    fn fits(&self, more: u64) -> Result<(), CallError> {
        let is_short = self.bytes.saturating_add(more) <= self.size;
        if is_short { Ok(()) } else { Err(CallError::Protocol) }
    }

    fn head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], CallError> {
        let before = self.held.len();
        let room = (HEAD_MAX - before).min(bytes.len());
        self.held.extend_from_slice(&bytes[..room]);
        let mut fields = [EMPTY_HEADER; FIELDS_MAX];
        let mut response = Response::new(&mut fields);
        match response.parse(&self.held) {
            Ok(Status::Complete(length)) => {
                let framing = Framing::of(&response)?;
                self.held.clear();
                self.begin_body(framing)?;
                Ok(&bytes[length - before..])
            }
            Ok(Status::Partial) if self.held.len() < HEAD_MAX => Ok(&[]),
            _ => Err(CallError::Protocol),
        }
    }

    fn begin_body(&mut self, framing: Framing) -> Result<(), CallError> {
        let Framing { code, body, can_go_on } = framing;
        // No request asked to switch protocols.
        if code == 101 {
            return Err(CallError::Protocol);
        }
        self.code = code;
        let is_only_news = code < 200;
        self.is_good = is_only_news || code < 300;
        self.can_go_on = can_go_on;
        self.expects = if is_only_news { Expects::Head } else { body };
        if let Expects::Rest(length) = self.expects {
            self.fits(length)?;
        }
        Ok(())
    }

    fn line<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], CallError> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let here = end.map_or(bytes.len(), |end| end + 1);
        if self.held.len() + here > LINE_MAX {
            return Err(CallError::Protocol);
        }
        self.held.extend_from_slice(&bytes[..here]);
        if end.is_some() {
            self.whole_line()?;
            self.held.clear();
        }
        Ok(&bytes[here..])
    }

    fn whole_line(&mut self) -> Result<(), CallError> {
        let is_empty = matches!(&self.held[..], b"\r\n" | b"\n");
        self.expects = match self.expects {
            Expects::ChunkEnd if is_empty => Expects::ChunkSize,
            Expects::ChunkSize => match httparse::parse_chunk_size(&self.held) {
                Ok(Status::Complete((_, 0))) => Expects::Trailer,
                Ok(Status::Complete((_, length))) => {
                    self.fits(length)?;
                    Expects::Chunk(length)
                }
                _ => return Err(CallError::Protocol),
            },
            Expects::Trailer if is_empty => Expects::Nothing,
            Expects::Trailer if self.trailers + self.held.len() <= HEAD_MAX => {
                self.trailers += self.held.len();
                Expects::Trailer
            }
            _ => return Err(CallError::Protocol),
        };
        Ok(())
    }

    fn verdict(&self) -> Result<u64, CallError> {
        if self.is_good { Ok(self.bytes) } else { Err(CallError::Status) }
    }
}

impl Client for Http {
    fn call(&mut self, ask: Ask<'_>, out: &mut Vec<u8>) {
        let slash = if self.path.contains('?') || self.path.ends_with('/') { "" } else { "/" };
        let text = ask.filled();
        let posted = text.as_deref().and_then(posted);
        self.is_get = posted.is_none();
        let (verb, below) = match posted {
            Some((path, _)) => ("POST ", Some(path)),
            None => ("GET ", text.as_deref()),
        };
        let below = below.map_or(["", ""], |text| [slash, text]);
        for part in [verb, &self.path, below[0], below[1], &self.rest] {
            out.extend_from_slice(part.as_bytes());
        }
        if let Some((_, bytes)) = posted {
            let fields =
                format!("Content-Type: application/octet-stream\r\nContent-Length: {bytes}\r\n");
            out.extend_from_slice(fields.as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        write_body(posted.map_or(0, |(_, bytes)| bytes), ask.draws.call, out);
        self.held.clear();
        (self.size, self.bytes, self.trailers) = (u64::from(ask.size), 0, 0);
        (self.expects, self.is_good) = (Expects::Head, true);
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Option<Answer> {
        let mut rest = bytes;
        while !rest.is_empty() && self.expects != Expects::Nothing {
            match self.part(rest) {
                Ok(left) => rest = left,
                // Once the status is bad, the rest of the answer does not matter.
                Err(_) if !self.is_good => return Some(Answer::failed(CallError::Status)),
                Err(error) => return Some(Answer::failed(error)),
            }
        }
        // Bytes behind an answer belong to no call, so the connection cannot be trusted.
        let can_go_on = self.can_go_on && rest.is_empty();
        let is_whole = self.expects == Expects::Nothing;
        is_whole.then(|| Answer { result: self.verdict(), can_go_on })
    }

    /// Returns true for a GET, which changes nothing (RFC 9110, section 9.2.2). A POST may change
    /// something.
    fn may_repeat(&self) -> bool {
        self.is_get
    }

    fn refusal(&self) -> Option<String> {
        (!self.is_good).then(|| format!("status {}", self.code))
    }

    fn ended(&mut self) -> Answer {
        match self.expects {
            Expects::End => Answer { result: self.verdict(), can_go_on: false },
            _ => Answer::failed(CallError::Closed),
        }
    }
}

/// Returns the path and the body's size of `POST PATH BYTES`; `None` if the text is only a path.
fn posted(text: &str) -> Option<(&str, usize)> {
    let (path, bytes) = text.strip_prefix("POST ")?.rsplit_once(' ')?;
    let bytes = bytes.parse().ok().filter(|bytes| (1..=BODY_MAX).contains(bytes))?;
    Some((path, bytes))
}

/// Appends a generated body. Equal seeds give equal bodies.
fn write_body(bytes: usize, seed: u64, out: &mut Vec<u8>) {
    let end = out.len() + bytes;
    out.reserve(bytes + size_of::<u64>());
    for number in SplitMix(mix(seed)).take(bytes.div_ceil(size_of::<u64>())) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.truncate(end);
}

/// Framing of the body, as given by a response's head (RFC 9112, section 6.3).
struct Framing {
    code: u16,
    body: Expects,
    can_go_on: bool,
}

impl Framing {
    fn of(response: &Response<'_, '_>) -> Result<Self, CallError> {
        let code = response.code.ok_or(CallError::Protocol)?;
        let fields = &*response.headers;
        let length = length_of(fields)?;
        let coding = last(fields, "transfer-encoding");
        let body = match (coding, length) {
            _ if matches!(code, 100..200 | 204 | 304) => Expects::Nothing,
            (Some(coding), _) if coding.eq_ignore_ascii_case(b"chunked") => Expects::ChunkSize,
            (Some(_), _) => return Err(CallError::Protocol),
            (None, Some(length)) => rest_of(length),
            (None, None) => Expects::End,
        };
        let says = |word| tokens(fields, "connection").any(|own| own.eq_ignore_ascii_case(word));
        let stays = if response.version == Some(1) { !says(b"close") } else { says(b"keep-alive") };
        // A head with both a length and a coding is a known way to smuggle responses.
        let is_plain = coding.is_none() || length.is_none();
        Ok(Self { code, body, can_go_on: stays && is_plain && body != Expects::End })
    }
}

const fn rest_of(length: u64) -> Expects {
    if length > 0 { Expects::Rest(length) } else { Expects::Nothing }
}

/// Returns the comma-separated words of all fields with this name.
fn tokens<'a>(fields: &'a [Header<'a>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let own = fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
    own.flat_map(|field| field.value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

fn last<'a>(fields: &'a [Header<'a>], name: &'a str) -> Option<&'a [u8]> {
    tokens(fields, name).last()
}

/// Returns the content length in a head. The head may give it several times with the same value.
fn length_of(fields: &[Header<'_>]) -> Result<Option<u64>, CallError> {
    let mut found = None;
    for word in tokens(fields, "content-length") {
        let is_number = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(word).ok().filter(|_| is_number);
        let number = number.and_then(|word| word.parse().ok()).ok_or(CallError::Protocol)?;
        if found.is_some_and(|other| other != number) {
            return Err(CallError::Protocol);
        }
        found = Some(number);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use state_machine::{Draws, RequestText};

    fn client() -> Http {
        Http::new(&Address::parse("http://web:81/a?b", "http").expect("an address"))
    }

    /// Feeds a service's bytes to a client in pieces of the lengths from `cut`, then closes.
    /// Returns the answer.
    fn answered(client: &mut Http, bytes: &[u8], mut cut: impl FnMut() -> usize) -> Answer {
        client.call(Ask { text: None, draws: Draws::default(), size: 100 }, &mut Vec::new());
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(cut().clamp(1, rest.len()));
            if let Some(answer) = client.take(now, &mut Vec::new()) {
                return Answer { can_go_on: answer.can_go_on && later.is_empty(), ..answer };
            }
            assert!(client.held.len() <= HEAD_MAX, "{} held", client.held.len());
            rest = later;
        }
        client.ended()
    }

    fn whole(text: &str) -> Answer {
        let at_once = answered(&mut client(), text.as_bytes(), || usize::MAX);
        let in_bytes = answered(&mut client(), text.as_bytes(), || 1);
        assert_eq!(at_once.result, in_bytes.result, "{text}");
        at_once
    }

    #[test]
    fn a_call_is_a_get_of_the_path_with_its_host() {
        let mut out = Vec::new();
        client().call(Ask { text: None, draws: Draws::default(), size: 1 }, &mut out);
        let text = String::from_utf8(out).expect("text");
        assert!(text.starts_with("GET /a?b HTTP/1.1\r\nHost: web:81\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }

    #[test]
    fn asked_path_is_below_that_of_the_address() {
        for (address, path) in [
            ("http://web", "/items?page=2"),
            ("http://web/shop", "/shop/items?page=2"),
            ("http://web/shop/", "/shop/items?page=2"),
            ("http://web/find?q=", "/find?q=items?page=2"),
        ] {
            let mut http = Http::new(&Address::parse(address, "http").expect("an address"));
            let mut out = Vec::new();
            let text = RequestText::parse("items?page=2").expect("a text");
            http.call(Ask { text: Some(&text), draws: Draws::default(), size: 1 }, &mut out);
            let text = String::from_utf8(out).expect("text");
            assert!(text.starts_with(&format!("GET {path} HTTP/1.1\r\nHost: web\r\n")), "{text}");
        }
    }

    /// Returns the request of a call, split after its head.
    fn posted_request(http: &mut Http, text: &str, call: u64) -> (String, Vec<u8>) {
        let (mut out, draws) = (Vec::new(), Draws { call, action: 0 });
        let text = RequestText::parse(text).expect("a text");
        http.call(Ask { text: Some(&text), draws, size: 1 }, &mut out);
        let end = out.windows(4).position(|part| part == b"\r\n\r\n").expect("an end") + 4;
        let body = out.split_off(end);
        (String::from_utf8(out).expect("text"), body)
    }

    #[test]
    fn posted_body_has_its_size_and_no_other_has_it() {
        let mut http = client();
        let (head, body) = posted_request(&mut http, "POST add?tag={7..7} 65531", 1);
        assert!(head.starts_with("POST /a?badd?tag=7 HTTP/1.1\r\nHost: web:81\r\n"), "{head}");
        assert!(head.contains("\r\nContent-Length: 65531\r\n"), "{head}");
        assert_eq!((body.len(), http.may_repeat()), (65531, false));
        let mut seen: Vec<&[u8]> = body.chunks_exact(8).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 65531 / 8, "numbers repeat");
        assert_ne!(posted_request(&mut http, "POST add 65531", 2).1, body);
        assert_eq!(posted_request(&mut http, "POST add 65531", 1).1, body);
        let (head, body) = posted_request(&mut http, "POST", 1);
        assert!(head.starts_with("GET /a?bPOST "), "{head}");
        assert_eq!((body.len(), http.may_repeat()), (0, true));
    }

    #[test]
    fn answer_ends_as_its_head_says_and_then_allows_another() {
        let good = |bytes, can_go_on| Answer { result: Ok(bytes), can_go_on };
        for (text, means) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", good(5, true)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", good(5, true)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello?", good(5, false)),
            ("HTTP/1.1 204 Gone\r\nContent-Length: 5\r\n\r\n", good(0, true)),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: a, Close\r\n\r\n",
                good(0, false),
            ),
            ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", good(1, false)),
            (
                "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx",
                good(1, true),
            ),
            ("HTTP/1.1 200 OK\r\n\r\nuntil the end", good(13, false)),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                good(0, true),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n\
                 5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n",
                good(6, true),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n0\r\n\r\n",
                good(0, false),
            ),
        ] {
            assert_eq!(whole(text), means, "{text}");
        }
    }

    #[test]
    fn what_is_no_good_answer_is_told_by_its_reason() {
        let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(HEAD_MAX));
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(FIELDS_MAX + 1));
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let extended = format!("{chunks}1;{}\r\nx\r\n", "x".repeat(LINE_MAX));
        let trailers = format!("{chunks}0\r\n{}", "A: b\r\n".repeat(HEAD_MAX / 6 + 1));
        for (text, error) in [
            ("HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", CallError::Status),
            (
                "HTTP/1.1 302 Away\r\nLocation: http://other/\r\nContent-Length: 0\r\n\r\n",
                CallError::Status,
            ),
            ("HTTP/1.1 404 No\r\nContent-Length: 999999\r\n\r\n", CallError::Status),
            ("HTTP/1.1 101 Switching\r\n\r\n", CallError::Protocol),
            ("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", CallError::Protocol),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", CallError::Protocol),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", CallError::Protocol),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
                CallError::Protocol,
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", CallError::Protocol),
            ("SSH-2.0-OpenSSH_9.6\r\n", CallError::Protocol),
            (&long, CallError::Protocol),
            (&many, CallError::Protocol),
            (&extended, CallError::Protocol),
            (&trailers, CallError::Protocol),
            (&format!("{chunks}65\r\n"), CallError::Protocol),
            (&format!("{chunks}ffffffffffffffff\r\n"), CallError::Protocol),
            (&format!("{chunks}1\r\nxy\r\n"), CallError::Protocol),
            (&format!("{chunks}5\r\nhel"), CallError::Closed),
            (&format!("{}{}", "HTTP/1.1 200 OK\r\n\r\n", "x".repeat(101)), CallError::Protocol),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", CallError::Closed),
            ("HTTP/1.1 200 OK\r\nContent-", CallError::Closed),
            ("", CallError::Closed),
        ] {
            assert_eq!(whole(text), Answer::failed(error).with_rest_of(text), "{text:.200}");
        }
    }

    impl Answer {
        /// Checks that a complete answer with a bad status leaves its connection usable.
        fn with_rest_of(self, text: &str) -> Self {
            let is_whole = text.ends_with("\r\n\r\nno") || text.contains("Away");
            Self { can_go_on: is_whole, ..self }
        }
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_changes_no_answer_and_none_is_too_long(
            pieces in prop::collection::vec(
                prop_oneof![
                    Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
                    Just(b"HTTP/1.1 100 Go\r\n\r\n".to_vec()),
                    Just(b"Content-Length: 7\r\n".to_vec()),
                    Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
                    Just(b"\r\n".to_vec()),
                    Just(b"3\r\nabc\r\n".to_vec()),
                    Just(b"0\r\n".to_vec()),
                    prop::collection::vec(any::<u8>(), 0..40),
                ],
                0..12,
            ),
            cuts in prop::collection::vec(1_usize..9, 1..40),
        ) {
            let bytes = pieces.concat();
            let at_once = answered(&mut client(), &bytes, || usize::MAX);
            let mut cuts = cuts.iter().copied().cycle();
            let cut = answered(&mut client(), &bytes, || cuts.next().unwrap_or(1));
            prop_assert_eq!(at_once.result, cut.result);
            prop_assert!(at_once.result.is_ok_and(|bytes| bytes <= 100) || at_once.result.is_err());
        }
    }
}
