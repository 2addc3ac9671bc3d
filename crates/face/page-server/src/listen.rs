//! Address of the server, and the rules of access to the server.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};

use crate::token::Token;

/// Port that is tried first.
pub const PORT: u16 = 7655;
/// Number of further ports that are tried if the first is taken.
const TRIES: u16 = 50;

/// Value of `--listen`: a port, an address, or both: `8000`, `0.0.0.0`, `[::1]:8000`, `nas:8000`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    host: String,
    /// Port; `None` for [`PORT`] or the next free one.
    port: Option<u16>,
}

impl Default for Listen {
    fn default() -> Self {
        Self { host: Ipv4Addr::LOCALHOST.to_string(), port: None }
    }
}

/// Error for a text that is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an address to listen on; write PORT, HOST or HOST:PORT, such as 8000 or \
    0.0.0.0:8000"
)]
pub struct ListenError(String);

impl std::str::FromStr for Listen {
    type Err = ListenError;

    fn from_str(text: &str) -> Result<Self, ListenError> {
        let wrong = || ListenError(text.to_owned());
        if let Ok(port) = text.parse() {
            return Ok(Self { port: Some(port), ..Self::default() });
        }
        if text.parse::<std::net::Ipv6Addr>().is_ok() {
            return Ok(Self { host: format!("[{text}]"), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !text.ends_with(']') => {
                (host, Some(port.parse().map_err(|_| wrong())?))
            }
            _ => (text, None),
        };
        let is_plain = |host: &str| {
            host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
        };
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match inner {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && is_plain(host),
        };
        is_host.then(|| Self { host: host.to_ascii_lowercase(), port }).ok_or_else(wrong)
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

impl Listen {
    /// Opens the address. A given port is used, or the function fails; without a port the next free
    /// one is used.
    pub fn bind(&self) -> io::Result<Door> {
        self.bind_with(None)
    }

    /// Opens the address with the given token, if the address needs a token; `None` draws one.
    pub fn bind_with(&self, token: Option<String>) -> io::Result<Door> {
        let listener = match self.port {
            Some(port) => bind(&self.host, port)?,
            None => self.bind_next()?,
        };
        let address = listener.local_addr()?;
        let access = Access::new(&self.host, address, || match token {
            Some(token) => Ok(Token::known(token)),
            None => Token::random(),
        })?;
        Ok(Door { listener, access })
    }

    fn bind_next(&self) -> io::Result<TcpListener> {
        let mut last = io::ErrorKind::AddrInUse.into();
        for port in PORT..PORT + TRIES {
            match bind(&self.host, port) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
                other => return other,
            }
        }
        Err(last)
    }
}

fn bind(host: &str, port: u16) -> io::Result<TcpListener> {
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> = (plain, port).to_socket_addrs()?.collect();
    TcpListener::bind(addresses.as_slice())
}

/// Open address at which no server answers yet.
#[derive(Debug)]
pub struct Door {
    pub(crate) listener: TcpListener,
    pub(crate) access: Access,
}

impl Door {
    /// Makes a door of an address that another process opened, with its host name and token.
    pub fn inherited(listener: TcpListener, host: &str, token: Option<String>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let access = Access::new(host, address, || match token {
            Some(token) => Ok(Token::known(token)),
            None => Token::random(),
        })?;
        Ok(Self { listener, access })
    }

    /// Returns the URL for a browser, with the token if the address needs one.
    pub fn url(&self, path: &str) -> String {
        self.access.url(path)
    }
}

/// Access rules: host names and token.
#[derive(Debug, Clone)]
pub struct Access {
    address: SocketAddr,
    /// Host as given.
    host: String,
    /// Accepted host names, in lower case, IPv6 in brackets.
    names: Vec<String>,
    /// True if any IP address, but no further name, is accepted. A foreign page can make a name
    /// resolve to this computer (DNS rebinding), but not an address.
    any_address: bool,
    token: Option<Token>,
}

impl Access {
    fn new(
        host: &str,
        address: SocketAddr,
        token: impl FnOnce() -> io::Result<Token>,
    ) -> io::Result<Self> {
        let is_everywhere = address.ip().is_unspecified();
        let mut names: Vec<String> =
            ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).to_vec();
        names.push(host.to_ascii_lowercase());
        names.push(bracketed(address.ip()));
        if is_everywhere && let Some(name) = machine_name() {
            names.push(name);
        }
        let token = if address.ip().is_loopback() { None } else { Some(token()?) };
        Ok(Self { address, host: host.to_owned(), names, any_address: is_everywhere, token })
    }

    /// Returns true if a request for this host (with or without port) is accepted.
    pub fn is_ours(&self, authority: &str) -> bool {
        let host = host_of(authority).to_ascii_lowercase();
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        self.names.contains(&host) || (self.any_address && plain.parse::<IpAddr>().is_ok())
    }

    /// Returns the required token; `None` if only this computer can connect.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Returns the host as given.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the URL for a browser.
    pub fn url(&self, path: &str) -> String {
        let port = self.address.port();
        let host = match machine_name().filter(|_| self.any_address) {
            Some(name) => name,
            None => self.host.clone(),
        };
        match &self.token {
            Some(token) => format!("http://{host}:{port}{path}?token={}", token.text()),
            None => format!("http://{host}:{port}{path}"),
        }
    }

    /// Returns the accepted names, for messages.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn machine_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim().to_ascii_lowercase();
    (!name.is_empty() && name != "(none)").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(host: &str, address: &str) -> Access {
        let address = address.parse().expect("an address");
        Access::new(host, address, || Ok(Token::known("secret".to_owned()))).expect("a name")
    }

    #[test]
    fn a_port_a_host_or_both_can_be_named() {
        for (text, host, port) in [
            ("8000", "127.0.0.1", Some(8000)),
            ("0.0.0.0", "0.0.0.0", None),
            ("[::1]:9", "[::1]", Some(9)),
            ("[::]", "[::]", None),
            ("::1", "[::1]", None),
            ("NAS.local:80", "nas.local", Some(80)),
        ] {
            let listen = Listen { host: host.to_owned(), port };
            assert_eq!(text.parse(), Ok(listen), "{text}");
        }
        for text in ["", "a b", "host:port", "http://x", "[x]", "[::1", ":80", "99999"] {
            // A number that is no port is read as a name, and its lookup fails.
            let parsed = text.parse::<Listen>();
            assert!(parsed.is_err() || text == "99999", "{text}: {parsed:?}");
        }
    }

    #[test]
    fn this_machine_alone_needs_no_token_and_no_other_name_is_ours() {
        let access = access("127.0.0.1", "127.0.0.1:7655");
        assert!(access.token().is_none());
        for host in ["127.0.0.1:7655", "localhost", "LOCALHOST:1", "[::1]:7655"] {
            assert!(access.is_ours(host), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example:7655", "10.0.0.1", "", "localhost."] {
            assert!(!access.is_ours(host), "{host}");
        }
    }

    #[test]
    fn everywhere_means_any_address_but_not_any_name() {
        let access = access("0.0.0.0", "0.0.0.0:7655");
        assert!(access.token().is_some());
        assert!(access.is_ours("192.168.7.9:7655") && access.is_ours("[fe80::1]:7655"));
        assert!(!access.is_ours("rebound.example:7655"));
        assert!(access.url("/run/x").ends_with(":7655/run/x?token=secret"));
    }
}
