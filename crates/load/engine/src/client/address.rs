use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use http_client::{RemoteError, Trust};
use units::Nanos;

use super::tls::{Channel, Tls, shake_hands};
use super::{Client, Encryption, Login, Logins, PROTOCOLS, Protocol};

/// Address of a service: `PROTOCOL://[USER@]HOST[:PORT][/PATH][?QUERY]`. Only protocols with logins allow a
/// user. An address never contains a password.
#[derive(Debug, Clone)]
pub struct Address {
    pub(super) protocol: &'static Protocol,
    user: Option<String>,
    host: String,
    port: u16,
    path: String,
}

/// Error of a text that is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not an address of a service with the protocol {protocol}: {why}")]
pub struct AddressError {
    /// Text as given.
    pub text: String,
    /// Expected protocol.
    pub protocol: String,
    /// Reason why the text is not an address.
    pub why: &'static str,
}

/// Maximum length of an address, in bytes; it is sent with every call. Our choice.
const TEXT_MAX: usize = 2048;

impl Address {
    /// Parses the address of a service that speaks `protocol`. Refuses passwords, fragments and
    /// anything that a request cannot carry unchanged.
    ///
    /// # Errors
    /// With the fault of the text.
    pub fn parse(text: &str, protocol: &str) -> Result<Self, AddressError> {
        Self::read(text, protocol).map_err(|why| AddressError {
            text: text.to_owned(),
            protocol: protocol.to_owned(),
            why,
        })
    }

    fn read(text: &str, protocol: &str) -> Result<Self, &'static str> {
        let mut known = PROTOCOLS.iter().filter(|known| known.word == protocol).peekable();
        known.peek().ok_or("Tilemark has no client for this protocol")?;
        let (scheme, rest) =
            text.split_once("://").ok_or("it does not begin with the protocol and ://")?;
        let mut known = known.filter(|known| known.name == scheme).peekable();
        let first = known.peek().ok_or("it does not begin with the protocol and ://")?;
        let protocol_word = first.word;
        let (rest, query) = match first.query {
            None => (rest, None),
            Some(_) => {
                let (rest, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
                (rest, Some(query))
            }
        };
        let protocol = known.find(|known| known.query == query);
        let protocol = protocol.ok_or(match protocol_word {
            "postgres" => "the only query that it may have is sslmode=verify-full",
            _ => "it has a query, which this protocol does not have",
        })?;
        if text.len() > TEXT_MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("it is longer than 2048 bytes, or has spaces or letters beyond ASCII");
        }
        let (place, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if path.contains('#') || path.starts_with('?') {
            return Err("after the host must come a path that begins with / and has no #");
        }
        let (user, place) = match place.rsplit_once('@') {
            Some(_) if matches!(protocol.logins, Logins::None | Logins::Password) => {
                return Err("it has a user or a password, which would be stored in every result");
            }
            Some((user, _)) if !is_user(user) => {
                return Err(
                    "it has a password, which would be stored in every result, or a user with \
                     characters other than a to z, 0 to 9, - . _",
                );
            }
            Some((user, place)) => (Some(user.to_owned()), place),
            None => (None, place),
        };
        if !protocol.has_path && !matches!(path, "" | "/") {
            return Err("it has a path, but the protocol has no paths");
        }
        let is_port = |at: &usize| !place[*at..].contains(']');
        let (host, port) = match place.rfind(':').filter(is_port) {
            Some(at) => (&place[..at], place[at + 1..].parse().ok().filter(|port| *port > 0)),
            None => (place, Some(protocol.port)),
        };
        let port = port.ok_or("the port is not 1 to 65535")?;
        if !is_host(host) {
            return Err("it has no host, or its host is neither a name nor an IP address");
        }
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self { protocol, user, host: host.to_owned(), port, path: path.to_owned() })
    }

    /// Creates the address of a service in this process. No text parses to such an address.
    pub(super) fn within(protocol: &'static Protocol, name: &str) -> Self {
        let (host, path) = ("here".to_owned(), format!("/{name}"));
        Self { protocol, user: None, host, port: protocol.port, path }
    }

    /// Returns the host, and the port unless it is the protocol's default.
    pub(super) fn authority(&self) -> String {
        let is_own = self.port == self.protocol.port;
        if is_own { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }

    /// Returns the host without the brackets of an IPv6 address.
    fn bare_host(&self) -> &str {
        self.host.trim_matches(['[', ']'])
    }

    /// Returns the name of the protocol.
    pub(super) const fn protocol(&self) -> &'static str {
        self.protocol.name
    }

    /// Returns true if connections to this address are encrypted, and the service proves its name.
    pub const fn has_tls(&self) -> bool {
        !matches!(self.protocol.encryption, Encryption::None)
    }

    /// Returns true if calls to this address can send a password.
    pub fn has_logins(&self) -> bool {
        match self.protocol.logins {
            Logins::None => false,
            Logins::Password | Logins::User => true,
            // There is no user to log in without a name.
            Logins::UserWithPassword => self.user.is_some(),
        }
    }

    /// Creates the client side of TLS on a new connection; `None` if the address has no TLS.
    fn channel(&self, trust: &Trust) -> Result<Option<Channel>, RemoteError> {
        let upgrade = match self.protocol.encryption {
            Encryption::None => return Ok(None),
            Encryption::AtOnce => None,
            Encryption::After(upgrade) => Some(upgrade()),
        };
        Channel::new(upgrade, trust, self.bare_host()).map(Some)
    }

    /// Returns the user that the address names, if any.
    pub(super) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns the path, including its leading slash.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

fn is_user(user: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !user.is_empty() && user.bytes().all(is_letter)
}

fn is_host(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(number) => number.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            !host.is_empty() && host.bytes().all(is_letter)
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, at) = self.user.as_ref().map_or(("", ""), |user| (user, "@"));
        let Protocol { name, query, .. } = self.protocol;
        let query = query.unwrap_or_default();
        write!(f, "{name}://{user}{at}{}{}{query}", self.authority(), self.path)
    }
}

/// Address whose name was resolved once. All calls go to the same peer, even if the name later
/// resolves differently.
#[derive(Debug, Clone)]
pub struct Service {
    pub(super) address: Address,
    pub(super) peer: Peer,
    pub(super) login: Login,
    /// Maximum time for an answer, if it differs from the default.
    pub(super) within: Option<Nanos>,
}

/// Destination of calls.
#[derive(Debug, Clone)]
pub(super) enum Peer {
    /// Host in the network.
    There(SocketAddr),
    /// Service in this process.
    Here(Arc<dyn Here>),
}

/// Service in this process that answers calls.
pub trait Here: fmt::Debug + Send + Sync {
    /// Opens a new connection to the service.
    ///
    /// # Errors
    /// If this host lacks a resource for it.
    fn connect(&self) -> io::Result<UnixStream>;
}

/// Reason why a service cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The host's name cannot be resolved.
    #[error("resolving the host of {address}")]
    Unknown {
        /// Address of the service.
        address: String,
        /// Error of the resolver.
        #[source]
        source: io::Error,
    },
    /// The service does not prove its name (`InvalidData`), or the handshake failed.
    #[error("TLS handshake with {address} ({peer})")]
    Unproven {
        /// Address of the service.
        address: String,
        /// Peer that accepted the connection.
        peer: SocketAddr,
        /// Error of the handshake.
        #[source]
        source: io::Error,
    },
    /// No service can prove that it has this name, or the authorities are unusable.
    #[error("TLS to {address}")]
    Trust {
        /// Address of the service.
        address: String,
        /// Reason for it.
        #[source]
        source: RemoteError,
    },
    /// No peer accepts a connection.
    #[error("connecting to {address} ({peer})")]
    Unreachable {
        /// Address of the service.
        address: String,
        /// Last of the resolved addresses.
        peer: SocketAddr,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
}

const REACH: &str = "start the service, or give another address with --endpoint";

impl ServiceError {
    /// Returns the remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unproven { source, .. } if source.kind() != io::ErrorKind::InvalidData => REACH,
            Self::Unproven { .. } | Self::Trust { .. } => {
                "give the name that the certificate has, or the certificate of its authority with \
                 --ca NAME=FILE"
            }
            Self::Unknown { .. } | Self::Unreachable { .. } => REACH,
        }
    }
}

impl Service {
    /// Resolves the name and takes the first address that accepts a connection. Sends nothing on
    /// the connection, but with TLS does the handshake. Connecting to an address and its handshake
    /// may each take `within`, in addition to the time for name resolution.
    ///
    /// # Errors
    /// If the name is unknown, no peer accepts, or the service's certificate is not accepted.
    pub fn reach(
        address: Address,
        mut login: Login,
        within: Duration,
    ) -> Result<Self, ServiceError> {
        if address.has_tls() && login.trust.is_none() {
            let trust = Trust::system();
            let wrong = |source| ServiceError::Trust { address: address.to_string(), source };
            login.trust = Some(Arc::new(trust.map_err(wrong)?));
        }
        let host = address.bare_host();
        let unknown = |source| ServiceError::Unknown { address: address.to_string(), source };
        let peers: Vec<SocketAddr> =
            (host, address.port).to_socket_addrs().map_err(unknown)?.collect();
        Self::reach_any(address, login, &peers, within)
    }

    /// Takes the first peer that accepts a connection and, with TLS, proves its name.
    fn reach_any(
        address: Address,
        login: Login,
        peers: &[SocketAddr],
        within: Duration,
    ) -> Result<Self, ServiceError> {
        let source = io::Error::from(io::ErrorKind::NotFound);
        let mut failure = ServiceError::Unknown { address: address.to_string(), source };
        for &peer in peers {
            match try_peer(&address, &login, peer, within) {
                Ok(()) => {
                    return Ok(Self { address, peer: Peer::There(peer), login, within: None });
                }
                // A peer that answered says more than one that does not listen.
                Err(ServiceError::Unreachable { .. })
                    if matches!(failure, ServiceError::Unproven { .. }) => {}
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Creates a service at an address whose connections are opened by a part of this process.
    pub fn through(address: Address, login: Login, here: Arc<dyn Here>) -> Self {
        Self { address, peer: Peer::Here(here), login, within: None }
    }

    /// Creates the client side of one connection.
    pub(super) fn client(&self) -> Result<Box<dyn Client>, RemoteError> {
        let Self { address, login, .. } = self;
        let client = (address.protocol.client)(address, login);
        let channel = match &login.trust {
            Some(trust) => address.channel(trust)?,
            None if !address.has_tls() => None,
            // Never in clear text: only `reach` fills in the authorities of this system.
            None => address.channel(&Trust::system()?)?,
        };
        Ok(match channel {
            Some(channel) => Box::new(Tls::new(client, channel)),
            None => client,
        })
    }
}

/// Checks that a peer accepts a connection and, with TLS, proves its name.
fn try_peer(
    address: &Address,
    login: &Login,
    peer: SocketAddr,
    within: Duration,
) -> Result<(), ServiceError> {
    let name = || address.to_string();
    let stream = TcpStream::connect_timeout(&peer, within)
        .map_err(|source| ServiceError::Unreachable { address: name(), peer, source })?;
    let Some(trust) = &login.trust else { return Ok(()) };
    let channel = address.channel(trust);
    match channel.map_err(|source| ServiceError::Trust { address: name(), source })? {
        Some(channel) => shake_hands(channel, &stream, within)
            .map_err(|source| ServiceError::Unproven { address: name(), peer, source }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::tls::{ALL_VERSIONS, Authority, Server};

    #[test]
    fn address_is_protocol_host_port_and_path_and_nothing_else() {
        let said = |text: &str| Address::parse(text, "http").map(|read| read.to_string());
        for (text, means) in [
            ("http://web", "http://web/"),
            ("http://web:80/a?b=c", "http://web/a?b=c"),
            ("http://10.0.0.1:8080/", "http://10.0.0.1:8080/"),
            ("http://[::1]:81/x", "http://[::1]:81/x"),
            ("http://[::1]", "http://[::1]/"),
            ("https://web:443", "https://web/"),
            ("https://web:80/a", "https://web:80/a"),
        ] {
            assert_eq!(said(text).as_deref(), Ok(means), "{text}");
        }
        for text in [
            "ftp://web/",
            "web:80",
            "http://",
            "http://:80/",
            "http://web:0/",
            "http://web:x/",
            "http://web:65536/",
            "http://me:secret@web/",
            "http://web/#top",
            "http://web?x",
            "http://web/a b",
            "http://web/a\r\nHost: other",
            "http://wéb/",
            "http://[::1/",
            "http://we/b:80:90",
            "http://a,b/",
            "HTTP://web/",
            "http://::1/",
        ] {
            let is_odd_path = text == "http://we/b:80:90";
            assert_eq!(said(text).is_ok(), is_odd_path, "{text}");
        }
        let user = Address::parse("postgres://shop@db/tile", "postgres").expect("a user");
        assert_eq!(
            (user.user(), user.to_string().as_str()),
            (Some("shop"), "postgres://shop@db/tile")
        );
        for text in ["postgres://shop:secret@db/", "postgres://@db/", "postgres://a@b@db/"] {
            assert!(Address::parse(text, "postgres").is_err(), "{text}");
        }
        assert!(Address::parse("gopher://web/", "gopher").is_err());
        let mail = Address::parse("smtp://mail", "smtp").map(|read| (read.port, read.to_string()));
        assert_eq!(mail, Ok((25, "smtp://mail/".to_owned())));
        assert!(Address::parse("smtp://mail/example.com", "smtp").is_err());
        assert!(said(&format!("http://web/{}", "x".repeat(TEXT_MAX))).is_err());
    }

    #[test]
    fn name_of_the_protocol_or_a_query_asks_for_tls() {
        for (text, protocol, means, port) in [
            ("smtps://mx", "smtp", "smtps://mx/", 465),
            ("smtp+starttls://me@mx", "smtp", "smtp+starttls://me@mx/", 25),
            ("imaps://mail", "imap", "imaps://mail/", 993),
            ("imap+starttls://mail:1143/", "imap", "imap+starttls://mail:1143/", 143),
            (
                "postgres://db?sslmode=verify-full",
                "postgres",
                "postgres://db/?sslmode=verify-full",
                5432,
            ),
            (
                "postgres://a@db:1/b?sslmode=verify-full",
                "postgres",
                "postgres://a@db:1/b?sslmode=verify-full",
                5432,
            ),
        ] {
            let read = Address::parse(text, protocol).expect(text);
            assert_eq!((read.to_string().as_str(), read.protocol.port), (means, port));
            assert!(read.has_tls(), "{text}");
        }
        // A mode that does not ask for the server's name would look like one that does.
        for text in [
            "postgres://db/b?sslmode=require",
            "postgres://db/b?sslmode=disable",
            "postgres://db/b?",
            "postgres://db/b?sslmode=verify-full&x=y",
            "imaps://me@mail",
        ] {
            let protocol = if text.starts_with("imap") { "imap" } else { "postgres" };
            assert!(Address::parse(text, protocol).is_err(), "{text}");
        }
        let has_logins = |text| Address::parse(text, "smtp").map(|read| read.has_logins());
        assert_eq!(has_logins("smtp://mx"), Ok(false));
        assert_eq!(has_logins("smtps://mx"), Ok(false));
        assert_eq!(has_logins("smtps://me@mx"), Ok(true));
    }

    #[test]
    fn other_peers_of_a_name_are_tried_after_a_failed_handshake() {
        let (own, other) = (Authority::new(), Authority::new());
        let server = |signer: &Authority| {
            Server::start(signer.server("web", 2100, ALL_VERSIONS), |mut stream| {
                // Reading makes the handshake.
                let _ = std::io::Read::read(&mut stream, &mut [0]);
            })
        };
        let (good, bad) = (server(&own), server(&other));
        let peer = |server: &Server| SocketAddr::from(([127, 0, 0, 1], server.port));
        let gone = SocketAddr::from(([127, 0, 0, 1], 1));
        let trust = Trust::authority(own.pem().as_bytes()).expect("an authority");
        let login = Login { password: None, trust: Some(Arc::new(trust)) };
        let address = Address::parse("https://web/", "http").expect("an address");
        let reach = |peers: &[SocketAddr]| {
            let (address, login) = (address.clone(), login.clone());
            Service::reach_any(address, login, peers, Duration::from_secs(30))
        };
        let reached = reach(&[gone, peer(&bad), peer(&good)]).expect("the last proves its name");
        assert!(matches!(reached.peer, Peer::There(found) if found == peer(&good)));
        let failure = reach(&[peer(&bad), gone]).expect_err("none is good");
        assert!(matches!(failure, ServiceError::Unproven { .. }), "{failure}");
    }
}
