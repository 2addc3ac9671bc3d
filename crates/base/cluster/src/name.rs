use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Error for a text that is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid name: 1 to 63 small letters, digits, `-` and `.`, beginning with a \
    letter or digit"
)]
pub struct NameError(String);

/// Name of a member or a cluster: a DNS host name, which is safe in keys, certificates, paths and
/// terminals.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Maximum length of a name: the limit of a DNS label, which is our choice for a whole name.
const LENGTH_MAX: usize = 63;

impl Name {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let may = |byte: u8| letter(byte) || byte == b'-' || byte == b'.';
        let fits = (1..=LENGTH_MAX).contains(&text.len());
        if fits && text.bytes().all(may) && text.bytes().next().is_some_and(letter) {
            Ok(Self(text.to_owned()))
        } else {
            let shown = text.chars().take(LENGTH_MAX).flat_map(char::escape_debug);
            Err(NameError(shown.collect()))
        }
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_more_than_one_key_is_no_name() {
        for good in ["a", "node-3.example.org", "10.0.0.1", &"a".repeat(63)] {
            assert_eq!(good.parse::<Name>().expect("a name").as_str(), good);
        }
        for bad in
            ["", "-a", ".", "a/b", "*", "a$*", "A", "ä", "a b", "a\u{1b}[1m", &"a".repeat(64)]
        {
            let refused = bad.parse::<Name>().expect_err(bad).to_string();
            assert!(!refused.contains('\u{1b}'), "{refused:?}");
        }
        assert!(serde_json::from_str::<Name>("\"../x\"").is_err());
    }
}
