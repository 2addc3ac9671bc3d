use std::fmt;
use std::str::FromStr;

use super::formats::ALL;
use super::kind::Kind;

/// A format that [`crate::open`] reads. It has one file in `formats` and one line in the list
/// there.
#[derive(Clone, Copy)]
pub struct Format(pub(super) &'static Kind);

impl Format {
    /// Returns all formats, in the order of lists for users.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().copied().map(Self)
    }

    /// Returns the name of the format, as `--from` accepts it.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the other names that `--from` accepts.
    pub fn aliases(self) -> &'static [&'static str] {
        self.0.aliases
    }

    /// Returns the description in one line, for a list of formats.
    pub fn help(self) -> &'static str {
        self.0.help
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.to_ascii_lowercase().replace('_', "-");
        let is = |d: &&&Kind| d.name == wanted || d.aliases.contains(&wanted.as_str());
        ALL.iter().find(is).map(|d| Self(d)).ok_or_else(|| {
            let names: Vec<&str> = ALL.iter().map(|d| d.name).collect();
            format!("trace format \"{text}\" is not one of {}", names.join(", "))
        })
    }
}
