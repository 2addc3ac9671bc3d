//! HTTP/1.1 client that sends one request and reads its answer, on a new connection for each
//! request. Meters are read once per second, and hypervisors not much more often. This is enough
//! for both, so no client library is needed.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::tls::Trust;
use crate::{Identity, RemoteError};

/// Default time limit for a whole answer. Our choice: twice the period of a meter that is read once
/// per second. A management controller may take longer, but is read less often.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Maximum size of an answer, in bytes.
const BODY_MAX: usize = 1 << 20;
const HEADERS_MAX: usize = 64;

/// HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read a resource.
    Get,
    /// Create a resource.
    Post,
    /// Replace a resource.
    Put,
    /// Remove a resource.
    Delete,
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// Request to send to a service.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// HTTP method.
    pub method: Method,
    /// Path and query. Parts that come from others must be escaped with [`crate::escaped`].
    pub path: &'a str,
    /// Body of the request: its media type and bytes; `None` for no body.
    pub body: Option<(&'a str, &'a [u8])>,
}

/// Answer of any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Reason phrase, in which some services describe an error.
    pub reason: String,
    /// Body of the answer.
    pub body: Vec<u8>,
}

/// Address of a service, with identity and trust.
#[derive(Debug, Clone)]
pub struct ServiceAddress {
    /// Name or IP address of the host.
    pub host: String,
    /// Port number.
    pub port: u16,
    /// Trust in the server's certificate; `None` for a connection without TLS.
    pub tls: Option<Arc<Trust>>,
    /// Identity of the client.
    pub identity: Identity,
    /// Time limit of an answer; `None` for 5 s.
    pub patience: Option<Duration>,
}

/// Parses `HOST[:PORT]`; an IPv6 address is in brackets. `usual` is the port if none is given.
///
/// # Errors
/// If the text is invalid.
pub fn host_and_port(text: &str, usual: u16) -> Result<(String, u16), RemoteError> {
    let wrong =
        || RemoteError::Address(format!("\"{}\" is no HOST[:PORT]", untrusted::shown(text)));
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port))
            if !port.ends_with(']') && (!host.contains(':') || host.ends_with(']')) =>
        {
            (host, port.parse().map_err(|_| wrong())?)
        }
        _ => (text, usual),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() { Err(wrong()) } else { Ok((host.to_owned(), port)) }
}

impl ServiceAddress {
    /// Requests the JSON document at a path.
    ///
    /// # Errors
    /// If there is no answer with status 200, or the answer is not JSON.
    pub fn json(&self, path: &str) -> Result<serde_json::Value, RemoteError> {
        let body = self.get(path)?;
        serde_json::from_slice(&body).map_err(|error| {
            let path = untrusted::shown(path);
            RemoteError::Nonsense(format!("the answer at {path} is not JSON: {error}"))
        })
    }

    /// Requests a path, and returns the body of the answer.
    ///
    /// # Errors
    /// If there is no answer with status 200.
    pub fn get(&self, path: &str) -> Result<Vec<u8>, RemoteError> {
        let answer = self.ask(Question { method: Method::Get, path, body: None })?;
        match answer.status {
            200 => Ok(answer.body),
            status => Err(RemoteError::Status { status, path: path.to_owned() }),
        }
    }

    /// Sends a request, and returns the answer with any status.
    ///
    /// # Errors
    /// If no answer comes in time, or the answer is not HTTP.
    pub fn ask(&self, question: Question<'_>) -> Result<Answer, RemoteError> {
        let until = Instant::now() + self.patience.unwrap_or(ANSWER_MAX);
        let request = self.request(question)?;
        let answer = self
            .send(&request, until)
            .map_err(|error| RemoteError::Unanswered(error.to_string()))?;
        let nonsense =
            || RemoteError::Nonsense(format!("the answer at {} is not HTTP", question.path));
        let answer = parse(&answer).ok_or_else(nonsense)?;
        Ok(match self.identity.forms() {
            None => answer,
            // Removed here and not where texts are made from answers, because these are many
            // places, and texts are stored.
            Some(forms) => Answer {
                reason: forms.hide_in_text(&answer.reason),
                body: forms.hide_in_body(answer.body),
                ..answer
            },
        })
    }

    fn send(&self, request: &[u8], until: Instant) -> std::io::Result<Vec<u8>> {
        let stream = self.connect(until)?;
        match &self.tls {
            None => exchange(stream, request, until, |_| Ok(())),
            Some(trust) => trust.exchange(&self.host, stream, |stream, socket| {
                let patience = |_: &mut _| wait_at_most(socket, until);
                exchange(stream, request, until, patience)
            }),
        }
    }

    fn connect(&self, until: Instant) -> std::io::Result<TcpStream> {
        let mut failed = None;
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            let left =
                until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => {
                    wait_at_most(&stream, until)?;
                    return Ok(stream);
                }
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| std::io::Error::other("the host name has no address")))
    }

    fn request(&self, question: Question<'_>) -> Result<Vec<u8>, RemoteError> {
        let Question { method, path, body } = question;
        if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            let text = format!("\"{}\" is not a valid path", untrusted::shown(path));
            return Err(RemoteError::Unanswered(text));
        }
        let name =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        // Errors contain the request's original path, which has no secret.
        let path = self.identity.path(path)?;
        let mut text = format!(
            "{} {path} HTTP/1.1\r\nHost: {name}:{}\r\nConnection: close\r\n\
             Accept: application/json\r\nUser-Agent: tilemark\r\n",
            method.name(),
            self.port
        );
        text += &self.identity.header()?;
        match body {
            Some((kind, bytes)) => {
                text += &format!("Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n", bytes.len());
                Ok([text.as_bytes(), bytes].concat())
            }
            // An optional body that is absent needs a length, too (RFC 9110, section 8.6).
            None if matches!(method, Method::Post | Method::Put) => {
                Ok((text + "Content-Length: 0\r\n\r\n").into_bytes())
            }
            None => Ok((text + "\r\n").into_bytes()),
        }
    }
}

fn wait_at_most(stream: &TcpStream, until: Instant) -> std::io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(std::io::ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(left))?;
    stream.set_write_timeout(Some(left))
}

/// Sends a request, and reads until the answer is complete or the other side closes the connection.
fn exchange<S: Read + Write>(
    mut stream: S,
    request: &[u8],
    until: Instant,
    mut patience: impl FnMut(&mut S) -> std::io::Result<()>,
) -> std::io::Result<Vec<u8>> {
    stream.write_all(request)?;
    stream.flush()?;
    let (mut answer, mut part) = (Vec::new(), [0; 16 * 1024]);
    while !is_whole(&answer) {
        patience(&mut stream)?;
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&part[..read]),
            // Many small servers close without the TLS close message.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
        if answer.len() > BODY_MAX || Instant::now() > until {
            return Err(std::io::Error::other("the answer is too long, or took too long"));
        }
    }
    Ok(answer)
}

fn is_whole(answer: &[u8]) -> bool {
    head(answer).is_some_and(|(_, _, length, body)| match length {
        Length::Of(bytes) => body.len() >= bytes,
        Length::Chunked => unchunked(body).is_some(),
        Length::ToTheEnd => false,
    })
}

enum Length {
    Of(usize),
    Chunked,
    ToTheEnd,
}

/// Parses the headers of an answer: status, reason phrase, length, and the body received so far.
/// `None` until the headers are complete.
fn head(answer: &[u8]) -> Option<(u16, String, Length, &[u8])> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(begin) = response.parse(answer).ok()? else { return None };
    let header = |name: &str| {
        let own = response.headers.iter().find(|own| own.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(own.value).ok()
    };
    let is_chunked = header("transfer-encoding").is_some_and(|how| how.contains("chunked"));
    let status = response.code?;
    // These statuses have no body, whatever the length header (RFC 9110, section 15.3.5 and 6.4.1).
    let is_bare = matches!(status, 204 | 304);
    let length = match (is_chunked, header("content-length").and_then(|own| own.parse().ok())) {
        _ if is_bare => Length::Of(0),
        (true, _) => Length::Chunked,
        (false, Some(bytes)) => Length::Of(bytes),
        (false, None) => Length::ToTheEnd,
    };
    let reason = response.reason.unwrap_or_default().to_owned();
    Some((status, reason, length, &answer[begin..]))
}

fn parse(answer: &[u8]) -> Option<Answer> {
    let (status, reason, length, body) = head(answer)?;
    let body = match length {
        Length::Of(bytes) => body.get(..bytes)?.to_vec(),
        Length::Chunked => unchunked(body)?,
        Length::ToTheEnd => body.to_vec(),
    };
    Some(Answer { status, reason, body })
}

/// Decodes a chunked body (RFC 9112, section 7.1). `None` until the last chunk has arrived.
fn unchunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let httparse::Status::Complete((begin, size)) = httparse::parse_chunk_size(body).ok()?
        else {
            return None;
        };
        let size = usize::try_from(size).ok().filter(|size| *size <= BODY_MAX)?;
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(body.get(begin..begin + size)?);
        body = body.get(begin + size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escaped;

    #[test]
    fn an_answer_ends_where_it_says_so() {
        let of = |text: &str| {
            parse(text.as_bytes())
                .map(|own| (own.status, String::from_utf8(own.body).expect("text")))
        };
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}and more";
        assert_eq!(of(whole), Some((200, "{}".to_owned())));
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\n\r\n";
        assert_eq!(of(chunks), Some((200, "{\"a\":1}".to_owned())));
        assert!(is_whole(chunks.as_bytes()) && !is_whole(&chunks.as_bytes()[..60]));
        assert_eq!(of("HTTP/1.0 404 Not Found\r\n\r\ngone"), Some((404, "gone".to_owned())));
        assert_eq!(of("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"), None, "cut");
        assert_eq!(of("SSH-2.0-OpenSSH"), None);
        assert_eq!(of("HTTP/1.1 204 No Content\r\n\r\n"), Some((204, String::new())));
        let words = parse(b"HTTP/1.1 500 VM 100 not running\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(words.expect("an answer").reason, "VM 100 not running");
    }

    #[test]
    fn what_is_asked_is_one_question_whatever_a_name_holds() {
        let place = ServiceAddress {
            host: "::1".to_owned(),
            port: 80,
            tls: None,
            identity: Identity::Nobody,
            patience: None,
        };
        let of = |method, path, body| {
            let request = place.request(Question { method, path, body });
            request.map(|bytes| String::from_utf8(bytes).expect("text"))
        };
        let form = Some(("application/x-www-form-urlencoded", &b"a=1"[..]));
        let text = of(Method::Post, "/x", form).expect("a request");
        assert!(text.starts_with("POST /x HTTP/1.1\r\nHost: [::1]:80\r\n"), "{text}");
        assert!(text.ends_with("Content-Length: 3\r\n\r\na=1"), "{text}");
        let text = of(Method::Put, "/x", None).expect("a request");
        assert!(text.ends_with("Content-Length: 0\r\n\r\n"), "{text}");
        assert!(of(Method::Get, "/a b HTTP/1.1\r\nX: y", None).is_err());
        assert_eq!(escaped("a b/..\r\n?\u{e4}"), "a%20b%2F..%0D%0A%3F%C3%A4");
    }

    #[test]
    fn a_place_has_a_host_and_a_port() {
        let of = |text| host_and_port(text, 80).map_err(|fault| fault.to_string());
        assert_eq!(of("plug"), Ok(("plug".to_owned(), 80)));
        assert_eq!(of("plug:8888"), Ok(("plug".to_owned(), 8888)));
        assert_eq!(of("[::1]:161"), Ok(("::1".to_owned(), 161)));
        assert_eq!(of("[fe80::1]"), Ok(("fe80::1".to_owned(), 80)));
        assert!(of("plug:x").is_err() && of(":80").is_err());
    }
}
