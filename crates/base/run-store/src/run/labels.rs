use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use untrusted::Malformed;

/// Name, tags and note that a user gave a run. They do not affect the measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Labels {
    /// Name that the user gave; several runs may have the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tag values by key: key `branch`, value `main`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Note for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Labels {
    /// Returns true if there is no name, tag or note.
    pub fn is_empty(&self) -> bool {
        self.name.is_none() && self.tags.is_empty() && self.note.is_none()
    }

    /// Returns true if the run has all `wanted` tags with these values.
    pub fn has(&self, wanted: &[(String, String)]) -> bool {
        wanted.iter().all(|(key, value)| self.tags.get(key) == Some(value))
    }
}

/// Parses a tag, `KEY=VALUE`.
///
/// # Errors
///
/// If the text is not a tag. The error describes the allowed form.
pub fn tag(text: &str) -> Result<(String, String), Malformed> {
    let is_key = |key: &str| {
        let rest = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !key.is_empty() && key.len() <= 64 && key.chars().all(rest)
    };
    match text.split_once('=') {
        Some((key, value)) if is_key(key) && value.chars().count() <= 256 => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(
            "a tag is KEY=VALUE: a key of at most 64 letters, digits, -, _ and ., and a value of \
             at most 256 characters"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_a_key_and_a_value() {
        assert_eq!(tag("branch=main"), Ok(("branch".to_owned(), "main".to_owned())));
        assert_eq!(tag("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())), "values may have any");
        for wrong in ["branch", "=main", "bra nch=main", &format!("k={}", "x".repeat(257))] {
            assert!(tag(wrong).is_err(), "{wrong}");
        }
        let labels = Labels { tags: [tag("a=1").expect("a tag")].into(), ..Labels::default() };
        assert!(labels.has(&[]) && labels.has(&[tag("a=1").expect("a tag")]));
        assert!(!labels.has(&[tag("a=2").expect("a tag")]));
    }
}
