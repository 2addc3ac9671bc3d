use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::Settings;
use super::address::place;

/// Maximum bytes of an answer that are read.
const ANSWER_MAX: u64 = 4096;

/// Sends a JSON document; any status other than 2xx is an error.
pub fn post(settings: &Settings, body: &[u8]) -> io::Result<()> {
    let (host, path) = place(&settings.endpoint).ok_or(io::ErrorKind::InvalidInput)?;
    let until = Instant::now() + settings.timeout;
    let mut stream = connect(&host, until)?;
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: tilemark/{}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n",
        env!("CARGO_PKG_VERSION"),
        body.len(),
    );
    for (key, value) in &settings.headers {
        head += &format!("{key}: {value}\r\n");
    }
    stream.set_write_timeout(Some(left(until)?))?;
    stream.write_all((head + "\r\n").as_bytes())?;
    stream.write_all(body)?;
    stream.set_read_timeout(Some(left(until)?))?;
    let mut line = String::new();
    BufReader::new(stream.take(ANSWER_MAX)).read_line(&mut line)?;
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.trim().split(' ').nth(1));
    match status.and_then(|own| own.parse::<u16>().ok()) {
        Some(200..300) => Ok(()),
        // The reason phrase comes from the receiver, which may echo a header with its secret.
        Some(status) => Err(io::Error::other(format!("the answer is HTTP status {status}"))),
        None => Err(io::Error::other("the answer is not HTTP/1")),
    }
}

fn connect(host: &str, until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the host name has no address");
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns the time left until `until`; fails if no time is left.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
