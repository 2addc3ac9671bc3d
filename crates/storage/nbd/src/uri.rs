//! Addresses of exports (`doc/uri.md` of the NBD project).

use std::path::PathBuf;
use std::str::FromStr;

use crate::limits::STRING_MAX;

/// Address of an export: `nbd://HOST[:PORT]/NAME`, `nbd+unix:///NAME?socket=PATH`, and `nbds` for
/// TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uri {
    /// Address of the server.
    pub place: NbdAddress,
    /// True if the client requires TLS before it sends the name of the export.
    pub tls: bool,
    /// Name of the export; may be empty.
    pub export: String,
}

/// Address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NbdAddress {
    /// Unix socket of this host.
    Unix(PathBuf),
    /// Name or address of a host (IPv6 without brackets), and a port.
    Tcp(String, u16),
}

/// Default port (IANA).
const PORT: u16 = 10809;

/// Reason why a text is not a valid address of an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an address of an NBD export: {why}")]
pub struct UriError {
    text: String,
    why: &'static str,
}

impl UriError {
    /// Returns a hint on what to do.
    pub const fn hint(&self) -> Option<&'static str> {
        Some("nbd+unix:///NAME?socket=/PATH, or nbd://HOST:PORT/NAME; nbds for TLS")
    }
}

impl FromStr for Uri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        parse(text).map_err(|why| UriError { text: text.to_owned(), why })
    }
}

fn parse(text: &str) -> Result<Uri, &'static str> {
    let (scheme, rest) = text.split_once("://").ok_or("it has no scheme")?;
    let (tls, is_unix) = match scheme {
        "nbd" => (false, false),
        "nbds" => (true, false),
        "nbd+unix" => (false, true),
        "nbds+unix" => (true, true),
        _ => return Err("its scheme is not nbd, nbds, nbd+unix or nbds+unix"),
    };
    if rest.contains('#') {
        return Err("it has a fragment");
    }
    let (before, query) = rest.split_once('?').map_or((rest, None), |(a, b)| (a, Some(b)));
    let (authority, name) = before.split_once('/').unwrap_or((before, ""));
    let export = decode(name)?;
    if export.len() > STRING_MAX || export.contains('\0') {
        return Err("the name is too long, or has a NUL");
    }
    let place = if is_unix { unix(authority, query)? } else { tcp(authority, query)? };
    Ok(Uri { place, tls, export })
}

fn unix(authority: &str, query: Option<&str>) -> Result<NbdAddress, &'static str> {
    if !authority.is_empty() {
        return Err("an address with a local socket has no host");
    }
    let mut socket = None;
    for part in query.into_iter().flat_map(|query| query.split('&')) {
        let ("socket", path) = part.split_once('=').unwrap_or((part, "")) else {
            return Err("it has a parameter other than socket=PATH");
        };
        if socket.replace(decode(path)?).is_some() {
            return Err("it names two sockets");
        }
    }
    match socket {
        Some(path) if !path.is_empty() && !path.contains('\0') => Ok(NbdAddress::Unix(path.into())),
        _ => Err("socket=PATH is missing"),
    }
}

fn tcp(authority: &str, query: Option<&str>) -> Result<NbdAddress, &'static str> {
    if query.is_some_and(|query| !query.is_empty()) {
        return Err("an address with a host has no parameters");
    }
    if authority.contains('@') {
        return Err("it names a user, but NBD has no users");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or("a bracket is missing")?;
            (host, port.strip_prefix(':').or(port.is_empty().then_some("")))
        }
        None => authority.split_once(':').map_or((authority, Some("")), |(a, b)| (a, Some(b))),
    };
    let port = match port {
        Some("") => PORT,
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or("the port is invalid")?,
        None => return Err("text follows the closing bracket"),
    };
    if host.is_empty() {
        return Err("it has no host");
    }
    Ok(NbdAddress::Tcp(host.to_owned(), port))
}

/// Decodes percent-encoding.
fn decode(text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) =
            rest.split_first_chunk::<2>().ok_or("a percent sign has no digits")?;
        let digits = std::str::from_utf8(digits).ok().filter(|two| !two.starts_with('+'));
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.ok_or("two hexadecimal digits must follow a percent sign")?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_kinds_are_read() {
        let cases = [
            (
                "nbd+unix:///vm1?socket=/run/t.sock",
                false,
                NbdAddress::Unix("/run/t.sock".into()),
                "vm1",
            ),
            ("nbd+unix://?socket=/run/a%20b", false, NbdAddress::Unix("/run/a b".into()), ""),
            ("nbd://host", false, NbdAddress::Tcp("host".into(), 10809), ""),
            ("nbds://host:99/a%2fb/c", true, NbdAddress::Tcp("host".into(), 99), "a/b/c"),
            ("nbd://[::1]:7/x", false, NbdAddress::Tcp("::1".into(), 7), "x"),
            ("nbd://[::1]/x", false, NbdAddress::Tcp("::1".into(), 10809), "x"),
        ];
        for (text, tls, place, export) in cases {
            let wanted = Uri { place, tls, export: export.to_owned() };
            assert_eq!(text.parse(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        let cases = [
            ("vm1", "no scheme"),
            ("http://host/x", "scheme is not"),
            ("nbd://", "no host"),
            ("nbd:///x", "no host"),
            ("nbd://host:0/x", "the port is invalid"),
            ("nbd://host:70000/x", "the port is invalid"),
            ("nbd://[::1/x", "bracket"),
            ("nbd://[::1]7/x", "follows the closing bracket"),
            ("nbd://me@host/x", "user"),
            ("nbd://host/x?socket=/y", "no parameters"),
            ("nbd://host/x#y", "fragment"),
            ("nbd+unix:///x", "socket=PATH is missing"),
            ("nbd+unix:///x?socket=", "socket=PATH is missing"),
            ("nbd+unix:///x?socket=/a&socket=/b", "two sockets"),
            ("nbd+unix://host/x?socket=/a", "no host"),
            ("nbd+unix:///x?other=/a", "other than socket=PATH"),
            ("nbd://host/%", "percent"),
            ("nbd://host/%+1", "hexadecimal"),
            ("nbd://host/%ff", "UTF-8"),
            ("nbd://host/%00", "NUL"),
        ];
        for (text, why) in cases {
            let error = text.parse::<Uri>().expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
