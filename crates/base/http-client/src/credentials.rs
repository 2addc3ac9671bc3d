//! Credentials, which are read only from a file or the environment.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::RemoteError;
use crate::escape::escaped;
use crate::hide::Forms;

/// Secret text. It has no `Display`, so that it cannot be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Wraps a text as a secret.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// Reads the secret from a file, or from an environment variable for `env:VARIABLE`. Only the
    /// first line is used.
    ///
    /// # Errors
    /// If the file or variable does not exist, or is empty.
    pub fn read(named: &str) -> Result<Self, RemoteError> {
        let text = match named.strip_prefix("env:") {
            Some(variable) => std::env::var(variable).map_err(|_| {
                RemoteError::Credentials(format!(
                    "the variable {variable} for credentials does not exist"
                ))
            })?,
            None => untrusted::read_named_text(Path::new(named)).map_err(|error| {
                RemoteError::Credentials(format!("reading credentials from {named}: {error}"))
            })?,
        };
        let line = text.lines().next().unwrap_or_default().trim().to_owned();
        if line.is_empty() {
            return Err(RemoteError::Credentials(format!("the credentials of {named} are empty")));
        }
        Ok(Self(line))
    }

    /// Returns the text of the secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Replaces this secret by `***` in a text from a service that received it. This includes
    /// encoded forms (base64, URLs, JSON, HTML) and the secret part alone.
    #[must_use]
    pub fn hide(&self, said: &str) -> String {
        Forms::of(&self.0).hide_in_text(said)
    }

    /// Splits the secret into name and password.
    ///
    /// # Errors
    /// If the secret is not `NAME:PASSWORD`.
    pub fn pair(&self) -> Result<(&str, &str), RemoteError> {
        let wrong = || RemoteError::Credentials("credentials must be NAME:PASSWORD".to_owned());
        self.0.split_once(':').ok_or_else(wrong)
    }
}

/// Identity of the client, and the form in which it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// No identity.
    Nobody,
    /// Name and password in the form of RFC 7617.
    Basic(Secret),
    /// Name and password, as `user` and `password` in the query of every path.
    Query(Secret),
    /// Token after a prefix.
    Token {
        /// Prefix in the header `Authorization`: `Bearer `, `PVEAPIToken=`.
        before: &'static str,
        /// Secret token.
        secret: Secret,
    },
}

impl From<Option<Secret>> for Identity {
    fn from(secret: Option<Secret>) -> Self {
        secret.map_or(Self::Nobody, Self::Basic)
    }
}

impl Identity {
    /// Returns the texts that must not appear in an answer.
    pub(crate) fn forms(&self) -> Option<Forms> {
        match self {
            Self::Nobody => None,
            Self::Basic(secret) | Self::Query(secret) | Self::Token { secret, .. } => {
                Some(Forms::of(secret.reveal()))
            }
        }
    }

    /// Returns the path with the identity in its query, or the unchanged path for other identities.
    pub(crate) fn path(&self, path: &str) -> Result<String, RemoteError> {
        let Self::Query(secret) = self else { return Ok(path.to_owned()) };
        let (name, password) = secret.pair()?;
        let own = format!("user={}&password={}", escaped(name), escaped(password));
        Ok(match path.split_once('?') {
            Some((path, query)) => format!("{path}?{own}&{query}"),
            None => format!("{path}?{own}"),
        })
    }

    /// Returns the header line of the identity, with its line end; empty if there is no header.
    pub(crate) fn header(&self) -> Result<String, RemoteError> {
        let value = match self {
            Self::Nobody | Self::Query(_) => return Ok(String::new()),
            Self::Basic(secret) => {
                secret.pair()?;
                format!("Basic {}", STANDARD.encode(secret.reveal()))
            }
            Self::Token { before, secret } => {
                if !secret.reveal().bytes().all(|byte| byte.is_ascii_graphic()) {
                    let text =
                        "the token contains characters that are not allowed in an HTTP header";
                    return Err(RemoteError::Credentials(text.to_owned()));
                }
                format!("{before}{}", secret.reveal())
            }
        };
        Ok(format!("Authorization: {value}\r\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_from_a_file_and_never_shown() {
        let own = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(own.path(), "root:hunter2\nnot this\n").expect("writes");
        let secret = Secret::read(&own.path().display().to_string()).expect("there");
        assert_eq!(secret.pair().expect("a pair"), ("root", "hunter2"));
        assert!(!format!("{secret:?}").contains("hunter2"));
        assert!(Secret::read("/nowhere/secret").is_err());
        assert!(Secret::read("env:TILEMARK_NO_SUCH_VARIABLE").is_err());
    }

    #[test]
    fn token_with_blank_or_line_break_is_refused_and_not_printed() {
        let own =
            |text: &str| Identity::Token { before: "Bearer ", secret: Secret(text.to_owned()) };
        assert_eq!(own("a.b-c").header().expect("a token"), "Authorization: Bearer a.b-c\r\n");
        for text in ["a b", "a\r\nHost: x", "\u{e4}"] {
            let error = own(text).header().expect_err("no token").to_string();
            assert!(!error.contains(text), "{error}");
        }
    }
}
