//! Address of a server to which messages are sent.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::http::host_and_port;
use crate::{Identity, Method, Question, RemoteError, Secret, ServiceAddress, Trust};

/// Address of a server that accepts JSON by POST: `https://HOST[:PORT]/PATH[,token=FILE]`.
///
/// Paths of web hooks are often secrets, and so are tokens. Errors therefore contain only the host.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
    is_secure: bool,
    /// Path, beginning with a slash.
    path: String,
    /// File or environment variable of the token, in the form of [`Secret::read`].
    token: Option<String>,
}

/// Reason why a text is not a valid address. The text may be a secret, so the error does not
/// contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text has another scheme, or none.
    #[error("an address must begin with https:// or http://")]
    Scheme,
    /// The text contains a name and a password.
    #[error("an address may not contain credentials: use ,token=FILE")]
    Credentials,
    /// The text contains characters that are not allowed in a request.
    #[error("an address may only have ASCII letters and no spaces")]
    Letters,
    /// The text after the scheme is not a valid host.
    #[error("an address needs HOST or HOST:PORT after its //")]
    Host,
}

/// Reason why a server did not accept a message.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// No answer came, or the answer is not HTTP.
    #[error("{host}: {source}")]
    Remote {
        /// Host of the server.
        host: String,
        /// Reason why there is no usable answer.
        source: RemoteError,
    },
    /// The server answered with a status outside 200 to 299.
    #[error("{host} answered with HTTP status {status}")]
    Status {
        /// Host of the server.
        host: String,
        /// Status code.
        status: u16,
    },
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Address({self})")
    }
}

/// Shows scheme, host and port, because the path may be a secret.
impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (url, token) = match text.rsplit_once(",token=") {
            Some((url, token)) => (url, Some(token.to_owned())),
            None => (text, None),
        };
        let secure = url.strip_prefix("https://").map(|rest| (rest, true, 443));
        let plain = || url.strip_prefix("http://").map(|rest| (rest, false, 80));
        let (rest, is_secure, usual) = secure.or_else(plain).ok_or(AddressError::Scheme)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(AddressError::Credentials);
        }
        if !rest.chars().all(|own| own.is_ascii_graphic()) {
            return Err(AddressError::Letters);
        }
        let (host, port) = host_and_port(authority, usual).map_err(|_| AddressError::Host)?;
        Ok(Self { host, port, is_secure, path: format!("/{path}"), token })
    }
}

impl Address {
    /// Returns the path, beginning with a slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Sends JSON to a path of the server, and waits for the answer for at most `patience`.
    ///
    /// # Errors
    /// If the server does not accept it. The error contains only the host.
    pub fn post(&self, path: &str, body: &[u8], patience: Duration) -> Result<(), PostError> {
        let host = || self.host.clone();
        let status = self.status(path, body, patience);
        match status.map_err(|source| PostError::Remote { host: host(), source })? {
            200..=299 => Ok(()),
            status => Err(PostError::Status { host: host(), status }),
        }
    }

    fn status(&self, path: &str, body: &[u8], patience: Duration) -> Result<u16, RemoteError> {
        let tls = self.is_secure.then(Trust::system).transpose()?.map(Arc::new);
        let identity = match &self.token {
            None => Identity::Nobody,
            Some(named) => Identity::Token { before: "Bearer ", secret: Secret::read(named)? },
        };
        let (host, port) = (self.host.clone(), self.port);
        let place = ServiceAddress { host, port, tls, identity, patience: Some(patience) };
        let body = Some(("application/json", body));
        match place.ask(Question { method: Method::Post, path, body }) {
            Ok(answer) => Ok(answer.status),
            // Its text has the path.
            Err(RemoteError::Nonsense(_)) => {
                Err(RemoteError::Nonsense("the answer is not HTTP".to_owned()))
            }
            Err(other) => Err(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_read_and_shown_without_its_path() {
        let address: Address =
            "http://[::1]:8080/a?b=c,token=/etc/token".parse().expect("an address");
        assert_eq!(address.path(), "/a?b=c");
        assert_eq!(address.token.as_deref(), Some("/etc/token"));
        assert_eq!(address.to_string(), "http://[::1]:8080");
        assert_eq!(format!("{address:?}"), "Address(http://[::1]:8080)");
        let secure: Address = "https://hooks.example".parse().expect("an address");
        assert_eq!(
            (secure.to_string().as_str(), secure.path()),
            ("https://hooks.example:443", "/")
        );
    }

    #[test]
    fn error_of_an_address_tells_no_part_of_it() {
        for (text, wrong) in [
            ("ftp://host/", AddressError::Scheme),
            ("http:///path", AddressError::Host),
            ("http://me:secret@host/", AddressError::Credentials),
            ("http://host/a b", AddressError::Letters),
            ("http://host:port/", AddressError::Host),
        ] {
            assert_eq!(text.parse::<Address>(), Err(wrong), "{text}");
        }
    }
}
