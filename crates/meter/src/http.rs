//! One question over HTTP/1.1 and its answer; a connection each. Meters are asked once a second and
//! speak no more than this, so that no client of a library is needed.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::Fault;
use crate::credentials::Secret;
use crate::tls;

/// How long a meter may take to answer, all in all. Our choice: two periods of a sample a second;
/// a management controller may take longer, and has longer periods.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Longer answers are none.
const BODY_MAX: usize = 1 << 20;
const HEADERS_MAX: usize = 64;

/// Where questions go.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// How the other side shows who it is, if the connection is to be secret.
    pub tls: Option<Arc<tls::Trust>>,
    /// Name and password.
    pub secret: Option<Secret>,
}

impl Place {
    /// The document at a path, as JSON.
    pub fn json(&self, path: &str) -> Result<serde_json::Value, Fault> {
        let body = self.get(path)?;
        serde_json::from_slice(&body).map_err(|error| {
            Fault::Nonsense(format!("what is at {} is no JSON: {error}", plain::shown(path)))
        })
    }

    /// The body of an answer of status 200.
    pub fn get(&self, path: &str) -> Result<Vec<u8>, Fault> {
        let until = Instant::now() + ANSWER_MAX;
        let answer = self.ask(path, until).map_err(|error| Fault::Unanswered(error.to_string()))?;
        let (status, body) = parse(&answer)
            .ok_or_else(|| Fault::Nonsense(format!("the answer at {path} is no HTTP")))?;
        match status {
            200 => Ok(body),
            401 | 403 => Err(Fault::Unfit(format!(
                "it refuses who asks (HTTP status {status} at {path}): credentials=FILE names a \
                 file with NAME:PASSWORD"
            ))),
            status => Err(Fault::Unanswered(format!("HTTP status {status} at {path}"))),
        }
    }

    fn ask(&self, path: &str, until: Instant) -> std::io::Result<Vec<u8>> {
        let stream = self.connect(until)?;
        let request = self.request(path)?;
        match &self.tls {
            None => exchange(stream, &request, until, |_| Ok(())),
            Some(trust) => trust.exchange(&self.host, stream, |stream, socket| {
                let patience = |_: &mut _| wait_at_most(socket, until);
                exchange(stream, &request, until, patience)
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
        Err(failed.unwrap_or_else(|| std::io::Error::other("the name has no address")))
    }

    fn request(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let name =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let mut text = format!(
            "GET {path} HTTP/1.1\r\nHost: {name}:{}\r\nConnection: close\r\n\
             Accept: application/json\r\nUser-Agent: tilemark\r\n",
            self.port
        );
        if let Some(secret) = &self.secret {
            secret.pair().map_err(std::io::Error::other)?;
            text += &format!("Authorization: Basic {}\r\n", STANDARD.encode(secret.reveal()));
        }
        Ok((text + "\r\n").into_bytes())
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

/// Sends and reads until the other side ends, or the answer is whole.
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
            // Many small servers close without TLS's good-bye.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
        if answer.len() > BODY_MAX || Instant::now() > until {
            return Err(std::io::Error::other("the answer is too long, or takes too long"));
        }
    }
    Ok(answer)
}

fn is_whole(answer: &[u8]) -> bool {
    head(answer).is_some_and(|(_, length, body)| match length {
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

/// Status, length and what there is of the body; nothing until the headers are there.
fn head(answer: &[u8]) -> Option<(u16, Length, &[u8])> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(begin) = response.parse(answer).ok()? else { return None };
    let header = |name: &str| {
        let own = response.headers.iter().find(|own| own.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(own.value).ok()
    };
    let is_chunked = header("transfer-encoding").is_some_and(|how| how.contains("chunked"));
    let length = match (is_chunked, header("content-length").and_then(|own| own.parse().ok())) {
        (true, _) => Length::Chunked,
        (false, Some(bytes)) => Length::Of(bytes),
        (false, None) => Length::ToTheEnd,
    };
    Some((response.code?, length, &answer[begin..]))
}

fn parse(answer: &[u8]) -> Option<(u16, Vec<u8>)> {
    let (status, length, body) = head(answer)?;
    let body = match length {
        Length::Of(bytes) => body.get(..bytes)?.to_vec(),
        Length::Chunked => unchunked(body)?,
        Length::ToTheEnd => body.to_vec(),
    };
    Some((status, body))
}

/// RFC 9112, section 7.1; nothing until the last chunk is there.
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

    #[test]
    fn an_answer_ends_where_it_says_so() {
        let of = |text: &str| {
            parse(text.as_bytes())
                .map(|(status, body)| (status, String::from_utf8(body).expect("text")))
        };
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}and more";
        assert_eq!(of(whole), Some((200, "{}".to_owned())));
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\n\r\n";
        assert_eq!(of(chunks), Some((200, "{\"a\":1}".to_owned())));
        assert!(is_whole(chunks.as_bytes()) && !is_whole(&chunks.as_bytes()[..60]));
        assert_eq!(of("HTTP/1.0 404 Not Found\r\n\r\ngone"), Some((404, "gone".to_owned())));
        assert_eq!(of("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"), None, "cut");
        assert_eq!(of("SSH-2.0-OpenSSH"), None);
    }
}
